"""`aspca rules`: what a stored model says."""

from __future__ import annotations

from typing import Annotated

import typer

from aspca.cli import options as o


@o.takes(o.JSON, o.CSV, o.MARKDOWN)
def run(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file; - for stdin.")],
    json: bool,
    csv: bool,
    markdown: bool,
) -> None:
    """Print the rules of a model file.

    Example:  aspca rules model.json --markdown > rules.md
    """
    from aspca.cli.talk import refuse_together
    from aspca.jobs.models import markdown_of, model_from
    from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs
    from aspca.outputs.standard import data_output

    refuse_together({"--json": json, "--csv": csv, "--markdown": markdown})
    refuse_inputs(STANDARD_STREAM, [model])
    stored = model_from(model)
    if markdown:
        data_output().write(markdown_of(stored))
    elif json:
        from aspca.cli.documents import rules_document
        from aspca.cli.talk import write_json

        write_json(rules_document(stored))
    elif csv:
        from aspca.jobs.result_folder import write_rules

        write_rules(data_output(), stored)
    else:
        from aspca.cli.pages import show_rules
        from aspca.cli.talk import Talk, console

        show_rules(console(), stored.rules)
        for remark in stored.reading:
            Talk(quiet=False).say(remark)
