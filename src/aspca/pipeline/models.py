"""Stored models: read and written through pipes, their rules as a list to hand on, and two of them compared."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from aspca.escaping import for_markdown
from aspca.identities import Identity
from aspca.identities.wording import number_text
from aspca.linalg.arrays import Floats
from aspca.model.model import Model
from aspca.model_file.json_text import ModelFileError
from aspca.model_file.model_file import read_model, write_model
from aspca.pipeline.errors import JobError, RequestError
from aspca.rules.rule import AnyRule, Rule
from aspca.writers.csv_text import CsvWriter
from aspca.writers.scratch import Scratch

_STDIN = "standard input"


def model_text(model: Model, *, private: bool = False) -> str:
    """What `write_model` writes."""
    with Scratch() as folder:
        path = folder / "model.json"
        write_model(model, path, naming="table", private=private)
        return path.read_text(encoding="utf-8")


def refuse_both(path: str, files: Sequence[str]) -> None:
    """Raise RequestError if both the model and the rows are to come from standard input."""
    if path == "-" and "-" in files:
        raise RequestError(
            "Only one of the model and the rows can come from standard input; name a file for the other."
        )


def model_from(path: str) -> Model:
    """The model in a file, or on standard input where the path is ``-``; see `read_model` for what is raised."""
    if path != "-":
        return read_model(path)
    if sys.stdin is None or sys.stdin.closed:
        raise RequestError("Standard input is closed; send a model to it, or name a file.")
    with Scratch() as folder:
        copy = folder / "model.json"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            return read_model(copy)
        except ModelFileError as error:
            raise ModelFileError(str(error).replace(str(copy), _STDIN)) from None


def write_rules(stream: TextIO, model: Model) -> None:
    """The rules of a model as lines of CSV, each with what it is, its spread and its limit."""
    with CsvWriter(stream, ["rule", "text", "kind", "spread", "limit"]) as writer:
        writer.columns(
            list(range(len(model.rules))),
            [str(rule) for rule in model.rules],
            [rule.kind for rule in model.rules],
            [rule.spread for rule in model.rules],
            [rule.limit for rule in model.rules],
        )


def markdown_of(model: Model) -> str:
    """A table of the rules."""
    lines = [
        f"Rules of {len(model.names)} features, learned from {model.space.n_rows} rows.",
        "",
        "| | rule | kind | spread | limit |",
        "|---:|---|---|---:|---:|",
    ]
    for number, rule in enumerate(model.rules):
        limit = "" if rule.limit is None else f"{rule.limit:.4g}"
        lines.append(f"| {number} | {for_markdown(str(rule))} | {rule.kind} | {rule.spread:.4g} | {limit} |")
    lines += [line for remark in model.reading for line in ("", for_markdown(remark))]
    return "\n".join(lines) + "\n"


# ---- two models compared


# As in `aspca.select`: a rule is found again if another points the same way to within 18 degrees.
SAME_DIRECTION = 0.95
# And it stays what it was if it also turned by less than 6 degrees, ...
_UNTURNED = 0.995
# ... is wider or narrower by less than this factor, and the average row of the one obeys the other.
_UNWIDENED = 1.5


@dataclass(frozen=True)
class Pair:
    """A rule of the first model and the rule of the second that it became.

    Attributes
    ----------
    before, after : Rule
    cosine : float
        Of their directions: 1 the same.
    shift : float
        How far the second model's average row is from the first rule, in its own units.
    changes : tuple of str
        What moved, in words; empty if nothing did.
    """

    before: AnyRule
    after: AnyRule
    cosine: float
    shift: float
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Rules that stayed and moved (pairs), went (of the first model) and came (of the second).

    `features_lost` and `features_gained` are columns that only one of the models knows.
    """

    stayed: tuple[Pair, ...]
    moved: tuple[Pair, ...]
    lost: tuple[AnyRule, ...]
    gained: tuple[AnyRule, ...]
    features_lost: tuple[str, ...]
    features_gained: tuple[str, ...]


