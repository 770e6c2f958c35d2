"""What is written can be read again, exactly, and no cell runs as a formula."""

from __future__ import annotations

import csv
import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspca.writers import text_rows
from aspca.writers.text_rows import CsvWriter


@given(st.lists(st.tuples(st.text(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
def test_round_trip(rows: list[tuple[str, float]]) -> None:
    stream = io.StringIO(newline="")
    CsvWriter(stream, ["=name", "value"]).columns([row[0] for row in rows], [row[1] for row in rows])
    stream.seek(0)
    header, *lines = csv.reader(stream)
    assert header == ["'=name", "value"]
    assert [float(line[1]) for line in lines] == [row[1] for row in rows]
    for (text, _), (cell, _) in zip(rows, lines, strict=True):
        assert cell in (text, "'" + text)
        assert not cell.startswith(("=", "@", "\t", "\r"))


def test_the_same_lines_without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=text_rows._MANY) * 10.0 ** np.arange(-20, 20).repeat(
        text_rows._MANY // 40
    )
    written = []
    for missing in (False, True):
        if missing:
            monkeypatch.setitem(sys.modules, "duckdb", None)
        stream = io.StringIO(newline="")
        with CsvWriter(stream, ["row", "value"]) as writer:
            writer.columns(np.arange(values.size), values)
        written.append(stream.getvalue())
    assert written[0] == written[1]
