"""Stored models: read and written through pipes, their rules as a list to hand on, and two of them compared."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from aspca.escaping import for_markdown
from aspca.identities.identity import write_number
from aspca.linalg.arrays import Floats
from aspca.model.model import Model
from aspca.model_file.json_text import ModelFileError
from aspca.model_file.model_file import read_model, write_model
from aspca.rules.rule import AnyRule, Rule
from aspca.tables.errors import JobError, RequestError
from aspca.writers.scratch import Scratch
from aspca.writers.text_rows import CsvWriter

# As in `aspca.select`: a rule is found again if another points the same way to within 18 degrees.
_SAME_DIRECTION = 0.95
# And it stays what it was if it also turned by less than 6 degrees, ...
_UNTURNED = 0.995
# ... is wider or narrower by less than this factor, and the average row of the one obeys the other.
_UNWIDENED = 1.5


def model_text(model: Model, *, private: bool = False) -> str:
    """What `write_model` writes."""
    with Scratch() as folder:
        path = folder / "model.json"
        write_model(model, path, naming="table", private=private)
        return path.read_text(encoding="utf-8")


def model_from(path: str, files: Sequence[str] = ()) -> Model:
    """The model in a file, or on standard input where the path is ``-``; see `read_model` for what is raised.

    RequestError if the rows in `files` are to come from there as well.
    """
    if path != "-":
        return read_model(path)
    if "-" in files:
        raise RequestError(
            "Only one of the model and the rows can come from standard input; name a file for the other."
        )
    if sys.stdin is None or sys.stdin.closed:
        raise RequestError("Standard input is closed; send a model to it, or name a file.")
    with Scratch() as folder:
        copy = folder / "model.json"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            return read_model(copy)
        except ModelFileError as error:
            raise ModelFileError(str(error).replace(str(copy), "standard input")) from None


def write_rules(stream: TextIO, model: Model) -> None:
    """The rules of a model as lines of CSV, each with what it is, its spread and its limit."""
    rules, names = model.rules, ("kind", "spread", "limit")
    with CsvWriter(stream, ["rule", "text", *names]) as writer:
        numbers = ([getattr(rule, name) for rule in rules] for name in names)
        writer.columns(list(range(len(rules))), list(map(str, rules)), *numbers)


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


@dataclass(frozen=True)
class Pair:
    """A rule of the first model and the rule of the second that it became."""

    before: AnyRule
    after: AnyRule
    cosine: float = 1.0  # of their directions: 1 the same
    shift: float = 0.0  # how far the second model's average row is from the first rule, in its own units
    changes: tuple[str, ...] = ()  # what moved, in words; empty if nothing did


@dataclass(frozen=True)
class Comparison:
    """What became of the rules of one model in another."""

    stayed: tuple[Pair, ...]
    moved: tuple[Pair, ...]
    lost: tuple[AnyRule, ...]  # of the first
    gained: tuple[AnyRule, ...]  # of the second
    features_lost: tuple[str, ...]  # columns that only the first knows
    features_gained: tuple[str, ...]  # columns that only the second knows


def compare_models(before: Model, after: Model) -> Comparison:
    """Match the rules of two models: identities by their equations, others by their directions in the original units.

    Units differ from feature to feature, so that a cosine needs a common measure: coefficients are multiplied by what
    the features' columns were divided by, the geometric mean of both models'. The closest pair is matched first.
    """
    features_lost = tuple(name for name in before.names if name not in set(after.names))
    features_gained = tuple(name for name in after.names if name not in set(before.names))
    if len(features_lost) == len(before.names):
        raise JobError("The two models have no feature in common, so their rules cannot be compared.")
    earlier, later = ({one.equation: one for one in model.identities} for model in (before, after))
    pairs = [Pair(one, later[equation]) for equation, one in earlier.items() if equation in later]
    lost: list[AnyRule] = [one for equation, one in earlier.items() if equation not in later]
    gained: list[AnyRule] = [one for equation, one in later.items() if equation not in earlier]

    names = [*before.names, *features_gained]
    scales = [dict(zip(model.names, model.space.scale.tolist(), strict=True)) for model in (before, after)]
    known = [[scale[name] for scale in scales if name in scale] for name in names]
    unit = np.array([np.exp(np.mean(np.log(each))) for each in known])
    cosines = np.abs(_directions(before.relations, names, unit) @ _directions(after.relations, names, unit).T)
    left, right = dict(enumerate(before.relations)), dict(enumerate(after.relations))
    # Greedy, closest first; equal ones in the order of their numbers.
    for flat in np.argsort(-cosines, axis=None, kind="stable"):
        i, j = (int(one) for one in np.unravel_index(int(flat), cosines.shape))
        if cosines[i, j] < _SAME_DIRECTION:
            break
        if i in left and j in right:
            pairs.append(_pair_rules(left.pop(i), right.pop(j), after, float(cosines[i, j])))
    return Comparison(
        stayed=tuple(pair for pair in pairs if not pair.changes),
        moved=tuple(pair for pair in pairs if pair.changes),
        lost=(*lost, *left.values()),
        gained=(*gained, *right.values()),
        features_lost=features_lost,
        features_gained=features_gained,
    )


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


def _pair_rules(one: Rule, other: Rule, after: Model, cosine: float) -> Pair:
    means = dict(zip(after.names, after.space.mean.tolist(), strict=True))
    # A feature that is gone is taken to be where it was.
    now = np.array([means.get(name, mean) for name, mean in zip(one.features, one.means.tolist(), strict=True)])
    shift = float(one.coefficients @ (now - one.means))
    changes = [] if cosine >= _UNTURNED else ["its coefficients changed"]
    spread = other.spread * _length(one, other)
    if abs(shift) > max(one.spread, spread):
        changes.append("its level moved" if one.exact else f"its level moved by {abs(shift) / one.spread:.2g} spreads")
    if one.exact != other.exact:
        changes.append("it no longer holds exactly" if one.exact else "it holds exactly now")
    elif not one.exact and one.spread > 0.0 and not 1 / _UNWIDENED <= (ratio := spread / one.spread) <= _UNWIDENED:
        # Constants have no spread at all.
        times = write_number(float(f"{max(ratio, 1 / ratio):.2g}"))
        changes.append(f"it is {times} times {'wider' if ratio > 1 else 'tighter'}")
    return Pair(one, other, cosine, shift, tuple(changes))


def _length(one: Rule, other: Rule) -> float:
    """How many units of the first rule a unit of the second is: both have unit length, over features of their own."""
    weight = dict(zip(other.features, other.coefficients.tolist(), strict=True))
    common = np.array([weight.get(name, 0.0) for name in one.features])
    size = float(np.linalg.norm(common))
    return float(np.linalg.norm(one.coefficients[common != 0])) / size if size else 1.0
