"""What benchmarks/mutation.py is made of."""
