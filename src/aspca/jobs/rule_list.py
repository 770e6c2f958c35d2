"""The rules of a model as a list to hand on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aspca.files.partial import is_missing
from aspca.judging.model import Model
from aspca.rules.rule import Rule

# Whatever Markdown, or HTML inside it, would act on; names are other people's text.
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$-])")


def canonical_of(model: Model) -> tuple[Rule, ...]:
    """The sparsest rules of the same subspace; none if the file left out what they need."""
    return () if is_missing(model.covariance) else model.canonical_rules


def markdown_of(model: Model, canonical: Sequence[Rule]) -> str:
    """A table of the rules, and a list of the canonical ones."""
    lines = [
        f"Rules of {len(model.names)} features, learned from {model.moments.n_rows} rows.",
        "",
        "| | rule | spread | limit |",
        "|---:|---|---:|---:|",
    ]
    for number, rule in enumerate(model.rules):
        limit = "" if rule.limit is None else f"{rule.limit:.4g}"
        lines.append(f"| {number} | {escaped(str(rule))} | {rule.spread:.4g} | {limit} |")
    if canonical:
        lines += ["", "The same in fewer features, for reading; these overlap:", ""]
        lines += [f"- {escaped(str(rule))}" for rule in canonical]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _ACTIVE.sub(r"\\\1", text)
