"""The rules of a model as a list to hand on."""

from __future__ import annotations

from aspca.harmless import for_markdown
from aspca.judging.model import Model


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
        lines.append(f"| {number} | {for_markdown(str(rule))} | {rule.spread:.4g} | {limit} |")
    return "\n".join(lines) + "\n"
