"""Columns by way of Arrow are the rows that DuckDB fetches, bit for bit, without pyarrow."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from aspca.tables.file_table import number_batches

duckdb = pytest.importorskip("duckdb")

# Every tenth value of x is missing, y never is, z always is, and every bit pattern may occur in x.
QUERY = """
SELECT CASE WHEN range % 10 <> 3 THEN (hash(range)::DOUBLE - 9e18) / (1 + range % 7) END AS x, range::DOUBLE AS y,
       NULL::DOUBLE AS z, CASE WHEN range % 2 = 0 THEN 'nan'::DOUBLE ELSE '-inf'::DOUBLE END AS w
FROM range(?)
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [1, 7, 2047, 2048, 2049, 300_000])
def test_as_fetched(n: int, threads: int) -> None:
    cursor = duckdb.connect(config={"threads": threads})
    batches = list(number_batches(cursor, QUERY, [n]))
    twin = np.array(cursor.execute(QUERY, [n]).fetchall(), dtype=np.float64)
    values = np.concatenate([values for values, _ in batches])
    assert all(part.flags.c_contiguous and part.flags.owndata for part, _ in batches)
    np.testing.assert_array_equal(values, twin)
    nulls = sum(nulls for _, nulls in batches)
    # NaN that is not NULL is not missing.
    np.testing.assert_array_equal(nulls, [sum(i % 10 == 3 for i in range(n)), 0, n, 0])


def test_no_rows() -> None:
    assert sum(len(values) for values, _ in number_batches(duckdb.connect(), QUERY, [0])) == 0


def test_failures_at_once_and_further_on() -> None:
    with pytest.raises(duckdb.Error):
        list(number_batches(duckdb.connect(), "SELECT nothing FROM nowhere", []))
    late = "SELECT CASE WHEN range < 290000 THEN 1.0::DOUBLE ELSE error('it is late') END FROM range(?)"
    with pytest.raises((duckdb.Error, RuntimeError), match="it is late"):
        list(number_batches(duckdb.connect(config={"threads": 1}), late, [300_000]))


def test_left_in_the_middle() -> None:
    """A reader that stops early leaves a connection that works."""
    cursor = duckdb.connect()
    for _ in range(20):
        batches = number_batches(cursor, QUERY, [500_000])
        assert len(next(batches)[0])
        batches.close()
    assert cursor.execute("SELECT 42").fetchall() == [(42,)]


def test_without_pyarrow_and_pandas() -> None:
    script = (
        "import sys, duckdb; from aspca.tables.file_table import number_batches; "
        "print(sum(len(v) for v, _ in number_batches(duckdb.connect(), 'SELECT range::DOUBLE FROM range(?)', [9])), "
        "*{'pyarrow', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["9"]
