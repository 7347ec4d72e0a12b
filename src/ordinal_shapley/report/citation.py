"""How to cite the software and the paper: what CITATION.cff says, which a wheel does not hold."""

from __future__ import annotations

from ordinal_shapley import __version__

SENTENCES = [
    "J. Liu, P. Wang and C. Wu, \u201cData valuation: The partial ordinal Shapley value for machine "
    "learning\u201d, arXiv preprint arXiv:2305.01660, 2023, doi:10.48550/arXiv.2305.01660.",
    f"ordinal-shapley contributors, ordinal-shapley {__version__}.",
]
BIBTEX = f"""@article{{liu2023partial,
  title   = {{Data valuation: The partial ordinal Shapley value for machine learning}},
  author  = {{Liu, Jie and Wang, Peizheng and Wu, Chao}},
  journal = {{arXiv preprint arXiv:2305.01660}},
  year    = {{2023}},
  doi     = {{10.48550/arXiv.2305.01660}}
}}
@software{{ordinal_shapley,
  title   = {{ordinal-shapley}},
  author  = {{{{ordinal-shapley contributors}}}},
  version = {{{__version__}}}
}}"""
