"""BLAS and LAPACK for compiled code: scipy's own, through the addresses it publishes for Cython.

Arrays are handed over as they lie in memory: for LAPACK a C-ordered matrix is its transpose.
"""

from __future__ import annotations

import llvmlite.binding
import numpy as np
from numba import njit
from numba.core import types
from numba.core.typing import signature
from numba.extending import get_cython_function_address

# Sums may be taken in any order, as BLAS does; infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


def compiled(function):  # type: ignore[no-untyped-def]  # numba's decorator has no types
    return njit(cache=True, fastmath=FAST, error_model="numpy")(function)


def _external(module: str, name: str, arguments: int) -> types.ExternalFunction:
    # By name: code that holds an address could not be kept on disk.
    symbol = f"scipy_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.cython_{module}", name))
    return types.ExternalFunction(symbol, signature(types.void, *[types.voidptr] * arguments))


_dsyevr = _external("lapack", "dsyevr", 21)
_dpotrf = _external("lapack", "dpotrf", 5)
_dpotrs = _external("lapack", "dpotrs", 8)
_dsyrk = _external("blas", "dsyrk", 10)
_NO, _VECTORS, _INDEX, _LOWER, _UPPER, _TRANSPOSED = (ord(letter) for letter in "NVILUT")


@compiled
def lowest(m, many, vectors):
    """The `many` lowest eigenvalues of a symmetric m, ascending, and their vectors as rows, if asked for."""
    n = m.shape[0]
    if many >= n:
        if vectors:
            w, z = np.linalg.eigh(m)
            return w, np.ascontiguousarray(z.T)
        return np.linalg.eigvalsh(m), np.empty((0, n))
    letters = np.array([_VECTORS if vectors else _NO, _INDEX, _LOWER], dtype=np.uint8)
    # n, lda, il, iu, found, ldz, lwork, liwork, info
    ints = np.array([n, n, 1, many, 0, n, 40 * n, 10 * n, 0], dtype=np.int32)
    reals = np.zeros(3)
    a, w, z = m.copy(), np.empty(n), np.empty((many, n))
    work, iwork = np.empty(40 * n), np.empty(10 * n, dtype=np.int32)
    isuppz = np.empty(2 * n, dtype=np.int32)
    _dsyevr(
        letters[0:].ctypes, letters[1:].ctypes, letters[2:].ctypes, ints[0:].ctypes, a.ctypes, ints[1:].ctypes,
        reals[0:].ctypes, reals[1:].ctypes, ints[2:].ctypes, ints[3:].ctypes, reals[2:].ctypes, ints[4:].ctypes,
        w.ctypes, z.ctypes, ints[5:].ctypes, isuppz.ctypes, work.ctypes, ints[6:].ctypes, iwork.ctypes,
        ints[7:].ctypes, ints[8:].ctypes,
    )  # fmt: skip
    if ints[8] != 0 or ints[4] != many:
        w, full = np.linalg.eigh(m)
        return w[:many], np.ascontiguousarray(full.T[:many])
    return w[:many], z


@compiled
def products_of_rows(rows, K):
    """The upper triangle (as C orders it) of K = rows rows', rows (n, k)."""
    letters = np.array([_LOWER, _TRANSPOSED], dtype=np.uint8)
    ints = np.array([rows.shape[0], rows.shape[1]], dtype=np.int32)
    reals = np.array([1.0, 0.0])
    _dsyrk(
        letters[0:].ctypes, letters[1:].ctypes, ints[0:].ctypes, ints[1:].ctypes, reals[0:].ctypes, rows.ctypes,
        ints[1:].ctypes, reals[1:].ctypes, K.ctypes, ints[0:].ctypes,
    )  # fmt: skip


@compiled
def products_of_columns(rows, K):
    """The upper triangle (as C orders it) of K = rows' rows, rows (n, k)."""
    letters = np.array([_LOWER, _NO], dtype=np.uint8)
    ints = np.array([rows.shape[0], rows.shape[1]], dtype=np.int32)
    reals = np.array([1.0, 0.0])
    _dsyrk(
        letters[0:].ctypes, letters[1:].ctypes, ints[1:].ctypes, ints[0:].ctypes, reals[0:].ctypes, rows.ctypes,
        ints[1:].ctypes, reals[1:].ctypes, K.ctypes, ints[1:].ctypes,
    )  # fmt: skip


@compiled
def factorise(K):
    """Cholesky's factor in place of K's upper triangle (as C orders it); whether K was definite."""
    letters = np.array([_LOWER], dtype=np.uint8)
    ints = np.array([K.shape[0], 0], dtype=np.int32)
    _dpotrf(letters.ctypes, ints[0:].ctypes, K.ctypes, ints[0:].ctypes, ints[1:].ctypes)
    return ints[1] == 0


@compiled
def solve(K, right):
    """The solution in place of the right-hand side."""
    letters = np.array([_LOWER], dtype=np.uint8)
    ints = np.array([K.shape[0], 1, 0], dtype=np.int32)
    _dpotrs(
        letters.ctypes, ints[0:].ctypes, ints[1:].ctypes, K.ctypes, ints[0:].ctypes, right.ctypes, ints[0:].ctypes,
        ints[2:].ctypes,
    )  # fmt: skip
    return right
