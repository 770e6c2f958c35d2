"""How many rules, and how sparse: what each choice would give, as curves to look at before choosing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from aspca.estimators.aspca import ASPCA
from aspca.estimators.frames import get_library
from aspca.estimators.selection_bases import Bases, Clock, Found, Setting, compare_halves, draw_halves
from aspca.findings.rendering import make_frame
from aspca.linalg.arrays import Floats
from aspca.model.fit import scoring_model
from aspca.moments.space import ScaledSpace

# How `Selection.text` shows what a choice gives: heading, width and format.
_COLUMNS = {
    "n_components": ("rules", 5, ""),
    "alpha": ("alpha", 8, ".3g"),
    "nonzeros": ("features/rule", 13, ".1f"),
    "largest": ("largest", 7, ""),
    "l1": ("L1", 7, ".2f"),
    "variance": ("variance", 8, ".2%"),
    "stability": ("stable", 6, ".0%"),
    "auc": ("AUC", 6, ".3f"),
}


@dataclass(frozen=True)
class Choice:
    """What one setting gives.

    Attributes
    ----------
    n_components, alpha : int, float
    nonzeros : float
        Features per rule, on average.
    largest : int
        Features of the largest rule.
    l1 : float
        Sum of the absolute loadings: the paper's measure of sparsity.
    variance : float
        Share of the total variance that lies in the rules: how tight they are together.
    stability : float or None
        Share of the rules that half of the rows give again, on average over the resamples.
    subspace_stability : float or None
        Overlap of the subspace with that of half of the rows: 1 the same, d/p for one at random.
    auc : float or None
        Area under the ROC curve, where labels are given.
    n_halves : int
        How many halves stability rests on.
    """

    n_components: int
    alpha: float
    nonzeros: float
    largest: int
    l1: float
    variance: float
    stability: float | None
    subspace_stability: float | None
    auc: float | None
    n_halves: int


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Curves over the number of rules and over alpha, and the choice that `"auto"` makes.

    Attributes
    ----------
    over_components : tuple of Choice
        At the chosen alpha.
    over_alphas : tuple of Choice
        At the chosen number of rules.
    chosen : Choice
    remark : str or None
        What is missing where the time budget ended.
    """

    over_components: tuple[Choice, ...]
    over_alphas: tuple[Choice, ...]
    chosen: Choice
    library: str = "pandas"
    remark: str | None = None

    def to_frame(self) -> Any:
        """One line per choice; the column `curve` says which curve it belongs to."""
        lines = [("components", one) for one in self.over_components] + [("alpha", one) for one in self.over_alphas]
        columns: dict[str, list[Any]] = {"curve": [curve for curve, _ in lines]}
        for name in Choice.__dataclass_fields__:
            columns[name] = [getattr(one, name) for _, one in lines]
        return make_frame(columns, self.library)

    @property
    def text(self) -> str:
        """Both curves as tables of plain text at most 80 columns wide, the chosen line marked."""
        # What was not measured, for want of labels or resamples, has no column.
        shown = {name: column for name, column in _COLUMNS.items() if getattr(self.chosen, name) is not None}
        header = "   " + "  ".join(f"{heading:>{width}}" for heading, width, _ in shown.values())
        parts = []
        for title, curve in (("Number of rules", self.over_components), ("Sparsity", self.over_alphas)):
            parts.append(f"{title}\n{header}")
            for one in curve:
                cells = (f"{getattr(one, name):{form}}".rjust(width) for name, (_, width, form) in shown.items())
                parts.append(("-> " if one == self.chosen else "   ") + "  ".join(cells))
        parts += [] if self.remark is None else [fill(self.remark, 80)]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return self.text


