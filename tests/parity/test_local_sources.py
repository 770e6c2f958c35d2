"""Every local kind of source gives the model that `ASPCA.fit` of the array gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aspca
from aspca.pipeline.sources import open_table
from aspca.tables.memory import MemoryTable, make_array_table
from aspca.tables.request import ReadOptions
from aspca.tables.table import Batch
from like_table import like
from parity.local_sources import KINDS, NAMELESS, Place
from parity.same import (
    assert_learned_from,
    assert_same_model,
    assert_same_scores,
    reference,
)
from parity.table import NAMES, in_pieces, parity_rows

X_NAMES = tuple(f"x{place}" for place in range(len(NAMES)))
# One for each way that rows take; the others are tried by `make test-long`.
EACH_WAY = ("memory map", "lazy polars", "parquet")
# Text that is parsed cell by cell, and what only stands around another kind.
SLOW = ("json lines", "sqlite query", "narwhals", "narwhals, lazy polars", "narwhals, duckdb")


def names_of(kind: str) -> tuple[str, ...]:
    return X_NAMES if kind in NAMELESS else NAMES


def reading_of(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "ignore"}


def compared(kind: str, folder: Path, *, gaps: bool, robust: str) -> None:
    rows = parity_rows(gaps=gaps)
    place = Place(rows, NAMES, folder)
    made, options = KINDS[kind].made, KINDS[kind].options
    source = made(place)
    model = aspca.fit_source(source, robust=robust, **options)
    expected = reference(gaps, robust)
    if not gaps and robust == "off":
        assert_learned_from(model, rows)
    assert_same_model(model, expected, names_of(kind))
    again = made(place) if KINDS[kind].once else source
    assert_same_scores(model, again, expected, rows, **reading_of(options))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_in_the_same_order(kind: str, tmp_path: Path) -> None:
    """To the last bit, NULL as NaN, in every pass and whatever is read beside."""
    rows = parity_rows(gaps=True, n_rows=5000)
    source = KINDS[kind].made(Place(rows, NAMES, tmp_path))
    names = names_of(kind)
    with open_table(source, ReadOptions(**reading_of(KINDS[kind].options)), "the table") as table:
        assert table.count() == len(rows)
        counts = {column.name: column.n_missing for column in table.columns}
        for size in (65536, 611):
            beside = (cell for part in table.cells(names[:1], size) for (cell,) in part)
            parts = list(table.batches(names, size))
            assert [part.start for part in parts] == np.cumsum([0, *(len(part.values) for part in parts)])[:-1].tolist()
            np.testing.assert_array_equal(np.concatenate([part.values for part in parts]), rows)
            assert [float(cell) for cell in beside] == rows[:, 0].tolist()
        assert [counts[name] for name in names] == np.isnan(rows).sum(axis=0).tolist()
        some = [0, 17, 4999]
        assert [float(cell) for (cell,) in table.take(names[2:3], some)] == rows[some, 2].tolist()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SLOW])
def test_the_same_model(kind: str, tmp_path: Path) -> None:
    compared(kind, tmp_path, gaps=False, robust="auto")


@pytest.mark.parametrize("kind", EACH_WAY)
def test_the_same_model_of_everything(kind: str, tmp_path: Path) -> None:
    compared(kind, tmp_path, gaps=False, robust="off")


@pytest.mark.parametrize("kind", ["arrow c stream", "duckdb address"])
def test_the_same_model_with_gaps(kind: str, tmp_path: Path) -> None:
    compared(kind, tmp_path, gaps=True, robust="auto")


@pytest.mark.long
@pytest.mark.parametrize("robust", ["auto", "off"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_model_in_every_way(kind: str, gaps: bool, robust: str, tmp_path: Path) -> None:
    compared(kind, tmp_path, gaps=gaps, robust=robust)


class InPieces(MemoryTable):
    """Rows cut anywhere, and elsewhere in each pass."""

    def batches(self, names: Sequence[str], size: int = 0) -> Iterator[Batch]:
        rows = np.column_stack([self.content[name].numbers for name in names])
        for piece in in_pieces(len(rows), np.random.default_rng()):
            yield Batch(piece.start, rows[piece])


@pytest.mark.parametrize("robust", ["auto", "off"])
def test_pieces_do_not_matter(robust: str) -> None:
    rows = parity_rows()
    table = like(InPieces, make_array_table("pieces", NAMES, rows))
    model = aspca.fit_source(table, robust=robust)
    expected = reference(False, robust)
    if robust == "off":
        assert_learned_from(model, rows)
    assert_same_model(model, expected, NAMES)
    assert_same_scores(model, table, expected, rows)


@pytest.mark.parametrize("robust", ["auto", "on"])
def test_order_does_not_matter(robust: str) -> None:
    rows = parity_rows()
    order = np.random.default_rng(3).permutation(len(rows))
    model = aspca.fit_source(make_array_table("mixed", NAMES, rows[order]), robust=robust)
    expected = reference(False, robust)
    assert_same_model(model, expected, NAMES)
    assert_same_scores(model, make_array_table("mixed", NAMES, rows[order]), expected, rows[order])
