"""Is only what is wrong flagged? Verdicts on 300 ordinary tables, as they are and with wrong cells, beside peers.

    python benchmarks/untouched.py                                  # the development tables, everything
    python benchmarks/untouched.py --tables 20 --no-peers           # the first 20, the library alone
    python benchmarks/untouched.py --measure untouched halves       # without wrong cells
    python benchmarks/untouched.py --show AER/GrowthDJ              # texts of its 15 worst rows, and nothing else
    python benchmarks/untouched.py --part aside                     # the third that is held aside

Tables: `ordinary_tables/loading.py`. Every call is a user's: `ASPCA().fit(frame)` and `explain(frame)`, with a
`Preprocessor(missing="allow")` where values are missing. Printed are
    untouched   the share of the rows classified as error, and as unusual or worse: quantiles over the tables, tables
                above 2, 5 and 10 %, the ten worst with their first rules and the columns named
    halves      the same of fresh rows: a random half learned, the other half judged; 40 tables of at least 200 rows
    corrupted   1 % and 10 % of the rows with one wrong cell of seven kinds (`ordinary_tables/corruption.py`):
                *first k*: share of the k corrupted rows among the k rows of highest score; precision (mean over the
                tables with any error, and pooled) and recall of *error*; *right column*: the largest contribution is
                the wrong cell's, of all corrupted rows and of those that the library calls errors; by kind of error
Peers (`ordinary_tables/peers.py`) judge the same tables; what they flag stands for their errors. Every failure is
listed. Real tables have errors of their own, so that precision is a lower bound.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
from library.report import Report, add_json
from ordinary_tables import product
from ordinary_tables.loading import PARTS, OrdinaryTable, load_part
from ordinary_tables.measuring import (
    FEWEST_HALVED_ROWS,
    HALVED_TABLES,
    Results,
    measure_corrupted,
    measure_half,
    measure_untouched,
)
from ordinary_tables.peers import PEERS
from ordinary_tables.reporting import (
    report_corrupted,
    report_failures,
    report_halves,
    report_speed,
    report_untouched,
)

MEASURES = ("untouched", "halves", "corrupted")
_SHOWN_ROWS = 15


def measure_tables(tables: list[OrdinaryTable], options: argparse.Namespace) -> Results:
    results = Results()
    peers = [] if options.no_peers else list(PEERS)
    halved = [table.name for table in tables if len(table.frame) >= FEWEST_HALVED_ROWS][:HALVED_TABLES]
    for k, table in enumerate(tables):
        start = time.perf_counter()
        if "untouched" in options.measure:
            measure_untouched(table, peers, options.seed, results)
        if "halves" in options.measure and table.name in halved:
            measure_half(table, options.seed, results)
        if "corrupted" in options.measure:
            measure_corrupted(table, peers, options.seed, results)
        size = " x ".join(map(str, table.frame.shape))
        words = f"{k + 1} of {len(tables)}: {table.name}, {size}, {time.perf_counter() - start:.1f} s"
        print(words, file=sys.stderr, flush=True)
    return results


def show_table(table: OrdinaryTable) -> None:
    """The rules of a table as it is, and the texts of its rows of highest score."""
    judged = product.judge(table.frame)
    verdicts = judged.verdicts
    print(f"{table.name}: {verdicts.errors.mean():.2%} errors, {verdicts.unusual.mean():.2%} unusual or worse")
    for rule in judged.model.rules_:
        print(f"- {rule}")
    for row in np.argsort(-verdicts.scores, kind="stable")[:_SHOWN_ROWS].tolist():
        verdict = "error" if verdicts.errors[row] else "unusual" if verdicts.unusual[row] else "normal"
        print(f"\n{verdict}, score {verdicts.scores[row]:.4g}: {judged.why.text(row)}")


def choose_shown(name: str, part: str) -> OrdinaryTable:
    table = next((table for table in load_part(part) if table.name == name), None)
    if table is None:
        raise SystemExit(f"There is no table {name} in the part {part}; tables held aside need --part aside.")
    return table


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, default="dev", help="aside: the tables to look at last, once")
    parser.add_argument("--tables", type=int, metavar="N", help="only the first N by the hash of their names")
    parser.add_argument("--measure", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--no-peers", action="store_true", help="the library alone")
    parser.add_argument("--show", metavar="TABLE", help="package/table: print its rules and its worst rows only")
    parser.add_argument("--seed", type=int, default=0)
    add_json(parser)
    return parser.parse_args()


def main() -> None:
    warnings.simplefilter("ignore")
    options = parse_options()
    if options.show:
        show_table(choose_shown(options.show, options.part))
        return
    tables = load_part(options.part)[: options.tables]
    results = measure_tables(tables, options)
    with Report(options.json) as report:
        report.say(f"Part {options.part}, {len(tables)} tables, seed {options.seed}")
        if results.untouched:
            report_untouched(report, results)
        if results.halves:
            report_halves(report, results)
        if results.corrupted:
            report_corrupted(report, results)
        if results.untouched or results.halves or results.corrupted:
            report_speed(report, results)
        report_failures(report, results)
        report.detail("figures", {name: lines for name, lines in vars(results).items() if name != "cells"})


if __name__ == "__main__":
    main()
