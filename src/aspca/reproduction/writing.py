"""The folder of a reproduction: a page, JSON, and every figure as PNG and SVG; all of it or nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.util import find_spec

from aspca.harmless import for_json
from aspca.jobs.passes import Watcher
from aspca.outputs.folder import refuse_foreign, replaced_folder
from aspca.reproduction.document import document_of
from aspca.reproduction.results import Reproduction

_NEEDED = ("matplotlib", "jinja2")


def refuse_early(place: str | os.PathLike[str], inputs: Sequence[str] = ()) -> None:
    """Say at once what would stand in the way after minutes.

    Raises
    ------
    OutputError
        The folder cannot be written, or holds what is not ours.
    ModuleNotFoundError
        Something that draws is not installed.
    """
    for name in _NEEDED:
        if find_spec(name) is None:
            raise ModuleNotFoundError(
                f"A page with figures (--out) needs {name}, which is not installed: pip install 'aspca[reproduce]'."
            )
    refuse_foreign(place, inputs)


def write_reproduction(reproduction: Reproduction, place: str | os.PathLike[str], watcher: Watcher) -> None:
    """Write reproduction.html, reproduction.json and figures/ in the place of a folder."""
    from aspca.reproduction.page import page_of
    from aspca.reproduction.pictures import Picture, drawn

    figures = [figure for section in reproduction.sections for figure in section.figures]
    watcher.stage("Drawing", len(figures), "figures")
    with replaced_folder(place) as folder:
        (folder / "figures").mkdir()
        pictures: dict[str, Picture] = {}
        for figure in figures:
            picture = drawn(figure)
            for ending, content in (("png", picture.png), ("svg", picture.svg)):
                (folder / "figures" / f"{figure.key}.{ending}").write_bytes(content)
            pictures[figure.key] = picture
            watcher.advance(1)
        text = json.dumps(document_of(reproduction), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / "reproduction.json").write_text(for_json(text) + "\n", encoding="utf-8")
        (folder / "reproduction.html").write_text(page_of(reproduction, pictures), encoding="utf-8")
