"""The experiments of arXiv:2305.01660, run again and carried on, for docs/reproduction.md."""
