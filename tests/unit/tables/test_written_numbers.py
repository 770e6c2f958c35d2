"""Single numbers in every style, bit for bit; and the files that were once misread."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspca.tables import ReadOptions, SourceError, open_source
from aspca.tables.number_text import find_unit, make_shape_key, number_sql, parse_shape, shape_sql
from written_tables import CURLY, NARROW, NBSP, Style

UNITS = [("", ""), ("$", ""), ("€ ", ""), ("", " €"), ("USD ", ""), ("", "%"), ("", " kg"), ("", "°C"), ("Rs.", "")]
STYLES = st.builds(
    lambda signs, unit, negative: Style(signs[0], signs[1], signs[2], *unit, negative),
    st.sampled_from(
        [(".", group, False) for group in ("", ",", " ", NBSP, NARROW, "'", CURLY)]
        + [(",", group, False) for group in ("", ".", " ", NBSP, NARROW, "'", CURLY)]
        + [(".", ",", True)]
    ),
    st.sampled_from(UNITS),
    st.sampled_from(["minus", "inner", "brackets", "trailing", "typographic"]),
)


@pytest.fixture(scope="module")
def ask() -> Callable[[str, str], Any]:
    """What DuckDB makes of a cell, called c, by an expression."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()

    def asked(expression: str, cell: str) -> Any:
        return connection.execute(f"SELECT {expression} FROM (SELECT $1 AS c)", [cell]).fetchone()[0]  # noqa: S608

    return asked


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.decimals(-(10**14), 10**14, allow_nan=False, places=3), st.integers(0, 3), STYLES)
def test_a_number_in_any_style_is_that_number(
    ask: Callable[[str, str], Any], value: Decimal, places: int, style: Style
) -> None:
    value = value.quantize(Decimal(1).scaleb(-places))
    cell = style.spelled(value)
    shape = parse_shape(make_shape_key(cell))
    assert shape is not None
    separator = shape.separator(style.decimal)
    assert separator is not None
    assert shape.unit == f"{style.before}{style.behind}".strip()
    asked = f"[{number_sql('c', style.decimal, styled=True)}, {number_sql('c', style.decimal, styled=False)}]"
    styled, plain = ask(asked, cell)
    assert styled == float(value)
    if not (separator or shape.unit) and shape.negative in ("", "minus"):
        assert plain == float(value)


@settings(deadline=None, max_examples=60)
@given(st.text("0123456789.,' +-()$€%kgAeE", max_size=14))
def test_keys_of_sql_and_of_python_mean_the_same(ask: Callable[[str, str], object], cell: str) -> None:
    by_sql, by_python = parse_shape(str(ask(shape_sql("c"), cell))), parse_shape(make_shape_key(cell))
    assert (by_sql is None) == (by_python is None)
    if by_sql is not None and by_python is not None:
        assert [by_sql.separator(sign) for sign in ".,"] == [by_python.separator(sign) for sign in ".,"]
        assert (by_sql.unit, by_sql.negative) == (by_python.unit, by_python.negative)


@pytest.mark.parametrize(
    "cell", ["A12", "12A", "R2", "1.2.3", "12:30", "SW1", "4th", "12 May", "1/2", "5-10", "<5", "2020_01", "5.-", "--5"]
)
def test_codes_are_no_numbers(cell: str) -> None:
    shape = parse_shape(make_shape_key(cell))
    assert shape is None or all(shape.separator(sign) is None for sign in ".,")


def test_what_is_a_unit() -> None:
    assert find_unit("$", "", blank=False) == "$"
    assert find_unit("", "A", blank=False) is None
    assert find_unit("", "A", blank=True) == "A"
    assert find_unit("", "million", blank=True) is None
    assert find_unit("A", "", blank=False) is None


# ---- files


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., tuple[dict[str, list[float]], str, tuple[str, ...]]]:
    """The columns of numbers in a text, all that is said about it, and the remedies."""

    def read(text: str, **options: object) -> tuple[dict[str, list[float]], str, tuple[str, ...]]:
        path = tmp_path / "t.csv"
        path.write_text(text, encoding="utf-8")
        with open_source([str(path)], ReadOptions(**options)) as source:  # type: ignore[arg-type]
            names = [column.name for column in source.columns if column.kind != "text"]
            values = np.concatenate([batch.values for batch in source.batches(names)]).T.tolist() if names else []
            bad = [f"bad: {cell}" for cell in source.bad_cells]
            said = " ".join([*source.remarks, *bad, *(column.remark for column in source.columns)])
            remedies = tuple(word for column in source.columns for word in column.remedy)
            return dict(zip(names, values, strict=True)), said, remedies

    return read


Read = Callable[..., tuple[dict[str, list[float]], str, tuple[str, ...]]]


def test_points_beside_decimal_commas_separate_thousands(table: Read) -> None:
    values, said, _ = table("a;b\n1.034;5,123\n956;0,5\n2.000;1,25\n")
    assert values == {"a": [1034, 956, 2000], "b": [5.123, 0.5, 1.25]}
    assert "points separate thousands in column 'a': '1.034' in row 0 (line 2) is 1034" in said


def test_one_half_does_not_make_decimals_of_thousands(table: Read) -> None:
    text = 'a,b\n"1,523",1\n"1,211","0,5"\n"2,110",3\n"1,999",3\n'
    values, said, remedies = table(text)
    assert values == {}
    assert "'1,523' in row 0 (line 2)" in said
    assert "'0,5' in row 1 (line 3) of column 'b'" in said
    assert remedies == ("--decimal", ",") * 2
    assert table(text, decimal=",")[0] == {"a": [1.523, 1.211, 2.11, 1.999], "b": [1, 0.5, 3, 3]}


