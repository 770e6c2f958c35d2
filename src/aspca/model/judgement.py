"""One verdict per row, computed once: its score, what it is made of, the rules it breaks, and if it is an anomaly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.preparation.cell_format import BadCell

# Squares of deviations beyond this are as large as a sum of them may be.
_LARGEST = 1e150
VERDICTS = ("normal", "unusual", "error")


@dataclass(frozen=True, eq=False)
class Judgement:
    """Rows judged (n of them, by m rules)."""

    scores: Floats  # (n,): ``contributions.sum(axis=1) + outside``
    contributions: Floats  # (n, k + m): the part of each rule, never negative: of k identities, then of m relations
    outside: Floats  # (n,): the part of what lies outside the rules, never negative
    # (n, k + m): signed: from identities in multiples of the tolerance, from relations in the scaled space; NaN where a
    # value is missing that the rule cannot do without
    deviations: Floats
    broken: Bools  # (n, k + m): which rules are beyond their own limit
    anomalies: Bools | None  # (n,): the verdict; None while the threshold waits for rows
    errors: Bools | None = None  # (n,): which anomalies are errors; None where components judge
    p_values: Floats | None = None  # (n,): the same
    # (n,): tuples of `BadCell`, empty for most rows: what was not what its column holds when the row was read. Such a
    # row is an anomaly, whatever its score is. None where nothing was.
    bad_cells: npt.NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return int(self.scores.size)

    @property
    def has_bad_cells(self) -> Bools:
        """Which rows have such cells (n,)."""
        if self.bad_cells is None:
            return np.zeros(len(self), dtype=np.bool_)
        return np.array([bool(cells) for cells in self.bad_cells], dtype=np.bool_)

    def with_bad_cells(self, bad_cells: Sequence[tuple[BadCell, ...]]) -> Judgement:
        """The same, the rows that have such cells anomalies."""
        # Tuples of one length would make a matrix.
        found = replace(self, bad_cells=np.fromiter(bad_cells, dtype=object, count=len(self)))
        bad = found.has_bad_cells
        return replace(
            found,
            anomalies=None if self.anomalies is None else self.anomalies | bad,
            errors=None if self.errors is None else self.errors | bad,
        )

    def take(self, rows: Ints) -> Judgement:
        """The judgement of some of the rows."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {name: None if part is None else part[rows] for name, part in parts.items()}
        return Judgement(**taken)

    @classmethod
    def joined(cls, parts: Iterable[Judgement], n_rows: int) -> Judgement:
        """One after the other, at least one, of so many rows in all; no two of them are held at once."""
        whole: dict[str, Any] = {}
        start = 0
        for part in parts:
            if len(part) == n_rows:
                return part
            for field in fields(cls):
                array = getattr(part, field.name)
                if not start:
                    whole[field.name] = None if array is None else np.empty((n_rows, *array.shape[1:]), array.dtype)
                if array is not None:
                    whole[field.name][start : start + len(part)] = array
            start += len(part)
        return cls(**whole)

    @property
    def verdicts(self) -> list[str | None]:
        """In words: error, unusual or normal; None where the threshold waits for rows."""
        if self.anomalies is None:
            return [None] * len(self)
        errors = np.zeros(len(self), dtype=np.bool_) if self.errors is None else self.errors
        return [VERDICTS[grade] for grade in (self.anomalies.astype(np.intp) + (self.anomalies & errors)).tolist()]

    @property
    def share_of_rules(self) -> Floats:
        """The share of rules that could be computed (n,): below one where values were missing."""
        lacking = np.isnan(self.deviations).sum(axis=1)
        return np.asarray(1.0 - lacking / max(self.deviations.shape[1], 1))


def squared(deviations: Floats) -> Floats:
    """Squares that are finite, and whose sums are."""
    clipped = np.clip(deviations, -_LARGEST, _LARGEST)
    return np.asarray(np.square(clipped, out=clipped))


def multiples_of(squares: Floats, limits: Floats) -> Floats:
    """Squared deviations (n, m) in multiples of their limits (m,), as large as such a square at most."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(squares / np.maximum(limits, 1e-300), _LARGEST**2))
