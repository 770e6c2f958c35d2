"""Components as sentences in the original names and units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats, frozen
from aspca.preparation.feature import Feature
from aspca.rules.coefficients import Equation, simplest_equation
from aspca.rules.sentence import off_by, sentence_of
from aspca.rules.widening import expected_widening
from aspca.subspace.result import Certificate

# The numbers of a rule's text may be off by this share of its spread, wherever its features usually are.
ROUNDING_SHARE = 0.5
# A rule whose spread on new rows is more than this many times the one it promised was fitted to chance.
_WIDE = 2.0


@dataclass(frozen=True, eq=False)
class Rule:
    """A linear relation that normal rows obey: coefficients . x = centre, give or take `spread`.

    Attributes
    ----------
    features : tuple of str
        The features it relates.
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
    canonical : bool
        Whether it is one of the sparsest rules of its subspace, which overlap: its share is no part of the score.
    origins : tuple of Feature
        What the features are in the table, where columns were prepared; empty where they are taken as they are.
    """

    features: tuple[str, ...]
    coefficients: Floats
    means: Floats
    deviations: Floats
    spread: float
    limit: float | None = None
    exact: bool = False
    certificate: tuple[Certificate, ...] = ()
    widening: float | None = None
    canonical: bool = False
    origins: tuple[Feature, ...] = ()

    @property
    def centre(self) -> float:
        """Mean of coefficients . x over the training rows."""
        return float(self.coefficients @ self.means)

    @property
    def constant(self) -> bool:
        """Whether it says that one feature never varies."""
        return len(self.features) == 1 and bool(self.deviations[0] ** 2 < np.finfo(np.float64).tiny)

    @property
    def looks_like_chance(self) -> bool:
        """Whether it may hold by chance, for the few rows it was fitted to: on others it is over twice as wide."""
        return self.widening is not None and self.widening > _WIDE

    @cached_property
    def equation(self) -> Equation:
        """The rule in the simplest numbers that move it by at most half its spread, where its features usually are."""
        # A category that is rare hardly varies, but is there or not: it moves by one.
        level = np.array([feature.kind == "level" for feature in self.origins] or [False] * len(self.features))
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
        return f"Rule({self.text}{', canonical: no part of the score' if self.canonical else ''})"


def rules_of(
    loadings: Floats,
    mean: Floats,
    scale: Floats,
    covariance: Floats,
    names: tuple[str, ...],
    *,
    n_rows: int | None = None,
    limits: Sequence[float | None] | None = None,
    widenings: Sequence[float | None] | None = None,
    certificate: tuple[Certificate, ...] = (),
    canonical: bool = False,
    origins: tuple[Feature, ...] = (),
) -> tuple[Rule, ...]:
    """One rule per column of `loadings` (p, d), from the scaled space (`covariance`) back to the original units.

    Parameters
    ----------
    mean, scale : ndarray of shape (p,)
        Scaled columns are (x - mean) / scale.
    n_rows : int or None
        How many rows were fitted, to tell rules from chance; None: not told.
    limits : sequence of d, or None
        Per rule, in the scaled space: the |loadings . y| above which a row breaks it.
    widenings : sequence of d, or None
        Per rule, as `held_out_widening` measures them; None: expected ones, if `n_rows` is given.
    certificate, canonical
        As in `Rule`, for all of them.
    origins : tuple of p, or empty
        As in `Rule`.
    """
    rules = []
    variances = np.diag(covariance)
    deviations = np.sqrt(variances) * scale
    varying = max(1, int((variances > 0.0).sum()))
    for i, column in enumerate(loadings.T):
        used = np.flatnonzero(column)
        raw = column[used] / scale[used]
        # Units from 1e-150 to 1e150 may meet in one rule: no square must overflow.
        largest = float(np.abs(raw).max())
        raw = raw / largest
        length = float(np.linalg.norm(raw))
        variance = float(column[used] @ covariance[np.ix_(used, used)] @ column[used])
        # Below this a covariance in float64 cannot tell a tight rule from an exact one.
        unresolved = unresolved_variance(np.abs(column), covariance)
        widening = None if widenings is None else widenings[i]
        if widening is None and n_rows is not None:
            parts = column[used] ** 2 * variances[used]
            widening = expected_widening(max(variance, unresolved), parts, n_rows, varying)
        limit = None if limits is None else limits[i]
        rules.append(
            Rule(
                features=tuple(names[j] for j in used),
                coefficients=frozen(raw / length),
                means=frozen(mean[used]),
                deviations=frozen(deviations[used]),
                spread=float(np.sqrt(max(variance, unresolved))) / length / largest,
                limit=None if limit is None else limit / length / largest,
                exact=variance <= unresolved,
                certificate=certificate,
                widening=widening,
                canonical=canonical,
                origins=tuple(origins[j] for j in used) if origins else (),
            )
        )
    return tuple(rules)


def unresolved_variance(size: Floats, covariance: Floats) -> float:
    """The variance of a rule with loadings of this size (p,) that rounding of the covariance alone may show."""
    return float(4.0 * size.size * np.finfo(np.float64).eps * (size @ np.abs(covariance) @ size))


def unresolved_variances(loadings: Floats, covariance: Floats) -> Floats:
    """The same for each column of loadings (p, d)."""
    return np.array([unresolved_variance(np.abs(column), covariance) for column in loadings.T])
