"""Pictures of a model and of what it found, in the manner of scikit-learn's Displays; needs matplotlib.

Every function is the `from_estimator` of a Display: it draws at once and returns the Display. Its data are attributes,
`ax_` and `figure_` (and `axes_`, where there are several panels) are what was drawn, and `plot(ax=...)` draws it again
elsewhere.
"""

from aspca.plots.curves import RocDisplay, SelectionDisplay, plot_roc, plot_selection
from aspca.plots.explanation import ExplanationDisplay, plot_explanation
from aspca.plots.heatmap import HeatmapDisplay, plot_heatmap
from aspca.plots.rules import LoadingsDisplay, RulesDisplay, plot_loadings, plot_rules
from aspca.plots.scores import ScoresDisplay, plot_scores

__all__ = [
    "ExplanationDisplay",
    "HeatmapDisplay",
    "LoadingsDisplay",
    "RocDisplay",
    "RulesDisplay",
    "ScoresDisplay",
    "SelectionDisplay",
    "plot_explanation",
    "plot_heatmap",
    "plot_loadings",
    "plot_roc",
    "plot_rules",
    "plot_scores",
    "plot_selection",
]
