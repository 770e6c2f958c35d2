"""Which sign stands before decimals and which between thousands: decided for a file, by the evidence of all its cells.

A cell proves a sign if it is a number with that sign only: 0,5 or 1.034,50 or 1.034.000. Most cells of the kind 1,034
prove nothing, and are read as the others say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aspca.engines.number_shapes import SIGNS, Shape

# One cell may be a slip of the pen: what it proves is held against cells that it would change only if there are more.
SOLID_CELLS, SOLID_SHARE = 2, 0.05
# More cells than these that do not fit a column are another way of writing it, or codes, and no slips.
MOST_ODD_CELLS, MOST_ODD_SHARE = 5, 0.02
Shapes = Mapping[Shape, int]


@dataclass(frozen=True)
class Signs:
    """What was decided.

    Parameters
    ----------
    decimal : the decimal sign
    thousands : what may separate thousands; None: anything else
    why : "given", "proof", or "custom" where there is nothing but points, or nothing at all
    doubtful : columns that are not numbers by this, and why: "ambiguous", "outvoted" (proof of the other sign, but more
        columns prove this one) or "slip" (too little proof against cells that it would change)
    """

    decimal: str
    thousands: str | None
    why: str
    doubtful: Mapping[str, str]

    def separator(self, shape: Shape) -> str | None:
        """What separates thousands in a number; None if it is none by these signs."""
        found = shape.separator(self.decimal)
        return found if found in (None, "") or self.thousands in (None, found) else None


@dataclass(frozen=True)
class _Evidence:
    """Cells of one column: how many prove each sign, how many do so by both signs, how many could be either."""

    proofs: Mapping[str, int]
    strong: Mapping[str, int]
    either: Mapping[str, int]


def are_few(n_odd: int, n_given: int) -> bool:
    """Whether so many cells that do not fit are slips in a column that the others fit."""
    return n_odd <= max(MOST_ODD_CELLS, MOST_ODD_SHARE * n_given) and 2 * n_odd < max(n_given, 1)


def other_sign(sign: str) -> str:
    """A point for a comma, a comma for a point."""
    return SIGNS.replace(sign, "")


def proves(shape: Shape) -> str | None:
    """The decimal sign that a number must have; None where it may have either, or has none."""
    valid = [sign for sign in SIGNS if shape.separator(sign) is not None]
    return valid[0] if len(valid) == 1 and set(shape.body) & set(SIGNS) else None


def may_be_either(shape: Shape) -> str | None:
    """The sign in a number such as 1,034 that may stand before decimals or between thousands; None in others."""
    if all(shape.separator(sign) is not None for sign in SIGNS):
        return next((sign for sign in SIGNS if sign in shape.body), None)
    return None


def signs_of(columns: Mapping[str, Shapes], decimal: str | None, thousands: str | None) -> Signs:
    """The signs of a file, from the shapes of its columns of numbers and from what was said of them."""
    if decimal is None and thousands in (".", ","):
        decimal = other_sign(thousands)
    allowed = thousands if thousands != "none" else ""
    if decimal is not None:
        return Signs(decimal, allowed, "given", {})
    evidence = {name: _evidence(shapes) for name, shapes in columns.items()}
    if allowed == "":
        # Nothing is between thousands: what occurs is the decimal sign.
        commas = [one.either[","] + one.proofs[","] for one in evidence.values()]
        points = [one.either["."] + one.proofs["."] for one in evidence.values()]
        return Signs("," if sum(commas) > sum(points) else ".", allowed, "given", {})
    proved = {sign: [name for name, one in evidence.items() if one.proofs[sign]] for sign in SIGNS}
    either = {sign: [name for name, one in evidence.items() if one.either[sign]] for sign in SIGNS}
    if not proved["."] and not proved[","]:
        # Numbers with points alone are what every program takes them for.
        unclear = either["."] + either[","] if either[","] else []
        return Signs(".", allowed, "custom", dict.fromkeys(unclear, "ambiguous"))
    # A few cells of a column may be slips.
    firm = {
        sign: [name for name in proved[sign] if not are_few(evidence[name].proofs[sign], sum(columns[name].values()))]
        for sign in SIGNS
    }
    winner = max(
        SIGNS,
        key=lambda sign: (len(firm[sign]), len(proved[sign]), _total(evidence, proved[sign], sign), sign == "."),
    )
    loser = other_sign(winner)
    contested = firm[loser] if firm[winner] else proved[loser]
    doubtful = dict.fromkeys(contested, "outvoted")
    # Points before three digits are decimals by custom: only to read them otherwise takes more than a cell or two.
    changed = either[","] if winner == "." else [*either["."], *either[","]]
    if contested:
        doubtful |= {name: "ambiguous" for name in changed if evidence[name].proofs[winner] == 0}
    if changed and not _solid(evidence, winner):
        doubtful |= dict.fromkeys((*changed, *proved[winner]), "slip")
    return Signs(winner, allowed, "proof", doubtful)


def _evidence(shapes: Shapes) -> _Evidence:
    proofs, strong, either = (dict.fromkeys(SIGNS, 0) for _ in range(3))
    for shape, count in shapes.items():
        proof, unclear = proves(shape), may_be_either(shape)
        if proof is not None:
            proofs[proof] += count
            strong[proof] += count if shape.separator(proof) else 0
        elif unclear is not None:
            either[unclear] += count
    return _Evidence(proofs, strong, either)


def _total(evidence: Mapping[str, _Evidence], columns: Sequence[str], sign: str) -> int:
    return sum(evidence[name].proofs[sign] for name in columns)


def _solid(evidence: Mapping[str, _Evidence], sign: str) -> bool:
    """Whether the proof of a sign is more than a slip: by both signs in a cell, or by more than a few cells."""
    parts = evidence.values()
    n_proofs = sum(one.proofs[sign] for one in parts)
    n_unclear = sum(sum(one.either.values()) for one in parts)
    enough = n_proofs >= SOLID_CELLS and n_proofs >= SOLID_SHARE * (n_proofs + n_unclear)
    return enough or any(one.strong[sign] for one in parts)
