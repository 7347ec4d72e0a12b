"""Nopython kernels of ordinal-shapley: arrays and scalars in, arrays out, status codes back.

Nothing here is public. `ordinal_shapley` validates, allocates, calls a kernel and wraps the result.
"""
