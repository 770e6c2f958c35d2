"""Components as sentences in the original names and units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, frozen

# A term that moves a rule by less than this share of its spread does not show in its text.
_VISIBLE = 0.1


@dataclass(frozen=True)
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
        terms = [
            (float(c), name if alone else f"{abs(c):.2g} {name}")
            for c, name, visible in zip(self.coefficients, self.features, shown, strict=True)
            if visible
        ]
        left = [text for c, text in terms if c > 0]
        right = [text for c, text in terms if c < 0]
        # What is left out stays at its mean.
        centre = float((self.coefficients * self.means)[shown].sum()) / unit
        if abs(centre) * unit < 0.5 * self.spread:
            centre = 0.0
        if not left:
            left, right, centre = right, [], -centre
        equation = f"{' + '.join(left)} = {' + '.join(right)}"
        if not right:
            equation += f"{centre:.4g}"
        elif centre != 0.0:
            equation += f" {'+' if centre > 0 else '-'} {abs(centre):.4g}"
        return f"{equation} (± {self.spread / unit:.2g})"


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
        rules.append(
            Rule(
                features=tuple(names[j] for j in used),
                coefficients=frozen(raw / length),
                means=frozen(mean[used]),
                deviations=frozen(deviations[used]),
                spread=float(np.sqrt(max(variance, 0.0))) / length / largest,
            )
        )
    return tuple(rules)