def test_a_contradiction_anywhere_is_seen(table: Read) -> None:
    """The first rows are like those of any file; the last are not."""
    text = "a;b\n" + "1.5;7\n" * 5000 + "1,5;7\n"
    values, said, remedies = table(text)
    np.testing.assert_array_equal(values["a"], [1.5] * 5000 + [np.nan])
    assert (said, remedies) == ("bad: cell '1,5' in column a, row 5000: expected a number  ", ())
    text = "a;b\n" + "1.5;7\n" * 5000 + "1,5;7\n" * 103
    values, said, remedies = table(text)
    assert list(values) == ["b"]
    assert "'1,5' in row 5000 (line 5002) has another decimal sign than other cells of the file, the point" in said
    assert remedies == ("--ignore", "a")


def test_thousands_in_quotes_are_settled_either_way(table: Read) -> None:
    text = 'a\n"1,234"\n"2,345"\n'
    assert table(text)[0] == {}
    assert table(text, thousands=",")[0] == {"a": [1234, 2345]}
    assert table(text, decimal=",")[0] == {"a": [1.234, 2.345]}


def test_points_and_commas_are_not_names_of_rows(table: Read) -> None:
    values, _, remedies = table("a;b\n1.234,50;x\n2.345,10;y\n12,5;z\n")
    assert values == {"a": [1234.5, 2345.1, 12.5]}
    assert remedies == ()


def test_headers_of_numbers(table: Read) -> None:
    values, said, _ = table("2019,2020,2021\n1,2,3\n4,5,7\n2,2,2\n")
    assert list(values) == ["2019", "2020", "2021"]
    assert "taken for names of columns; if it is a row, give --no-header" in said
    values, said, _ = table("0,1,2\n5,1,3\n4,5,7\n2,2,2\n")
    assert values["column_1"] == [0, 5, 4, 2]
    assert "taken for a row, not for names of columns; if it is, give --header" in said
    values, said, _ = table("0,1,2\n5,1,3\n4,5,7\n2,2,2\n", header=True)
    assert (values["0"], said) == ([5, 4, 2], "  ")


def test_integers_beyond_float64_are_not_rounded(table: Read) -> None:
    values, said, _ = table("id,v\n9007199254740993,1.5\n9007199254740995,2\n")
    assert values == {"v": [1.5, 2]}
    assert "integers beyond 2^53" in said
    assert table("a,b\n9007199254740992,1\n1e300,2\n")[0]["a"] == [2.0**53, 1e300]


def test_the_same_in_parquet_and_arrow(tmp_path: Path, parquet_bytes: Callable[..., bytes]) -> None:
    columns = {
        "id": pa.array([2**53 + 1, 2**53], pa.int64()),
        "big": pa.array([2**64 - 1, 1], pa.uint64()),
        "exact": pa.array([2**62, None], pa.int64()),
        "decimal": pa.array([Decimal(10**20 + 1), Decimal(1)], pa.decimal128(30, 0)),
        "fraction": pa.array([Decimal("1234567890123456789.5"), Decimal(1)], pa.decimal128(30, 1)),
        "v": [-999.0, 5.0],
    }
    path = tmp_path / "t.parquet"
    path.write_bytes(parquet_bytes(columns))
    feather = tmp_path / "t.feather"
    pytest.importorskip("pyarrow.feather").write_feather(pa.table(columns), feather)
    for each in (path, feather):
        with open_source([str(each)], ReadOptions(missing=("-999",))) as source:
            kinds = {column.name: column.kind for column in source.columns}
            assert [name for name, kind in kinds.items() if kind == "text"] == ["id", "big", "decimal"]
            assert next(iter(source.cells(["id"])))[0] == ("9007199254740993",)
            assert [column.n_missing for column in source.columns] == [0, 0, 1, 0, 0, 1]
            assert "columns 'id', 'big' and 'decimal'" in source.remarks[0]


def test_words_for_missing_are_counted_by_name(table: Read) -> None:
    values, said, _ = table("a,b,c\n1,-,x\n2,n/a,NA\n3,5,unknown\n")
    assert np.isnan(values["b"]).tolist() == [True, True, False]
    assert "'-' 1 time in column 'b', 'n/a' 1 time in column 'b' and 'NA' 1 time in column 'c'" in said
    values, said, _ = table("a;b\n1,5;-999\n2,5;-999,0\n3,5;5\n", missing=("-999",))
    assert np.isnan(values["b"]).tolist() == [True, True, False]
    assert "-999" not in said


def test_days_and_months(table: Read) -> None:
    day = 86400
    values, said, _ = table("d,v\n13/02/1970,1\n01/02/1970,2\n")
    assert values["d"] == [43 * day, 31 * day]
    assert "dates have the day first in column 'd'" in said
    values, said, remedies = table("d,v\n01/02/1970,1\n02/02/1970,2\n")
    assert list(values) == ["v"]
    assert remedies == ("--date-order", "dmy")
    assert table("d,v\n01/02/1970,1\n02/02/1970,2\n", date_order="mdy")[0]["d"] == [day, 32 * day]
    values, said, _ = table("d,v\n13/02/1970,1\n02/13/1970,2\n")
    assert "'02/13/1970' in row 1 (line 3) and '13/02/1970' in row 0 (line 2)" in said
    assert table("d,v\n24-12-31,1\n24-11-30,2\n")[0] == {"v": [1, 2]}, "no year 24"


@pytest.mark.parametrize(
    "options", [{"thousands": "x"}, {"date_order": "myd"}, {"decimal": ",", "thousands": ","}], ids=str
)
def test_options_that_cannot_be(options: dict[str, str]) -> None:
    with pytest.raises(SourceError, match=r"must be one of|cannot both be"):
        ReadOptions(**options)  # type: ignore[arg-type]
