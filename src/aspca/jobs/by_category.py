"""A table judged by one model per category of a column: a folder of outputs for each, and a list of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aspca.jobs.detection import Detection
from aspca.jobs.errors import JobError
from aspca.jobs.part_table import parts_of
from aspca.jobs.table import Table
from aspca.outputs.csv_text import CsvWriter


def detect_by_category(
    table: Table, learned: Table | None, column: str, folder: Path, detect: Callable[[Table, Table, Path], Detection]
) -> dict[str, Detection]:
    """What is found in the rows of each category.

    The outputs of each go into a folder category-000, category-001, ... in the order of categories.csv, which says
    which is which: categories are other people's text, and no names of files.

    Parameters
    ----------
    learned : Table or None
        The table that rules are learned from, if that is another one.
    detect : callable
        ``(source, table, folder)``: learns from one table, judges the other, and writes to a folder that is there.

    Raises
    ------
    JobError
        A category to be judged is not among those to learn from, or has too few rows there.
    """
    judged = parts_of(table, column)
    sources = judged if learned is None else parts_of(learned, column)
    unknown = [category for category in judged if category not in sources]
    if unknown and learned is not None:
        raise JobError(
            f"--by: {judged[unknown[0]].where(0)} has the category {unknown[0]!r} in column {column!r}, which "
            f"{learned.description} does not have, so nothing is known about it; leave such rows out."
        )
    found = {}
    for number, (category, part) in enumerate(judged.items()):
        inside = folder / f"category-{number:03d}"
        inside.mkdir()
        found[category] = detect(sources[category], part, inside)
    with (
        open(folder / "categories.csv", "x", encoding="utf-8", newline="") as stream,
        CsvWriter(stream, ["category", "folder", "rows", "anomalies", "limit"]) as writer,
    ):
        writer.columns(
            list(found),
            [f"category-{number:03d}" for number in range(len(found))],
            [one.n_rows for one in found.values()],
            [one.n_anomalies for one in found.values()],
            # Scores over their category's limit can be ranked together.
            [one.model.alarms.the_total() for one in found.values()],
        )
    return found
