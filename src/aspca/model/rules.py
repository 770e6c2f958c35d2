"""Components as sentences in the original names and units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, frozen

# A term that moves a rule by less than this share of its spread does not show in its text.
_VISIBLE = 0.1
# Rounding a number of the text may move the rule by this share of its spread.
_ROUNDED = 0.25


@dataclass(frozen=True, eq=False)
class Rule:
    """A linear relation that normal rows obey: coefficients . x = centre, give or take `spread`.

    Attributes
    ----------
    features : tuple of str
        The features it relates.
    coefficients : ndarray of shape (k,)
        In the original units of the features, scaled to unit length.
    means, deviations : ndarray of shape (k,)
        The features' own means and standard deviations.
    spread : float
        Standard deviation of coefficients . x over the training rows.
    """

    features: tuple[str, ...]
    coefficients: Floats
    means: Floats
    deviations: Floats
    spread: float

    @property
    def centre(self) -> float:
        """Mean of coefficients . x over the training rows."""
        return float(self.coefficients @ self.means)

    def __str__(self) -> str:
        """As in ``0.31 A + 0.31 B + 0.64 C = 0.63 D (± 0.04)``: terms too small to matter are left out."""
        moved = np.abs(self.coefficients) * self.deviations
        shown = moved >= min(_VISIBLE * self.spread, moved.max())
        alone = int(shown.sum()) == 1
        # A feature alone is measured in its own units.
        unit = abs(float(self.coefficients[shown][0])) if alone else 1.0
        # Rounding a coefficient must stay well inside the spread wherever the feature usually is.
        usual = float((np.abs(self.means) + 2.0 * self.deviations)[shown].max())
        slack = _ROUNDED * self.spread / max(usual, 1e-300)
        terms = [
            (float(c), name if alone else f"{_digits(abs(float(c)), slack)} {name}")
            for c, name, visible in zip(self.coefficients, self.features, shown, strict=True)
            if visible
        ]
        left = [text for c, text in terms if c > 0]
        right = [text for c, text in terms if c < 0]
        # What is left out stays at its mean.
        parts = (self.coefficients * self.means)[shown]
        centre = float(parts.sum())
        if abs(centre) <= max(0.5 * self.spread, 1e-12 * float(np.abs(parts).sum())) and len(terms) > 1:
            centre = 0.0
        if not left:
            left, right, centre = right, [], -centre
        equation = f"{' + '.join(left)} = {' + '.join(right)}"
        number = _digits(abs(centre) / unit, _ROUNDED * self.spread / unit)
        if not right:
            equation += ("-" if centre < 0 and float(number) > 0 else "") + number
        elif centre != 0.0:
            equation += f" {'+' if centre > 0 else '-'} {number}"
        return f"{equation} (± {self.spread / unit:.2g})"

    def __repr__(self) -> str:
        return f"Rule({self})"


def _digits(size: float, slack: float) -> str:
    """A non-negative number rounded by at most `slack`, to at least two and at most eight digits."""
    if size <= slack:
        return "0" if size < 0.5 * slack else f"{size:.1g}"
    needed = 8 if slack <= 0.0 else int(np.ceil(np.log10(0.5 / slack) + np.floor(np.log10(size)) + 1.0))
    text = f"{size:.{min(max(needed, 2), 8)}g}"
    return f"{float(text):.0f}" if "e+" in text and size < 1e9 else text


def rules_of(
    loadings: Floats, mean: Floats, scale: Floats, covariance: Floats, names: tuple[str, ...]
) -> tuple[Rule, ...]:
    """One rule per column of `loadings` (p, d), from the scaled space (`covariance`) back to the original units."""
    rules = []
    deviations = np.sqrt(np.diag(covariance)) * scale
    for column in loadings.T:
        used = np.flatnonzero(column)
        raw = column[used] / scale[used]
        # Units from 1e-150 to 1e150 may meet in one rule: no square must overflow.
        largest = float(np.abs(raw).max())
        raw = raw / largest
        length = float(np.linalg.norm(raw))
        variance = float(column @ covariance @ column)
        # Below this a covariance in float64 cannot tell a tight rule from an exact one.
        unresolved = unresolved_variance(np.abs(column), covariance)
        rules.append(
            Rule(
                features=tuple(names[j] for j in used),
                coefficients=frozen(raw / length),
                means=frozen(mean[used]),
                deviations=frozen(deviations[used]),
                spread=float(np.sqrt(max(variance, unresolved))) / length / largest,
            )
        )
    return tuple(rules)


def unresolved_variance(size: Floats, covariance: Floats) -> float:
    """The variance of a rule with loadings of this size (p,) that rounding of the covariance alone may show."""
    return float(4.0 * size.size * np.finfo(np.float64).eps * (size @ np.abs(covariance) @ size))
