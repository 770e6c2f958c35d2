"""Some rows of a table are the same as all rows, and then these: whatever the file is like."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspca.tables import ReadOptions, open_source

CASES = {
    "plain": "a,b\n" + "".join(f"{k},{2 * k}.50\n" for k in range(200)),
    "no end": "a,b\n" + "\n".join(f"{k},{k}" for k in range(200)),
    "returns": "a,b\r\n" + "".join(f"{k},{k}\r\n" for k in range(200)),
    "quotes": "a,b\n" + "".join(f'{k},"x\n{k}"\n' for k in range(200)),
    "empty lines": "a,b\n" + "".join(f"{k},{k}\n\n" for k in range(200)),
    "no header": "".join(f"{k},{k}\n" for k in range(200)),
    "semicolons": "a;b\n" + "".join(f"{k};1.{k:03d},5\n" for k in range(200)),
    "missing": "a,b\n" + "".join(f"{k},{'NA' if k % 3 else k}\n" for k in range(200)),
    "text": "a,b\n" + "".join(f"{k},  é{k} \n" for k in range(200)),
}


@pytest.mark.parametrize("rows", [[0], [199], [0, 1, 2], [3, 77, 120, 199], list(range(200))], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_the_same_as_of_all(tmp_path: Path, case: str, rows: list[int]) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(CASES[case].encode())
    with open_source([str(path)], ReadOptions()) as source:
        names = [column.name for column in source.columns]
        everything = [row for part in source.cells(names) for row in part]
        assert source.take(names, rows) == [everything[row] for row in rows]
        assert source.take(names[::-1], rows) == [everything[row][::-1] for row in rows]


def test_of_several_files_and_other_formats(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, start in (("one.csv", 0), ("two.csv", 100)):
        (tmp_path / name).write_text("a,b\n" + "".join(f"{k},{k}\n" for k in range(start, start + 100)))
    pq.write_table(pa.table({"a": list(range(200)), "b": [f"x{k}" for k in range(200)]}), tmp_path / "t.parquet")
    with open_source([str(tmp_path / "*.csv")]) as source:
        assert source.take(["a"], [0, 99, 100, 199]) == [("0",), ("99",), ("100",), ("199",)]
    with open_source([str(tmp_path / "t.parquet")]) as source:
        assert source.take(["b", "a"], [7, 150]) == [("x7", 7), ("x150", 150)]
