"""Whether values do what the axioms say, on a game at hand."""

from ordinal_shapley.axioms.checking import check_axioms
from ordinal_shapley.axioms.report import AxiomCheck, AxiomReport

__all__ = ["AxiomCheck", "AxiomReport", "check_axioms"]
