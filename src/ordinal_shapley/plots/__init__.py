"""Pictures of values, and of runs and experiments; needs Matplotlib, the ``plot`` extra.

Each function draws on ``ax`` or makes a new figure, and returns the axes. Shapes, line styles and greys
separate series, colours never do so alone, so that pictures survive a black and white printer. An argument
that cannot be used is a TypeError or a ValueError that names it; without Matplotlib there is an ImportError.
"""

from ordinal_shapley.plots.convergence import plot_convergence, plot_stopping
from ordinal_shapley.plots.credit import plot_credit
from ordinal_shapley.plots.curves import plot_detection, plot_removal
from ordinal_shapley.plots.estimates import plot_estimates
from ordinal_shapley.plots.profile import plot_profile
from ordinal_shapley.plots.values import plot_values

__all__ = [
    "plot_convergence",
    "plot_credit",
    "plot_detection",
    "plot_estimates",
    "plot_profile",
    "plot_removal",
    "plot_stopping",
    "plot_values",
]
