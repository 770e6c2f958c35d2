"""What a model file holds: the parts of a model without what follows from other parts, and without what is private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from aspca.identities import Identities, Identity
from aspca.identities.resolution import Resolution
from aspca.linalg.arrays import Floats
from aspca.model.columns import Scales, View
from aspca.model.components import Components
from aspca.model.evidence import Evidence
from aspca.model.model import Gaps, Model
from aspca.model.outliers import Excluded, ExcludedCells
from aspca.model.tails import Tail
from aspca.model.thresholds import Thresholds
from aspca.moments import Moments
from aspca.moments.space import ScaledSpace, raise_to_powers_of_two
from aspca.preparation import Preparation
from aspca.preparation.cell_format import CellFormat
from aspca.rules.table import RuleTable
from aspca.rules.user_rules import GivenRule, is_linear, parse_linear_rules
from aspca.settings import SETTINGS, Settings
from aspca.sparse_pca.subspace import SparseSubspace

# Fields that no file holds, and what they are until a model is made.
OMITTED: dict[type, dict[str, Any]] = {
    ScaledSpace: {"features": (), "autocorrelation": None, "seen_from_mean": None},
    SparseSubspace: {"witness": None, "lifted_names": None, "lifted_covariance": None},
    RuleTable: {"given": ()},
    Identity: {"table": (), "resolutions": ()},
}


@dataclass(frozen=True, eq=False)
class Contents:
    """The fields of a model file; see `aspca.model.model.Model` for most of them."""

    private: bool
    naming: str  # where names come from: the "table" fitted, a caller ("given"), or nowhere ("none")
    package: str  # the version that wrote it
    preparation: Preparation
    gaps: Gaps | None
    settings: Settings
    space: ScaledSpace  # seen from the mean; of moments without the covariance, which follows from these
    scatter: Floats | None  # of the moments, where all of them are kept
    components: int | SparseSubspace  # how many, where nobody has asked for them
    rules: RuleTable
    holds: tuple[bool, ...]  # of the rules given that are no identities, whether rows keep each
    kept: Floats | None
    resolutions: tuple[Resolution, ...]  # in what columns are written, where there are identities
    identities: Identities
    sentences: tuple[str, ...]  # the identities in words
    thresholds: Thresholds
    evidence: Evidence | None
    widenings: Floats | None
    excluded: Excluded | None
    reading: tuple[str, ...]
    cell_format: CellFormat

    @classmethod
    def of(cls, model: Model, *, naming: str, package: str, private: bool, moments: bool) -> Contents:
        """Those of a model; what one read from a file does not hold stays out of the next file too."""
        private = private or model.space.extremes is None
        plain, identities = model.space.plain, model.identities.identities
        evidence = None if model.evidence is None or model.evidence.law is None else model.evidence
        scatter = model.moments.scatter if moments and not private and model.moments is not None else None
        # Whole numbers that came as 3.0.
        whole = {one.name: getattr(model.settings, one.name) for one in SETTINGS if one.whole}
        whole = {name: int(value) if isinstance(value, float | np.floating) else value for name, value in whole.items()}
        found = cls(
            private=private,
            naming=naming,
            package=package,
            preparation=model.preparation,
            gaps=model.gaps,
            settings=replace(model.settings, **whole),
            # A private file has no moments to fit further; the covariance is what verify needs of it.
            space=replace(
                plain, shift=model.space.shift, known_covariance=plain.known_covariance if moments and private else None
            ),
            scatter=scatter,
            # Whoever asks for them finds them from the moments.
            components=model.components.n_components if moments and model.components.solved is None else model.subspace,
            rules=model.table,
            holds=tuple(rule.holds for rule in model.table.given),
            kept=model.kept,
            resolutions=identities[0].resolutions if identities else (),
            identities=model.identities,
            sentences=tuple(identity.text for identity in identities),
            thresholds=model.thresholds,
            evidence=evidence,
            widenings=model.widenings,
            excluded=model.excluded,
            reading=model.reading,
            cell_format=model.cell_format,
        )
        return found.without_rows() if private else found

    def without_rows(self) -> Contents:
        """The same without what belongs to single rows: their values, scores, and sentences that quote them."""
        space, excluded, evidence = self.space, self.excluded, self.evidence
        # Exact sizes would be values: in powers of two they are not.
        peaks = np.square(raise_to_powers_of_two(np.sqrt(space.peaks)))
        return replace(
            self,
            space=replace(space, extremes=None, largest=raise_to_powers_of_two(space.largest), peaks=peaks),
            identities=replace(self.identities, quantiles=None),
            thresholds=replace(self.thresholds, calibration=None),
            excluded=None if excluded is None else replace(excluded, shown=ExcludedCells.none(), repeated=()),
            evidence=None if evidence is None else _without_quantiles(evidence),
            reading=(),
        )

    # ---- back to a model

    @cached_property
    def moments(self) -> Moments | None:
        """All that was kept of the data."""
        space = self.space
        if self.scatter is None or space.extremes is None:
            return None
        return Moments(
            space.weight, space.n_rows, space.centre, space.residual, self.scatter, *space.extremes, space.decimals
        )

    @cached_property
    def plain(self) -> ScaledSpace:
        """The space seen from the mean."""
        if self.moments is None:
            return replace(self.space, features=self.preparation.features, shift=None)
        return ScaledSpace.scaled(self.moments, self.space.scale, self.preparation.features)

    @cached_property
    def seen(self) -> ScaledSpace:
        """The space seen from the point that rows are judged from."""
        return self.plain if self.space.shift is None else self.plain.moved(self.space.shift)

    @cached_property
    def whole_identities(self) -> Identities:
        """The identities with what they are about."""
        about: dict[str, Any] = {"table": self.preparation.features, "resolutions": self.resolutions}
        return replace(self.identities, identities=tuple(replace(one, **about) for one in self.identities))

    @cached_property
    def written_rules(self) -> tuple[GivenRule, ...]:
        """The rules given that are no identities, from their texts; raises RuleError."""
        exact, features = {one.written for one in self.identities}, self.preparation.features
        # What is not linear, and no identity either, few rows satisfy: nothing is judged by it.
        return parse_linear_rules(
            [text for text in self.settings.rules if text not in exact and is_linear(text, features)], features
        )

    @cached_property
    def table(self) -> RuleTable:
        """The rules with those that were given."""
        pairs = zip(self.written_rules, self.holds, strict=True)
        return replace(self.rules, given=tuple(replace(rule, holds=holds) for rule, holds in pairs))

    def model(self) -> Model:
        """The model, of contents that were checked."""
        if isinstance(self.components, SparseSubspace):
            components = Components.of(self.components, self.settings)
        else:
            components = Components(self.settings, np.asarray(self.plain.covariance), self.components)
        return Model(
            self.settings,
            self.preparation,
            self.seen,
            components,
            self.table,
            self.thresholds,
            self.moments,
            self.widenings,
            self.gaps,
            self.excluded,
            self.kept,
            self.reading,
            self.cell_format,
            self.whole_identities,
            self.evidence,
        )


# ---- quantiles of columns in so coarse steps that they are no values of rows, and scores nearly the same

_STEPS, _DIGITS = 1000.0, 3


def _without_quantiles(evidence: Evidence) -> Evidence:
    moved = _coarse_scales(evidence.views[0].scales)[1]
    return replace(
        evidence,
        views=tuple(map(_coarse_view, evidence.views)),
        distance=replace(evidence.distance, mean=evidence.distance.mean + moved),
        ranges=tuple(None if tail is None else _coarse_tail(tail) for tail in evidence.ranges),
    )


def _coarse_view(view: View) -> View:
    """Columns standardised from medians in coarse steps; what is learned about them is moved with them."""
    scales, moved = _coarse_scales(view.scales)
    low, high = (_coarse(quantile + moved, 1.0) for quantile in (view.conditional.low, view.conditional.high))
    conditional = replace(view.conditional, mean=view.conditional.mean + moved, low=low, high=high)
    return replace(view, scales=scales, conditional=conditional)


def _coarse_scales(scales: Scales) -> tuple[Scales, Floats]:
    """Coarse scales, and by how much standardised values are larger then (q,)."""
    reaches = np.array([float(f"{reach:.{_DIGITS}g}") for reach in scales.reaches])
    further = scales.sides * np.log(scales.reaches / reaches)
    middles = _coarse(scales.middles + further, scales.units)
    moved = (scales.middles + further - middles) / scales.units + 0.0
    floors = _coarse(scales.floors + further, scales.units)
    return replace(scales, reaches=reaches, floors=floors, middles=middles), moved


def _coarse_tail(tail: Tail) -> Tail:
    unit = float(f"{tail.unit:.{_DIGITS}g}")
    middle = float(_coarse(np.array(tail.middle), unit))
    # The same places, seen from there.
    with np.errstate(over="ignore"):
        off = np.sign(tail.knots) * np.expm1(np.abs(tail.knots)) * (tail.unit / unit) + (tail.middle - middle) / unit
    knots = np.sign(off) * np.log1p(np.minimum(np.abs(off), 1e250))
    knots, first = np.unique(np.round(knots, _DIGITS) + 0.0, return_index=True)
    return Tail(middle, unit, knots, np.maximum.reduceat(tail.log_p, first), tail.slopes)


def _coarse(values: Floats, units: Floats | float) -> Floats:
    # No -0.0, which a second file would not have.
    return np.asarray(np.rint(values / units * _STEPS) / _STEPS * units + 0.0)
