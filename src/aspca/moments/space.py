"""The scaled space, where rules live: the features of a table, centred and divided by their scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import EPS, FARTHEST, SMALL_SCALE, SMALLEST_DEVIATION, Bools, Floats, Ints, frozen
from aspca.linalg.small import compute_typical_variance, is_thin
from aspca.moments.autocorrelation import count_effective_rows
from aspca.moments.blocks import CONTINUOUS, slice_for_cache
from aspca.moments.moments import Moments
from aspca.moments.validation import column_name
from aspca.preparation.feature import Feature

# How many roundings a value may have gone through on its way here.
_ROUNDINGS = 8.0
# Rows per direction from which on the lack of rows explains nothing.
_MANY_ROWS = 5
# With fewer rows per feature than this a covariance has directions that look tight for want of rows, whatever they are.
_FEW_ROWS = 2
# So many features more than directions are asked first whether they span these.
_SPARE = 32


@dataclass(frozen=True, eq=False)
class ScaledSpace:
    """What is known of the training rows in units in which features can be compared; arrays are (p,)."""

    features: tuple[Feature, ...]  # p, what each is in the table
    centre: Floats
    residual: Floats  # the mean is centre + residual, see `Moments`
    scale: Floats  # what centred columns are divided by
    variances: Floats  # of the scaled columns
    known_covariance: Floats | None  # (p, p) of the scaled columns; None where a model file left it out
    n_rows: int
    weight: float
    largest: Floats  # size of each column's values, in its own units, for what rounding may do to them
    nonnegative: Bools  # whether no value of the column is below zero
    decimals: Ints  # in which each column is given, see `Moments`
    # The largest squared deviation in units of the variance; of a private model file a power of four above it.
    peaks: Floats
    extremes: tuple[Floats, Floats] | None = None  # least and largest values; None where a private file left them out
    autocorrelation: Floats | None = None  # see `moments.autocorrelation`; None where nobody looked
    # Where rows are not seen from their mean: how far each scaled value lies from what it would be seen from there.
    shift: Floats | None = None
    seen_from_mean: ScaledSpace | None = None  # the same space as it would be then

    @classmethod
    def of(
        cls, moments: Moments, scaling: str, features: tuple[Feature, ...], autocorrelation: Floats | None = None
    ) -> ScaledSpace:
        """The space of these moments."""
        return cls.scaled(moments, column_scale(moments, scaling), features, autocorrelation)

    @classmethod
    def scaled(
        cls, moments: Moments, scale: Floats, features: tuple[Feature, ...], autocorrelation: Floats | None = None
    ) -> ScaledSpace:
        """The space of these moments, scales given."""
        covariance = scaled_covariance(moments, scale)
        return cls(
            features=features,
            centre=moments.centre,
            residual=moments.residual,
            scale=frozen(scale),
            variances=frozen(np.diag(covariance)),
            known_covariance=covariance,
            n_rows=moments.n_rows,
            weight=moments.weight,
            largest=np.maximum(np.abs(moments.minimum), np.abs(moments.maximum)),
            nonnegative=moments.minimum >= 0.0,
            decimals=moments.decimals,
            peaks=compute_peaks(
                moments.centre + moments.residual, moments.minimum, moments.maximum, scale, np.diag(covariance)
            ),
            extremes=(moments.minimum, moments.maximum),
            autocorrelation=autocorrelation,
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def n_features(self) -> int:
        return int(self.centre.size)

    @property
    def covariance(self) -> Floats:
        """Of the scaled columns (p, p); refused in a sentence where it is not known."""
        if self.known_covariance is None:
            raise ValueError(
                "This model was saved with moments=False, so it does not hold the covariance of its features, which "
                "partial_fit and verify need: save it with moments=True where it was fitted, or fit again."
            )
        return self.known_covariance

    def moved(self, shift: Floats) -> ScaledSpace:
        """The same rows, seen from another point than their mean: their scaled values are larger by `shift` (p,)."""
        plain = self.plain
        covariance = plain.known_covariance
        return replace(
            plain,
            residual=frozen(plain.residual - shift * plain.scale),
            variances=frozen(plain.variances + shift**2),
            known_covariance=None if covariance is None else frozen(covariance + np.outer(shift, shift)),
            shift=frozen(shift),
            seen_from_mean=plain,
        )

    @property
    def plain(self) -> ScaledSpace:
        """Seen from the mean of the rows."""
        return self if self.seen_from_mean is None else self.seen_from_mean

    @property
    def mean(self) -> Floats:
        """The point that rows are seen from: their mean, unless it was moved."""
        return self.centre + self.residual

    @property
    def fitted_to(self) -> float:
        """How many rows the covariance rests on."""
        return max(self.weight, float(self.n_rows))

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviations of the columns in their own units (p,)."""
        return np.asarray(np.sqrt(self.variances) * self.scale)

    @cached_property
    def typical(self) -> float:
        """Variance of a typical feature, in the scaled space."""
        return compute_typical_variance(self.variances)

    @cached_property
    def n_varying(self) -> int:
        """How many features vary at all, at least one."""
        return max(1, int((self.variances > 0.0).sum()))

    @cached_property
    def rank(self) -> int:
        """Directions in which the training rows vary, as far as a covariance in float64 can tell."""
        return self._rank_of(np.flatnonzero(self.variances > 0.0))

    def _rank_of(self, features: Ints) -> int:
        roots = np.sqrt(self.variances[features])
        correlation = self.covariance[np.ix_(features, features)] / roots[:, None] / roots
        least = 4.0 * self.n_varying * EPS * self.n_varying
        return int((np.linalg.eigvalsh(correlation) > least).sum()) if len(roots) else 0

    def spans_more_than(self, directions: float) -> bool:
        """Whether `rank` exceeds this: of many features some, which span no more than all, may tell already."""
        varying = np.flatnonzero(self.variances > 0.0)
        if directions >= varying.size:
            return False
        some = varying[:: max(int(varying.size / (directions + _SPARE)), 1)]
        return (some.size < varying.size and self._rank_of(some) > directions) or self.rank > directions

    @cached_property
    def short_of_rows(self) -> bool:
        """Whether directions without variance may be due to too few rows; rows that repeat others count too."""
        return self.spans_more_than(self.fitted_to / _MANY_ROWS - 1.0)

    @cached_property
    def effective_sample_size(self) -> float:
        """How many independent rows the rows are worth: fewer where a typical column follows itself."""
        varying = self.lag1[self.variances > 0.0]
        return float(count_effective_rows(self.fitted_to, float(np.median(varying)) if varying.size else 0.0))

    @cached_property
    def shrinkage(self) -> float:
        """How much of the features' own variances is to be mixed into a covariance of few rows: features per row.

        Zero from two rows per feature on. Below, the smallest of its variances are next to nothing for want of rows,
        and in units of them every new row would be far out.
        """
        rows = self.effective_sample_size
        return self.n_varying / rows if rows < _FEW_ROWS * self.n_varying else 0.0

    @cached_property
    def effective_share(self) -> Floats:
        """The share of the rows that carry each column (p,): all of them unless it has heavier tails than Gaussian."""
        usual = 2.0 * np.log(max(self.fitted_to, 2.0))
        return np.asarray(usual / np.maximum(self.peaks, usual))

    @cached_property
    def without_largest(self) -> Floats:
        """The share of each column's variance (p,) that is left without its largest value."""
        return np.asarray(np.clip(1.0 - self.peaks / max(self.fitted_to - 1.0, 1.0), 0.0, 1.0))

    @cached_property
    def reaches(self) -> Floats:
        """How far from their mean values of each column may be (p,), in its own units: a power of two times its
        deviation, so that a private file knows as much."""
        return np.asarray(raise_to_powers_of_two(np.sqrt(self.peaks)) * self.deviations)

    @cached_property
    def lag1(self) -> Floats:
        """The lag-one correlation of each column (p,), zero where nobody looked."""
        return np.zeros(self.n_features) if self.autocorrelation is None else self.autocorrelation

    @cached_property
    def rounding(self) -> Floats:
        """How far rounding of its values may move a scaled feature (p,)."""
        return np.asarray(_ROUNDINGS * EPS * (self.largest / self.scale))

    @cached_property
    def steps(self) -> Floats:
        """The step in which each column is given, in the scaled space (p,); zero where there is none."""
        stepped = np.where(self.decimals < CONTINUOUS, 10.0 ** -np.minimum(self.decimals, CONTINUOUS), 0.0)
        # The step of a column is no step of its logarithm.
        plain = np.array([feature.kind in ("number", "boolean") for feature in self.features])
        return np.asarray(np.where(plain, stepped, 0.0) / self.scale)

    def centred(self, X: npt.NDArray[np.generic]) -> Floats:
        """Rows (n, p) centred and scaled; the mean in two steps, exact at large offsets."""
        scaled: Floats = np.subtract(X, self.centre, dtype=np.float64, casting="unsafe")
        scaled -= self.residual
        scaled /= self.scale
        if (self.scale < SMALL_SCALE).any():
            np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)
        return scaled


