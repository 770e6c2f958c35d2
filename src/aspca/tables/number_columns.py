"""How the numbers of a file are written: its decimal sign, by the evidence of all cells, and each column by that sign.

A cell proves a sign if it is a number with that sign only: 0,5 or 1.034,50 or 1.034.000. Most cells of the kind 1,034
prove nothing, and are read as the others say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aspca.escaping import quoted
from aspca.tables.number_text import SIGNS, Shape, shape_of

Keys = tuple[str, ...]
Shapes = Mapping[Shape, int]


def are_few(n_odd: int, n_given: int) -> bool:
    """Whether so many cells that do not fit are slips in a column that the others fit: at most 5, or 2 % of them.

    More would be another way of writing it, or codes.
    """
    return n_odd <= max(5, 0.02 * n_given) and 2 * n_odd < max(n_given, 1)


@dataclass(frozen=True)
class Signs:
    """What was decided.

    Parameters
    ----------
    decimal : the decimal sign
    thousands : what may separate thousands; None: anything else
    given : whether the user named one of them
    unclear : columns that are not numbers by this, and why: "ambiguous", "outvoted" (proof of the other sign, but more
        columns prove this one) or "slip" (too little proof against cells that it would change)
    """

    decimal: str
    thousands: str | None
    given: bool
    unclear: Mapping[str, str] = field(default_factory=dict)

    @property
    def other(self) -> str:
        """A point where the decimal sign is a comma, and the other way round."""
        return SIGNS.replace(self.decimal, "")

    def separator(self, shape: Shape) -> str | None:
        """What separates thousands in a number; None if it is none by these signs."""
        found = shape.separator(self.decimal)
        return found if found in (None, "") or self.thousands in (None, found) else None


class _Evidence:
    """Cells of one column, by sign: how many prove it, how many do so by both signs, how many could be either."""

    def __init__(self, shapes: Shapes) -> None:
        self.proofs, self.strong, self.either = Counter[str](), Counter[str](), Counter[str]()
        self.n_given = sum(shapes.values())
        for shape, count in shapes.items():
            if (proof := proved_sign(shape)) is not None:
                self.proofs[proof] += count
                self.strong[proof] += count if shape.separator(proof) else 0
            elif (unclear := _ambiguous_sign(shape)) is not None:
                self.either[unclear] += count


def proved_sign(shape: Shape) -> str | None:
    """The decimal sign that a number must have; None where it may have either, or has none."""
    valid = [sign for sign in SIGNS if shape.separator(sign) is not None]
    return valid[0] if len(valid) == 1 and set(shape.body) & set(SIGNS) else None


def _ambiguous_sign(shape: Shape) -> str | None:
    """The sign in a number such as 1,034 that may stand before decimals or between thousands; None in others."""
    if all(shape.separator(sign) is not None for sign in SIGNS):
        return next((sign for sign in SIGNS if sign in shape.body), None)
    return None


def find_signs(columns: Mapping[str, Shapes], decimal: str | None, thousands: str | None) -> Signs:
    """The signs of a file, from the shapes of its columns of numbers and from what the user named."""
    if decimal is None and thousands in (".", ","):
        decimal = SIGNS.replace(thousands, "")
    allowed = thousands if thousands != "none" else ""
    if decimal is not None:
        return Signs(decimal, allowed, True)
    evidence = {name: _Evidence(shapes) for name, shapes in columns.items()}
    proofs, either = Counter[str](), Counter[str]()
    for one in evidence.values():
        proofs.update(one.proofs)
        either.update(one.either)
    if allowed == "":
        # Nothing is between thousands: what occurs is the decimal sign.
        return Signs("," if either[","] + proofs[","] > either["."] + proofs["."] else ".", allowed, True)
    proving = {sign: [name for name, one in evidence.items() if one.proofs[sign]] for sign in SIGNS}
    unclear = {sign: [name for name, one in evidence.items() if one.either[sign]] for sign in SIGNS}
    if not proofs.total():
        # Numbers with points alone are what every program takes them for.
        in_question = unclear["."] + unclear[","] if unclear[","] else []
        return Signs(".", allowed, False, dict.fromkeys(in_question, "ambiguous"))
    # A few cells of a column may be slips.
    firm = {
        sign: [name for name in proving[sign] if not are_few(evidence[name].proofs[sign], evidence[name].n_given)]
        for sign in SIGNS
    }
    winner = max(SIGNS, key=lambda sign: (len(firm[sign]), len(proving[sign]), proofs[sign], sign == "."))
    loser = SIGNS.replace(winner, "")
    contested = firm[loser] if firm[winner] else proving[loser]
    why = dict.fromkeys(contested, "outvoted")
    # Points before three digits are decimals by custom: only to read them otherwise takes more than a cell or two.
    changed = unclear[","] if winner == "." else [*unclear["."], *unclear[","]]
    if contested:
        why |= {name: "ambiguous" for name in changed if evidence[name].proofs[winner] == 0}
    # One cell may be a slip of the pen: proof is two cells and a twentieth of those that it would change, or both signs
    # in one cell.
    enough = proofs[winner] >= max(2, 0.05 * (proofs[winner] + either.total()))
    if changed and not enough and not any(one.strong[winner] for one in evidence.values()):
        why |= dict.fromkeys((*changed, *proving[winner]), "slip")
    return Signs(winner, allowed, False, why)


@dataclass(frozen=True)
class Style:
    """How numbers are written.

    Parameters
    ----------
    styled : whether they must be picked out of their cells
    unit : what stands beside each
    negative : "brackets", "trailing" or "sign" where negatives are written so, otherwise nothing
    separator : what separates thousands, if anything does
    examples : keys of cells that show the unit, the negatives, the separator and the decimal sign
    odd : keys of the few cells that are not written so
    n_odd : how many these are
    """

    styled: bool
    unit: str
    negative: str
    separator: str
    examples: Mapping[str, Keys]
    odd: Keys = ()
    n_odd: int = 0


@dataclass(frozen=True)
class Refusal:
    """Why a column is text, and keys of cells that show it, one group for each cell to be named.

    `n_fitting` of its `n_given` cells are numbers, or what else is `expected`; `orders` are those that its dates may
    have.
    """

    reason: str
    cells: tuple[Keys, ...] = ()
    n_fitting: int = 0
    n_given: int = 0
    expected: str = "a number"
    orders: tuple[str, ...] = ()


def numbers_among(keys: Mapping[str, int]) -> dict[str, Shape]:
    """The shapes that are numbers by one sign or the other."""
    return {key: shape for key in keys if (shape := shape_of(key)) is not None}


def is_evidence(keys: Mapping[str, int]) -> bool:
    """Whether nearly all cells of a column are numbers, so that its signs count for the file."""
    n_numbers, n_given = sum(keys[key] for key in numbers_among(keys)), sum(keys.values())
    return n_given > 0 and (n_numbers >= 0.9 * n_given or are_few(n_given - n_numbers, n_given))


def judge_numbers(keys: Mapping[str, int], name: str, signs: Signs, unit: str | None = None) -> Style | Refusal:
    """How the numbers of a column are written, or why they are none; `unit` is the one it must have, if any."""
    shapes = numbers_among(keys)
    n_given, n_numbers = sum(keys.values()), sum(keys[key] for key in shapes)
    odd = tuple(key for key in keys if key not in shapes)

    def refuse(reason: str, *cells: Keys, expected: str = "a number") -> Refusal:
        return Refusal(reason, cells, n_numbers, n_given, expected)

    def count(several: Keys) -> int:
        return sum(keys[key] for key in several)

    def which(holds: Callable[[Shape], bool]) -> Keys:
        return tuple(key for key, shape in shapes.items() if holds(shape))

    # From a half on odd cells are slips in a column of numbers; below, a column is text that has numbers among it.
    if not n_given or 2 * n_numbers < n_given:
        return refuse("text")
    if not are_few(count(odd), n_given):
        return refuse("odd", odd)
    wrong = which(lambda shape: signs.separator(shape) is None)
    unclear = signs.unclear.get(name)
    if unclear is not None and not (unclear == "outvoted" and are_few(count((*odd, *wrong)), n_given)):
        either = which(lambda shape: _ambiguous_sign(shape) is not None)
        proofs = which(lambda shape: proved_sign(shape) == (signs.other if unclear == "outvoted" else signs.decimal))
        cells = {"ambiguous": (either,), "outvoted": (proofs,), "slip": (proofs, either)}[unclear]
        return refuse(unclear, *(group for group in cells if group))
    ways: tuple[tuple[str, Callable[[Shape], str]], ...] = (
        ("given" if signs.given else "outvoted", lambda shape: "wrong" if signs.separator(shape) is None else "right"),
        ("units", lambda shape: shape.unit or "none"),
        ("negatives", lambda shape: "minus" if shape.negative == "sign" else shape.negative),
        ("separators", lambda shape: signs.separator(shape) or ""),
    )
    for reason, way in ways:
        groups: dict[str, Keys] = {}
        for key, shape in shapes.items():
            # Numbers without a minus, or below a thousand, go along with the others.
            if written := way(shape):
                groups[written] = (*groups.get(written, ()), key)
        most = max(groups, key=lambda written: count(groups[written]), default="")
        others = tuple(key for written in groups if written != most for key in groups[written])
        if most == "wrong" or not are_few(count((*odd, *others)), n_given):
            return refuse(reason, *((groups["wrong"],) if "wrong" in groups else tuple(groups.values())[:2]))
        odd = (*odd, *others)
        shapes = {key: shape for key, shape in shapes.items() if key not in others}
    found = next((shape.unit for shape in shapes.values()), "")
    if unit is not None and found != unit:
        return refuse("learned unit", tuple(shapes), expected=quoted(unit) if unit else "no unit")
    separator = next((sign for shape in shapes.values() if (sign := signs.separator(shape))), "")
    if separator and n_given >= 3 and _are_codes({shape.body for shape in shapes.values()}):
        return refuse("codes", tuple(shapes))
    negatives = {shape.negative for shape in shapes.values()}
    negative = next((way for way in ("brackets", "trailing", "sign") if way in negatives), "")
    # A sign and a blank before a number, as in - 5, are more than DuckDB takes.
    apart = any(key[1:].lstrip("+-") != shape.body for key, shape in shapes.items())
    examples = {
        "unit": tuple(shapes) if found else (),
        "negative": which(lambda shape: shape.negative == negative) if negative else (),
        "separator": which(lambda shape: bool(signs.separator(shape))),
        "decimal": which(lambda shape: signs.decimal in shape.body),
    }
    return Style(bool(found or negative or separator or apart), found, negative, separator, examples, odd, count(odd))


def _are_codes(bodies: set[str]) -> bool:
    """Whether all are groups of three digits, as many in each cell: addresses of machines and telephones are so."""
    body = next(iter(bodies))
    groups = {len(group) for group in body.replace(body.strip("1")[:1] or "?", " ").split()}
    return len(bodies) == 1 and groups == {3} and body.count("1") > 6
