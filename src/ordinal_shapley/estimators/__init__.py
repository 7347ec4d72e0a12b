"""Values of training rows in the manner of scikit-learn: parameters first, then ``fit``."""

from ordinal_shapley.estimators.shapley import ClassicShapley, OrdinalShapley, PartialOrdinalShapley

__all__ = ["ClassicShapley", "OrdinalShapley", "PartialOrdinalShapley"]
