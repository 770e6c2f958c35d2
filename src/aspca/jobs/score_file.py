"""A file of scores, written part by part."""

from __future__ import annotations

import json
from typing import TextIO

from aspca.jobs.csv_text import CsvWriter
from aspca.jobs.detection import score_header, write_part
from aspca.jobs.judging import judged
from aspca.jobs.progress import Progress
from aspca.jobs.table import Table
from aspca.model.fitted import Model


def write_scores(
    model: Model, table: Table, name: str | None, stream: TextIO, progress: Progress, *, lines: bool
) -> tuple[int, int | None]:
    """Write row, score and anomaly of every row, as CSV or as JSON lines.

    Returns
    -------
    rows : int
    anomalies : int or None
        None if the model has no limit.
    """
    header = score_header(name)
    writer = None if lines else CsvWriter(stream, header)
    rows, found = 0, 0
    known = True
    for part in judged(model, table, name, progress):
        if writer is not None:
            write_part(writer, part)
        else:
            flags = [None] * len(part.scores) if part.anomalies is None else part.anomalies.tolist()
            names = [] if part.names is None else [part.names]
            for values in zip(part.rows, *names, part.scores.tolist(), flags, strict=True):
                stream.write(json.dumps(dict(zip(header, values, strict=True)), ensure_ascii=False, default=str) + "\n")
        rows += len(part.scores)
        known = part.anomalies is not None
        found += 0 if part.anomalies is None else int(part.anomalies.sum())
    return rows, found if known else None
