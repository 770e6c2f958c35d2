"""Moments taken inside an engine of SQL, of data that need not leave it: sums about a provisional centre.

Two scans: the first finds extremes and centre, the second sums of ``x_i - c_i`` and ``(x_i - c_i)(x_j - c_j)``. Never
``sum(x*x) - n*mean^2``, which loses all digits at an offset of 1e8. The decimals of columns are found too, those that
`decimals_of` finds in all values at once.

It is for rows that may not leave their server, or that a slow network lies before. Elsewhere it is slower than record
batches streamed to this process (`WIDEST_PUSHED`): SQL takes each of the p (p + 1) / 2 sums of products by itself, BLAS
takes them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.linalg.arrays import LARGEST_VALUE, Floats, Ints
from aspca.moments import Moments
from aspca.moments.blocks import two_sum
from aspca.moments.decimals import CONTINUOUS, MOST_DECIMALS, ROUNDING, decimals_of
from aspca.moments.validation import counted_error, overflow_error

if TYPE_CHECKING:
    import duckdb

    from aspca.tables.file_table import FileTable

Rows = list[tuple[Any, ...]]
# Runs ``SELECT expressions FROM relation after``; no text of a user's stands in it but quoted names.
Run = Callable[[Sequence[str], str, str], Rows]

# So many expressions in one statement: PostgreSQL allows 1,664, DuckDB's optimizer takes its time over more.
EXPRESSIONS = 400
# Rows that are looked at for decimals before all of them: a continuous column fails at once.
FIRST_ROWS = 256
# Without compensation an error may grow with every term: so many rows are summed at once, then so many of these sums,
# and what is left here, exactly. At worst 2 x 2048 roundings of 2^-53, 4.5e-13, whatever the number of rows.
BLOCK = 2048
# Columns up to which an engine is at least as quick as record batches streamed out of it, in every run; 0: never.
# ``benchmarks/pushdown.py``, 200,000 rows, client and server on one busy machine of two cores, so that a ratio may be
# off by half. Pushed to streamed, seconds, for 4, 8, 12, 20 and 40 columns: Parquet 1.1, 1.8, 2.3, 3.7, 5.0; a file of
# DuckDB 3.2, 2.0, 4.5, 2.5, 5.0; PostgreSQL 2.1, 1.9, 1.7, 2.8, 4.6. For one or two columns both sides of 1.
WIDEST_PUSHED = {"duckdb": 0, "postgres": 0}
# Rows of a result that are fetched from DuckDB at once.
ROWS_AT_ONCE = 1024
# A power of two, so that a sum of values that will be refused does not overflow before it is known.
SHRUNK = 2.0**-60


@dataclass(frozen=True)
class Dialect:
    """How an engine sums.

    Attributes
    ----------
    total : str
        Its sum of float64.
    number : str
        SQL of the number of a row, to sum block by block; empty where `total` is compensated.
    fence : str
        Ends a sub-query whose columns are to be computed once.
    finite, known : str
        SQL of whether a value {x} is finite, and of whether it is any number, infinite or not; false or NULL for NaN.
        For DuckDB not by comparisons nor by isnan: the statistics of Parquet pass over NaN, and what they say of a
        column is taken for true.
    """

    name: str
    total: str
    number: str
    fence: str
    finite: str
    known: str


# fsum is Kahan's.
DUCKDB = Dialect("duckdb", "fsum", "", "", "isfinite({x})", "(isfinite({x}) OR isinf({x}))")
POSTGRES = Dialect(
    "postgres", "sum", "row_number() OVER ()", "OFFSET 0", "abs({x}) < 'Infinity'", "abs({x}) <= 'Infinity'"
)


def is_quicker_pushed(engine: str, n_features: int) -> bool:
    """Whether `Source.pushed` is expected to be quicker than `Source.batches` for so many columns of an engine."""
    return n_features <= WIDEST_PUSHED.get(engine, 0)


def duckdb_moments(table: FileTable, connection: duckdb.DuckDBPyConnection, columns: Sequence[int]) -> Moments:
    """The moments of some columns of numbers of a table that DuckDB reads, in this order; see `sql_moments`."""

    def run(expressions: Sequence[str], relation: str, after: str) -> Rows:
        there = replace(table, relation=relation)
        return [row for rows in there.rows(connection, list(expressions), ROWS_AT_ONCE, after) for row in rows]

    numbers = {table.columns[column].name: table.columns[column].number for column in columns}
    return sql_moments(run, table.relation, numbers, DUCKDB)


def sql_moments(run: Run, relation: str, columns: Mapping[str, str], dialect: Dialect) -> Moments:
    """The moments of all rows of a relation.

    Parameters
    ----------
    run : callable
        Runs statements, all of them on the same rows.
    relation : str
        What stands after FROM.
    columns : mapping of p >= 1 names to SQL
        Each gives double precision; NULL and NaN are values that are missing.
    dialect : Dialect

    Raises
    ------
    ValueError
        A value that is missing, infinite or beyond +-1e150, in the sentence of `Moments.from_array`.

    Notes
    -----
    Entry (i, j) of the scatter errs by at most 1e-12 sqrt(S_ii S_jj) at offsets of 1e8, as measured against exact sums.
    """
    names, numbers = list(columns), list(columns.values())
    width = len(names)
    first = _first_look(run, relation, numbers)
    n_rows, held, low, high, centre, decimals = _scanned(run, relation, numbers, first, dialect)
    if n_rows == 0:
        return Moments.empty(width)
    if (held < n_rows).any() or not ((low >= -LARGEST_VALUE) & (high <= LARGEST_VALUE)).all():
        raise _refused(run, relation, numbers, names, dialect)
    # A column of one value has no scatter at all, whatever its average is rounded to.
    centre = np.clip(centre, low, high)
    largest = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):
        decimals = np.where(largest * 10.0**decimals < 2.0**53, decimals, CONTINUOUS)
    sums, products = _sums(run, relation, numbers, centre, dialect)
    mean, residual = two_sum(centre, sums / n_rows)
    # The step from the provisional centre to the mean is small, and so is what it takes away.
    scatter = products - np.outer(sums, sums) / n_rows
    if not np.isfinite(np.diagonal(scatter)).all():
        raise overflow_error(scatter, names)
    return Moments(float(n_rows), n_rows, mean, residual, scatter, low, high, decimals)


# ---- the first scan


def _first_look(run: Run, relation: str, numbers: Sequence[str]) -> Ints:
    """The decimals of the first rows (p,): a column that is continuous there is continuous."""
    found = np.full(len(numbers), CONTINUOUS, dtype=np.intp)
    for start in range(0, len(numbers), EXPRESSIONS):
        rows = run(numbers[start : start + EXPRESSIONS], relation, f"LIMIT {FIRST_ROWS}")
        if rows:
            with np.errstate(invalid="ignore"):
                # float64 makes NaN of None, and no decimals of that.
                found[start : start + EXPRESSIONS] = decimals_of(np.array(rows, dtype=np.float64).T)
    return found


def _scanned(
    run: Run, relation: str, numbers: Sequence[str], first: Ints, dialect: Dialect
) -> tuple[int, Ints, Floats, Floats, Floats, Ints]:
    """Number of rows, and of each column the number of finite values, minimum, maximum, average and decimals."""
    width = len(numbers)
    n_rows, held, decimals = 0, np.zeros(width, dtype=np.intp), first.copy()
    low, high, centre = np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width)
    step = EXPRESSIONS // 5
    for start in range(0, width, step):
        some = range(start, min(start + step, width))
        asked = ["count(*)"]
        for index in some:
            x = f"x{index}"
            asked += [
                f"count(CASE WHEN {dialect.finite.format(x=x)} THEN 1 END)",
                f"min({x})",
                f"max({x})",
                f"{dialect.total}({x} * {_literal(SHRUNK)})",
            ]
            asked.append(f"max({_needed(x, int(first[index]))})" if first[index] < CONTINUOUS else str(CONTINUOUS))
        inner = ", ".join(f"{numbers[index]} AS x{index}" for index in some)
        relation_of_numbers = f"(SELECT {inner} FROM {relation} {dialect.fence}) AS numbers"  # noqa: S608  # as in Run
        n_rows, *found = run(asked, relation_of_numbers, "")[0]
        for index, place in zip(some, range(0, len(found), 5), strict=True):
            held[index] = found[place]
            if held[index]:
                low[index], high[index] = found[place + 1], found[place + 2]
                with np.errstate(over="ignore", invalid="ignore"):
                    centre[index] = np.float64(found[place + 3]) / held[index] / SHRUNK
                decimals[index] = found[place + 4]
    return int(n_rows), held, low, high, centre, decimals


def _needed(x: str, least: int) -> str:
    """SQL of the decimals that a value needs, of which `least` are known to be needed by another."""
    cases = []
    for decimals in range(least, MOST_DECIMALS + 1):
        shifted = f"{x} * {_literal(10.0**decimals)}" if decimals else x
        fits = f"abs({shifted} - round({shifted})) <= {_literal(ROUNDING)} * abs({shifted})"
        cases.append(f"WHEN {fits} AND abs({shifted}) < {_literal(2.0**53)} THEN {decimals}")
    return f"CASE {' '.join(cases)} ELSE {CONTINUOUS} END"


def _refused(run: Run, relation: str, numbers: Sequence[str], names: Sequence[str], dialect: Dialect) -> ValueError:
    """The sentence, after a scan that counts what is wrong."""
    counts = np.zeros((len(numbers), 3), dtype=np.intp)
    n_rows = 0
    for start in range(0, len(numbers), EXPRESSIONS // 3):
        some = range(start, min(start + EXPRESSIONS // 3, len(numbers)))
        asked = ["count(*)"]
        for x in (f"({numbers[index]})" for index in some):
            known, finite = dialect.known.format(x=x), dialect.finite.format(x=x)
            for test in (known, finite, f"{finite} AND abs({x}) <= {_literal(LARGEST_VALUE)}"):
                asked.append(f"count(CASE WHEN {test} THEN 1 END)")
        n_rows, *found = run(asked, relation, "")[0]
        counts[some] = np.reshape(found, (-1, 3))
    n_known, n_finite, n_allowed = counts.T
    return counted_error(n_rows - n_finite, n_finite - n_allowed, bool((n_known < n_rows).any()), names)


# ---- the second scan


def _sums(run: Run, relation: str, numbers: Sequence[str], centre: Floats, dialect: Dialect) -> tuple[Floats, Floats]:
    """Sums of ``x - c`` (p,), and of their products (p, p)."""
    width = len(numbers)
    sums, products = np.zeros(width), np.zeros((width, width))
    for entries in _chunks(width):
        used = sorted({index for pair in entries for index in pair if index >= 0})
        centred = [f"({numbers[index]}) - {_literal(centre[index])} AS d{index}" for index in used]
        terms = [f"d{i}" if j < 0 else f"d{i} * d{j}" for i, j in entries]
        for (i, j), value in zip(entries, _totals(run, relation, centred, terms, dialect), strict=True):
            if j < 0:
                sums[i] = value
            else:
                products[i, j] = products[j, i] = value
    return sums, products


def _totals(run: Run, relation: str, inner: list[str], terms: list[str], dialect: Dialect) -> list[float]:
    """The sum of each term, of columns that a sub-query makes."""
    totals = [f"{dialect.total}({term})" for term in terms]
    if not dialect.number:
        return list(run(totals, f"(SELECT {', '.join(inner)} FROM {relation}) AS centred", "")[0])  # noqa: S608  # as in Run
    inner = [f"({dialect.number}) / {BLOCK} AS part", *inner]
    centred = f"(SELECT {', '.join(inner)} FROM {relation} {dialect.fence}) AS centred"  # noqa: S608
    listed = ", ".join(f"{total} AS s{index}" for index, total in enumerate(totals))
    blocks = f"(SELECT part, {listed} FROM {centred} GROUP BY part) AS blocks"  # noqa: S608
    found = run([f"{dialect.total}(s{index})" for index in range(len(terms))], blocks, f"GROUP BY part / {BLOCK}")
    return [math.fsum(values) for values in zip(*found, strict=True)]


def _chunks(width: int) -> Iterator[list[tuple[int, int]]]:
    """Column i alone as (i, -1), and pairs i <= j, as many as one statement takes: blocks, of few columns each."""
    side = max(1, int(math.sqrt(EXPRESSIONS)) - 1)
    if width * (width + 3) // 2 <= EXPRESSIONS:
        side = width
    blocks = [range(start, min(start + side, width)) for start in range(0, width, side)]
    for place, rows in enumerate(blocks):
        for columns in blocks[place:]:
            pairs = [(i, j) for i in rows for j in columns if i <= j]
            yield ([(i, -1) for i in rows] if columns == rows else []) + pairs


def _literal(value: float) -> str:
    """A float64 in SQL, all its digits, in exponent form: anything else would be a decimal number."""
    return f"CAST({float(value):.17e} AS DOUBLE PRECISION)"
