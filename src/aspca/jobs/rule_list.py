"""The rules of a model as a list to hand on."""

from __future__ import annotations

import re

from aspca.judging.model import Model

# Whatever Markdown, or HTML inside it, would act on; names are other people's text.
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$-])")


def markdown_of(model: Model) -> str:
    """A table of the rules."""
    lines = [
        f"Rules of {len(model.names)} features, learned from {model.space.n_rows} rows.",
        "",
        "| | rule | spread | limit |",
        "|---:|---|---:|---:|",
    ]
    for number, rule in enumerate(model.rules):
        limit = "" if rule.limit is None else f"{rule.limit:.4g}"
        lines.append(f"| {number} | {escaped(str(rule))} | {rule.spread:.4g} | {limit} |")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _ACTIVE.sub(r"\\\1", text)
