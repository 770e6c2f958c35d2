"""Copies of rows are told with the rows of the source, where neither chance nor the table's nature explains them."""

from __future__ import annotations

import numpy as np
import pytest

import aspca
from aspca.jobs import row_notes
from aspca.jobs.row_notes import Copies, hash_rows


def told(values: np.ndarray, size: int = 10_000, known: np.ndarray | None = None) -> list[str]:
    found = Copies()
    for start in range(0, len(values), size):
        rows = values[start : start + size]
        readable = np.ones(len(rows), dtype=bool) if known is None else known[start : start + size]
        found.add(rows, np.arange(start, start + len(rows)), readable)
    return found.describe()


def measured(n: int = 300, p: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, p)).round(2)


def test_rows_without_copies_give_no_remark() -> None:
    assert told(measured()) == []
    assert told(measured(0)) == []


def test_copies_are_told_with_the_first_row_that_holds_the_same() -> None:
    values = measured()
    values[17] = values[4]
    assert told(values) == ["1 row is a copy of an earlier row in every feature (rows 17 and 4)."]
    values[[200, 210]] = values[4], values[100]
    expected = "3 rows are copies of an earlier row in every feature (rows 17 and 4, 200 and 4, 210 and 100)."
    for size in (7, 100, 300):
        assert told(values, size) == [expected]
    values[250:254] = values[0]
    assert told(values)[0].endswith("(rows 17 and 4, 200 and 4, 210 and 100, 250 and 0, 251 and 0 and 2 more).")


def test_the_same_number_in_another_form_is_the_same() -> None:
    values = measured()
    values[5], values[9] = [0.0, np.nan, 1.0], [-0.0, -np.nan, 1.0]
    assert told(values) == ["1 row is a copy of an earlier row in every feature (rows 9 and 5)."]
    # The same numbers in other columns are another row.
    values[9] = [1.0, np.nan, 0.0]
    assert told(values) == []


def test_rows_that_say_little_are_not_compared() -> None:
    values, known = measured(), np.ones(300, dtype=bool)
    values[[8, 9]] = [np.nan, np.nan, 1.0]
    values[[20, 30]] = values[20]
    known[[20, 30]] = False
    assert told(values, known=known) == []
    assert told(values) == ["1 row is a copy of an earlier row in every feature (rows 30 and 20)."]


@pytest.mark.parametrize("order", ["as it is", "sorted"])
def test_copies_by_chance_are_not_told(order: str) -> None:
    values = np.random.default_rng(0).integers(0, 1000, size=(10_000, 2)).astype(float)
    if order == "sorted":
        values = values[np.argsort(values[:, 0])]
    n_copies = 10_000 - len(np.unique(values, axis=0))
    assert 30 < n_copies < 80
    assert told(values) == []
    # A third column makes chance an unlikely reason.
    third = np.column_stack([values, values @ [1.0, 0.1]])
    assert told(third)[0].startswith(f"{n_copies} rows are copies of an earlier row")


def test_chance_is_that_of_all_rows_in_whatever_order() -> None:
    values = np.random.default_rng(0).integers(0, [200, 1000, 1000], size=(10_000, 3)).astype(float)
    values[:8] = values[8:16]
    expected = "8 rows are copies"
    # The first rows of a sorted table have few values in that column.
    for order in (np.arange(10_000), np.argsort(values[:, 0], kind="stable")):
        assert [said[:17] for said in told(values[order], 500)] == [expected]


def test_tables_of_few_values_give_no_remark() -> None:
    values = np.random.default_rng(0).integers(0, 10, size=(300, 12)).astype(float)
    values[17] = values[4]
    assert told(values) == []
    values[:, 0] = measured(300, 1)[:, 0]
    values[17] = values[4]
    assert len(told(values)) == 1


def test_common_copies_give_no_remark_unless_all_rows_are_repeated() -> None:
    values = measured()
    values[:30] = values[30:60]
    assert told(values)[0].startswith("30 rows are copies")
    values[60:63] = values[63:66]
    assert told(values) == []
    once = measured()
    twice = np.vstack([once, once])
    expected = "Every row occurs 2 times (rows 300 and 0, 301 and 1, 302 and 2, 303 and 3, 304 and 4 and 295 more)."
    assert told(twice) == [expected]
    assert told(twice[:-1]) == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_notes, "_MOST_ROWS", 300)
    values = measured(301)
    values[17] = values[4]
    assert len(told(values[:300], 50)) == 1
    found = Copies()
    for start in range(0, 301, 50):
        found.add(
            values[start : start + 50], np.arange(start, min(start + 50, 301)), np.ones(min(50, 301 - start), bool)
        )
    assert found.describe() == []
    assert (found._keys, found._numbers, found._sample) == ([], [], None)


def test_hashes_tell_rows_apart() -> None:
    values = np.random.default_rng(0).integers(-50, 50, size=(60_000, 3)).astype(float)
    assert np.unique(hash_rows(values)).size == len(np.unique(values, axis=0))


def test_rows_of_categories_are_numbered_as_in_the_source() -> None:
    values = measured(400)
    values[[301, 303]] = values[100], values[51]
    table = {"a": values[:, 0], "b": values[:, 1], "c": values[:, 2], "site": ["east", "west"] * 200}
    pandas = pytest.importorskip("pandas")
    remarks = aspca.detect(pandas.DataFrame(table), by="site").remarks
    # Rows 301 and 100 are of different categories.
    assert [remark for remark in remarks if "cop" in remark] == [
        "west: 1 row is a copy of an earlier row in every feature (rows 303 and 51)."
    ]


def test_rows_that_could_not_be_read_are_no_copies(tmp_path) -> None:  # type: ignore[no-untyped-def]
    values = [[f"{cell:g}" for cell in row] for row in measured()]
    for row in (12, 40):
        values[row] = ["oops", "1.5", "2.5"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *map(",".join, values)]))
    assert not [remark for remark in aspca.detect(path).remarks if "cop" in remark]
