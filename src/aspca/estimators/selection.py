"""How many rules, and how sparse: what each choice would give, as curves to look at before choosing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from aspca.estimators.aspca import ASPCA
from aspca.estimators.tables import library_of
from aspca.judging.fit import fit_model
from aspca.judging.frames import frame
from aspca.judging.gaps import completed
from aspca.judging.model import Model
from aspca.linalg.arrays import Floats
from aspca.moments import IncompleteMoments, Moments
from aspca.settings import Settings
from aspca.subspace.result import SparseSubspace

# Rows are dealt into so many parts, whose moments merge into any half of them.
_PARTS = 20
# A rule is found again if another points the same way to within 18 degrees.
_SAME = 0.95
_MOST_COUNTS = 12


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
    """

    over_components: tuple[Choice, ...]
    over_alphas: tuple[Choice, ...]
    chosen: Choice
    library: str = "pandas"

    def to_frame(self) -> Any:
        """One line per choice; the column `curve` says which curve it belongs to."""
        lines = [("components", one) for one in self.over_components] + [("alpha", one) for one in self.over_alphas]
        columns: dict[str, list[Any]] = {"curve": [curve for curve, _ in lines]}
        for name in Choice.__dataclass_fields__:
            columns[name] = [getattr(one, name) for _, one in lines]
        return frame(columns, self.library)

    @property
    def text(self) -> str:
        """Both curves as tables of plain text at most 80 columns wide, the chosen line marked."""
        parts = []
        # What was not measured, for want of labels or resamples, has no column.
        names = [name for name in _COLUMNS if getattr(self.chosen, name) is not None]
        for title, curve in (("Number of rules", self.over_components), ("Sparsity", self.over_alphas)):
            parts.append(f"{title}\n{_header(names)}")
            parts += [_line(one, names, one == self.chosen) for one in curve]
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
        Halves of the rows (in complementary pairs) to measure stability with; 0 leaves it out.
    random_state : int
        For dealing the rows into parts.

    Returns
    -------
    Selection
    """
    base = ASPCA() if estimator is None else clone(estimator)
    base.fit(X)
    model = base.model_
    rows = np.asarray(base._rows(X, reset=False, least=2))
    truth = None if labels is None else _checked_labels(labels, len(rows))
    halves = list(_halves(rows, n_resamples, random_state, model.allows_gaps))
    counts = _counts(model.space.n_features, model.loadings.shape[1]) if n_components is None else n_components
    grid = _alphas(model.subspace.alpha) if alphas is None else alphas
    study = _Study(model, base.moments_, halves, rows, truth)
    over_components = tuple(study.choice(int(d), model.subspace.alpha) for d in sorted(set(counts)))
    d = model.loadings.shape[1]
    over_alphas = tuple(study.choice(d, float(alpha)) for alpha in sorted(set(grid), reverse=True))
    return Selection(over_components, over_alphas, study.choice(d, model.subspace.alpha), library_of(X))


@dataclass(eq=False)
class _Study:
    """Fits along both curves; neighbours warm each other."""

    model: Model
    moments: Moments
    halves: list[Moments]
    rows: Floats
    truth: Floats | None

    def __post_init__(self) -> None:
        self._done: dict[tuple[int, float], Choice] = {}
        self._warm: dict[tuple[int, int], SparseSubspace] = {}

    def choice(self, d: int, alpha: float) -> Choice:
        if (d, alpha) not in self._done:
            self._done[d, alpha] = self._measured(d, alpha)
        return self._done[d, alpha]

    def _fitted(self, moments: Moments, d: int, alpha: float, source: int) -> Model:
        settings: Settings = replace(self.model.settings, n_components=d, alpha=alpha, max_features=None)
        warm, plan = self._warm.get((source, d)), self.model.preparation
        found = fit_model(moments, settings, plan, warm)
        self._warm[source, d] = found.subspace
        return found

    def _measured(self, d: int, alpha: float) -> Choice:
        model = self._fitted(self.moments, d, alpha, -1)
        V = model.loadings
        again, overlap = [], []
        for number, moments in enumerate(self.halves):
            W = self._fitted(moments, d, alpha, number).loadings
            # Loadings live in scaled spaces, which differ a little from half to half: compare directions there.
            cosines = np.abs(V.T @ W)
            again.append(float((cosines.max(axis=1) >= _SAME).mean()))
            overlap.append(float((cosines**2).sum() / d))
        sizes = (V != 0).sum(axis=0)
        total = float(np.trace(model.space.covariance))
        return Choice(
            n_components=d,
            alpha=alpha,
            nonzeros=float(sizes.mean()),
            largest=int(sizes.max()),
            l1=float(np.abs(V).sum()),
            variance=float(np.trace(V.T @ model.space.covariance @ V)) / total if total > 0 else 0.0,
            stability=float(np.mean(again)) if again else None,
            subspace_stability=float(np.mean(overlap)) if overlap else None,
            auc=None if self.truth is None else float(roc_auc_score(self.truth, model.score(self.rows))),
        )


def _halves(rows: Floats, count: int, seed: int, gaps: bool) -> Iterator[Moments]:
    """Moments of halves of the rows, each followed by that of the other half; `gaps`: values may be missing."""
    parts = min(_PARTS, len(rows) // 2)
    if count < 1 or parts < 2:
        return
    rng = np.random.default_rng(seed)
    dealt = np.array_split(rng.permutation(len(rows)), parts)
    kind = IncompleteMoments if gaps else Moments
    moments = [kind.from_array(rows[np.sort(part)]) for part in dealt]
    for number in range(count):
        if number % 2 == 0:
            order = rng.permutation(parts)
        chosen = order[: parts // 2] if number % 2 == 0 else order[parts // 2 :]
        merged = moments[chosen[0]]
        for part in chosen[1:]:
            merged = merged.merge(moments[part])
        yield merged if isinstance(merged, Moments) else completed(merged)[0]


def _counts(p: int, chosen: int) -> list[int]:
    """Up to twelve numbers of rules from 1 to p, the chosen one among them."""
    grid = np.unique(np.round(np.linspace(1, p, min(p, _MOST_COUNTS))).astype(int))
    return sorted({*grid.tolist(), chosen})


def _alphas(chosen: float) -> list[float]:
    """Seven penalties from a thirtieth to thirty times the chosen one."""
    return [chosen * 10.0**power for power in np.linspace(-1.5, 1.5, 7)] if chosen > 0 else [0.0]


def _checked_labels(labels: Any, n: int) -> Floats:
    truth = np.asarray(labels, dtype=np.float64)
    if truth.shape != (n,):
        raise ValueError(f"labels has shape {truth.shape}, but there are {n} rows; give one label per row.")
    if not np.isin(truth, (0.0, 1.0)).all() or truth.min() == truth.max():
        raise ValueError("labels must hold both 0 (normal) and 1 (anomaly), and nothing else.")
    return truth


_COLUMNS = {
    "n_components": ("rules", "5", ""),
    "alpha": ("alpha", "8", ".3g"),
    "nonzeros": ("features/rule", "13", ".1f"),
    "largest": ("largest", "7", ""),
    "l1": ("L1", "7", ".2f"),
    "variance": ("variance", "8", ".2%"),
    "stability": ("stable", "6", ".0%"),
    "auc": ("AUC", "6", ".3f"),
}


def _header(names: Sequence[str]) -> str:
    return "   " + "  ".join(f"{_COLUMNS[name][0]:>{_COLUMNS[name][1]}}" for name in names)


def _line(one: Choice, names: Sequence[str], chosen: bool) -> str:
    cells = [f"{format(getattr(one, name), _COLUMNS[name][2]):>{_COLUMNS[name][1]}}" for name in names]
    return ("-> " if chosen else "   ") + "  ".join(cells)
