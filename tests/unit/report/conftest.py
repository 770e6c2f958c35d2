"""Reports of small tables."""

from __future__ import annotations

from typing import Any

import aspca
from aspca.pipeline.result import Detection
from aspca.report.summarize import summarize
from aspca.report.summary import Report


def report_of(table: Any, *, private: bool = False, **options: Any) -> tuple[Detection, Report]:
    found = aspca.detect(table, **options)
    evidence, whence = found.outcomes[None].evidence, found.whence
    assert evidence is not None
    assert whence is not None
    return found, summarize(evidence, whence, found.remarks, private=private)
