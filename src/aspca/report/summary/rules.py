"""Columns and rules as a report tells them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes
    ----------
    number : int
        From 0, in the order of the table; what else refers to columns does so by it.
    name : str
        As in the table, or its beginning where it is very long.
    anchor : str
        What it is called in links, as in ``column-load``.
    role : {"feature", "name", "time", "category", "label", "not used"}
    usual : str
        What it usually is; empty where that is no number.
    rules : tuple of int
        The rules that speak of it.
    blame : float
        Its part of the score of the anomalies shown, 0 to 1.
    rows : tuple of int
        The anomalies shown that it is most to blame for, worst first.
    """

    number: int
    name: str
    anchor: str
    role: str
    usual: str
    rules: tuple[int, ...]
    blame: float
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """A feature of a rule: its column, its name, and what it is multiplied by, in the text and in the scaled space.

    Above zero on the left side of the sentence, below it on the right; a coefficient of zero is too small to be named.
    """

    column: int
    feature: str
    coefficient: float
    loading: float


@dataclass(frozen=True)
class Histogram:
    """How rows lie around a rule: deviations in multiples of its limit, in equal bins; above zero its left side is
    the larger one.

    Attributes
    ----------
    low, high : float
        The outer edges of the bins.
    counts : tuple of int
    below, above, unknown : int
        Rows beyond the edges, and those of which a value is missing.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    below: int
    above: int
    unknown: int


@dataclass(frozen=True)
class Rule:
    """A rule that normal rows obey.

    Attributes
    ----------
    number : int
    text, short : str
        The sentence, with and without what stands in brackets at its end.
    kind : {"relation", "range", "constant"}
    origin : {"found", "given"}
    exact : bool
        Whether it held exactly in the rows learned from.
    spread, limit : str
        In the numbers of the text; empty where there is none.
    chance : str
        How far chance could have made it, as a sentence.
    chance_probability : float
    widening : float or None
        The numbers behind that sentence.
    low, high : int
        How many of all rows break it: those in which the left side of the sentence is too small, and too large.
    terms : tuple of Term
    histogram : Histogram or None
    rows : tuple of int
        The anomalies shown that break it, worst first.
    standing : str
        For a rule that was given, how it stands in the table.
    """

    number: int
    text: str
    short: str
    kind: str
    origin: str
    exact: bool
    spread: str
    limit: str
    chance: str
    chance_probability: float
    widening: float | None
    low: int
    high: int
    terms: tuple[Term, ...]
    histogram: Histogram | None
    rows: tuple[int, ...]
    standing: str
