"""Names for a report: a column called by ten thousand characters must not fill it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from aspca.judging.model import Model
from aspca.preparation.feature import Feature

LONGEST_NAME = 60
LONGEST_CELL = 80


def short_names(names: Iterable[str]) -> dict[str, str]:
    """What each name is called: itself, or its beginning, told apart from the others by a number."""
    names = list(names)
    taken = {name for name in names if len(name) <= LONGEST_NAME}
    called = {}
    for number, name in enumerate(names):
        short = name
        if len(name) > LONGEST_NAME:
            short = f"{name[:LONGEST_NAME]}…"
            if short in taken:
                short = f"{name[: LONGEST_NAME - 8]}… ({number})"
            taken.add(short)
        called[name] = short
    return called


def cut(text: str, longest: int = LONGEST_CELL) -> str:
    """A cell, or its beginning and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def with_short_names(model: Model, called: dict[str, str]) -> Model:
    """The same model, whose sentences use these names; it judges the same."""
    features = model.space.features
    changed = tuple(_short(feature, called) for feature in features)
    if changed == features:
        return model
    return replace(model, space=replace(model.space, features=changed))


def _short(feature: Feature, called: dict[str, str]) -> Feature:
    return Feature(
        called.get(feature.column, feature.column),
        feature.kind,
        cut(feature.level),
        tuple(cut(level) for level in feature.levels),
    )
