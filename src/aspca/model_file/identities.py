"""Identities as the content of a model file, and back: everything is checked before anything is built."""

from __future__ import annotations

from typing import Any

import numpy as np

from aspca.identities import Identities, Identity
from aspca.identities.formula import FUNCTIONS, WHOLE, Condition, Factor, Formula, Term
from aspca.identities.resolution import ALL_DIGITS, CONTINUOUS, Resolution
from aspca.linalg.arrays import LARGEST_VALUE
from aspca.model_file.fields import Field
from aspca.preparation.feature import Feature

_MOST, _MOST_FACTORS, _LARGEST, _LONGEST = 10_000, 1_000, 1e300, 20_000
_VALUE = float(LARGEST_VALUE)
_LEAST_DECIMALS = -6
_MOST_QUANTILES = 1_000


def identities_content(identities: Identities, *, private: bool) -> dict[str, Any]:
    """Everything about identities; quantiles are values of the user's, so private."""
    resolutions = identities.identities[0].resolutions if len(identities) else ()
    quantiles = None if private or identities.quantiles is None else identities.quantiles
    return {
        "identities": [_identity(one) for one in identities],
        "resolutions": [[one.decimals, one.significant, one.single, one.coarse] for one in resolutions],
        "quantiles": None if quantiles is None else [[_or_null(v) for v in row] for row in quantiles.tolist()],
        "sample": int(identities.n_sample),
        "unsearched": list(identities.unsearched),
        "determined": [int(j) for j in identities.determined],
    }


def _or_null(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _identity(identity: Identity) -> dict[str, Any]:
    formula = identity.formula
    condition = formula.condition
    return {
        "text": identity.text,
        "left": _term(formula.left),
        "terms": [_term(term) for term in formula.terms],
        "constant": float(formula.constant),
        "condition": None if condition is None else [condition.column, float(condition.value), condition.negated],
        "tier": int(identity.tier),
        "kept": int(identity.n_kept),
        "broken": int(identity.n_broken),
        "exceptions": identity.exceptions,
        "written": identity.written,
        "strict": identity.strict,
    }


def _term(term: Term) -> dict[str, Any]:
    factors = [[f.column, f.function, float(f.exponent), float(f.sign)] for f in term.factors]
    return {"coefficient": float(term.coefficient), "factors": factors}


def identities_of(at: Field, features: tuple[Feature, ...], private: bool) -> Identities:
    """The identities of a file, about these features."""
    part = at.members("identities", "resolutions", "quantiles", "sample", "unsearched", "determined")
    entries = list(part["identities"].items(0, _MOST))
    p = len(features) if entries else 0
    resolutions = tuple(_resolution(entry) for entry in part["resolutions"].items(p))
    identities = tuple(_identity_of(entry, features, resolutions) for entry in entries)
    quantiles = None
    if not part["quantiles"].absent:
        part["quantiles"].require(not private, "null in a private file", "a list")
        rows = [list(row.items(2, _MOST_QUANTILES)) for row in part["quantiles"].items(len(features))]
        part["quantiles"].require(len({len(row) for row in rows}) <= 1, "of lists of one length", "of several lengths")
        quantiles = np.array([[np.nan if one.absent else one.number(-_VALUE, _VALUE) for one in row] for row in rows])
        ordered = (np.diff(quantiles, axis=1) >= 0.0) | np.isnan(quantiles[:, 1:])
        part["quantiles"].require(bool(ordered.all()), "of ascending numbers", "of others")
    unsearched = tuple(entry.text(_LONGEST) for entry in part["unsearched"].items(0, _MOST))
    determined = tuple(entry.integer(0, p - 1) for entry in part["determined"].items(0, len(identities)))
    part["determined"].require(len(set(determined)) == len(determined), "of different columns", "of some twice")
    spoken_of = {j for one in identities for j in one.columns}
    part["determined"].require(spoken_of.issuperset(determined), "of columns that identities speak of", "of others")
    return Identities(identities, quantiles, part["sample"].integer(0), unsearched, determined)


def _resolution(at: Field) -> Resolution:
    decimals, significant, single, coarse = at.items(4, 4)
    return Resolution(
        decimals.integer(_LEAST_DECIMALS, CONTINUOUS), significant.integer(1, ALL_DIGITS), single.flag(), coarse.flag()
    )


def _identity_of(at: Field, features: tuple[Feature, ...], resolutions: tuple[Resolution, ...]) -> Identity:
    part = at.members(
        "text", "left", "terms", "constant", "condition", "tier", "kept", "broken", "exceptions", "written", "strict"
    )
    p = len(features)
    left = _term_of(part["left"], p)
    part["left"].require(left.coefficient == 1.0 and bool(left.factors), "one times at least one factor", "another")
    terms = tuple(_term_of(entry, p) for entry in part["terms"].items(0, _MOST_FACTORS))
    condition = None
    if not part["condition"].absent:
        column, value, negated = part["condition"].items(3, 3)
        condition = Condition(column.integer(0, p - 1), float(value.number(-_VALUE, _VALUE)), negated.flag())
    formula = Formula(left, terms, float(part["constant"].number(-_LARGEST, _LARGEST)), condition)
    identity = Identity(
        formula,
        features,
        resolutions,
        part["tier"].integer(0, WHOLE),
        part["kept"].integer(0),
        part["broken"].integer(0),
        part["exceptions"].text(_LONGEST),
        None if part["written"].absent else part["written"].text(_LONGEST),
        part["strict"].flag(),
    )
    part["text"].require(part["text"].text(_LONGEST) == identity.text, "the sentence of its numbers", "another")
    return identity


def _term_of(at: Field, p: int) -> Term:
    part = at.members("coefficient", "factors")
    factors = []
    for entry in part["factors"].items(1, _MOST_FACTORS):
        column, function, exponent, sign = entry.items(4, 4)
        turned = float(sign.number(-1.0, 1.0))
        sign.require(abs(turned) == 1.0, "1 or -1", "another number")
        power = float(exponent.number(-1e6, 1e6))
        exponent.require(power != 0.0, "a number other than 0", "0")
        factors.append(Factor(column.integer(0, p - 1), function.word(tuple(FUNCTIONS)), power, turned))
    return Term(float(part["coefficient"].number(-_LARGEST, _LARGEST)), tuple(factors))
