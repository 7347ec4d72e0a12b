"""The paper's experiments, run again and carried on: the command ``ordinal-shapley reproduce``."""
