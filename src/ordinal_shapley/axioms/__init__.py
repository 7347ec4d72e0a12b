"""Whether values satisfy the axioms, on one game."""

from ordinal_shapley.axioms.checking import check_axioms
from ordinal_shapley.axioms.report import AxiomCheck, AxiomReport

__all__ = ["AxiomCheck", "AxiomReport", "check_axioms"]
