"""Moments that DuckDB takes itself, beside exact sums; what is refused; and tables too wide for one statement."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.moments import Moments
from aspca.tables import Source, SourceError, open_source
from aspca.tables.sql_moments import EXPRESSIONS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")


def table(n_rows: int = 20_000) -> dict[str, Any]:
    generator = np.random.default_rng(3)
    a, b = generator.standard_normal((2, n_rows))
    return {
        "far": 1e8 + a,
        "b": b * 3.0,
        "total": 1e8 + a + b * 3.0,
        "fixed": np.full(n_rows, 0.1),
        "whole": generator.integers(-50, 50, n_rows),
        "cents": np.round(generator.random(n_rows), 2),
        # Whole numbers at first, one of which is beyond those that two decimals can be seen of.
        "late": np.concatenate([np.full(n_rows - 2, 4.0), [0.25, 1e15]]),
        "yes": generator.random(n_rows) < 0.5,
        "key": [f"k{row}" for row in range(n_rows)],
    }


def opened(folder: Path, columns: dict[str, Any], kind: str) -> Source:
    made = pa.table(columns)
    path = folder / f"table.{kind}"
    if kind == "parquet":
        pq.write_table(made, path)
    else:
        with duckdb.connect(str(path)) as connection:
            connection.register("made", made)
            connection.execute("CREATE TABLE t AS SELECT * FROM made")
    return open_source([str(path)])


@pytest.mark.parametrize("kind", ["parquet", "duckdb"])
def test_pushed_moments_are_those_of_exact_sums(tmp_path: Path, kind: str) -> None:
    columns = table()
    names = [name for name in columns if name != "key"]
    with opened(tmp_path, columns, kind) as source:
        pushed = source.pushed(names)
        values = np.vstack([batch.values for batch in source.batches(names)])
        with pytest.raises(SourceError, match="column 'key' holds text"):
            source.pushed(["b", "key"])
    assert pushed is not None
    assert (pushed.n_rows, pushed.weight) == (len(values), float(len(values)))
    np.testing.assert_array_equal(pushed.minimum, values.min(axis=0))
    np.testing.assert_array_equal(pushed.maximum, values.max(axis=0))
    # As in one block of all rows: `late` has no number of decimals that every value shows.
    assert pushed.decimals.tolist() == [16, 16, 16, 1, 0, 2, 16, 0]
    assert (pushed.scatter[3] == 0.0).all()
    assert pushed.mean[3] == 0.1
    origin = values[0]
    steps = [math.fsum(column) / len(values) for column in (values - origin).T]
    centred = (values - origin) - steps
    for i in range(len(names)):
        assert pushed.mean[i] == pytest.approx(origin[i] + steps[i], rel=1e-15)
        for j in range(len(names)):
            exact = math.fsum(centred[:, i] * centred[:, j])
            assert abs(pushed.scatter[i, j] - exact) <= 1e-12 * math.sqrt(pushed.scatter[i, i] * pushed.scatter[j, j])


def test_several_files_are_merged_and_text_files_are_not_pushed(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    values = generator.standard_normal((900, 2)) + np.array([1e8, 0.0])
    for part in range(3):
        some = values[part * 300 : (part + 1) * 300]
        pq.write_table(pa.table({"x": some[:, 0], "y": some[:, 1]}), tmp_path / f"{part}.parquet")
    with open_source([str(tmp_path / "*.parquet")]) as source:
        pushed = source.pushed(["y", "x"])
    assert pushed is not None
    wanted = Moments.from_array(values[:, ::-1])
    scale = np.sqrt(np.diagonal(wanted.scatter))
    assert (np.abs(pushed.scatter - wanted.scatter) <= 1e-12 * np.outer(scale, scale)).all()
    np.testing.assert_allclose(pushed.mean, wanted.mean, rtol=1e-15)
    path = tmp_path / "text.csv"
    path.write_text("x,y\n1,2\n3,4\n")
    with open_source([str(path)]) as source:
        assert source.pushed(["x", "y"]) is None


def test_more_columns_than_a_statement_takes(tmp_path: Path) -> None:
    width = 45
    assert width * (width + 3) // 2 > 2 * EXPRESSIONS
    values = np.random.default_rng(5).standard_normal((300, width)) * 10.0 ** np.linspace(-9, 9, width)
    with opened(tmp_path, {f"x{index}": values[:, index] for index in range(width)}, "parquet") as source:
        pushed = source.pushed([f"x{index}" for index in range(width)])
    assert pushed is not None
    wanted = Moments.from_array(values)
    scale = np.sqrt(np.diagonal(wanted.scatter))
    assert (np.abs(pushed.scatter - wanted.scatter) <= 1e-12 * np.outer(scale, scale)).all()
    np.testing.assert_array_equal(pushed.scatter, pushed.scatter.T)
    np.testing.assert_array_equal(pushed.decimals, wanted.decimals)


def test_nan_is_missing_whatever_the_statistics_of_parquet_say(tmp_path: Path) -> None:
    # No NULL among them: DuckDB knows least and largest value of the column, and that nothing is missing.
    with opened(tmp_path, {"x": np.array([1.0, np.nan, 2.0, np.nan, np.inf]), "y": [1.0] * 5}, "parquet") as source:
        assert [column.n_missing for column in source.columns] == [2, 0]
        assert [cell for rows in source.cells(["x"]) for (cell,) in rows] == [1.0, None, 2.0, None, math.inf]


@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf, 1e151, -1.7e308])
def test_what_moments_refuse_is_refused_in_the_same_words(tmp_path: Path, bad: float | None) -> None:
    odd = [1.0, bad, 2.0, bad, 3.0]
    with pytest.raises(ValueError, match="Column 'odd' has 2 values") as wanted:
        Moments.from_array(np.array([odd, [0.0] * 5], dtype=np.float64).T, names=["odd", "fine"])
    with opened(tmp_path, {"odd": pa.array(odd, pa.float64()), "fine": [0.0] * 5}, "parquet") as source:
        with pytest.raises(ValueError, match="Column 'odd'") as caught:
            source.pushed(["odd", "fine"])
        assert str(caught.value) == str(wanted.value)
        # Other columns are none the worse.
        pushed = source.pushed(["fine"])
        assert pushed is not None
        assert pushed.scatter.tolist() == [[0.0]]
