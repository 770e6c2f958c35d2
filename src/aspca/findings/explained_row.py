"""One row of an explanation, and how rows are found: by what they are called, or by where they stand."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.escaping import quoted
from aspca.findings.proposals import Value
from aspca.findings.row_text import row_text
from aspca.linalg.arrays import Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.rules.rule import AnyRule

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation

# Of rows that share a label, so many positions are told.
_POSITIONS_TOLD = 5


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedRow:
    """What an `Explanation` says of one row; printed, it is a few sentences.

    Attributes
    ----------
    explanation : Explanation
    position : int
        Where it stands among the rows explained, from 0.
    """

    explanation: Explanation
    position: int

    @property
    def label(self) -> object:
        """What the row is called."""
        return self.explanation.index[self.position]

    @property
    def score(self) -> float:
        return float(self.explanation.scores[self.position])

    @property
    def anomaly(self) -> bool:
        return bool(self.explanation.anomalies[self.position])

    @property
    def broken(self) -> tuple[AnyRule, ...]:
        """The rules that it breaks, those that make up most of its score first."""
        why = self.explanation
        order = np.argsort(-round_for_ranking(why.rule_contributions[self.position]), kind="stable")
        return tuple(why.rules[int(k)] for k in order if why.broken[self.position, k])

    @property
    def values(self) -> dict[str, Value]:
        """Its cells by column, as in the table."""
        original = self.explanation.original
        chosen = original.distinct(range(len(original.features))).tolist()
        return {original.features[j].column: original.value(self.position, j) for j in chosen}

    @property
    def text(self) -> str:
        """A few sentences about it."""
        return row_text(self.explanation, self.position)

    def needed(self, rule: int) -> dict[str, Value]:
        """What each column of a rule would need to be for it to hold, see `Explanation.needed`."""
        return self.explanation.needed_at(self.position, rule)

    def __repr__(self) -> str:
        return self.text


def has_labels(index: Sequence[object]) -> bool:
    """Whether rows are called something other than their positions."""
    return not (isinstance(index, range) and index == range(len(index)))


def position_of(index: Sequence[object], label: Any) -> int:
    """Where the row stands that is called `label`; where rows have no labels, `label` is its position.

    Raises
    ------
    ValueError
        No row, or several, are called so.
    """
    if not has_labels(index):
        return position_in(len(index), label)
    found = [position for position, name in enumerate(index) if _same(name, label)]
    if not found and isinstance(label, str):
        # Dates may be given as they are written.
        found = [i for i, name in enumerate(index) if hasattr(name, "strftime") and str(name).startswith(label)]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(map(str, found[:_POSITIONS_TOLD])) + (", ..." if len(found) > _POSITIONS_TOLD else "")
        raise ValueError(
            f"{_called(label)} names {len(found)} rows, at the positions {shown}: take one of them by its position, as "
            f"in explanation[{found[0]}]."
        )
    raise ValueError(
        f"No row is called {_called(label)}: rows are called by their labels, the first being {_called(index[0])}; "
        "by position, from 0, it is explanation[position]."
        if len(index)
        else f"There is no row {_called(label)}: no rows were explained."
    )


def position_in(n: int, row: Any) -> int:
    """A position among n rows, counted from 0, or from the end if negative."""
    try:
        position = operator.index(row)
    except TypeError:
        position = None
    if position is None or isinstance(row, bool | np.bool_):
        raise ValueError(f"A row is taken by its position, a whole number from 0 to {n - 1}, got {_called(row)}.")
    if not -n <= position < n:
        raise ValueError(f"There is no row {position}: {n} rows were explained, numbered from 0.")
    return position % n


def positions_in(n: int, key: Any) -> Ints:
    """The positions among n rows that a slice, a mask (n,) or a list of positions chooses."""
    if isinstance(key, slice):
        return np.arange(n, dtype=np.intp)[key]
    chosen = np.asarray(key)
    if chosen.ndim == 1 and not chosen.size:
        return np.empty(0, dtype=np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise ValueError(
            "Rows are taken by a position, a slice, a mask of truth values or a list of positions; by label it is "
            f"text(label), got {_called(key)}."
        )
    if chosen.dtype.kind != "b":
        return np.array([position_in(n, one) for one in chosen.tolist()], dtype=np.intp)
    if chosen.size != n:
        raise ValueError(f"The mask has {chosen.size} entries, but {n} rows were explained.")
    return np.flatnonzero(chosen)


def _same(name: object, label: object) -> bool:
    # True is 1 for Python, but no label 1.
    if isinstance(name, bool | np.bool_) != isinstance(label, bool | np.bool_):
        return False
    try:
        return bool(name == label)
    except (TypeError, ValueError):
        return False


def _called(label: object) -> str:
    return quoted(label) if isinstance(label, str) else quoted(label)[1:-1]
