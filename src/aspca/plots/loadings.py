"""Which features each component, or each rule, relates, and with which weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.plots.canvas import entitle, own_or_given, room_for_labels, root_of
from aspca.plots.cells import CellStyle, draw_cells, figure_size, label_inches
from aspca.plots.colours import diverging
from aspca.plots.labels import short_names
from aspca.plots.sources import check_count, model_of
from aspca.rules.sentence import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("components", "rules")
_WIDTH = 34


@dataclass(eq=False)
class LoadingsDisplay:
    """The matrix of loadings, features by components or by rules.

    Parameters
    ----------
    loadings : ndarray of shape (p, d)
        Columns of length one in the scaled space, with exact zeros; those of components are orthogonal.
    names : sequence of p str
    of : {"components", "rules"}
        What the columns are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    mesh_ : QuadMesh
        Its array is masked where a loading is zero.
    colorbar_ : Colorbar
    features_ : ndarray
        Positions of the features drawn, from top to bottom.
    """

    loadings: Floats
    names: Sequence[str]
    of: str = "components"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, of: str = "components", n_features: int = 80, ax: Axes | None = None
    ) -> Self:
        """Draw the loadings of a fitted ASPCA."""
        if of not in _KINDS:
            raise ValueError(f"of must be one of {', '.join(_KINDS)}, got {of!r}.")
        model = model_of(estimator, "plot_loadings").model_
        loadings = model.loadings if of == "components" else model.table.loadings
        return cls(loadings, model.names, of).plot(ax, n_features=n_features)

    def plot(self, ax: Axes | None = None, *, n_features: int = 80) -> Self:
        """Draw the features in their own order; where they are more than `n_features`, those that weigh most."""
        from matplotlib.colors import Normalize

        if not self.loadings.shape[1]:
            raise ValueError(f"There are no {self.of} to draw; of='components' draws what they are sought in.")
        weight = np.square(self.loadings).sum(axis=1)
        most = np.argsort(-weight, kind="stable")[: check_count(n_features, "n_features")]
        self.features_ = np.sort(most)
        labels = short_names(self.names, room_for_labels(ax, _WIDTH, 0.3))
        rows = [labels[j] for j in self.features_]
        columns = [str(i) for i in range(self.loadings.shape[1])]
        ax = own_or_given(ax, *figure_size(rows, columns))
        self.ax_, self.figure_ = ax, root_of(ax)
        style = CellStyle(diverging(), Normalize(-1.0, 1.0), "loading (no unit)\nempty: exactly zero", _loading)
        self.mesh_, self.colorbar_ = draw_cells(ax, self.loadings[self.features_], rows, columns, style)
        ax.set_xlabel(f"number of the {self.of[:-1]}", fontsize=9)
        p, d = self.loadings.shape
        used = int((self.loadings != 0).sum())
        detail = f"{used} of {p * d} loadings are not zero"
        if len(rows) < p:
            detail += f"; {len(rows)} of {p} features are drawn, those of the largest loadings"
        entitle(ax, f"Loadings: which of {counted(p, 'feature')} {self._each()}", detail, left=label_inches(rows))
        return self

    def _each(self) -> str:
        d = self.loadings.shape[1]
        return f"the {self.of[:-1]} relates" if d == 1 else f"each of {d} {self.of} relates"


def plot_loadings(
    estimator: Any, *, of: str = "components", n_features: int = 80, ax: Axes | None = None
) -> LoadingsDisplay:
    """The matrix of loadings, features by components or by rules: zeros are empty cells.

    Parameters
    ----------
    estimator : fitted ASPCA
    of : {"components", "rules"}
        `components_`, orthonormal, or the readable rules, which span the same.
    n_features : int
        At most so many are drawn: those of the largest loadings, in their own order.
    ax : matplotlib Axes or None
        Where to draw; None makes a figure that grows with the matrix.

    Returns
    -------
    LoadingsDisplay
    """
    return LoadingsDisplay.from_estimator(estimator, of=of, n_features=n_features, ax=ax)


def _loading(value: float) -> str:
    """Two decimals; what would look like zero by its size, as in 3e-5."""
    return f"{value:.2f}" if abs(value) >= 0.0095 else f"{value:.0e}".replace("e-0", "e-")
