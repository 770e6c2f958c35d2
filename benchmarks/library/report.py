"""One way of printing: Markdown tables, goals beside the figures they are about, and the same as JSON.

    with Report(options.json) as report:
        report.table("p = 10", [{"": "ours", "AUC": Goal(0.97, least=0.96)}, {"": "Mahalanobis", "AUC": 0.96}])

prints a figure with a goal as ``0.970 (>= 0.960)``, and where it is missed ``0.950 (>= 0.960: NOT reached)``. At the
end come the number of goals, and every one that was not reached.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class Goal:
    """A figure and what it should be: at least this, or at most that."""

    value: float
    least: float | None = None
    most: float | None = None

    @property
    def reached(self) -> bool:
        """A figure that is not a number reaches nothing; rounding of the last bits is nobody's loss."""
        slack = 1e-9
        return bool(
            (self.least is None or self.value >= self.least - slack)
            and (self.most is None or self.value <= self.most + slack)
            and not np.isnan(self.value)
        )

    def words(self, digits: int) -> str:
        """As in ``>= 0.960``."""
        marks = ((">=", self.least), ("<=", self.most))
        return " and ".join(f"{sign} {_number(mark, digits)}" for sign, mark in marks if mark is not None)


Cell = str | float | int | bool | Goal | None
Row = Mapping[str, Cell]


class Report:
    """Prints tables as they come; writes all of them, and the goals, to `json_path` at the end."""

    def __init__(self, json_path: Path | None = None) -> None:
        self._path = json_path
        self._tables: list[dict[str, Any]] = []
        self._goals: list[tuple[str, Goal, int]] = []
        self._details: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._close()

    def say(self, text: str) -> None:
        """A paragraph."""
        print(f"\n{text}", flush=True)

    def detail(self, name: str, value: Any) -> None:
        """What only the JSON file holds."""
        self._details[name] = value

    def goal(self, words: str, goal: Goal, digits: int = 3) -> None:
        """A goal by itself, as one line."""
        self._goals.append((words, goal, digits))
        said = "reached" if goal.reached else "NOT reached"
        print(f"- {words}: {_number(goal.value, digits)}, goal {goal.words(digits)}: {said}", flush=True)

    def table(
        self,
        title: str,
        rows: Sequence[Row],
        *,
        digits: int | Mapping[str, int] = 3,
        best_of: Collection[str] = (),
        fewer: Collection[str] = (),
        plain: Collection[str] = (),
        bold: Collection[str] = (),
    ) -> None:
        """A Markdown table, a line per row; the first column says what a row is.

        `digits` after the point, one number or by column. Of the rows named in `best_of` the best figure of a column is
        bold (the smallest in the columns `fewer`, none in the columns `plain`); so are the names in `bold`.
        """
        columns = list(dict.fromkeys(name for row in rows for name in row))
        places = {name: digits if isinstance(digits, int) else digits.get(name, 3) for name in columns}
        ranked = [name for name in columns[1:] if name not in plain]
        best = {name: _best(rows, columns[0], name, best_of, name in fewer) for name in ranked}
        if title:
            print(f"\n{title}\n")
        print(_line(columns))
        print(_line(["---", *["--:"] * (len(columns) - 1)]))
        for row in rows:
            label = str(row[columns[0]])
            cells = [f"**{label}**" if label in bold else label]
            for name in columns[1:]:
                text = _text(row.get(name), places[name])
                mine = label in best_of and best.get(name) is not None and _value(row.get(name)) == best[name]
                cells.append(f"**{text}**" if mine else text)
            print(_line(cells))
        print(end="", flush=True)
        for row in rows:
            for name in columns[1:]:
                cell = row.get(name)
                if isinstance(cell, Goal):
                    where = ", ".join(part for part in (title, str(row[columns[0]]), name) if part)
                    self._goals.append((where, cell, places[name]))
        figures = [{name: _plain(cell) for name, cell in row.items()} for row in rows]
        self._tables.append({"title": title, "rows": figures})

    def _close(self) -> None:
        missed = [(where, goal, digits) for where, goal, digits in self._goals if not goal.reached]
        if self._goals:
            print(f"\nGoals: {len(self._goals) - len(missed)} of {len(self._goals)} reached.", flush=True)
        for where, goal, digits in missed:
            print(f"- NOT reached: {where}: {_number(goal.value, digits)}, goal {goal.words(digits)}")
        if self._path is not None:
            goals = [{"where": where, **_plain(goal)} for where, goal, _ in self._goals]
            everything = {"tables": self._tables, "goals": goals, **self._details}
            self._path.write_text(json.dumps(everything, indent=1, default=_plain) + "\n", encoding="utf-8")


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option that every benchmark has."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there as well")


def _best(rows: Sequence[Row], key: str, name: str, of: Collection[str], fewer: bool) -> float | None:
    values = [_value(row.get(name)) for row in rows if row[key] in of]
    numbers = [value for value in values if value is not None and not np.isnan(value)]
    return (min(numbers) if fewer else max(numbers)) if numbers else None


def _value(cell: Cell) -> float | None:
    if isinstance(cell, Goal):
        return cell.value
    return None if cell is None or isinstance(cell, str) else float(cell)


def _text(cell: Cell, digits: int) -> str:
    if not isinstance(cell, Goal):
        return _number(cell, digits)
    missed = "" if cell.reached else ": NOT reached"
    return f"{_number(cell.value, digits)} ({cell.words(digits)}{missed})"


def _number(cell: str | float | int | bool | None, digits: int) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if isinstance(cell, int | np.integer):
        return f"{int(cell):,}"
    return "-" if np.isnan(cell) else f"{cell:,.{digits}f}"


def _plain(cell: Any) -> Any:
    """What JSON can hold."""
    if isinstance(cell, Goal):
        return {"value": float(cell.value), "least": cell.least, "most": cell.most, "reached": cell.reached}
    if isinstance(cell, np.generic):
        return cell.item()
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    return str(cell) if isinstance(cell, Path) else cell


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
