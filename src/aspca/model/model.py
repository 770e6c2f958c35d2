"""The model: rules of a table, the score made of them, its limits. Frozen, and all that judging rows needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aspca.identities.identity import NO_IDENTITIES, Identities
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.model.components import Components
from aspca.model.evidence import Evidence
from aspca.model.judgement import Judgement, squared
from aspca.model.projector import Projector, Rows
from aspca.model.thresholds import Thresholds, conformal_p_values, find_roundings
from aspca.moments import Moments
from aspca.moments.space import ScaledSpace
from aspca.preparation import Preparation
from aspca.preparation.cell_format import NO_FORMAT, CellFormat
from aspca.rules.chance import measure_widening
from aspca.rules.forward import MOST_TERMS, WIDE, finds_short_only
from aspca.rules.rule import AnyRule, Rule
from aspca.rules.table import RuleTable
from aspca.settings import Settings
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.subspace import SparseSubspace

if TYPE_CHECKING:
    from aspca.model.outliers import Excluded
    from aspca.moments import IncompleteMoments, Moments

# Rows judged at once where only their scores are kept.
_PART = 8192


@dataclass(frozen=True, eq=False)
class Gaps:
    """What was missing in the rows that a model was fitted to."""

    missing: Ints  # (p,): how many values of each feature
    iterations: int  # steps of the estimate of mean and covariance from the values that are there
    converged: bool
    left_out: int  # rows that took no part in it


def complete_moments(known: Moments | IncompleteMoments) -> tuple[Moments, Gaps | None]:
    """The moments to fit to rows, and what was missing; None where nothing may be."""
    if isinstance(known, Moments):
        return known, None
    found = known.completed()
    return found.moments, Gaps(known.n_missing, found.iterations, found.converged, found.n_rows_left_out)


@dataclass(frozen=True, eq=False)
class Model:
    """Rules of a table, and what judges rows by them."""

    settings: Settings  # what was asked for
    # how tables are made into the model's features; the identity where their columns are the features
    preparation: Preparation
    space: ScaledSpace  # the features, centred and scaled
    # the paper's: orthonormal, certified; solved when they are asked for, where readable rules judge
    components: Components
    table: RuleTable  # the rules that judge: readable ones, or the components themselves for the paper's scores
    thresholds: Thresholds
    moments: Moments | None  # all that was kept of the data; None where a model file left some of it out
    # (m,): spread of each rule on rows kept out of the fit over its spread on the training rows, where it was measured
    widenings: Floats | None = None
    gaps: Gaps | None = None  # what was missing in the training rows
    excluded: Excluded | None = None  # cells of them that relations were not learned from; None where nobody looked
    # (g,): of the rules that were given, the share of the training rows that keep each; None where nobody looked
    kept: Floats | None = None
    reading: tuple[str, ...] = ()  # what was guessed when their numbers were read, in sentences
    cell_format: CellFormat = NO_FORMAT  # how their cells are written: other rows are read in the same way
    # exact relations, which judge first; the columns that they determine have no part in the table
    identities: Identities = NO_IDENTITIES
    evidence: Evidence | None = None  # tail models, by which rows are judged; None where components judge

    @property
    def names(self) -> tuple[str, ...]:
        """One per feature."""
        return self.space.names

    @property
    def subspace(self) -> SparseSubspace:
        """The components with their certificates."""
        return self.components.subspace()

    @property
    def loadings(self) -> Floats:
        """The components (p, d), orthonormal."""
        return self.subspace.loadings

    @property
    def allows_gaps(self) -> bool:
        """Whether values may be missing."""
        return self.preparation.missing == "allow"

    @property
    def n_identities(self) -> int:
        """The first so many of `rules`; the others are those of `table`."""
        return len(self.identities)

    @cached_property
    def determined(self) -> Bools:
        """Which features (p,) neither rules nor what lies outside of them look at, since identities determine them."""
        determined = np.zeros(len(self.names), dtype=np.bool_)
        determined[list(self.identities.determined)] = True
        # One that the user's own rule speaks of is looked at.
        return determined & ~self.table.loadings.any(axis=1)

    def rule_columns(self, rule: int) -> Ints:
        """Positions of the features of a rule, by its number."""
        if rule < self.n_identities:
            return np.array(self.identities.identities[rule].columns, dtype=np.intp)
        return np.flatnonzero(self.table.loadings[:, rule - self.n_identities])

    @cached_property
    def rule_spreads(self) -> Floats:
        """What deviations from each rule are counted in: their spreads; of identities, tolerances."""
        return np.concatenate([np.ones(self.n_identities), np.sqrt(self.table.variances)])

    @property
    def rule_limits(self) -> Floats:
        """The squared deviation above which each rule is broken."""
        return np.concatenate([np.where(self.identities.accusing, 1.0, np.inf), self.thresholds.rules])

    @property
    def threshold(self) -> float:
        """Score above which a row is an anomaly; refused while it waits for rows."""
        if self.thresholds.total is None:
            raise ValueError(
                f"{self.settings.words} takes its threshold from scores of rows that this model does not hold: call "
                'calibrate(X) with such rows, or use limit="auto".'
            )
        return self.thresholds.total.value

    @cached_property
    def roundings(self) -> Floats:
        """The squared deviation from each relation (m,) that rounding of the values alone can produce."""
        return find_roundings(self.space, self.table)

    @cached_property
    def component_weights(self) -> Floats:
        """What deviations from components (m,) are multiplied by before their squares are scores."""
        if self.settings.score == "spe":
            return np.ones(len(self.table))
        # Where nothing varies at all there are no units to be found.
        return np.asarray(1.0 / np.sqrt(np.where(self.table.variances > 0.0, self.table.variances, 1.0)))

    # ---- judging

    def judge(self, X: Rows) -> Judgement:
        """The verdict on rows (n, p), the same for a row in any company; NaN is a value that is missing."""
        # In parts of whole blocks: what is made of one is still in the cache when it is needed again.
        at_once = self._projector(self.table.loadings).rows_at_once
        step = -(-2048 // at_once) * at_once
        starts = range(0, max(len(X), 1), step)
        return Judgement.joined((self._judge(X[start : start + step]) for start in starts), len(X))

    def _judge(self, X: Rows) -> Judgement:
        values = np.asarray(X, dtype=np.float64)
        if self.evidence is None:
            return self._judge_by_components(values)
        return self._judge_by_evidence(values, self.evidence)

    def _judge_by_components(self, X: Floats) -> Judgement:
        """By squares; those of components that cannot be computed count as the others do on average."""
        deviations = self.deviate(X)
        known = ~np.isnan(deviations)
        contributions = squared(np.nan_to_num(deviations) * self.component_weights)
        usual = self.table.variances * np.square(self.component_weights)
        if not known.all():
            there = known.astype(np.float64) @ usual
            contributions *= np.where(there > 0.0, usual.sum() / np.where(there > 0.0, there, 1.0), 1.0)[:, None]
        scores = contributions.sum(axis=1)
        with np.errstate(invalid="ignore"):
            broken = squared(deviations) > self.thresholds.rules
        total = self.thresholds.total
        anomalies = None if total is None else scores > total.value
        return Judgement(scores, contributions, np.zeros(len(X)), deviations, broken, anomalies)

    def deviate(self, X: Rows) -> Floats:
        """Deviations from relations (n, m) of rows (n, p) in the scaled space; NaN where a value is missing."""
        missing = np.isnan(X)
        gaps = bool(missing.any())
        found = self._projector(self.table.loadings).project(np.where(missing, self.space.mean, X) if gaps else X)
        if gaps:
            found[missing.astype(np.float64) @ (self.table.loadings != 0.0) > 0.0] = np.nan
        return np.asarray(found)

    def beyond_rounding(self, deviations: Floats) -> Floats:
        """Deviations (n, m), from exact relations but for what rounding may do."""
        rounding = np.where(self.table.exact, np.sqrt(self.roundings), 0.0)
        return np.asarray(np.sign(deviations) * np.maximum(np.abs(deviations) - rounding, 0.0))

    def _judge_by_evidence(self, X: Floats, evidence: Evidence) -> Judgement:
        multiples, deviations = self.identities.multiples(X), self.deviate(X)
        beyond = self.beyond_rounding(deviations)
        p_values = [one.p_values(multiples[:, k])[:, None] for k, one in enumerate(self.identities)]
        identity_p = np.hstack([np.empty((len(X), 0)), *p_values])
        cells = evidence.confirm_cells(evidence.cells(X), self.identities.confirm(multiples, X.shape[1]))
        parts = evidence.parts(identity_p, self.identities.accusing, beyond, cells)
        with np.errstate(invalid="ignore"):
            broken = (np.abs(multiples) > 1.0) & self.identities.accusing
            broken = np.hstack([broken, squared(np.nan_to_num(deviations)) > self.thresholds.rules])
            used = self.table.loadings[evidence.columns] != 0.0
            parts = parts.assign_to_relations(broken[:, self.n_identities :], used)
        # So that sums of a few stay finite.
        scores = np.minimum(parts.scores, 1e300)
        total, error = self.thresholds.total, self.thresholds.error
        return Judgement(
            scores=scores,
            contributions=np.hstack([parts.identities, parts.relations]),
            outside=parts.outside,
            deviations=np.hstack([multiples, deviations]),
            broken=broken,
            anomalies=None if total is None else scores > total.value,
            errors=None if error is None else scores > error,
            p_values=None if evidence.law is None else evidence.law.p_values(parts.scores),
        )

    def p_values(self, X: Rows) -> Floats:
        """P-values (n,) of rows (n, p); refused where there is nothing to compare with."""
        if self.thresholds.calibration is not None:
            return conformal_p_values(self.thresholds.calibration, self.score(X))
        if self.evidence is None or self.evidence.law is None or self.settings.limit == "conformal":
            raise ValueError(
                "p-values compare a row with rows that were not fitted, which this model does not hold: fit rows with "
                'the limit "auto", or set limit="conformal" and call calibrate(X) with rows kept out of the fit.'
            )
        return self.evidence.law.p_values(self.score(X))

    def score(self, X: Rows) -> Floats:
        """Scores (n,) of rows (n, p), in memory that does not grow with the rows."""
        parts = [self.judge(X[start : start + _PART]).scores for start in range(0, len(X), _PART)]
        return np.concatenate(parts) if parts else np.empty(0)

    def decision(self, X: Rows) -> Floats:
        """Negative for anomalies (n,): the threshold less the score."""
        return np.asarray(self.threshold - self.score(X))

    def project(self, X: Rows) -> Floats:
        """Projections (n, d) of rows (n, p) on the components; NaN for those of which a value is missing."""
        plain = self.space.plain
        projector = Projector(plain.centre, plain.residual, plain.scale, self.loadings)
        if not self.allows_gaps:
            return projector.project(X)
        missing = np.isnan(X)
        projections = projector.project(np.where(missing, plain.mean, X))
        projections[missing.astype(np.float64) @ (self.loadings != 0.0) > 0.0] = np.nan
        return projections

    def _projector(self, loadings: Floats) -> Projector:
        return Projector(self.space.centre, self.space.residual, self.space.scale, loadings)

    # ---- limits

    def calibrated(self, X: Rows, weights: Floats | None = None) -> Model:
        """The same model, its threshold taken from the scores of rows (n, p), where it rests on these."""
        if not self.settings.needs_rows:
            return self
        return replace(self, thresholds=self.thresholds.from_scores(self.settings, self.score(X), weights))

    def checked(self, X: Rows) -> Model:
        """The same model, its rules checked on rows (n, p) that took no part in the fit."""
        spreads = np.sqrt(self.table.variances)
        deviations = self.judge(X).deviations[:, self.n_identities :]
        return replace(self, widenings=measure_widening(deviations, spreads))

    # ---- what it says

    @cached_property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules that judge, in the original names and units: identities first."""
        return (*self.identities.identities, *self.relations)

    @cached_property
    def relations(self) -> tuple[Rule, ...]:
        """Those with noise."""
        limits = np.sqrt(self.thresholds.rules)
        return tuple(
            self.table.rule(
                k,
                self.space,
                limit=float(limits[k]),
                widening=None if self.widenings is None else float(self.widenings[k]),
                certificate=self._certificate,
                kept=float(self.kept[k]) if self.kept is not None and k < self.kept.size else None,
            )
            for k in range(len(self.table))
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what it cannot be trusted with; none where there were rows enough."""
        return (*find_warnings(self.space), *self.identities.unsearched)

    @property
    def _certificate(self) -> tuple[Certificate, ...]:
        """Of the components, where these are the rules: readable ones are found without a proof."""
        if self.evidence is not None:
            return ()
        return self.subspace.certificates[-self.components.n_components :]


def find_warnings(space: ScaledSpace) -> Iterator[str]:
    """Sentences about what the rows are too few, or the columns too many for; none where all is well."""
    # Rows per column from which on planted rules are found (benchmarks/silence.py) and limits mostly right (limits.py).
    enough = 3
    p, n, effective = space.n_varying, space.n_rows, space.effective_sample_size
    if finds_short_only(space):
        why = f"more than {WIDE}" if p > WIDE else f"as many as rows or more ({n:,})"
        yield (
            f"Of {p:,} columns, {why}, only rules of at most {MOST_TERMS + 1} columns were looked for; what "
            "longer ones would say is judged outside of the rules: learn from fewer columns at once to find them."
        )
    if effective < enough * p:
        dependent = f" that follow each other are worth {effective:,.0f}, which" if n >= enough * p else ""
        yield (
            f"{n:,} rows{dependent} are few for {p:,} column{'s' * (p != 1)}: relations may be missed, and rows may be "
            f"flagged far more or less often than the level says; learn from at least {enough} rows a column."
        )
