"""`aspca compare`: what happened to the rules from one model to another."""

from __future__ import annotations

from typing import Annotated

import typer

from aspca.cli import options as o


@o.takes(o.JSON)
def run(
    before: Annotated[str, typer.Argument(metavar="A.json", help="The first model.")],
    after: Annotated[str, typer.Argument(metavar="B.json", help="The second model.")],
    json: bool,
) -> None:
    """Tell which rules stayed, moved, went and came.

    Rules are matched by their directions in the original units, whatever their order.

    Example:  aspca compare january.json february.json
    """
    from aspca.cli.talk import console, write_json
    from aspca.jobs.models import compared, model_from
    from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs

    refuse_inputs(STANDARD_STREAM, [before, after])
    changes = compared(model_from(before), model_from(after))
    if json:
        from aspca.cli.documents import comparison_document

        write_json(comparison_document(changes))
        return
    from aspca.cli.pages import show_comparison

    show_comparison(console(), changes)
