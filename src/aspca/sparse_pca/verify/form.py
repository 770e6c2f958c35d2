"""What claims must be before anything is computed of them: plain arrays of one kind, shapes that fit, finite numbers.

Claims may come from anywhere, and numpy is generous: truth values select where integers index, a masked array hides
what it holds, a subclass computes what it likes. So kinds are asked for by name, and nothing is converted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import numpy as np

from aspca.sparse_pca.verify.claims import Claims, Multiplier, Witness

# "Attains the optimum" may mean within one per cent and no more: beyond, vectors that anyone would tell apart count as
# equally good. Everything between that and rounding is a matter of patience.
LARGEST_TOL = 0.01


def check_form(claims: Claims) -> list[str]:
    """Sentences on what is not of the form that the mathematics needs; later ones rest on earlier ones."""
    for found in (_check_types(claims), _check_shapes(claims)):
        problems = list(found)
        if problems:
            return problems
    return []


def _check_types(claims: Claims) -> Iterator[str]:
    for name in ("forward", "rotated"):
        if not _is_bool(getattr(claims, name)):
            yield f"`{name}` must be True or False, not {_kind(getattr(claims, name))}."
    if not _is_int(claims.n_components) or claims.n_components < 1:
        yield f"`n_components` must be an integer of at least 1, not {_kind(claims.n_components)}."
    if type(claims.alpha) is not float or not 0.0 <= claims.alpha < np.inf:
        yield f"`alpha` must be a finite float of at least 0, not {_kind(claims.alpha)}."
    if type(claims.tol) is not float or not 0.0 < claims.tol <= LARGEST_TOL:
        yield f"`tol` must be a float above 0 and at most {LARGEST_TOL}, not {_kind(claims.tol)}."
    for name in ("sequence", "rotation", "loadings", "bounds"):
        yield from _check_floats(f"`{name}`", getattr(claims, name), 2)
    if not _all(claims.rank_one, _is_bool):
        yield "`rank_one` must be a tuple of True and False."
    for name in ("statuses", "remarks"):
        if not _all(getattr(claims, name), lambda said: type(said) is str):
            yield f"`{name}` must be a tuple of texts."
    if type(claims.witness) is not Witness:
        yield f"`witness` must be a Witness, not {_kind(claims.witness)}."
    else:
        yield from _check_proof_types(claims.witness)


def _check_proof_types(witness: Witness) -> Iterator[str]:
    if type(witness.seal) is not str:
        yield f"The seal must be a text, not {_kind(witness.seal)}."
    yield from _check_floats("The fingerprint", witness.fingerprint, 1)
    if not _all(witness.blocks, lambda block: _is_array(block, np.dtype(np.intp), 1) and block.size > 0):
        yield "The witness's blocks must be a tuple of one-dimensional arrays of integers, none empty."
    if not _all(witness.multipliers, lambda one: type(one) is Multiplier):
        yield "The witness's multipliers must be a tuple of Multiplier."
    else:
        for one in witness.multipliers:
            if not _is_int(one.block) or not _is_int(one.since):
                yield "A multiplier's block and step must be integers."
            yield from _check_floats("A multiplier", one.packed, 1)
    if type(witness.factors) is not tuple:
        yield "The witness's factors must be a tuple."
    else:
        for step, factor in enumerate(witness.factors):
            if factor is not None:
                yield from _check_floats(f"The factor of step {step}", factor, 2)


def _check_shapes(claims: Claims) -> Iterator[str]:
    (p, steps), d, witness = claims.sequence.shape, claims.n_components, claims.witness
    wanted = {
        "sequence": (steps, p if claims.forward else d),
        "rotation": (claims.rotation.shape, (d, d)),
        "loadings": (claims.loadings.shape, (p, d)),
        "bounds": (claims.bounds.shape, (steps, 5)),
        "rank_one": (len(claims.rank_one), steps),
        "statuses": (len(claims.statuses), steps),
        "factors": (len(witness.factors), steps),
        "fingerprint": (witness.fingerprint.shape, (p,)),
    }
    for name, (is_, should) in wanted.items():
        if is_ != should:
            yield f"`{name}` has size {is_}, not {should}."
    for step, factor in enumerate(witness.factors):
        if factor is not None and factor.shape[0] != p:
            yield f"The factor of step {step} has {factor.shape[0]} rows, not {p}."
    members = np.concatenate([np.zeros(0, dtype=np.intp), *witness.blocks])
    if not np.array_equal(np.sort(members), np.arange(p)):
        yield "The witness's blocks do not divide the features."
        return
    for one in witness.multipliers:
        if not 0 <= one.block < len(witness.blocks):
            yield f"A multiplier names block {one.block}, which does not exist."
            continue
        if not 0 <= one.since < steps:
            yield f"A multiplier of block {one.block} names step {one.since}, which does not exist."
        m = witness.blocks[one.block].size
        if one.packed.size != m * (m - 1) // 2:
            yield f"A multiplier of block {one.block} has {one.packed.size} entries, not {m * (m - 1) // 2}."


def _check_floats(name: str, array: Any, ndim: int) -> Iterator[str]:
    if not _is_array(array, np.dtype(np.float64), ndim):
        yield f"{name} must be a plain array of float64 with {ndim} dimension(s), not {_kind(array)}."
    elif not np.isfinite(array).all():
        yield f"{name} holds values that are not finite."


def _is_array(array: object, dtype: np.dtype[np.generic], ndim: int) -> bool:
    # Exactly ndarray: masked arrays and other subclasses compute differently.
    return type(array) is np.ndarray and array.dtype == dtype and array.ndim == ndim


def _all(values: object, fits: Callable[[Any], bool]) -> bool:
    return type(values) is tuple and all(fits(value) for value in values)


def _is_bool(value: object) -> bool:
    return type(value) in (bool, np.bool_)


def _is_int(value: object) -> TypeGuard[int]:
    # No array has more entries than this, and Python refuses to print an integer of thousands of digits.
    return type(value) is int and abs(value) <= sys.maxsize


def _kind(value: Any) -> str:
    """A value in few words; its own words about itself, its `__class__` among them, are not ours to ask for."""
    if issubclass(type(value), np.ndarray):
        return f"{type(value).__name__} of {value.dtype} with shape {value.shape}"
    return str(value) if type(value) in (bool, float) or _is_int(value) else f"a {type(value).__name__}"
