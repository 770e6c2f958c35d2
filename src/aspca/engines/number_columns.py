"""Whether the cells of a column are all numbers written in one way, by their shapes; or what stands against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aspca.engines.number_shapes import INFINITE, SIGNS, Shape, shape_of
from aspca.engines.number_signs import Signs, may_be_either, other_sign, proves

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
    """

    styled: bool
    unit: str
    negative: str
    separator: str
    examples: Mapping[str, Keys]


@dataclass(frozen=True)
class Against:
    """Why a column is none of numbers, and keys of cells that show it, one group for each cell to be named.

    `n_fitting` of its `n_given` cells are numbers, or what else most of them are.
    """

    reason: str
    cells: tuple[Keys, ...] = ()
    n_fitting: int = 0
    n_given: int = 0


def numbers_among(keys: Mapping[str, int]) -> dict[str, Shape]:
    """The shapes that are numbers by one sign or the other."""
    shapes = {key: shape for key in keys if (shape := shape_of(key)) is not None}
    return {key: shape for key, shape in shapes.items() if any(shape.separator(sign) is not None for sign in SIGNS)}


def is_evidence(keys: Mapping[str, int]) -> bool:
    """Whether a column is one of numbers, nearly, so that its signs count for the file."""
    n_numbers = sum(keys[key] for key in numbers_among(keys))
    return n_numbers >= NEARLY * sum(keys.values()) > 0


def judged(keys: Mapping[str, int], index: int, signs: Signs) -> Style | Against:
    """How the numbers of a column are written, or why they are none."""
    shapes = numbers_among(keys)
    n_given, n_numbers = sum(keys.values()), sum(keys[key] for key in shapes)
    n_infinite = keys.get(INFINITE, 0)

    def which(holds: Callable[[Shape], bool]) -> Keys:
        return tuple(key for key, shape in shapes.items() if holds(shape))

    if not n_given or n_numbers + n_infinite < MOSTLY * n_given:
        return Against("text", (), n_numbers, n_given)
    odd = tuple(key for key in keys if key not in shapes and key != INFINITE)
    if odd:
        return Against("odd", (odd,), n_numbers, n_given)
    doubt = signs.doubtful.get(index)
    if doubt is not None:
        unclear = which(lambda shape: may_be_either(shape) is not None)
        proofs = which(
            lambda shape: proves(shape) == (other_sign(signs.decimal) if doubt == "outvoted" else signs.decimal)
        )
        groups = {"ambiguous": (unclear,), "outvoted": (proofs,), "slip": (proofs, unclear)}[doubt]
        return Against(doubt, tuple(group for group in groups if group), n_numbers, n_given)
    wrong = which(lambda shape: signs.separator(shape) is None)
    if wrong:
        return Against("given" if signs.why == "given" else "outvoted", (wrong,), n_numbers, n_given)
    units = _apart(shapes, lambda shape: shape.unit)
    if len(units) > 1:
        return Against("units", tuple(units.values())[:2], n_numbers, n_given)
    negatives = {way: found for way, found in _apart(shapes, lambda shape: shape.negative).items() if way}
    # A minus of typographers and a plain one are both a minus.
    if ("brackets" in negatives and len(negatives) > 1) or {"trailing", "minus"} <= set(negatives):
        return Against("negatives", tuple(negatives.values())[:2], n_numbers, n_given)
    separators = {sign: found for sign, found in _apart(shapes, lambda one: signs.separator(one) or "").items() if sign}
    if len(separators) > 1:
        return Against("separators", tuple(separators.values())[:2], n_numbers, n_given)
    if separators and _like_codes(shapes, keys):
        return Against("codes", (tuple(shapes),), n_numbers, n_given)
    unit = next(iter(units), "")
    negative = next((way for way in ("brackets", "trailing", "sign") if way in negatives), "")
    # A sign and a blank before a number, as in - 5, are more than DuckDB takes.
    apart = any(key[1:].lstrip("+-") != shape.body for key, shape in shapes.items())
    styled = bool(unit or negative or separators or apart)
    if styled and n_infinite:
        return Against("odd", ((INFINITE,),), n_numbers, n_given)
    examples = {
        "unit": tuple(shapes) if unit else (),
        "negative": negatives.get(negative, ()),
        "separator": next(iter(separators.values()), ()),
        "decimal": which(lambda shape: signs.decimal in shape.body),
    }
    return Style(styled, unit, negative, next(iter(separators), ""), examples)


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
