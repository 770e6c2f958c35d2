"""Columns that stand beside a row wherever it is told of: names, time, categories and label, as the table has them.

Labels are never learned from: they only tell, afterwards, how well a score did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from aspca.linalg.arrays import Bools, Floats
from aspca.preparation.columns import cell_text
from aspca.tables.errors import RequestError
from aspca.tables.table import Table, read_cells

Cells = tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True)
class Keys:
    """The key columns of a table."""

    ids: tuple[str, ...] = ()  # columns that name rows, together
    time: str | None = None
    categories: tuple[str, ...] = ()  # columns with a model for each category, or taken as categories
    label: str | None = None

    @property
    def roles(self) -> dict[str, str]:
        """What each column is, in the order in which they are told; of several roles the first counts."""
        named = {"id": self.ids, "time": (self.time,), "category": self.categories, "label": (self.label,)}
        found: dict[str, str] = {}
        for role, names in named.items():
            for name in names:
                if name is not None:
                    found.setdefault(name, role)
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.roles)

    def header(self, taken: Iterable[str]) -> list[str]:
        """The columns' names told apart from those that are taken, also where capitals do not count."""
        used = {name.lower() for name in taken}
        titles = []
        for name, role in self.roles.items():
            title = name
            while title.lower() in used:
                title = f"{role}: {title}"
            used.add(title.lower())
            titles.append(title)
        return titles

    def cells(self, table: Table) -> Iterator[Cells]:
        """Those of each row of a table, to be read beside batches of numbers; without end where there are no keys."""
        if not self.columns:
            return repeat(())
        return (tuple(map(simplify_cell, row)) for rows in table.cells(self.columns) for row in rows)

    def texts(self, cells: Cells) -> dict[str, str | None]:
        """The cells of a row by column, the same for a file and for a data frame of it; None where missing."""
        return dict(zip(self.columns, map(cell_text, cells), strict=True))

    def name(self, cells: Cells) -> str | None:
        """What a row is called: its ids; None where it has none of them."""
        found = [text for text in map(cell_text, cells[: len(self.ids)]) if text is not None]
        return ", ".join(found) or None


NO_KEYS = Keys()


def simplify_cell(cell: object) -> str | int | float | bool | None:
    """A cell as plain text, number or truth value: dates of a data frame become text, as a CSV file has them."""
    if isinstance(cell, np.datetime64):
        text = cell_text(cell)
        return None if text is None else text.replace("T", " ").removesuffix(".000000000").removesuffix(".000000")
    return cell if isinstance(cell, str | int | float | bool) or cell is None else cell_text(cell)


def split_names(table: Table, given: Iterable[str]) -> list[tuple[str, str]]:
    """Names of columns out of what was typed, each with its typed word: one name, or several with commas between. A
    column of exactly that name wins, also of one that holds commas."""
    known = {column.name for column in table.columns}
    found = []
    for typed in given:
        parts = [typed] if typed in known else typed.split(",")
        while parts:
            lengths = range(len(parts), 0, -1)
            length = next((n for n in lengths if ",".join(parts[:n]).strip() in known), 1)
            name, parts = ",".join(parts[:length]).strip(), parts[length:]
            found += [(name, typed)] if name else []
    return found


def find_ids(table: Table, given: Iterable[str]) -> tuple[str, ...]:
    """The columns that ``--id`` names; whether all of them are there is another question: see `find_keys`."""
    return tuple(dict.fromkeys(name for name, _ in split_names(table, given)))


# ---- labels


LABELLIKE = {"label", "labels", "class", "target", "y", "anomaly", "is_anomaly", "outlier", "attack"}
LABELLIKE |= {"kind", "diagnosis"}
NORMAL = ("normal", "normal.", "benign", "ok", "good", "inlier", "negative", "no", "false", "0", "0.0", "n", "b")


@dataclass(frozen=True)
class Evaluation:
    """How flagged rows and labels agree."""

    auc: float  # the chance that an anomaly scores higher than a normal row, ties counted half
    hits: int  # anomalies flagged
    misses: int  # anomalies not flagged
    false_alarms: int  # normal rows flagged
    passed: int  # normal rows not flagged
    meaning: str  # how the labels were read

    @property
    def precision(self) -> float | None:
        """Share of the flagged rows that are anomalies."""
        flagged = self.hits + self.false_alarms
        return self.hits / flagged if flagged else None

    @property
    def recall(self) -> float:
        """Share of the anomalies that are flagged."""
        return self.hits / (self.hits + self.misses)

    @property
    def text(self) -> str:
        """In a line."""
        precision = "" if self.precision is None else f", precision {self.precision:.3f}"
        return f"Against the labels: AUC {self.auc:.4f}{precision}, recall {self.recall:.3f}"


def read_labels(table: Table, column: str) -> tuple[Bools, str]:
    """Which rows of a table are anomalies (n,) by a column of labels, and in words how these were read.

    0 and 1, false and true, scikit-learn's 1 (normal) and -1, or words one of which says normal. RequestError if they
    cannot be read that way, some are missing, or all rows are of one kind.
    """
    cells = [None if cell is None else str(cell).strip() for cell in read_cells(table, column)]
    if None in cells:
        where = table.locate(cells.index(None))
        raise RequestError(f"--label: {where} has no label in column {column!r}; every row needs one.")
    values = sorted({str(cell) for cell in cells})
    if {value.removesuffix(".0") for value in values} == {"-1", "1"}:
        known = [value for value in values if not value.startswith("-")][:1]
    else:
        known = [value for value in values if value.lower() in NORMAL]
    # "no" beside "yes" is one thing, "0" beside "normal" nobody's labels.
    if len(known) != 1 or (known[0].lower() in ("b", "n") and len(values) > 2):
        shown = ", ".join(repr(value) for value in values[:6]) + (", ..." if len(values) > 6 else "")
        raise RequestError(
            f"--label: column {column!r} holds {shown}, of which one must say normal: use 0 and 1, false and "
            "true, or normal and any other word."
        )
    truth = np.array([cell != known[0] for cell in cells])
    if truth.all() or not truth.any():
        raise RequestError(
            f"--label: column {column!r} holds {values[0]!r} only, but both normal rows and anomalies are needed."
        )
    others = [value for value in values if value != known[0]]
    rest = repr(others[0]) if len(others) == 1 else f"the other {len(others)} values"
    return truth, f"{known[0]!r} is normal, {rest} an anomaly"


def evaluate(truth: Bools, scores: Floats, flagged: Bools, meaning: str) -> Evaluation:
    """How scores (n,) and flagged rows (n,) agree with the truth (n,)."""
    return Evaluation(
        auc=compute_auc(truth, scores),
        hits=int((truth & flagged).sum()),
        misses=int((truth & ~flagged).sum()),
        false_alarms=int((~truth & flagged).sum()),
        passed=int((~truth & ~flagged).sum()),
        meaning=meaning,
    )


def compute_auc(truth: Bools, scores: Floats) -> float:
    """Mann and Whitney's statistic: the mean rank of the anomalies, ties sharing theirs."""
    _, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[where]
    n, positives = truth.size, int(truth.sum())
    above = float(ranks[truth].sum()) - 0.5 * positives * (positives + 1)
    return above / (positives * (n - positives))
