"""What each constant of the tail models is good for: figures where it is varied, on the development tables.

    python benchmarks/constants.py                             # every constant, 40 tables
    python benchmarks/constants.py --only GAP SHAPE_PRIOR --tables 100

Every table is judged as it is and with 1 % of its rows corrupted in one cell, as in `untouched.py`, by the default
`ASPCA()` with one constant of `aspca.model.constants` changed. *Errors* is the mean share of rows classified as error
in tables as they are (in %), *above 2 %* the number of tables with more; first k, precision (mean over the tables with
any error, and pooled), recall and right column are those of corrupted tables.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from library.report import Report, Row, add_json
from ordinary_tables.loading import OrdinaryTable, load_part
from ordinary_tables.measuring import Results, measure_corrupted, measure_untouched

from aspca.model import columns, constants, cross_fit, evidence, fit, fit_rows, free_columns, gaussian, outliers, tails

VARIED: dict[str, tuple[Any, ...]] = {
    "TAIL": (0.15, 0.3),
    "CENSORED": (0.025, 0.08),
    "FEWEST_IN_TAIL": (8, 15),
    "FEWEST_CENSORED": (1, 4),
    "GAP": (5.0, 12.0),
    "FEWEST_BEFORE_GAP": (3, 8),
    "SHAPE_PRIOR": (0.07, 0.1, 0.15),
    "FOLDS": (3, 10),
    "SHRINKAGES": ((1e-6,), (0.1,)),
    "CLEARLY_BETTER": (0.3, 0.8),
    "DISTINCT": (5, 20),
    "OUTLYING": (1e-2, 1e-4),
    "GROSS": (0.0, 1e-8),
    "PATTERN_LEVEL": (0.01, 0.2),
    "FAR_OUT": (5.0, 12.0),
    "BY_CHANCE": (0.03, 0.3, 1e9),
    "MOST_TERMS": (4, 8),
    "TIGHT": (0.1, 0.3),
    "HOMOGENEOUS": (0.2, 0.5),
}
_USERS = (columns, constants, cross_fit, evidence, fit, fit_rows, free_columns, gaussian, outliers, tails)
_MOST_ROWS = 5_000
_IN_PERCENT = 100.0


@contextmanager
def changed(name: str, value: Any) -> Iterator[None]:
    """Every module that uses the constant sees another value."""
    users = [module for module in _USERS if hasattr(module, name)]
    before = getattr(constants, name)
    for module in users:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module in users:
            setattr(module, name, before)


def describe(words: str, tables: list[OrdinaryTable]) -> Row:
    results = Results()
    for table in tables:
        measure_untouched(table, (), 0, results)
        measure_corrupted(table, (), 0, results, levels=("1 %",))
    shares = np.array([line["errors"] for line in results.untouched])
    found = pd.DataFrame(results.corrupted)
    some = found[found["flagged"] > 0]
    print(words, file=sys.stderr, flush=True)
    return {
        "": words,
        "errors": _IN_PERCENT * float(shares.mean()),
        "above 2 %": int((shares > 0.02).sum()),
        "first k": float(found["first k"].mean()),
        "precision": float((some["hits"] / some["flagged"]).mean()),
        "pooled": float(found["hits"].sum() / max(found["flagged"].sum(), 1)),
        "recall": float((found["hits"] / found["corrupted"]).mean()),
        "right column": float(found["right column"].mean()),
        "failures": len(results.failures),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(VARIED), default=list(VARIED))
    parser.add_argument("--tables", type=int, default=40, metavar="N")
    add_json(parser)
    options = parser.parse_args()
    tables = [table for table in load_part("dev") if len(table.frame) <= _MOST_ROWS][: options.tables]
    with Report(options.json) as report:
        rows = [describe("as it is", tables)]
        for name in options.only:
            for value in VARIED[name]:
                with changed(name, value):
                    rows.append(describe(f"{name} = {value}", tables))
        report.table(f"Constants varied on {len(tables)} development tables", rows)


if __name__ == "__main__":
    main()
