"""The cells of an anomaly told: which are marked as at fault, and at which side, so that they say what the reasons say.

A column takes part in many things at once, and blame is put down to all of them. What is marked is what the row's
reasons speak of: a mark that no reason explains, or a side that the value beside it denies, would only be puzzled over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aspca.judging.breaks import Break, StandsOut
from aspca.judging.proposals import Value
from aspca.linalg.arrays import Floats
from aspca.report.naming import Naming
from aspca.report.summary import Cell

# Of the columns of a rule, so many are told.
COLUMNS = 12
# A column that is told of is marked from this share of the score on.
_MARKED = 0.1
# Where the rules that are told hold as much of the score as this, nothing else is marked.
_ALL_OF_IT = 0.9
# What a rule needs is shown from this share of the score on, and always of the first.
TELLING = 0.05
# An unusual value is at a side of the mean from so many deviations on: nearer, the mean as shown may be beyond it.
_ASIDE = 0.5


def cells_of(
    texts: Mapping[str, str | None],
    blame: Floats,
    broken: Sequence[Break],
    unusual: Sequence[StandsOut],
    naming: Naming,
) -> list[Cell]:
    """The whole row as it stands in the table.

    Parameters
    ----------
    blame : ndarray of shape (columns,)
        The share of the score that is put down to each.
    broken, unusual : sequences
        What is told of the row, that which matters most first.
    """
    marked = _marked(blame, broken, unusual, naming)
    sides = _sides(broken, unusual, naming)
    return [
        Cell(number, naming.cell(text), naming.rough(float(blame[number]), 3), number in marked, sides.get(number, ""))
        for number, text in enumerate(texts.values())
    ]


def _marked(blame: Floats, broken: Sequence[Break], unusual: Sequence[StandsOut], naming: Naming) -> set[int]:
    told = [naming.number[column] for each in broken for column in list(each.needed)[:COLUMNS]]
    if sum(each.share for each in broken) < _ALL_OF_IT:
        told += [naming.number[one.column] for one in unusual]
    return {column for column in told if blame[column] >= _MARKED or column == told[0]}


def _sides(broken: Sequence[Break], unusual: Sequence[StandsOut], naming: Naming) -> dict[int, str]:
    """By column, where it is beside every value that is shown for it; none where two of these lie on either side."""
    found: dict[int, set[str]] = {}
    for each in (one for one in broken if one is broken[0] or one.share >= TELLING):
        for column, (now, needed) in list(each.needed.items())[:COLUMNS]:
            found.setdefault(naming.number[column], set()).add(_beside(now, needed))
    for one in unusual:
        if _far(one.value, one.mean, one.deviation):
            found.setdefault(naming.number[one.column], set()).add(_beside(one.value, one.mean))
    told = {column: sides - {""} for column, sides in found.items()}
    return {column: next(iter(sides)) for column, sides in told.items() if len(sides) == 1}


def _far(value: Value, mean: float | None, deviation: float | None) -> bool:
    if not isinstance(value, float) or mean is None or deviation is None:
        return False
    return abs(value - mean) > _ASIDE * deviation


def _beside(now: Value, other: Value) -> str:
    """Of numbers, whether the first is the higher or the lower one."""
    if not isinstance(now, float) or not isinstance(other, float) or now == other:
        return ""
    return "high" if now > other else "low"


def most_telling(cells: list[Cell], broken: Sequence[Break], naming: Naming, room: int) -> tuple[Cell, ...]:
    """The cells that are shown of a wide row, in the order of the table."""
    if len(cells) <= room:
        return tuple(cells)
    named = {naming.number[column] for each in broken for column in list(each.needed)[:COLUMNS]}
    roles = list(naming.roles.values())
    order = sorted(
        cells,
        key=lambda cell: (
            not cell.marked,
            cell.column not in named,
            roles[cell.column] in ("feature", "not used"),
            -cell.blame,
        ),
    )
    return tuple(sorted(order[:room], key=lambda cell: cell.column))
