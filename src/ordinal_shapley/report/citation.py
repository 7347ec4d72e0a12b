"""How to cite the software and the paper: what CITATION.cff says, which a wheel does not hold."""

from __future__ import annotations

from ordinal_shapley import __version__

TITLE = "Data valuation: The partial ordinal Shapley value for machine learning"
AUTHORS = (("Liu", "Jie"), ("Wang", "Peizheng"), ("Wu", "Chao"))
YEAR = 2023
JOURNAL = "arXiv preprint arXiv:2305.01660"
DOI = "10.48550/arXiv.2305.01660"
SOFTWARE = "ordinal-shapley"
SOFTWARE_AUTHORS = "ordinal-shapley contributors"


def sentences() -> list[str]:
    """Return one line for the paper and one for the software."""
    names = [f"{given[0]}. {family}" for family, given in AUTHORS]
    authors = f"{', '.join(names[:-1])} and {names[-1]}"
    return [
        f"{authors}, \u201c{TITLE}\u201d, {JOURNAL}, {YEAR}, doi:{DOI}.",
        f"{SOFTWARE_AUTHORS}, {SOFTWARE} {__version__}.",
    ]


def bibtex() -> str:
    """Return both as BibTeX entries."""
    authors = " and ".join(f"{family}, {given}" for family, given in AUTHORS)
    return "\n".join(
        [
            "@article{liu2023partial,",
            f"  title   = {{{TITLE}}},",
            f"  author  = {{{authors}}},",
            f"  journal = {{{JOURNAL}}},",
            f"  year    = {{{YEAR}}},",
            f"  doi     = {{{DOI}}}",
            "}",
            "@software{ordinal_shapley,",
            f"  title   = {{{SOFTWARE}}},",
            f"  author  = {{{{{SOFTWARE_AUTHORS}}}}},",
            f"  version = {{{__version__}}}",
            "}",
        ]
    )
