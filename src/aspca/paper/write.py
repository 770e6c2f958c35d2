"""A reproduction as files: a page, JSON, and every figure as PNG and SVG, all of it or nothing.

The page needs nothing else: no script, no other file, nothing from elsewhere. Figures are the same bytes on every run.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

from aspca.escaping import for_json
from aspca.paper.published import (
    Comparison,
    Figure,
    Listing,
    Part,
    Reproduction,
    Table,
    format_cell,
    group_by_reason,
    read_resource,
)
from aspca.pipeline.passes import Watcher
from aspca.writers.folder import refuse_foreign, replaced_folder

# A figure's bytes by the ending of its file.
Picture = Mapping[str, bytes]
_MEDIA_TYPES = {"png": "image/png", "svg": "image/svg+xml"}


def check_output(place: str | os.PathLike[str], inputs: Sequence[str] = ()) -> None:
    """Refuse at once what would stand in the way after minutes: a folder that is not ours, what is not installed."""
    for name in ("matplotlib", "jinja2"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(
                f"A page with figures (--out) needs {name}, which is not installed: pip install 'aspca[reproduce]'."
            )
    refuse_foreign(place, inputs)


def write_reproduction(reproduction: Reproduction, place: str | os.PathLike[str], watcher: Watcher) -> None:
    """Write reproduction.html, reproduction.json and figures/ in the place of a folder."""
    figures = [figure for section in reproduction.sections for figure in section.figures]
    watcher.stage("Drawing", len(figures), "figures")
    with replaced_folder(place) as folder:
        (folder / "figures").mkdir()
        pictures: dict[str, Picture] = {}
        for figure in figures:
            pictures[figure.key] = draw_picture(figure)
            for ending, content in pictures[figure.key].items():
                (folder / "figures" / f"{figure.key}.{ending}").write_bytes(content)
            watcher.advance(1)
        text = json.dumps(make_document(reproduction), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / "reproduction.json").write_text(for_json(text) + "\n", encoding="utf-8")
        (folder / "reproduction.html").write_text(render_page(reproduction, pictures), encoding="utf-8")


def draw_picture(figure: Figure) -> Picture:
    """Draw it, without dates and random names."""
    import matplotlib

    png, svg = io.BytesIO(), io.BytesIO()
    # What a user set for pictures of their own is not for these.
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "svg.hashsalt": figure.key}):
        canvas = figure.draw()
        canvas.savefig(png, format="png", dpi=110, metadata={"Software": None})
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return {"png": png.getvalue(), "svg": svg.getvalue()}


def render_page(reproduction: Reproduction, pictures: Mapping[str, Picture]) -> str:
    """HTML in which every text is escaped, every table and figure stands, and nothing can be loaded or run."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    style = read_resource("page.css")
    environment = Environment(
        loader=FunctionLoader(read_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests |= {
        "figure": lambda part: isinstance(part, Figure),
        "table": lambda part: isinstance(part, Table),
    }
    return environment.get_template("page.html.jinja").render(
        reproduction=reproduction,
        format_cell=format_cell,
        group_by_reason=group_by_reason,
        embed=lambda figure: _embed(pictures[figure.key]),
        style=style,
        # The only style that the page's own rule lets through is this one.
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def _embed(picture: Picture) -> str:
    """The picture itself as an address, in the smaller of its two forms."""
    ending = min(_MEDIA_TYPES, key=lambda one: len(picture[one]))
    return f"data:{_MEDIA_TYPES[ending]};base64,{base64.b64encode(picture[ending]).decode()}"


def make_document(reproduction: Reproduction) -> dict[str, Any]:
    """All of it but the pictures, for JSON: plain values, every number exact."""
    return {
        "summary": [{"data": section.title, **section.counts} for section in reproduction.sections],
        "missing": list(reproduction.missing),
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "description": section.description,
                "parts": [_describe_part(part) for part in section.parts],
            }
            for section in reproduction.sections
        ],
    }


def _describe_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Table):
        comparisons = [_describe_comparison(one) for one in part.comparisons]
        return {"kind": "table", "title": part.title, "comparisons": comparisons, "notes": list(part.notes)}
    if isinstance(part, Listing):
        rows = [dict(zip(part.header, row, strict=True)) for row in part.rows]
        return {"kind": "listing", "title": part.title, "rows": rows, "notes": list(part.notes)}
    return {"kind": "figure", "key": part.key, "source": part.source, "title": part.title, "says": part.says}


def _describe_comparison(one: Comparison) -> dict[str, Any]:
    return {
        **{name: getattr(one, name) for name in ("key", "source", "row", "column")},
        "paper": one.paper if isinstance(one.paper, str | int) else float(one.paper),
        "printed": str(one.paper) if isinstance(one.paper, Decimal) else None,
        **{name: getattr(one, name) for name in ("ours", "difference", "tolerance", "agrees")},
        "reason": one.reason or None,
    }
