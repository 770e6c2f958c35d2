"""`aspca fit`: rules from a file, into a model file."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from aspca.cli import options as o


@o.takes(o.COLUMNS, o.LEARNING, o.READING, o.JSON, o.QUIET)
def run(files: o.Files, model: o.StoredModel, json: bool, quiet: bool, **given: Any) -> None:
    """Learn the rules of FILE and write them to a model file.

    The columns of --label, --id and --time are left out, as those of --ignore are.

    Example:  aspca fit january.csv --id host --model model.json
    """
    from aspca.cli.documents import rules_document
    from aspca.cli.talk import Talk, console, write_json
    from aspca.files.model_file import write_model
    from aspca.jobs.fit import Learning
    from aspca.jobs.models import model_text
    from aspca.jobs.notes import describe_excluded, gaps_remark
    from aspca.jobs.options import request_of
    from aspca.judging.given_text import remarks_on_given
    from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs
    from aspca.outputs.replaced_file import refuse_special
    from aspca.outputs.standard import data_output

    talk = Talk(quiet)
    request = request_of(files, **o.with_numbers(given))
    written = [] if model == STANDARD_STREAM else [model]
    refuse_inputs(STANDARD_STREAM, [*request.inputs, *written])
    for path in written:
        refuse_special(path, request.inputs)
    with talk.progress() as watcher, ExitStack() as stack:
        learning = Learning.of(request, stack, watcher)
        fitted = learning.model()
    told = gaps_remark(fitted)
    excluded = describe_excluded(fitted, learning.source.description)
    for remark in (*learning.remarks, *([told] if told else ()), *excluded, *remarks_on_given(fitted)):
        talk.say(remark)
    private = request.output.private
    if not written:
        data_output().write(model_text(fitted, private=private))
        return
    write_model(fitted, model, naming="table", private=private)
    if json:
        write_json(rules_document(fitted))
    else:
        from aspca.cli.pages import show_rules

        show_rules(console(), fitted.rules)
    talk.say(f"Learned from {fitted.space.n_rows:,} rows; wrote {model}.")
