"""Components as sentences in the original names and units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.identities.identity import Identity
from aspca.linalg.arrays import Floats
from aspca.preparation.feature import Feature
from aspca.rules.coefficients import Equation, simplest_equation
from aspca.rules.sentence import off_by, sentence_of, shown_terms
from aspca.sparse_pca.certificate import Certificate

# The numbers of a rule's text may be off by this share of its spread, wherever its features usually are.
ROUNDING_SHARE = 0.5
# A rule whose spread on new rows is more than this many times the one it promised was fitted to chance.
_WIDE = 2.0


@dataclass(frozen=True, eq=False)
class Standing:
    """How a rule that the user gave stands in the rows learned from.

    Attributes
    ----------
    text : str
        As it was written.
    equation : Equation
        In the numbers it was written in; with the constant that rows are judged by.
    holds : bool
        Whether that is the constant that was given. If not, most rows are off at the same side: then they are judged by
        the level that they have.
    offset : float
        How far the average row was off what was given, in its numbers.
    kept : float or None
        The share of the rows that keep what was given, within the rule's limit; None where no rows were at hand.
    share : float
        Its variance beside what that of unrelated columns would be.
    """

    text: str
    equation: Equation
    holds: bool
    offset: float
    kept: float | None
    share: float


@dataclass(frozen=True, eq=False)
class Rule:
    """A linear relation that normal rows obey: coefficients . x = centre, give or take `spread`.

    Attributes
    ----------
    origins : tuple of k Feature
        The features it relates, and what they are in the table.
    coefficients : ndarray of shape (k,)
        Exact, in the original units of the features, scaled to unit length; the text shows `equation`.
    means, deviations : ndarray of shape (k,)
        The features' own means and standard deviations.
    spread : float
        Standard deviation of coefficients . x over the training rows; never below what float64 resolves.
    limit : float or None
        The |coefficients . x - centre| above which a row breaks the rule.
    exact : bool
        Whether the rule holds to within what a covariance in float64 resolves: a duplicate, a total, a constant.
    certificate : tuple of Certificate
        What is proved about the steps that span the subspace the rule belongs to; empty if nobody asked.
    widening : float or None
        Spread on rows that were not fitted, over `spread`: measured by `held_out_widening` where rows were held out,
        otherwise estimated by `expected_widening`; None if nobody asked.
    sparsest : bool
        False where no sparser rule was found for its part of the subspace: then it is one of the components.
    standing : Standing or None
        For a rule that the user gave, how it stands in the table; None for one that was found.
    """

    origins: tuple[Feature, ...]
    coefficients: Floats
    means: Floats
    deviations: Floats
    spread: float
    limit: float | None = None
    exact: bool = False
    certificate: tuple[Certificate, ...] = ()
    widening: float | None = None
    sparsest: bool = True
    standing: Standing | None = None

    @property
    def given(self) -> bool:
        """Whether the user gave it, and it was not found."""
        return self.standing is not None

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features it relates."""
        return tuple(feature.name for feature in self.origins)

    @property
    def centre(self) -> float:
        """Mean of coefficients . x over the training rows; of a rule that was given, what was given."""
        return float(self.coefficients @ self.means)

    @property
    def constant(self) -> bool:
        """Whether it says that one feature never varies."""
        return len(self.features) == 1 and bool(self.deviations[0] ** 2 < np.finfo(np.float64).tiny)

    @cached_property
    def kind(self) -> str:
        """What it says: "relation" between columns, "range" of the one column it shows, or "constant"."""
        if self.constant:
            return "constant"
        columns = {self.origins[int(k)].column for k in shown_terms(self)}
        return "relation" if len(columns) > 1 else "range"

    @property
    def looks_like_chance(self) -> bool:
        """Whether it may hold by chance, for the few rows it was fitted to: on others it is over twice as wide."""
        return self.widening is not None and self.widening > _WIDE

    @cached_property
    def equation(self) -> Equation:
        """The rule in the simplest numbers that move it by at most half its spread, where its features usually are; one
        that was given in the numbers it was written in.
        """
        if self.standing is not None:
            return self.standing.equation
        # A category that is rare hardly varies, but is there or not: it moves by one.
        level = np.array([feature.kind == "level" for feature in self.origins])
        deviations = np.maximum(self.deviations, 0.5 * level)
        return simplest_equation(self.coefficients, self.means, deviations, self.rounding, pivots=~level)

    @property
    def rounding(self) -> float:
        """What the numbers of its sentence may be off by, wherever its features usually are."""
        return ROUNDING_SHARE * self.spread

    @property
    def text(self) -> str:
        """As in ``D = A + C (± 0.1)``, ``total = a + b (exactly)`` or ``F = 3 (constant)``; see `sentence_of`."""
        return sentence_of(self)

    def off_by(self, deviation: float) -> str:
        """How far off a deviation from its centre is, in the numbers of the text, as in ``0.5 too high``."""
        return off_by(self, deviation)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Rule({self.text})"


# Exact, or with noise.
AnyRule = Rule | Identity