def compare_models(before: Model, after: Model) -> Comparison:
    """Match the rules of two models by their directions in the original units.

    Units differ from feature to feature, so that a cosine needs a common measure: coefficients are multiplied by what
    the features' columns were divided by, the geometric mean of both models'. The closest pair is matched first.
    """
    shared = [name for name in before.names if name in set(after.names)]
    if not shared:
        raise JobError("The two models have no feature in common, so their rules cannot be compared.")
    names = [*before.names, *(name for name in after.names if name not in set(before.names))]
    unit = _units(names, before, after)
    first, second = _directions(before.relations, names, unit), _directions(after.relations, names, unit)
    cosines = first @ second.T
    stayed: list[Pair] = []
    moved: list[Pair] = []
    open_first, open_second = set(range(len(first))), set(range(len(second)))
    # Greedy, closest first; equal ones in the order of their numbers.
    for flat in np.argsort(-np.abs(cosines), axis=None, kind="stable"):
        i, j = (int(one) for one in np.unravel_index(int(flat), cosines.shape))
        if abs(cosines[i, j]) < SAME_DIRECTION:
            break
        if i in open_first and j in open_second:
            open_first.discard(i)
            open_second.discard(j)
            pair = _pair(before, after, i, j, float(abs(cosines[i, j])))
            (moved if pair.changes else stayed).append(pair)
    exact, lost, gained = _exact(before, after)
    return Comparison(
        stayed=(*exact, *stayed),
        moved=tuple(moved),
        lost=(*lost, *(before.relations[i] for i in sorted(open_first))),
        gained=(*gained, *(after.relations[j] for j in sorted(open_second))),
        features_lost=tuple(name for name in before.names if name not in set(after.names)),
        features_gained=tuple(name for name in after.names if name not in set(before.names)),
    )


def _exact(before: Model, after: Model) -> tuple[list[Pair], list[Identity], list[Identity]]:
    """Identities of both models, by their equations; those of the first alone, and of the second."""
    later = {identity.equation: identity for identity in after.identities}
    both = [(one, later[one.equation]) for one in before.identities if one.equation in later]
    kept = {one.equation for one, _ in both}
    return (
        [Pair(one, other, 1.0, 0.0, ()) for one, other in both],
        [one for one in before.identities if one.equation not in kept],
        [one for one in after.identities if one.equation not in kept],
    )


def _units(names: Sequence[str], before: Model, after: Model) -> Floats:
    """A common measure of each feature (k,): what its column was divided by, both models' in the mean."""
    scales = [dict(zip(model.names, model.space.scale.tolist(), strict=True)) for model in (before, after)]
    known = [[scale[name] for scale in scales if name in scale] for name in names]
    return np.array([np.exp(np.mean(np.log(each))) for each in known])


def _directions(rules: Sequence[Rule], names: Sequence[str], unit: Floats) -> Floats:
    """One line of unit length per rule (d, k)."""
    position = {name: j for j, name in enumerate(names)}
    lines = np.zeros((len(rules), len(names)))
    for line, rule in zip(lines, rules, strict=True):
        used = [position[name] for name in rule.features]
        line[used] = rule.coefficients * unit[used]
        # Units from 1e-150 to 1e150 may meet: no square must overflow.
        line /= np.abs(line).max()
        line /= np.linalg.norm(line)
    return lines


def _pair(before: Model, after: Model, i: int, j: int, cosine: float) -> Pair:
    one, other = before.relations[i], after.relations[j]
    means = dict(zip(after.names, after.space.mean.tolist(), strict=True))
    # A feature that is gone is taken to be where it was.
    now = np.array([means.get(name, mean) for name, mean in zip(one.features, one.means.tolist(), strict=True)])
    shift = float(one.coefficients @ (now - one.means))
    changes = []
    if cosine < _UNTURNED:
        changes.append("its coefficients changed")
    if abs(shift) > max(one.spread, other.spread * _length(one, other)):
        changes.append(
            f"its level moved by {abs(shift) / one.spread:.2g} spreads" if not one.exact else "its level moved"
        )
    # Constants have no spread at all.
    ratio = other.spread * _length(one, other) / one.spread if one.spread > 0.0 else 1.0
    if not one.exact and not other.exact and not 1 / _UNWIDENED <= ratio <= _UNWIDENED:
        word = "wider" if ratio > 1 else "tighter"
        changes.append(f"it is {number_text(float(f'{max(ratio, 1 / ratio):.2g}'))} times {word}")
    elif one.exact != other.exact:
        changes.append("it no longer holds exactly" if one.exact else "it holds exactly now")
    return Pair(one, other, cosine, shift, tuple(changes))


def _length(one: Rule, other: Rule) -> float:
    """How many units of the first rule a unit of the second is: both have unit length, over features of their own."""
    weight = dict(zip(other.features, other.coefficients.tolist(), strict=True))
    common = np.array([weight.get(name, 0.0) for name in one.features])
    size = float(np.linalg.norm(common))
    return float(np.linalg.norm(one.coefficients[common != 0])) / size if size else 1.0
