"""Rows in blocks, in parts and abreast: the same bits as the plain way, and for a row in any company."""

from __future__ import annotations

import numpy as np
import pytest

import twins
from aspca.linalg.row_blocks import broadcast_rows, cached_parts, multiply_rows


@pytest.mark.parametrize(("n", "p", "k"), [(0, 3, 2), (1, 5, 5), (64, 41, 41), (65, 41, 7), (1000, 12, 30)])
def test_products_are_those_of_blocks_filled_up_with_zeros(n: int, p: int, k: int) -> None:
    rng = np.random.default_rng(n)
    rows, matrix = rng.normal(size=(n, p)), rng.normal(size=(p, k))
    for given in (rows, np.asfortranarray(rows)):
        for other in (matrix, np.asfortranarray(matrix)):
            found = multiply_rows(given, other)
            assert np.array_equal(found, twins.products_in_blocks(rows, other))
            for start in (0, n // 2, n - 1):
                assert np.array_equal(multiply_rows(given[start : start + 1], other), found[start : start + 1])


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 500])
@pytest.mark.parametrize("p", [1, 3, 41])
def test_numbers_that_meet_each_row(n: int, p: int) -> None:
    rng = np.random.default_rng(p)
    rows, numbers = rng.normal(size=(n, p)), rng.normal(size=p)
    for given in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]):
        for operation in (np.subtract, np.divide, np.greater):
            wanted = operation(rows, numbers)
            assert np.array_equal(broadcast_rows(operation, given, numbers), wanted)
            for order in ("C", "F"):
                out = np.empty(rows.shape, dtype=wanted.dtype, order=order)
                assert broadcast_rows(operation, given, numbers, out) is out
                assert np.array_equal(out, wanted)
    in_place = rows.copy()
    broadcast_rows(np.multiply, in_place, numbers, in_place)
    assert np.array_equal(in_place, rows * numbers)


@pytest.mark.parametrize("shape", [(0, 3), (5, 3), (40_000, 3), (130, 3000)])
def test_parts_cover_all_rows(shape: tuple[int, int]) -> None:
    covered = np.concatenate([np.arange(*part.indices(shape[0])) for part in cached_parts(*shape)] or [np.arange(0)])
    assert np.array_equal(covered, np.arange(shape[0]))
