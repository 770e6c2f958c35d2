"""The arrays behind explanations: judged rows, their scores split over rules and features, and what would be normal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aspca.findings.attribution import split_over_features
from aspca.findings.values import Original, Proposals, Value, round_estimate, shown_features, solve_identity
from aspca.identities import Repair
from aspca.identities.localize import apply_repairs as with_repairs
from aspca.identities.localize import localize
from aspca.linalg.arrays import Bools, Floats, Ints, round_for_ranking
from aspca.linalg.row_blocks import broadcast_rows, cached_parts, multiply_rows
from aspca.model.judgement import Judgement, multiples_of, squared
from aspca.preparation.cell_format import BadCell
from aspca.rules.rule import AnyRule

if TYPE_CHECKING:
    from aspca.model.model import Model


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedRows:
    """Rows (n, p) explained by m rules; see `Explanation`. What takes time is computed when it is asked for."""

    model: Model
    values: Floats
    judgement: Judgement
    index: Sequence[object]
    library: str = "pandas"
    filled: Bools | None = None

    def __len__(self) -> int:
        return len(self.values)

    # ---- the verdict

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        return self.model.rules

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.names

    @property
    def scores(self) -> Floats:
        return self.judgement.scores

    @property
    def rule_contributions(self) -> Floats:
        return self.judgement.contributions

    @property
    def outside(self) -> Floats:
        return self.judgement.outside

    def bad_cells(self, row: int) -> tuple[BadCell, ...]:
        """The cells of a row, by its position, that were not what their columns hold when it was read."""
        cells = self.judgement.bad_cells
        return () if cells is None else cells[row]

    @property
    def threshold(self) -> float | None:
        return None if self.model.thresholds.total is None else self.model.thresholds.total.value

    @property
    def anomalies(self) -> Bools:
        if self.judgement.anomalies is None:
            raise ValueError("This model has no threshold yet, so no row is an anomaly: call calibrate(X) first.")
        return self.judgement.anomalies

    @cached_property
    def errors(self) -> Bools:
        """Which of the anomalies are errors (n,); the others are unusual."""
        if self.judgement.errors is None:
            return self.anomalies & np.isin(np.arange(len(self)), list(self.repairs))
        return self.judgement.errors

    @property
    def verdicts(self) -> list[str | None]:
        """Of each row (n): error, unusual or normal; None while the threshold waits for rows."""
        return self.judgement.verdicts

    @property
    def p_values(self) -> Floats | None:
        """Of the rows (n,); None where they are not judged by tail models."""
        return self.judgement.p_values

    @property
    def broken(self) -> Bools:
        return self.judgement.broken

    @property
    def share_of_rules(self) -> Floats:
        """The share of the rules that each row was judged by (n,): below one where values were missing."""
        return self.judgement.share_of_rules

    # ---- the split

    @cached_property
    def feature_contributions(self) -> Floats:
        return split_over_features(self.model, self.values, self.judgement)

    @cached_property
    def shares(self) -> Floats:
        """Each rule's part of the score (n, m), 0 to 1; zero where the score is zero."""
        scores = self.scores[:, None]
        return np.divide(self.rule_contributions, scores, out=np.zeros_like(self.rule_contributions), where=scores > 0)

    @cached_property
    def multiples(self) -> Floats:
        """Each rule's squared deviation in multiples of its limit (n, m)."""
        return multiples_of(squared(self.judgement.deviations), self.model.rule_limits)

    @cached_property
    def deviations(self) -> Floats:
        units = np.linalg.norm(self.model.table.loadings / self.model.space.scale[:, None], axis=0)
        residuals = [identity.residual(self.values)[:, None] for identity in self.model.identities]
        return np.hstack([*residuals, self.judgement.deviations[:, self.model.n_identities :] / units])

    # ---- wrong cells

    @cached_property
    def repairs(self) -> dict[int, Repair]:
        return {repair.row: repair for repair in localize(self.model.identities, self.values)}

    @cached_property
    def likely_wrong(self) -> dict[int, tuple[int, float]]:
        """For every error that violates no identity, by its position, the feature that is most likely wrong and the
        value that its column, and the other columns of the row, let expect."""
        evidence, space = self.model.evidence, self.model.space
        if evidence is None or self.judgement.errors is None:
            return {}
        rows = np.array([row for row in np.flatnonzero(self.judgement.errors).tolist() if row not in self.repairs], int)
        if not rows.size:
            return {}
        columns = self._choose_wrong_columns(rows)
        X = self.values[rows].copy()
        X[np.arange(rows.size), columns] = np.nan
        wanted = evidence.expect(X)[np.arange(rows.size), columns]
        return {
            row: (j, round_estimate(value, int(space.decimals[j]), float(space.deviations[j])))
            for row, j, value in zip(rows.tolist(), columns.tolist(), wanted.tolist(), strict=True)
            if not np.isnan(value) and not np.isnan(self.values[row, j])
        }

    def _choose_wrong_columns(self, rows: Ints) -> Ints:
        """The column of each row that is most likely wrong: that of the largest part.

        Unless it stands in a broken relation and in one that is kept, and another of the broken one does not: then of
        these (Fellegi and Holt 1976: what is changed must break nothing that holds).
        """
        parts = round_for_ranking(self.feature_contributions[rows])
        columns = parts.argmax(axis=1)
        first = self.model.n_identities
        if not len(self.model.table):
            return np.asarray(columns)
        used = (self.model.table.loadings != 0.0).T.astype(np.float64)
        broken, known = self.broken[rows, first:], ~np.isnan(self.judgement.deviations[rows, first:])
        in_broken, in_kept = (those.astype(np.float64) @ used > 0.0 for those in (broken, known & ~broken))
        able = in_broken & ~in_kept
        doubtful = (in_broken & in_kept)[np.arange(rows.size), columns] & able.any(axis=1)
        return np.asarray(np.where(doubtful, np.where(able, parts, -1.0).argmax(axis=1), columns))

    # ---- what would be normal

    @cached_property
    def original(self) -> Original:
        """The rows in the terms of the table's columns."""
        return Original(self.model.space.features, self.values, self.filled)

    @cached_property
    def repaired(self) -> Floats:
        """Rows that obey every rule (n, p), in the units of `values`: wrong cells are what identities ask for, the free
        columns the nearest in the scaled space that obey the relations, and the others what follows from these."""
        back = np.asarray(np.linalg.pinv(self.model.table.loadings), dtype=np.float64)
        repaired = np.empty(self.values.shape)
        for part in cached_parts(*self.values.shape):
            deviations = self.judgement.deviations[part, self.model.n_identities :]
            moved = multiply_rows(np.nan_to_num(deviations, nan=0.0), back)
            broadcast_rows(np.multiply, moved, self.model.space.scale, moved)
            np.subtract(self.values[part], moved, out=repaired[part])
        if not self.model.n_identities:
            return repaired
        repaired = with_repairs(repaired, list(self.repairs.values()))
        # Columns that identities determine are what these ask for, where they are not kept.
        for identity, column in zip(self.model.identities, self.model.identities.determined, strict=False):
            with np.errstate(invalid="ignore"):
                off = np.abs(identity.multiples(repaired)) > 1.0
            if identity.accuses and off.any():
                wanted = identity.solve(repaired[off], column)
                repaired[off, column] = np.where(np.isfinite(wanted), wanted, repaired[off, column])
        return repaired

    @cached_property
    def proposals(self) -> Proposals:
        """What columns would have to be for rules to hold."""
        return Proposals.of(self.model)

    def needed_at(self, row: int, rule: int) -> dict[str, Value]:
        """For one rule, what each of its columns would need to be in the row at a position, the others as they are."""
        if rule not in range(len(self.rules)):
            raise ValueError(f"There is no rule {rule}: the model has {len(self.rules)}, numbered from 0.")
        chosen = self.original.distinct(self.model.rule_columns(int(rule)))
        return {self.original.features[j].column: self.needed_value(row, int(rule), j) for j in chosen.tolist()}

    def needed_value(self, row: int, rule: int, feature: int) -> Value:
        """The same for one feature of the rule."""
        deviation = self.judgement.deviations[row, rule]
        if np.isnan(deviation):
            return None
        relation = rule - self.model.n_identities
        if relation < 0:
            return solve_identity(self.model, rule, feature, self.values[row])
        value = self.proposals.wanted(relation, feature, self.values[row, [feature]], np.array([deviation]))
        return self.proposals.original(feature, float(value[0]), relation)

    def shown_features(self, rule: int) -> Ints:
        """Positions of the features in a rule's text, one per column."""
        return shown_features(self.model, rule)
