"""The result of a sampling run: a value and a standard error for every player."""
