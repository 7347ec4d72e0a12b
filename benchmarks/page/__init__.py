"""The sections of docs/benchmarks.md, each made from the entries of one run."""
