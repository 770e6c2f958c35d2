"""Scores over rows or time, changes and incidents as a report tells them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bucket:
    """Rows that follow each other: least and largest score, and how many are anomalies."""

    least: float
    largest: float
    anomalies: int


@dataclass(frozen=True)
class Tick:
    """A place on the axis of rows, and its label: a row's number or time."""

    place: int
    label: str


@dataclass(frozen=True)
class Course:
    """Scores over rows, in time order or as they are listed.

    Attributes
    ----------
    limit : float or None
        None where no score is above it, however high.
    buckets : tuple of Bucket
        Of equal numbers of rows.
    ticks : tuple of Tick
    timed : bool
        Whether the order is that of times.
    places : tuple of int
        Where the anomalies shown stand, in the order of `Report.anomalies`.
    """

    limit: float | None
    buckets: tuple[Bucket, ...]
    ticks: tuple[Tick, ...]
    timed: bool
    places: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """What was off by like amounts for long; changes of one event happened at once. Places are in time order."""

    event: int
    rule: int | None
    column: int | None
    start: int
    stop: int
    first: int
    last: int
    off: int
    to_end: bool
    text: str


@dataclass(frozen=True)
class Incident:
    """Anomalies that follow each other.

    Attributes
    ----------
    kind : {"anomalies", "change"}
    first, last : str
        When it began and ended.
    rows : int
        How many anomalies.
    start, stop : int
        Places of the first and of the last, in time order.
    peak : int
        The worst row.
    rule : int or None
        What most of its score is due to; None: what lies outside the rules.
    share : float
        Its part of that score.
    text : str
        All of it in words.
    """

    kind: str
    first: str
    last: str
    rows: int
    start: int
    stop: int
    peak: int
    rule: int | None
    share: float
    text: str
