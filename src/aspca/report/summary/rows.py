"""Anomalies as a report tells them: the row, what it breaks, what is near it, and its kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A cell of a row: its text as in the table, None where it is missing; its share of the score, and whether marked.

    Attributes
    ----------
    column : int
    text : str or None
    blame : float
        Of the whole score, whether a reason speaks of the column or not.
    marked : bool
        Whether it is shown as at fault: a rule or an unusual column that is told of the row is about it.
    side : {"high", "low", ""}
        Beside the values that the told rules need, the first and those of at least 5 % of the score, and beside the
        mean where it is told as unusual; empty where these lie at either side of it, or none is told.
    """

    column: int
    text: str | None
    blame: float
    marked: bool
    side: str


@dataclass(frozen=True)
class Needed:
    """What a column is, and what it would have to be, the others as they are, for a rule to hold; None: no such."""

    column: int
    now: str
    needed: str | None


@dataclass(frozen=True)
class Break:
    """A rule that a row breaks, or that adds most to its score.

    Attributes
    ----------
    rule : int
    broken : bool
    share : float
        Of the row's score.
    off : str
        How far it is off, as a clause.
    spreads : float or None
        The same in spreads of the rule.
    multiple : float or None
        The same in multiples of its limit, signed as in its histogram.
    needed : tuple of Needed
    """

    rule: int
    broken: bool
    share: float
    off: str
    spreads: float | None
    multiple: float | None
    needed: tuple[Needed, ...]


@dataclass(frozen=True)
class Unusual:
    """A column that stands out in a row: what it is there, and what it usually is."""

    column: int
    now: str
    usual: str


@dataclass(frozen=True)
class Neighbour:
    """A row near an anomaly, in time order or as rows are listed: its multiple of the limit, and some of its cells."""

    row: int
    when: str | None
    multiple: float | None
    values: tuple[str, ...]


@dataclass(frozen=True)
class Near:
    """The rows before and after an anomaly.

    Attributes
    ----------
    rule : int or None
        Whose deviation the multiples are of; None: they are of the score.
    columns : tuple of int
        What the values of the nearest rows are of.
    rows : tuple of Neighbour
        In order, the anomaly itself among them; those farther away without values.
    """

    rule: int | None
    columns: tuple[int, ...]
    rows: tuple[Neighbour, ...]


@dataclass(frozen=True)
class Anomaly:
    """A row that is an anomaly.

    Attributes
    ----------
    rank : int
        From 1, the worst first.
    row : int
        Its number, from 0.
    name : str or None
    keys : tuple of Cell
        What stands in the key columns.
    score : float
    times : float or None
        The score in multiples of the limit.
    verdict : str
        error or unusual.
    confidence : str or None
        Of an error, how sure that is: certain, very likely or likely.
    p_value : float or None
        How often normal rows are as far out.
    beyond : bool
        False if it is nothing but a row of a change.
    sampled : bool
        Whether it is of the sample of the others, and not one of the worst.
    group : int or None
        Which group of anomalies it belongs to.
    reason : str
        Why, in a few words.
    text : str
        Why, in a few sentences.
    breaks : tuple of Break
        Those that matter most first.
    more_breaks : int
        How many more there are.
    outside : float
        The share of the score that lies outside the rules.
    unusual : tuple of Unusual
    cells : tuple of Cell
        The row as it stands in the table.
    more_cells : int
        How many more there are, where the table is wide.
    near : Near or None
    """

    rank: int
    row: int
    name: str | None
    keys: tuple[Cell, ...]
    score: float
    times: float | None
    verdict: str
    confidence: str | None
    p_value: float | None
    beyond: bool
    sampled: bool
    group: int | None
    reason: str
    text: str
    breaks: tuple[Break, ...]
    more_breaks: int
    outside: float
    unusual: tuple[Unusual, ...]
    cells: tuple[Cell, ...]
    more_cells: int
    near: Near | None


@dataclass(frozen=True)
class Group:
    """Anomalies with one signature, or nearly: how many of all there are, and those shown."""

    number: int
    signature: str
    text: str
    count: int
    rows: tuple[int, ...]
