"""The report as data: typed, frozen, plain values.

Whatever is shown was decided here; pages and documents only render it. The fields are the keys of the JSON document,
and the docstrings its schema's descriptions: see `documents`. Rows, rules and columns are referred to by number.
"""

from __future__ import annotations

from dataclasses import dataclass

FORMAT = "aspca-report-1"
# By chance alone a score is rarely so many times the limit.
FAR = 3.0


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    number: int  # from 0, in the order of the table
    name: str  # as in the table, or its beginning where it is very long
    anchor: str  # what it is called in links, as in column-load
    role: str  # feature, name, time, category, label or not used
    usual: str  # what it usually is; empty where that is no number
    rules: tuple[int, ...]  # those that speak of it
    blame: float  # its part of the score of the anomalies shown, 0 to 1
    rows: tuple[int, ...]  # the anomalies shown that it is most to blame for, worst first


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
    """

    low: float  # the outer edges of the bins
    high: float
    counts: tuple[int, ...]
    below: int  # rows beyond the edges
    above: int
    unknown: int  # rows of which a value is missing


@dataclass(frozen=True)
class Rule:
    """A rule that normal rows obey."""

    number: int
    text: str  # the sentence
    short: str  # without what stands in brackets at its end
    kind: str  # identity, relation, range or constant
    origin: str  # found or given
    exact: bool  # whether it held exactly in the rows learned from
    spread: str  # in the numbers of the text; empty where there is none
    limit: str
    chance: str  # how far chance could have made it, as a sentence
    chance_probability: float  # the numbers behind that sentence
    widening: float | None
    low: int  # of all rows that break it, those in which the left side of the sentence is too small
    high: int  # and those in which it is too large
    terms: tuple[Term, ...]
    histogram: Histogram | None
    rows: tuple[int, ...]  # the anomalies shown that break it, worst first
    standing: str  # of a rule that was given: how it stands in the table

    @property
    def n_broken(self) -> int:
        """How many of all rows break it."""
        return self.low + self.high

    @property
    def columns(self) -> list[int]:
        """The columns that its text names."""
        return list(dict.fromkeys(term.column for term in self.terms if term.coefficient))


@dataclass(frozen=True)
class Cell:
    """A cell of a row: its text as in the table, None where it is missing; its share of the score, and whether marked.

    The side is "high" or "low": beside the values that the rules told need, the first and those of at least 5 % of the
    score, and beside the mean where the column is told as unusual. It is empty where these lie at either side of it, or
    none is told.
    """

    column: int
    text: str | None
    blame: float  # of the whole score, whether a reason speaks of the column or not
    marked: bool  # shown as at fault: a rule or an unusual column that is told of the row is about it
    side: str


@dataclass(frozen=True)
class Needed:
    """What a column is, and what it would have to be, the others as they are, for a rule to hold; None: no such."""

    column: int
    now: str
    needed: str | None


@dataclass(frozen=True)
class Break:
    """A rule that a row breaks, or that adds most to its score."""

    rule: int
    broken: bool
    share: float  # of the row's score
    off: str  # how far it is off, as a clause
    spreads: float | None  # the same in spreads of the rule
    multiple: float | None  # the same in multiples of its limit, signed as in its histogram
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
    """The rows before and after an anomaly."""

    rule: int | None  # whose deviation the multiples are of; None: they are of the score
    columns: tuple[int, ...]  # what the values of the nearest rows are of
    rows: tuple[Neighbour, ...]  # in order, the anomaly itself among them; those farther away without values


@dataclass(frozen=True)
class Anomaly:
    """A row that is an anomaly."""

    rank: int  # from 1, the worst first
    row: int  # its number, from 0
    name: str | None
    keys: tuple[Cell, ...]  # what stands in the key columns
    score: float
    times: float | None  # the score in multiples of the limit
    verdict: str  # error or unusual
    confidence: str | None  # of an error, how sure that is: certain, very likely or likely
    p_value: float | None  # how often normal rows are as far out
    beyond: bool  # False if it is nothing but a row of a change
    sampled: bool  # whether it is of the sample of the others, and not one of the worst
    group: int | None
    reason: str  # why, in a few words
    text: str  # why, in a few sentences
    breaks: tuple[Break, ...]  # those that matter most first
    more_breaks: int  # how many more there are
    outside: float  # the share of the score that lies outside the rules
    unusual: tuple[Unusual, ...]
    cells: tuple[Cell, ...]  # the row as it stands in the table
    more_cells: int  # how many more there are, where the table is wide
    near: Near | None

    @property
    def is_weak(self) -> bool:
        """Whether it is no error, only unusual; not so of rows of a change, which are told as such."""
        if self.p_value is not None:
            return self.beyond and self.verdict != "error"
        return self.beyond and self.times is not None and self.times < FAR


@dataclass(frozen=True)
class Group:
    """Anomalies with one signature, or nearly: how many of all there are, and those shown."""

    number: int
    signature: str
    text: str
    count: int
    rows: tuple[int, ...]


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
    """Scores over rows, in time order or as they are listed."""

    limit: float | None  # None where no score is above it, however high
    buckets: tuple[Bucket, ...]  # of equal numbers of rows
    ticks: tuple[Tick, ...]
    timed: bool  # whether the order is that of times
    places: tuple[int, ...]  # where the anomalies shown stand, in the order of Report.anomalies


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
    """Anomalies that follow each other."""

    kind: str  # anomalies or change
    first: str  # when it began
    last: str  # when it ended
    rows: int  # how many anomalies
    start: int  # places of the first and of the last, in time order
    stop: int
    peak: int  # the worst row
    rule: int | None  # what most of its score is due to; None: what lies outside the rules
    share: float  # its part of that score
    text: str  # all of it in words


@dataclass(frozen=True)
class ExcludedCell:
    """A cell that relations were not learned from: what stands there, and what the others of its row let expect."""

    row: int
    column: int
    now: str
    expected: str


@dataclass(frozen=True)
class Excluded:
    """What relations were not learned from."""

    looked: bool  # whether anything was looked for
    elsewhere: bool  # whether these are rows of another table, which rules were learned from
    cells: int  # how many
    first_cells: tuple[ExcludedCell, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """A setting: what was asked for, what it came to, and how that was decided."""

    name: str
    asked: str
    value: str
    why: str


@dataclass(frozen=True)
class Flagged:
    """How many rows would be flagged at another limit."""

    limit: float
    rows: int


@dataclass(frozen=True)
class Choices:
    """How the choices were made."""

    settings: tuple[Choice, ...]
    variances: tuple[float, ...]  # of all directions, least first, over a typical column's; empty where not known
    little: float  # up to where a variance counts as little
    directions: int  # how many directions are below it
    rules: int  # how many rules were found among them that are more than chance
    sensitivity: tuple[Flagged, ...]


@dataclass(frozen=True)
class Step:
    """The certificate of one step: bounds below and above the optimum, their relative gap, and how the solve ended."""

    number: int
    lower: float
    upper: float
    gap: float
    status: str


@dataclass(frozen=True)
class Certificates:
    """What is proven, and what is not."""

    says: tuple[str, ...]
    steps: tuple[Step, ...]  # of the components, where these were solved
    verified: str  # what the verifier says of them


@dataclass(frozen=True)
class Input:
    """What was read: a name without its folder, what it was for, and the SHA-256 of its bytes, if it is a file."""

    name: str
    purpose: str
    sha256: str | None


@dataclass(frozen=True)
class Reproduce:
    """How to get the same again."""

    version: str
    command: str
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class Counts:
    """How many there are, of all rows judged; `far` of the anomalies are errors."""

    rows: int
    learned: int
    columns: int
    features: int
    rules: int
    anomalies: int
    beyond: int
    partly: int
    far: int
    shown: int
    sampled: int


@dataclass(frozen=True)
class Report:
    """All that a report says."""

    format: str
    title: str  # what was judged
    category: str | None  # where there is a model for each category, whose this is
    private: bool  # whether values are left out
    headline: tuple[str, ...]  # what was found, in three sentences
    expected: str  # how many rows are flagged where nothing is wrong, as a sentence
    weaker: str  # what is to be said before the first anomaly that is no error; empty where all are of one kind
    left_out: str  # what is not shown, as a sentence; empty where all is
    counts: Counts
    remarks: tuple[str, ...]
    evaluation: str
    columns: tuple[Column, ...]
    rules: tuple[Rule, ...]
    anomalies: tuple[Anomaly, ...]
    groups: tuple[Group, ...]
    course: Course
    changes: tuple[Change, ...]
    incidents: tuple[Incident, ...]
    excluded: Excluded
    choices: Choices
    certificates: Certificates
    reproduce: Reproduce
