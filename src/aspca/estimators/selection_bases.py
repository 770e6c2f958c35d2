"""Sparse bases along the curves of `select`, of a whole table and of halves of it: no more of them than are needed.

The components of one penalty are one sequence, whatever their number: it is solved once, and each number of rules takes
as much of it as it needs. Halves of the rows come in complementary pairs, and a setting that they agree about gets no
more of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.model.model import complete_moments
from aspca.moments import IncompleteMoments, Moments
from aspca.settings import Settings
from aspca.sparse_pca.rotation.search import rotate_levels, rotate_levels_roughly
from aspca.sparse_pca.subspace import SparseSubspace, sparse_subspace

# A number of rules and an alpha.
Setting = tuple[int, float]


class Clock:
    """How much time is left of a budget in seconds (None has no end), and whether it `ended` before all was done."""

    def __init__(self, budget: float | None) -> None:
        self._end = np.inf if budget is None else time.monotonic() + budget
        self.ended = False

    @property
    def left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)


@dataclass(eq=False)
class Bases:
    """The sparse bases of one covariance (p, p).

    Where there are those of all rows to be `like`, these are of some rows, to be compared with them: rotated only so
    far that directions are known to within degrees, from theirs among other starts. Sequences start anew: from those of
    all rows they would find them again too often.
    """

    covariance: Floats
    settings: Settings
    longest: dict[float, int]  # how many components will be asked for at most, by alpha
    clock: Clock
    like: Bases | None = None
    _sequences: dict[float, SparseSubspace] = field(default_factory=dict)
    _found: dict[Setting, Floats] = field(default_factory=dict)

    def loadings(self, d: int, alpha: float) -> Floats | None:
        """As `sparse_subspace` gives them (p, d), but for order and signs; None where the time does not suffice."""
        found = None if not self.clock.left else self._solved(d, alpha)
        # What a solver has when time ends is not what it would find.
        if found is None or not self.clock.left:
            self.clock.ended = True
            return None
        self._found[d, alpha] = found
        return found

    def _solved(self, d: int, alpha: float) -> Floats:
        if alpha not in self._sequences:
            self._sequences[alpha] = self._sequence(alpha)
        sequence, variant = self._sequences[alpha].sequence, self.settings.variant
        kept = sequence[:, -d:] if variant in ("F", "FG") else sequence[:, :d]
        if not variant.endswith("G"):
            return kept
        if self.like is not None:
            return rotate_levels_roughly(self.covariance, kept, self.settings.rotation, self.like._found[d, alpha])
        deadline = time.perf_counter() + self.clock.left
        return rotate_levels(self.covariance, kept, self.settings.rotation, deadline, quick=True)[1]

    def _sequence(self, alpha: float) -> SparseSubspace:
        forward = self.settings.variant in ("F", "FG")
        budgets = [budget for budget in (self.settings.time_budget, self.clock.left) if budget not in (None, np.inf)]
        return sparse_subspace(
            self.covariance,
            len(self.covariance) if forward else self.longest[alpha],
            # PCA's own subspace is what no penalty gives.
            0.0 if self.settings.variant == "G" else alpha,
            "F" if forward else "B",
            self.settings.rounding,
            # Curves are made of vectors: what is chosen in the end is proved where it is fitted.
            proof="quick",
            tol=self.settings.tol,
            max_iter=self.settings.max_iter,
            time_budget=min(budgets, default=None),
        )


@dataclass(eq=False)
class Found:
    """What halves of the rows say of one setting: which share of its rules each gives again, and of its subspace."""

    n_rules: int
    rules: list[float] = field(default_factory=list)
    subspace: list[float] = field(default_factory=list)

    def add(self, V: Floats, W: Floats) -> None:
        """The bases of all rows and of a half of them (p, d), each in its own scaled space: directions are compared."""
        cosines = np.abs(V.T @ W)
        # Found again if another points the same way to within 18 degrees.
        self.rules.append(float((cosines.max(axis=1) >= 0.95).mean()))
        self.subspace.append(float((cosines**2).sum() / V.shape[1]))

    @property
    def has_converged(self) -> bool:
        """Whether more halves would hardly change the average: its standard error is at most 0.05.

        By the spread of the halves, and by that of as many tosses of a coin as there were rules to find: a few halves
        that agree by chance have no spread at all. One find and one failure more keep the coin from being certain.
        """
        count, trials = len(self.rules), len(self.rules) * self.n_rules
        if count < 2:
            return False
        share = (self.n_rules * sum(self.rules) + 1.0) / (trials + 2.0)
        spread = float(np.std(self.rules, ddof=1)) / np.sqrt(count)
        return bool(max(spread, np.sqrt(share * (1.0 - share) / trials)) <= 0.05)


def compare_halves(
    bases: Bases, whole: dict[Setting, Floats], halves: Iterator[Floats], advance: Callable[[int], None]
) -> dict[Setting, Found]:
    """What covariances of halves, each followed by that of the other half, give again of each basis (p, d) of `bases`.

    `advance` is told how many settings each half was tried for, or need not be.
    """
    found = {setting: Found(setting[0]) for setting in whole}
    wanted = list(whole)
    for number, covariance in enumerate(halves):
        if bases.clock.ended:
            break
        if number % 2 == 0:
            wanted = [setting for setting in wanted if not found[setting].has_converged]
        longest = {alpha: max(d for d, other in wanted if other == alpha) for _, alpha in wanted}
        half = Bases(covariance, bases.settings, longest, bases.clock, like=bases)
        advance(len(whole) - len(wanted))
        for setting in wanted:
            loadings = half.loadings(*setting)
            if loadings is not None:
                found[setting].add(whole[setting], loadings)
            advance(1)
    return found


def draw_halves(rows: Floats, count: int, seed: int, gaps: bool) -> Iterator[Moments]:
    """Moments of halves of the rows, each followed by that of the other half; `gaps`: values may be missing."""
    # So many parts, whose moments merge into any half of the rows.
    parts = min(20, len(rows) // 2)
    if count < 1 or parts < 2:
        return
    rng = np.random.default_rng(seed)
    kind = IncompleteMoments if gaps else Moments
    split = np.array_split(rng.permutation(len(rows)), parts)
    moments = [kind.from_array(rows[np.sort(part)]) for part in split]
    for number in range(count):
        if number % 2 == 0:
            order = rng.permutation(parts)
        chosen = order[: parts // 2] if number % 2 == 0 else order[parts // 2 :]
        merged = moments[chosen[0]]
        for part in chosen[1:]:
            merged = merged.merge(moments[part])
        yield complete_moments(merged)[0]
