"""Bridges to other libraries of data valuation; each module needs its library.

`ordinal_shapley.interop.pydvl` needs pyDVL, `ordinal_shapley.interop.opendataval` OpenDataVal. Neither is
imported here.
"""

__all__: list[str] = []