def refuse_vanishing(moments: Moments, names: Sequence[str]) -> None:
    """Raise for columns that vary by so little that the squares of what they vary by leave the range of float64.

    Between this and the largest value allowed, a table scaled by any power of two gives the same model.
    """
    scatter = np.diag(moments.scatter)
    least = np.minimum(scatter, scatter / moments.weight)
    bad = np.flatnonzero((moments.minimum < moments.maximum) & (least < SMALLEST_DEVIATION**2))
    if bad.size:
        others = f" (and {bad.size - 1} more)" if bad.size > 1 else ""
        raise ValueError(
            f"{column_name(int(bad[0]), names)}{others} varies by less than {SMALLEST_DEVIATION:g}, whose square "
            "float64 cannot hold; multiply the column (or the weights) by a constant, or leave it out."
        )


def column_scale(moments: Moments, scaling: str) -> Floats:
    """What each centred column is divided by (p,); 1 for a constant column.

    ``maxabs`` is the paper's: the largest distance from the mean, so that columns lie in [-1, 1];
    ``standard`` the standard deviation; ``none`` leaves the units alone.
    """
    variance = np.diag(moments.scatter) / moments.weight
    if scaling == "maxabs":
        above = (moments.maximum - moments.centre) - moments.residual
        below = (moments.minimum - moments.centre) - moments.residual
        scale = np.maximum(np.abs(above), np.abs(below))
    elif scaling == "standard":
        scale = np.sqrt(variance)
    else:
        scale = np.ones(moments.n_features)
    # A variance below the normal range of float64 has lost its digits: such a column counts as constant.
    vanished = variance < np.finfo(np.float64).tiny
    constant = (moments.minimum == moments.maximum) | vanished
    return np.where(constant, 1.0, scale)


