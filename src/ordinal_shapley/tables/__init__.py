"""Tables of training rows from a file or from memory: read, checked, split and encoded as arrays."""
