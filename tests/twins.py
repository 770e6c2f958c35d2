"""Slow, obvious twins of what judges rows: each is the definition written down, one row at a time."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import scipy.linalg

from aspca.model.model import Model


def mahalanobis(rows: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """x' C^-1 x of centred rows (n, p)."""
    inverse = np.linalg.inv(covariance)
    return np.array([float(x @ inverse @ x) for x in rows])


def covariance_of(rows: np.ndarray) -> np.ndarray:
    """Mean over n of (x - mean)(x - mean)'."""
    off = rows - rows.mean(axis=0)
    return off.T @ off / len(rows)


def blame(B: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The score |x B|^2 of one row split over its features, by the words of `judging.blame`."""
    p, d = B.shape
    z = x @ B
    gains = np.array([float(z @ b) ** 2 / float(b @ b) if b.any() else 0.0 for b in B])
    best = int(np.argmax(gains))
    g = float(gains[best])
    if g == 0.0:
        return np.zeros(p)
    left = z - float(z @ B[best]) / float(B[best] @ B[best]) * B[best]
    r = float(left @ left)
    # What no direction sees cannot be what moved.
    one_moved = np.exp((gains - g) / 2.0) * B.any(axis=1)
    several_moved = (gains / g) ** 4
    phi = 1.0 / (1.0 + (r / (3.0 * d)) ** 2)
    shares = phi * one_moved / one_moved.sum() + (1.0 - phi) * several_moved / several_moved.sum()
    parts, chance = np.zeros(p), 0.0
    for i in range(d):
        square = float(left[i] ** 2)
        stands_out = square * (square / (square + 6.0)) ** 2
        chance += square - stands_out
        terms = np.abs(x * B[:, i])
        if terms.any():
            parts = parts + stands_out * terms / terms.sum()
    return parts + (g + chance) * shares


def find_decimals(values: list[float]) -> int:
    """The decimals of the longest of the numbers as Python prints them; 16 beyond six."""
    most = 0
    for value in values:
        exponent = Decimal(repr(value)).normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        most = max(most, -exponent)
    return most if most <= 6 else 16


def scaled(model: Model, X: np.ndarray) -> np.ndarray:
    """Rows centred and scaled, the plain way."""
    return (X - model.space.mean) / model.space.scale


def products_in_blocks(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """rows @ matrix, 64 rows at a time, the last block filled up with zeros."""
    found = [np.empty((0, matrix.shape[1]))]
    for start in range(0, len(rows), 64):
        block = np.zeros((64, rows.shape[1]))
        part = rows[start : start + 64]
        block[: len(part)] = part
        found.append((block @ matrix)[: len(part)])
    return np.concatenate(found)


def places_needed(column: np.ndarray, most: int) -> int:
    """One more than the last of the places 0 to `most` at which some number of a column is not whole; else 0."""
    needed = 0
    for places in range(most + 1):
        steps = column * 10.0**places
        if any(abs(step - round(step)) > 1e-6 * max(abs(step), 1.0) for step in steps.tolist()):
            needed = places + 1
    return needed


def runs_of_equals(column: np.ndarray) -> list[tuple[int, int, float]]:
    """Length, start and value of each run of equal numbers, in their order; a gap is equal to nothing."""
    runs: list[tuple[int, int, float]] = []
    for row, value in enumerate(column.tolist()):
        if runs and runs[-1][2] == value:
            length, start, _ = runs.pop()
            runs.append((length + 1, start, value))
        else:
            runs.append((1, row, value))
    return runs


def smallest_eigenvalue_beside(matrix: np.ndarray, vectors: np.ndarray) -> float:
    """Of a symmetric matrix, on what is orthogonal to some orthonormal vectors."""
    rest = scipy.linalg.null_space(vectors.T)
    return float(np.linalg.eigvalsh(rest.T @ matrix @ rest)[0])