def scaled_covariance(moments: Moments, scale: Floats) -> Floats:
    """Covariance of the scaled columns (p, p): the paper's A divided by n."""
    covariance = moments.covariance
    # A few rows at a time: no second and third p x p matrix.
    for rows in slice_for_cache(*covariance.shape):
        covariance[rows] /= np.outer(scale[rows], scale)
    return covariance


def compute_peaks(mean: Floats, minimum: Floats, maximum: Floats, scale: Floats, variances: Floats) -> Floats:
    """The largest squared deviation of each column in units of its variance (p,); zero where nothing varies."""
    farthest = np.maximum(maximum - mean, mean - minimum) / scale
    return np.asarray(np.where(variances > 0.0, farthest**2 / np.where(variances > 0.0, variances, 1.0), 0.0))


def raise_to_powers_of_two(sizes: Floats) -> Floats:
    """The least powers of two that are no smaller than these sizes (n,); 0 stays."""
    mantissa, exponent = np.frexp(sizes)
    return np.asarray(np.where(sizes > 0.0, np.ldexp(np.where(mantissa > 0.5, 1.0, 0.5), exponent), 0.0))


def unresolved_variances(loadings: Floats, covariance: Floats) -> Floats:
    """Per column of `loadings` (p, d), the variance that rounding of the covariance alone may show (d,)."""
    size = np.abs(loadings)
    if is_thin(loadings):
        spread = np.empty(size.shape[1])
        for k, column in enumerate(size.T):
            used = np.flatnonzero(column)
            spread[k] = column[used] @ np.abs(covariance[used[:, None], used]) @ column[used]
    else:
        spread = np.einsum("ij,ij->j", size, np.abs(covariance) @ size)
    return np.asarray(4.0 * len(loadings) * EPS * spread, dtype=np.float64)


def unresolved_variance(size: Floats, covariance: Floats) -> float:
    """The same for one direction, given the sizes of its loadings (p,)."""
    return float(unresolved_variances(size[:, None], covariance)[0])
