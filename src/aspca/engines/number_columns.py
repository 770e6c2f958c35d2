"""Whether the cells of a column are numbers written in one way, all but a few of them; or what stands against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aspca.engines.number_shapes import SIGNS, Shape, shape_of
from aspca.engines.number_signs import Signs, are_few, may_be_either, other_sign, proves
from aspca.harmless import quoted

# From here on odd cells are slips in a column of numbers; below, a column is text that has numbers among it.
MOSTLY = 0.5
# A column with so many numbers counts as evidence for signs, though there are other cells.
NEARLY = 0.9
_UNIFORM_ROWS = 3
Keys = tuple[str, ...]


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
class Against:
    """Why a column is none of numbers, and keys of cells that show it, one group for each cell to be named.

    `n_fitting` of its `n_given` cells are numbers, or what else is `expected`.
    """

    reason: str
    cells: tuple[Keys, ...] = ()
    n_fitting: int = 0
    n_given: int = 0
    expected: str = "a number"


def numbers_among(keys: Mapping[str, int]) -> dict[str, Shape]:
    """The shapes that are numbers by one sign or the other."""
    shapes = {key: shape for key in keys if (shape := shape_of(key)) is not None}
    return {key: shape for key, shape in shapes.items() if any(shape.separator(sign) is not None for sign in SIGNS)}


def is_evidence(keys: Mapping[str, int]) -> bool:
    """Whether a column is one of numbers, nearly, so that its signs count for the file."""
    n_numbers, n_given = sum(keys[key] for key in numbers_among(keys)), sum(keys.values())
    return n_given > 0 and (n_numbers >= NEARLY * n_given or are_few(n_given - n_numbers, n_given))


def judged(keys: Mapping[str, int], name: str, signs: Signs, unit: str | None = None) -> Style | Against:
    """How the numbers of a column are written, or why they are none; `unit` is the one it must have, if any."""
    shapes = numbers_among(keys)
    n_given, n_numbers = sum(keys.values()), sum(keys[key] for key in shapes)
    odd = tuple(key for key in keys if key not in shapes)

    def count(several: Keys) -> int:
        return sum(keys[key] for key in several)

    def which(holds: Callable[[Shape], bool]) -> Keys:
        return tuple(key for key, shape in shapes.items() if holds(shape))

    if not n_given or n_numbers < MOSTLY * n_given:
        return Against("text", (), n_numbers, n_given)
    if not are_few(count(odd), n_given):
        return Against("odd", (odd,), n_numbers, n_given)
    wrong = which(lambda shape: signs.separator(shape) is None)
    doubt = signs.doubtful.get(name)
    if doubt is not None and not (doubt == "outvoted" and are_few(count((*odd, *wrong)), n_given)):
        unclear = which(lambda shape: may_be_either(shape) is not None)
        proofs = which(
            lambda shape: proves(shape) == (other_sign(signs.decimal) if doubt == "outvoted" else signs.decimal)
        )
        cells = {"ambiguous": (unclear,), "outvoted": (proofs,), "slip": (proofs, unclear)}[doubt]
        return Against(doubt, tuple(group for group in cells if group), n_numbers, n_given)
    ways: tuple[tuple[str, Callable[[Shape], str]], ...] = (
        (
            "given" if signs.why == "given" else "outvoted",
            lambda shape: "wrong" if signs.separator(shape) is None else "right",
        ),
        ("units", lambda shape: shape.unit or "none"),
        ("negatives", lambda shape: {"": "", "sign": "minus"}.get(shape.negative, shape.negative)),
        ("separators", lambda shape: signs.separator(shape) or ""),
    )
    for reason, way in ways:
        # Numbers without a minus, or below a thousand, go along with the others.
        groups = {written: found for written, found in _apart(shapes, way).items() if written}
        most = max(groups, key=lambda written: count(groups[written]), default="")
        others = tuple(key for written in groups if written != most for key in groups[written])
        if most == "wrong" or not are_few(count((*odd, *others)), n_given):
            shown = (groups["wrong"],) if "wrong" in groups else tuple(groups.values())[:2]
            return Against(reason, shown, n_numbers, n_given)
        odd = (*odd, *others)
        shapes = {key: shape for key, shape in shapes.items() if key not in others}
    found = next((shape.unit for shape in shapes.values()), "")
    if unit is not None and found != unit:
        return Against("learned unit", (tuple(shapes),), n_numbers, n_given, quoted(unit) if unit else "no unit")
    separator = next((sign for shape in shapes.values() if (sign := signs.separator(shape))), "")
    if separator and _like_codes(shapes, keys):
        return Against("codes", (tuple(shapes),), n_numbers, n_given)
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


def _apart(shapes: Mapping[str, Shape], of: Callable[[Shape], str]) -> dict[str, Keys]:
    found: dict[str, Keys] = {}
    for key, shape in shapes.items():
        found[of(shape)] = (*found.get(of(shape), ()), key)
    return found


def _like_codes(shapes: Mapping[str, Shape], keys: Mapping[str, int]) -> bool:
    """Whether all are groups of three digits, as many in each cell: addresses of machines and telephones are so."""
    bodies = {shape.body for shape in shapes.values()}
    body = next(iter(bodies))
    groups = {len(group) for group in body.replace(body.strip("1")[:1] or "?", " ").split()}
    return len(bodies) == 1 and sum(keys.values()) >= _UNIFORM_ROWS and groups == {3} and body.count("1") > 6
