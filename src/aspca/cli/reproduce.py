"""`aspca reproduce`: the paper's experiments, every published number beside ours."""

from __future__ import annotations

from typing import Annotated

import typer

from aspca.cli import options as o

_OPTIONS: o.Group = {
    "only": (
        Annotated[
            str | None,
            typer.Option("--only", metavar="NAMES", help="Of synthetic, breast-cancer, kdd99, with commas between."),
        ],
        None,
    ),
    "kdd99": (
        Annotated[
            str | None,
            typer.Option("--kdd99", metavar="FILE", help="The 10 % file of KDD Cup 1999, compressed or not."),
        ],
        None,
    ),
    "out": (
        Annotated[
            str | None,
            typer.Option(
                "--out", "--output", "-o", metavar="DIR", help="Write a page, JSON and all figures into this folder."
            ),
        ],
        None,
    ),
}


@o.takes(_OPTIONS, o.JSON, o.QUIET)
def reproduce(only: str | None, kdd99: str | None, out: str | None, json: bool, quiet: bool) -> None:
    """Run the experiments of the paper and compare its numbers.

    KDD99 is read from --kdd99, from the folder in ASPCA_DATA, or else fetched
    by scikit-learn; without it the other experiments are run. --out writes
    reproduction.html, reproduction.json and the figures as PNG and SVG, and
    needs matplotlib and jinja2: pip install 'aspca[reproduce]'.

    Example:  aspca reproduce --only synthetic,breast-cancer --out paper
    """
    from aspca.cli.terminal import Talk, console, write_json
    from aspca.paper.run import run_experiments
    from aspca.paper.write import check_output, make_document, write_reproduction
    from aspca.writers.inputs import STANDARD_STREAM, refuse_inputs

    talk = Talk(quiet)
    read = () if kdd99 is None else (kdd99,)
    refuse_inputs(STANDARD_STREAM, read)
    if out is not None:
        check_output(out, read)
    with talk.progress() as watcher:
        names = () if only is None else [name.strip() for name in only.split(",")]
        found = run_experiments(names, kdd99=kdd99, watcher=watcher)
        if out is not None:
            write_reproduction(found, out, watcher)
    if json:
        write_json(make_document(found))
    else:
        from aspca.cli.reproduction_page import show_reproduction

        show_reproduction(console(), found)
    talk.say(*found.missing)
    if out is not None:
        talk.say(f"Wrote {out}/.")
