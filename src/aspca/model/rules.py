"""Components as sentences in the original names and units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats, frozen
from aspca.model.coefficients import Equation, simplest_equation
from aspca.model.subspace import Certificate
from aspca.model.widening import expected_widening

# The numbers of a rule's text may be off by this share of its spread, wherever its features usually are.
ROUNDING_SHARE = 0.5
# A rule whose spread on new rows is more than this many times the one it promised was fitted to chance.
_WIDE = 2.0
_PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")


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
        return simplest_equation(self.coefficients, self.means, self.deviations, ROUNDING_SHARE * self.spread)

    @property
    def text(self) -> str:
        """As in ``D = A + C (± 0.1)``, ``total = a + b (exactly)`` or ``F = 3 (constant)``.

        Terms too small to matter are left out, what the features add up to at their means comes last, and names that
        are not plain words stand in brackets.
        """
        if self.constant:
            remark = "constant"
        elif self.exact:
            remark = "exactly"
        else:
            remark = f"± {number_text(float(f'{self.spread * self.equation.unit:.2g}'))}"
        return f"{self._equality()} ({remark})"

    def _equality(self) -> str:
        a, intercept = self.equation.coefficients, self.equation.intercept
        if not _reads_forward(a):
            a, intercept = -a, -intercept
        left = [_term(value, name) for value, name in zip(a, self.features, strict=True) if value > 0]
        right = [_term(value, name) for value, name in zip(a, self.features, strict=True) if value < 0]
        if not right:
            return f"{' + '.join(left)} = {number_text(intercept)}"
        text = f"{' + '.join(left)} = {' + '.join(right)}"
        return f"{text} {'+' if intercept > 0 else '-'} {number_text(abs(intercept))}" if intercept else text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Rule({self.text}{', canonical: no part of the score' if self.canonical else ''})"


def _reads_forward(a: Floats) -> bool:
    """Whether positive terms belong on the left.

    What stands alone does; of two that do, the one without a factor, or else the first. Where neither side is alone,
    the one with the largest coefficient.
    """
    above, below = a[a > 0], a[a < 0]
    if above.size == 0 or below.size == 0:
        return above.size > 0
    if above.size == 1 and below.size == 1:
        bare = float(above[0]) == 1.0, float(below[0]) == -1.0
        return bare[0] if bare[0] != bare[1] else bool(a[np.flatnonzero(a)[0]] > 0)
    if above.size == 1 or below.size == 1:
        return above.size == 1
    return float(above.max()) >= -float(below.min())


def _term(value: float, name: str) -> str:
    size = abs(value)
    return name_text(name) if size == 1.0 else f"{number_text(size)} {name_text(name)}"


def name_text(name: str) -> str:
    """A feature's name inside a sentence: in brackets unless it is a plain word, such as ``[disk % used]``.

    A bracket inside is doubled, and what cannot be printed is written as an escape, so that a sentence stays on its
    line and reads in one way only.
    """
    if _PLAIN_NAME.fullmatch(name):
        return name
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return f"[{printable.replace(']', ']]')}]"


def number_text(value: float) -> str:
    """The shortest decimal that is this float64, without an exponent where it is neither huge nor tiny."""
    if value == 0.0:
        return "0"
    if 1e-4 <= abs(value) < 1e15:
        return np.format_float_positional(value, trim="-")
    return f"{value:.17g}" if float(f"{value:.15g}") != value else f"{value:.15g}"


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
            )
        )
    return tuple(rules)


def unresolved_variance(size: Floats, covariance: Floats) -> float:
    """The variance of a rule with loadings of this size (p,) that rounding of the covariance alone may show."""
    return float(4.0 * size.size * np.finfo(np.float64).eps * (size @ np.abs(covariance) @ size))
