"""A certificate that was stored: its seal, its fingerprint, its size; and what is said where it is none."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from aspca.sparse_pca.verify.check import check
from aspca.sparse_pca.verify.claims import Claims, Multiplier, Status, Witness, seal

replace = dataclasses.replace
# diag(1, 2, 4) at alpha = 1/2, by hand: the first two features are the first two vectors, worth 1.5 and 2.5.
A = np.diag([1.0, 2.0, 4.0])
E = np.eye(3)
STORED = Claims(
    forward=False,
    rotated=False,
    alpha=0.5,
    n_components=2,
    tol=2.0**-20,
    sequence=E[:, :2].copy(),
    rotation=np.eye(2),
    loadings=E[:, :2].copy(),
    bounds=np.array([[1.5, 1.5, 1.5, 0.0, 0.0], [2.5, 2.5, 2.5, 0.0, 0.0]]),
    rank_one=(True, True),
    statuses=(Status.CERTIFIED.value,) * 2,
    witness=Witness(
        blocks=(np.arange(3),),
        multipliers=(Multiplier(0, 0, np.zeros(3)),),
        factors=(None, None),
        fingerprint=np.array([1.2701511529340699, 1.5838531634528576, 2.020015006799109]),
        seal="ccbe7948232915e1a28cf9a10d745ec18dc4111672a3476aa9f0c5df53ae84fb",
    ),
)


def witnessed(**changes: object) -> Claims:
    return replace(STORED, witness=replace(STORED.witness, **changes))


def said(claims: Claims) -> str:
    """The first sentence of a refusal."""
    return check(A, claims).problems[0]


def test_a_certificate_that_was_written_down_stays_one():
    """The numbers above were printed once: a later version must know the matrix by them and find the seal whole."""
    assert check(A, STORED).problems == ()
    other = ("0" if STORED.witness.seal[0] != "0" else "1") + STORED.witness.seal[1:]
    assert "The seal does not match" in said(witnessed(seal=other))


def test_sentences_say_what_was_found_instead():
    assert "`alpha` must be a finite float of at least 0, not inf." in said(replace(STORED, alpha=np.inf))
    assert "not a str." in said(replace(STORED, n_components="2"))
    assert "not -3." in said(replace(STORED, n_components=-3))
    assert "not True." in said(replace(STORED, n_components=True))
    assert "not 0.5." in said(replace(STORED, tol=0.5))
    assert "not ndarray of int64 with shape (2, 2)." in said(replace(STORED, rotation=np.eye(2, dtype=np.int64)))


def test_integers_up_to_the_largest_index_are_read_as_such():
    (one,) = STORED.witness.multipliers
    assert f"names block {sys.maxsize}, which" in said(witnessed(multipliers=(replace(one, block=sys.maxsize),)))
    assert "must be integers" in said(witnessed(multipliers=(replace(one, block=sys.maxsize + 1),)))


def test_zeros_of_either_sign_are_one_number_to_the_seal():
    negated = np.where(E[:, :2] == 0, -0.0, E[:, :2])
    assert np.signbit(negated).sum() == 4
    assert seal(replace(STORED, sequence=negated)) == seal(STORED)
    negated[1, 0] = 5e-324
    assert seal(replace(STORED, sequence=negated)) != seal(STORED)


def test_a_witness_knows_its_size():
    """Three indices, three entries of a multiplier, three of the fingerprint, six of a factor: 8 bytes each."""
    assert STORED.witness.nbytes == 8 * (3 + 3 + 3)
    assert witnessed(factors=(None, E[:, :2])).witness.nbytes == 8 * (3 + 3 + 3 + 6)