def select(
    X: Any,
    labels: Any = None,
    *,
    estimator: ASPCA | None = None,
    n_components: Sequence[int] | None = None,
    alphas: Sequence[float] | None = None,
    n_resamples: int = 10,
    random_state: int = 0,
    time_budget: float | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Selection:
    """What each number of rules and each alpha would give, beside what `"auto"` chooses.

    Parameters
    ----------
    X : (n, p) rows
    labels : (n,) or None
        1 (or True) for anomalies, 0 for normal rows; used for the AUC only, never to choose.
    estimator : ASPCA or None
        Carries all other settings; its own `n_components` and `alpha` are the choice that the curves run through.
    n_components, alphas : sequences or None
        The grids; None takes up to twelve counts from 1 to p, and alphas from a thirtieth to thirty times the chosen.
    n_resamples : int >= 0
        Halves of the rows to measure stability with, at most: they come in complementary pairs, and a setting gets no
        more of them once the standard error of its stability is at most 0.05. 0 leaves stability out.
    random_state : int
        For dealing the rows into parts.
    time_budget : float or None
        Seconds after the first fit at which no more is tried. What was not measured is left out, and said.
    callback : callable or None
        Called as ``callback(done, most)`` after each of at most so many fits.

    Returns
    -------
    Selection
    """
    if time_budget is not None and not time_budget >= 0.0:
        raise ValueError(f"time_budget must be None or seconds >= 0, got {time_budget!r}.")
    base = ASPCA() if estimator is None else clone(estimator)
    base.fit(X)
    model, clock = base.model_, Clock(time_budget)
    rows = np.asarray(base._rows(X, reset=False, least=2))
    truth = None if labels is None else _checked_labels(labels, len(rows))
    d, alpha = model.components.n_components, model.components.alpha
    if n_components is None:
        p = model.space.n_features
        n_components = [*np.unique(np.round(np.linspace(1, p, min(p, 12))).astype(int)).tolist(), d]
    if alphas is None:
        alphas = [alpha * 10.0**power for power in np.linspace(-1.5, 1.5, 7)] if alpha > 0 else [0.0]
    over_components = [(int(count), alpha) for count in sorted(set(n_components))]
    over_alphas = [(d, float(other)) for other in sorted(set(alphas), reverse=True)]
    # In this order, so that little time is spent on what matters most.
    settings = list(dict.fromkeys([(d, alpha), *over_components, *over_alphas]))
    count = n_resamples if len(rows) > 3 else 0
    done, most = 0, len(settings) * (1 + count)

    def advance(fits: int = 1) -> None:
        nonlocal done
        done += fits
        if callback is not None:
            callback(done, most)

    longest = {other: max(many for many, its in settings if its == other) for _, other in settings}
    bases = Bases(np.asarray(model.space.plain.covariance), model.settings, longest, clock)
    whole: dict[Setting, Floats] = {}
    for setting in settings:
        # The choice itself is measured, whatever the time.
        V = (bases if whole else replace(bases, clock=Clock(None))).loadings(*setting)
        if V is not None:
            whole[setting] = V
        advance()
    halves = (
        np.asarray(ScaledSpace.of(moments, model.settings.scaling, model.preparation.features).covariance)
        for moments in draw_halves(rows, count, random_state, model.allows_gaps)
    )
    again = compare_halves(bases, whole, halves, advance)
    areas: dict[Setting, float] = {}
    measured = {}
    for setting, V in whole.items():
        # Readable rules do not depend on alpha, so neither does their area.
        key = (setting[0], 0.0 if model.settings.judges_by_evidence else setting[1])
        if truth is not None and key not in areas:
            asked = replace(model.settings, n_components=setting[0], alpha=setting[1], max_features=None)
            areas[key] = float(roc_auc_score(truth, scoring_model(model, asked, V).score(rows)))
        measured[setting] = _choice(setting, V, bases.covariance, again[setting], areas.get(key))
    return Selection(
        tuple(measured[one] for one in over_components if one in measured),
        tuple(measured[one] for one in over_alphas if one in measured),
        measured[d, alpha],
        get_library(X),
        _describe_rest(clock, time_budget, len(settings), measured),
    )


def _choice(setting: Setting, V: Floats, covariance: Floats, again: Found, auc: float | None) -> Choice:
    sizes = (V != 0).sum(axis=0)
    total = float(np.trace(covariance))
    return Choice(
        n_components=setting[0],
        alpha=setting[1],
        nonzeros=float(sizes.mean()),
        largest=int(sizes.max()),
        l1=float(np.abs(V).sum()),
        variance=float(np.trace(V.T @ covariance @ V)) / total if total > 0 else 0.0,
        stability=float(np.mean(again.rules)) if again.rules else None,
        subspace_stability=float(np.mean(again.subspace)) if again.subspace else None,
        auc=auc,
        n_halves=len(again.rules),
    )


def _describe_rest(clock: Clock, budget: float | None, wanted: int, measured: dict[Setting, Choice]) -> str | None:
    """What is missing for want of time; None where nothing is."""
    if budget is None or not clock.ended:
        return None
    halves = [one.n_halves for one in measured.values()]
    rests = f"{min(halves)}" if min(halves) == max(halves) else f"{min(halves)} to {max(halves)}"
    return (
        f"The time budget of {budget:g} s ended: {len(measured)} of {wanted} settings were measured, and their "
        f"stability rests on {rests} halves of the rows; a larger budget, fewer settings or fewer halves give the rest."
    )


def _checked_labels(labels: Any, n: int) -> Floats:
    truth = np.asarray(labels, dtype=np.float64)
    if truth.shape != (n,):
        raise ValueError(f"labels has shape {truth.shape}, but there are {n} rows; give one label per row.")
    if not np.isin(truth, (0.0, 1.0)).all() or truth.min() == truth.max():
        raise ValueError("labels must hold both 0 (normal) and 1 (anomaly), and nothing else.")
    return truth
