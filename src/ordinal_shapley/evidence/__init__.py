"""What other rows say of the label of each row, and a rank that combines it with values.

The public names are in `ordinal_shapley.experiments`.
"""
