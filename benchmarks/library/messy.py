"""CSV files with the defects of real ones, and what they should be read as.

    for file in messy_files(seed=0, n=200, folder=Path("/tmp/messy")): ...

Every file is an everyday table (`library.everyday`) that gets one to three defects (`library.defects`).
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from library.defects import DEFECTS
from library.draft import Draft, UnfitError
from library.everyday import Field, everyday

# In the order in which defects are applied (first what cells are, then where they stand, then what bytes are), with how
# often they come first in a file: what trials met most comes most.
SLOTS = {
    slot: int(weight)
    for slot, weight in re.findall(
        r"(\w+) (\d)",
        "texts 1 locale 2 style 2 truth 1 dates 2 missing 2 cells 5 ids 1 names 2 delimiter 1 quotes 1 second 1 "
        "above 2 below 2 inside 1 rows 3 control 1 lines 1 encoding 2 file 1",
    )
}


@dataclass(frozen=True)
class MessyFile:
    """A file and the truth about it.

    Parameters
    ----------
    fields : the columns; `optional` ones may be left out by who reads them
    rows : for each row of the table the line in which it begins, from 1, and its text
    lines : the text of every line, by where it begins
    others : lines that are no row but may be taken for one: kind, the row before which they stand, line, text
    odd : unparsable cells: row, column, text
    damaged : rows whose cells are not all in place; what is read of them, or that they are dropped, must be said
    broken : a row in which a relation is broken
    refusable : nobody can know how to read it, so it may be refused
    """

    path: Path
    theme: str
    defects: tuple[str, ...]
    fields: tuple[Field, ...]
    optional: tuple[int, ...]
    rows: tuple[tuple[int, str], ...]
    lines: dict[int, str]
    others: tuple[tuple[str, int, int, str], ...]
    odd: tuple[tuple[int, int, str], ...]
    damaged: frozenset[int]
    broken: int | None
    refusable: bool


def messy_files(seed: int, n: int, folder: Path) -> Iterator[MessyFile]:
    """Write n files into the folder; the same for the same seed."""
    rng = np.random.default_rng(seed)
    names = {slot: itertools.cycle(rng.permutation(_of(slot)).tolist()) for slot in SLOTS}
    turns = itertools.cycle(rng.permutation([slot for slot, weight in SLOTS.items() for _ in range(weight)]).tolist())
    for number in range(n):
        first = next(names[next(turns)])
        for attempt in itertools.count():
            with contextlib.suppress(UnfitError, UnicodeEncodeError):
                yield _messy(np.random.default_rng([seed, number, attempt]), first, number, folder)
                break


def _of(slot: str) -> list[str]:
    return [name for name, (own, _) in DEFECTS.items() if own == slot]


def _messy(rng: np.random.Generator, first: str, number: int, folder: Path) -> MessyFile:
    """A file with this defect and up to two more."""
    n = int(np.exp(rng.uniform(np.log(30), np.log(2000))))
    theme, fields, broken = everyday(rng, n)
    chosen = {DEFECTS[first][0]: first}
    for slot in rng.choice(list(SLOTS), int(rng.choice(3, p=[0.4, 0.35, 0.25]))).tolist():
        chosen.setdefault(slot, str(rng.choice(_of(slot))))
    draft = Draft(rng, fields, n)
    for k in draft.numbers()[: int(rng.choice([0, 0, 1, 2]))]:
        for i in np.flatnonzero(rng.random(n) < 0.04).tolist():
            fields[k].values[i], fields[k].cells[i] = None, ""
    for slot in SLOTS:
        if slot in chosen:
            DEFECTS[chosen[slot]][1](draft, chosen[slot])
        if slot == "style":
            draft.spell()
    if broken is not None and any(one.relation and one.values[broken] is None for one in draft.fields):
        broken = None
    path = folder / (f"{number:03d} {draft.name}" if draft.name else f"{number:03d}{draft.suffix}")
    rows, lines, others = _write(draft, path)
    defects = tuple(sorted(chosen.values(), key=lambda one: one != first))
    optional = tuple(k for k, one in enumerate(draft.fields) if one.kind in ("empty", "index"))
    odd, damaged = tuple(sorted(draft.odd)), frozenset(draft.damaged)
    truth = tuple(draft.fields), optional, tuple(rows), lines, tuple(others), odd, damaged, broken, draft.refusable
    return MessyFile(path, theme, defects, *truth)


def _write(draft: Draft, path: Path) -> tuple[list[tuple[int, str]], dict[int, str], list[tuple[str, int, int, str]]]:
    """Write the file; returns its rows, all lines, and those that may be taken for rows."""
    d, fields = draft.delimiter, [one for one in draft.fields if one.kind != "empty"]
    lines: list[tuple[str, str, int]] = [(line, "", 0) for line in draft.above]
    if draft.header:
        titles = [str(one.title if one.name is None else one.name) for one in fields[draft.unnamed :]]
        lines.append((d.join(map(draft.quoted, titles)) + draft.header_tail, "", 0))
    for i in range(draft.n + 1):
        for kind, text in [draft.inside[i]] if i in draft.inside else draft.below if i == draft.n else []:
            lines.append((text + draft.tail * (d in text and kind != "note"), kind, i))
        if i < draft.n:
            own = [(one.cells[i], one) for one in fields]
            raw = [one.decimals < 0 and d not in cell for cell, one in own]
            cells = [cell if raw[k] else draft.quoted(cell, bool(one.units)) for k, (cell, one) in enumerate(own)]
            lines.append((d.join(draft.edits.get(i, list)(cells)) + draft.tail, "row", i))
    rows: list[tuple[int, str]] = []
    others: list[tuple[str, int, int, str]] = []
    told = dict[int, str]()
    parts, line = [], 1
    for content, kind, i in lines:
        told[line] = content
        if kind == "row":
            rows.append((line, content))
        elif kind and content:
            others.append((kind, i, line, content))
        parts += [content.replace("\n", draft.newlines[0]), draft.some(draft.newlines)]
        line += 1 + content.count("\n")
    others += [("ending", draft.n, line, draft.ending)] if draft.ending else []
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(draft.encoding, b"")
    whole = mark + ("".join(parts) + draft.ending).encode(draft.encoding.split()[0])
    path.write_bytes(gzip.compress(whole, mtime=0) if path.suffix == ".gz" else whole)
    return rows, told, others
