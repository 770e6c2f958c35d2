"""Components as sentences in the original names and units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, frozen


@dataclass(frozen=True)
class Rule:
    """A linear relation that normal rows obey: coefficients . x = centre, give or take `spread`.

    `coefficients` (k,) belong to the original units of `features` and are scaled to unit length.
    """

    features: tuple[str, ...]
    coefficients: Floats
    centre: float
    spread: float

    def __str__(self) -> str:
        terms = ""
        for name, coefficient in zip(self.features, self.coefficients, strict=True):
            sign = "-" if coefficient < 0 else "+"
            size = "" if len(self.features) == 1 else f"{abs(coefficient):.2g} "
            terms += f" {sign} {size}{name}" if terms else f"{'-' if sign == '-' else ''}{size}{name}"
        centre = 0.0 if abs(self.centre) < 0.5 * self.spread else self.centre
        return f"{terms} = {centre:.3g} (± {self.spread:.2g})"


def rules_of(
    loadings: Floats, mean: Floats, scale: Floats, variances: Floats, names: tuple[str, ...]
) -> tuple[Rule, ...]:
    """One rule per column of `loadings` (p, d), from the scaled space back to the original units."""
    rules = []
    for column, variance in zip(loadings.T, variances, strict=True):
        used = np.flatnonzero(column)
        raw = column[used] / scale[used]
        length = float(np.linalg.norm(raw))
        rules.append(
            Rule(
                features=tuple(names[j] for j in used),
                coefficients=frozen(raw / length),
                centre=float((raw / length) @ mean[used]),
                spread=float(np.sqrt(max(variance, 0.0))) / length,
            )
        )
    return tuple(rules)
