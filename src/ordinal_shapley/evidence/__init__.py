"""Evidence against the label of each row from other rows, and a rank that combines it with values.

The public names are in `ordinal_shapley.experiments`.
"""
