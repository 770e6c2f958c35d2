"""`aspca rules`: what a stored model says."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aspca.cli.options import one_of

FORMATS = ("text", "json", "markdown")


def run(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file; - for stdin.")],
    format: Annotated[
        str,
        typer.Option("--format", "-f", metavar="NAME", help="text, json or markdown.", autocompletion=one_of(*FORMATS)),
    ] = "text",
) -> None:
    """Print the rules of a model file.

    Example:  aspca rules model.json --format markdown > rules.md
    """
    from aspca.jobs.errors import RequestError
    from aspca.jobs.stored import markdown_of, model_from

    if format not in FORMATS:
        raise RequestError(f"--format must be text, json or markdown, got {format!r}.")
    stored = model_from(model)
    if format == "markdown":
        sys.stdout.write(markdown_of(stored))
    elif format == "json":
        from aspca.cli.documents import rules_document
        from aspca.cli.talk import write_json

        write_json(rules_document(stored))
    else:
        from aspca.cli.pages import show_rules
        from aspca.cli.talk import Talk, console

        show_rules(console(), stored.rules)
        for remark in stored.reading:
            Talk(quiet=False).say(remark)
