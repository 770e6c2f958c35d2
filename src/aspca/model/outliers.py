"""Cells that relations are not learned from: those that rows classified as errors are accused of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.model.constants import CENSORED, FAR_OUT, OUTLYING
from aspca.model.evidence import Evidence
from aspca.rules.user_rules import GivenRule

# Cells are shown one by one up to this many.
MOST_SHOWN = 1000
# Of a row no more cells than these are excluded.
_MOST_CELLS = 3


class Repeated(NamedTuple):
    """A value far outside its column that stands there several times: -9999 for what is missing."""

    column: int
    value: float
    times: int


@dataclass(frozen=True, eq=False)
class ExcludedCells:
    """Excluded cells, in the order of rows; four arrays of shape (k,)."""

    rows: Ints
    columns: Ints
    values: Floats  # what stands there, and what the other cells of the row let expect
    expected: Floats  # , as values

    @classmethod
    def none(cls) -> ExcludedCells:
        return cls(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))

    def followed_by(self, later: ExcludedCells) -> ExcludedCells:
        """With those of rows that follow, as long as there is room."""
        both = (
            np.concatenate([getattr(self, name), getattr(later, name)])[:MOST_SHOWN]
            for name in ("rows", "columns", "values", "expected")
        )
        return ExcludedCells(*both)


@dataclass(frozen=True, eq=False)
class Excluded:
    """What relations were not learned from; it is judged like all else."""

    cells: Ints  # (p,): how many cells of each column
    shown: ExcludedCells = field(default_factory=ExcludedCells.none)  # the first of them
    repeated: tuple[Repeated, ...] = ()  # values that look like words for what is missing

    @classmethod
    def nothing(cls, p: int) -> Excluded:
        """Of p columns."""
        return cls(np.zeros(p, dtype=np.intp))

    @property
    def rows(self) -> Ints:
        """Numbers of the first rows with such cells."""
        return np.unique(self.shown.rows)

    def renumbered(self, numbers: Callable[[Ints], Ints]) -> Excluded:
        """The same, rows called by these numbers (m,) of ascending positions (m,)."""
        return replace(self, shown=replace(self.shown, rows=numbers(self.shown.rows)))

    def among(self, free: Ints, p: int) -> Excluded:
        """The same of p columns, of which these (q,) are the free ones."""
        cells = np.zeros(p, dtype=np.intp)
        cells[free] = self.cells
        shown = replace(self.shown, columns=free[self.shown.columns])
        return Excluded(cells, shown, tuple(one._replace(column=int(free[one.column])) for one in self.repeated))


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Which cells of rows (m, q) are excluded, and what stands in for them: what the others let expect."""

    evidence: Evidence  # with a law: rows beyond it are errors
    free: Ints  # (q,): which of the p columns that evidence knows the rows hold
    n_columns: int  # p
    words: tuple[tuple[int, float], ...]  # values of columns that stand for what is missing
    given: tuple[OffGiven, ...]  # rules that somebody wrote, which many rows are far off
    related: Bools  # (r,): of the columns that evidence judges, those that the others tell tightly in nearly all rows

    def __call__(self, rows: Floats) -> tuple[Bools, Floats]:
        """Which cells (m, q), and what is expected there (m, q)."""
        X = np.full((len(rows), self.n_columns), np.nan)
        X[:, self.free] = rows
        wrong = np.zeros(X.shape, dtype=np.bool_)
        for column, value in self.words:
            wrong[:, column] |= X[:, column] == value
        for rule in self.given:
            far = np.flatnonzero(rule.far(X))
            wrong[far, self._likeliest(X[far], rule.columns)] = True
        expected = self._expect(X, wrong)
        some = np.arange(len(rows))
        for _ in range(_MOST_CELLS):
            # The likeliest wrong cell of a row first: what it predicts may be right.
            errors, worst = self._accuse(expected[some])
            some, worst = some[errors], worst[errors]
            fresh = ~wrong[some, worst]
            some, worst = some[fresh], worst[fresh]
            if not some.size:
                break
            wrong[some, worst] = True
            expected[some] = self._expect(X[some], wrong[some])
        return wrong[:, self.free], expected[:, self.free]

    def _accuse(self, X: Floats) -> tuple[Bools, Ints]:
        """Which rows (m, p) are errors or far off what their other columns tell, and the column most accused (m,)."""
        evidence, nothing = self.evidence, np.zeros((len(X), 0))
        cells = evidence.cells(X)
        scores = evidence.parts(nothing, np.zeros(0, dtype=np.bool_), nothing, cells).scores
        both = cells.ranges + cells.conditionals
        outlying = np.minimum(cells.ranges, cells.conditionals) < np.log(OUTLYING)
        far = evidence.far_off(X) & self.related
        both = np.where(outlying | far, both, 0.0)
        if evidence.law is None or not both.shape[1]:
            return np.zeros(len(X), dtype=np.bool_), np.zeros(len(X), dtype=np.intp)
        errors = (scores > evidence.law.error) & outlying.any(axis=1) | far.any(axis=1)
        return errors, evidence.columns[both.argmin(axis=1)]

    def _likeliest(self, X: Floats, columns: Ints) -> Ints:
        """Which of some columns is most likely wrong in rows (m, p)."""
        cells = self.evidence.cells(X)
        both = np.zeros(X.shape)
        both[:, self.evidence.columns] = cells.ranges + cells.conditionals
        return np.asarray(columns[both[:, columns].argmin(axis=1)])

    def _expect(self, X: Floats, wrong: Bools) -> Floats:
        """Rows (m, p) with what the other cells let expect in place of wrong ones."""
        expected = X.copy()
        some = np.flatnonzero(wrong.any(axis=1))
        if some.size:
            found = self.evidence.expect(np.where(wrong[some], np.nan, X[some]))
            expected[some] = np.where(wrong[some], found, X[some])
        return expected

    def step(self, rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        """Rows (m, q) without errors, and with what is expected in place of words for what is missing."""
        wrong, expected = self(rows)
        words = np.zeros(rows.shape, dtype=np.bool_)
        place = {int(j): k for k, j in enumerate(self.free.tolist())}
        for column, value in self.words:
            words[:, place[column]] |= rows[:, place[column]] == value
        kept = ~(wrong & ~words).any(axis=1)
        return np.where(words, expected, rows)[kept], numbers[kept]


@dataclass(eq=False)
class ExcludedOf:
    """Counts excluded cells, and keeps the first; an accumulator."""

    stays_here: ClassVar[tuple[str, ...]] = ("exclusion",)

    exclusion: Exclusion
    cells: Ints
    words: Ints
    shown: ExcludedCells = field(default_factory=ExcludedCells.none)

    @classmethod
    def begin(cls, exclusion: Exclusion) -> ExcludedOf:
        """Of no rows."""
        nothing = np.zeros(exclusion.free.size, dtype=np.intp)
        return cls(exclusion, nothing, np.zeros(len(exclusion.words), dtype=np.intp))

    def add(self, rows: Floats, numbers: Ints) -> None:
        wrong, expected = self.exclusion(rows)
        self.cells = self.cells + wrong.sum(axis=0)
        place = {int(j): k for k, j in enumerate(self.exclusion.free.tolist())}
        counts = [int((rows[:, place[column]] == value).sum()) for column, value in self.exclusion.words]
        self.words = self.words + np.array(counts, dtype=np.intp)
        at, columns = (found[:MOST_SHOWN] for found in np.nonzero(wrong))
        some = ExcludedCells(numbers[at], columns, rows[at, columns], expected[at, columns])
        self.shown = self.shown.followed_by(some)

    def merge(self, later: ExcludedOf) -> None:
        self.cells, self.words = self.cells + later.cells, self.words + later.words
        self.shown = self.shown.followed_by(later.shown)

    @property
    def excluded(self) -> Excluded:
        """What was found, in terms of the columns of the rows."""
        place = {int(j): k for k, j in enumerate(self.exclusion.free.tolist())}
        pairs = zip(self.exclusion.words, self.words.tolist(), strict=True)
        repeated = tuple(Repeated(place[column], value, times) for (column, value), times in pairs if times > 1)
        return Excluded(self.cells, self.shown, repeated)


def find_words(X: Floats) -> tuple[tuple[int, float], ...]:
    """Values of columns (n, p) that look like words for what is missing: far out, at the edge, several times."""
    found = []
    for j, column in enumerate(X.T):
        known = column[~np.isnan(column)]
        if known.size < 3:
            continue
        values, counts = np.unique(known, return_counts=True)
        low, high = np.quantile(known, (0.1, 0.9))
        inside = known[(known >= low) & (known <= high)]
        middle, unit = float(np.median(inside)), float(inside.std()) or float(np.abs(inside).max(initial=0.0)) or 1.0
        for place in (0, -1):
            value = float(values[place])
            others = np.delete(values, place)
            if counts[place] > 1 and others.size > 2 and abs(value - middle) > FAR_OUT * unit:
                nearest = float(np.abs(others - value).min())
                apart = nearest > 0.5 * abs(value - middle)
                if apart and like_a_word(np.array([value]), np.array([others.min()]))[0]:
                    found.append((j, value))
    return tuple(found)


def like_a_word(values: Floats, least: Floats) -> Bools:
    """Which values look like those that stand for "missing", where the others are no less than `least`.

    Three nines or more, the largest integers, anything enormous; and any negative one where nothing else is negative. A
    price of 99 or a bonus of 1,000 is none, however few others are near.
    """
    sizes = np.abs(values)
    nines = np.isin(sizes, [10.0**k - 1.0 for k in range(3, 16)])
    largest = np.isin(sizes, [2.0**k - one for k in (15, 16, 31, 32, 63) for one in (0.0, 1.0)])
    # No measurement is as large, but some words for none are: 1e20, the largest of float32.
    return np.asarray(nines | largest | (sizes >= 1e20) | ((values < 0.0) & (least >= 0.0)))


# A quarter of Gaussian deviations is smaller than this, in standard deviations: where up to half of the rows are wrong,
# these are right ones.
_LEAST_QUARTER = 0.3186393639643752


@dataclass(frozen=True, eq=False)
class OffGiven:
    """A rule that holds in most rows, and from where on others are far off."""

    columns: Ints  # (k,)
    coefficients: Floats  # (k,)
    constant: float
    limit: float

    def far(self, X: Floats) -> Bools:
        """Which rows (n, p) are far off; none of which a value is missing."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.abs(X[:, self.columns] @ self.coefficients - self.constant) > self.limit)


def find_off_given(rules: Sequence[GivenRule], free: Ints, X: Floats) -> tuple[OffGiven, ...]:
    """Of rules of some columns (q,) those that more rows (n, p) are far off than a tail takes for gross, and that hold
    in the others as they are written."""
    found = []
    for rule in rules:
        used = np.flatnonzero(rule.coefficients)
        columns, coefficients = free[used], rule.coefficients[used]
        off = X[:, columns] @ coefficients - rule.constant
        sizes = np.abs(off[~np.isnan(off)])
        kept = sizes
        # Limits settle in a few rounds.
        for _ in range(50):
            limit = FAR_OUT * float(np.quantile(kept, 0.25)) / _LEAST_QUARTER if kept.size else 0.0
            before, kept = kept.size, sizes[sizes <= limit]
            if kept.size == before:
                break
        near = off[np.abs(off) <= limit]
        many = 2 * near.size > sizes.size and sizes.size - near.size > CENSORED * sizes.size
        if many and limit > 0.0 and abs(float(near.mean())) <= float(near.std()):
            found.append(OffGiven(columns, coefficients, rule.constant, limit))
    return tuple(found)
