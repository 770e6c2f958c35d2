"""`aspca reproduce`: the paper's experiments, every published number beside ours."""

from __future__ import annotations

from aspca.cli import options as o
from aspca.cli.terminal import Terminal, console, write_json
from aspca.writers.replaced_file import STANDARD_STREAM, refuse_inputs

_OPTIONS: o.Group = {
    "only": o.one("--only", "NAMES", "Of synthetic, breast-cancer, kdd99, with commas between."),
    "kdd99": o.one("--kdd99", "FILE", "The 10 % file of KDD Cup 1999, compressed or not."),
    "out": o.one("--out --output -o", "DIR", "Write a page, JSON and all figures into this folder."),
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
    from aspca.paper.run import run_experiments
    from aspca.paper.write import check_output, make_document, write_reproduction

    terminal = Terminal(quiet)
    read = () if kdd99 is None else (kdd99,)
    refuse_inputs(STANDARD_STREAM, read)
    if out is not None:
        check_output(out, read)
    with terminal.progress() as watcher:
        names = () if only is None else [name.strip() for name in only.split(",")]
        found = run_experiments(names, kdd99=kdd99, watcher=watcher)
        if out is not None:
            write_reproduction(found, out, watcher)
    if json:
        write_json(make_document(found))
    else:
        from aspca.cli.reproduction_page import show_reproduction

        show_reproduction(console(), found)
    terminal.say(*found.missing)
    if out is not None:
        terminal.say(f"Wrote {out}/.")
