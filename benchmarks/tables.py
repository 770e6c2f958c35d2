"""Real tables with identities known beforehand: are they among the rules, and is a broken one found, named, repaired?

    python benchmarks/tables.py                                # all tables whose packages are installed (extra `bench`)
    python benchmarks/tables.py --only midwest "US employment" --json result.json
    python benchmarks/tables.py --largest 1000                 # tables of at most so many rows
    python benchmarks/tables.py --together 20                  # so many errors in one table, beside each of them alone
    python benchmarks/tables.py --list                         # the tables and their identities

Tables and identities are in `real_tables`: declared, not found. Each identity is broken in one row at a time: its first
column (usually the total) 1 % and 10 % higher, a thousandth, two columns of the row swapped. Cells with `A / B` count
cases, learned from the clean table (A) and from the table with the one error in it (B).
    found, exact    identities among the rules of the clean table (the same columns, coefficients in the same proportion
                    within 1 %); of those declared exact, how many are marked so
    flagged         predict says -1
    first           the spoiled row scores higher than every other row of the table; beside it two peers
    listed B        the identity is among the rules learned from the spoiled table
    top rule        the rule that holds most of the score is an identity that the cell is in
    broken rule     one of the rules above their own limit is the broken identity
    column          the largest contribution is that of a spoiled column; beside it contributions by reconstruction
    value           a rule that is told (the largest, or a broken one) proposes the original value, to its printed step
                    or to what the rounding of the identity allows; not asked of swaps, which need two values
    all at once     the same errors all in one table (at most a tenth of its rows), learned from it: how many are among
                    the first as many rows; beside it two peers
Mahalanobis is the distance with the whole correlation matrix, eigenvalues below 1e-12 taken for that; the forest is
scikit-learn's isolation forest. All take logarithms of the same columns.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from library.report import Cell, Goal, Report, Row, add_json
from real_tables import Table, catalogue
from real_tables.report import lines, misses
from real_tables.together import Together, together
from real_tables.trial import trial


def listing(tables: list[Table]) -> str:
    lines = []
    for table in tables:
        logs = f", logarithms of {', '.join(table.logs)}" if table.logs else ""
        size = " x ".join(map(str, table.frame.shape))
        lines.append(f"{table.name} ({table.package}, {size}{logs})")
        lines += [f"    {table.words(one)}{' (exactly)' if one.exact else ''}" for one in table.identities]
    return "\n".join(lines)


def chosen(only: list[str] | None, largest: int | None) -> list[Table]:
    unknown = set(only or ()) - {table.name for table in catalogue()}
    if unknown:
        raise SystemExit(f"There is no table {', '.join(sorted(unknown))}: see --list.")
    tables = [table for table in catalogue() if not only or table.name in only]
    for table in tables:
        if not table.available:
            print(f"{table.name} is left out: {table.package} is not installed.", file=sys.stderr)
    return [one for one in tables if one.available and (largest is None or len(one.frame) <= largest)]


def together_lines(results: list[Together]) -> list[Row]:
    """Of the errors found alone, the share that is found together; in all over all errors."""

    def row(name: str, several: list[Together]) -> Row:
        cells: dict[str, Cell] = {"table": name, "rows x columns": ""}
        if len(several) == 1:
            cells["rows x columns"] = f"{several[0].n:,} x {several[0].p}"
        for word, alone, among in (
            ("first", "first_alone", "first_together"),
            ("flagged", "flagged_alone", "flagged_together"),
        ):
            one = [found for result in several for found in getattr(result, alone)]
            other = [found for result in several for found in getattr(result, among)]
            both = sum(a and b for a, b in zip(one, other, strict=True))
            cells["errors"] = len(one)
            cells[f"{word} alone"], cells[f"{word} together"] = sum(one), sum(other)
            share = both / max(sum(one), 1)
            cells[f"{word}: of those alone"] = Goal(share, least=0.95) if len(several) > 1 else share
        cells["excluded"] = several[0].excluded if len(several) == 1 else ""
        return cells

    return [*(row(result.table, [result]) for result in results), row("all", results)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--largest", type=int, metavar="ROWS")
    add_json(parser)
    parser.add_argument("--list", action="store_true", help="the tables and their identities, nothing else")
    parser.add_argument("--together", type=int, metavar="ERRORS", help="so many errors in one table instead")
    arguments = parser.parse_args()
    tables = chosen(arguments.only, arguments.largest)
    if arguments.list:
        print(listing(tables))
        return
    if arguments.together:
        results = []
        for table in tables:
            results.append(together(table, arguments.together))
            print(f"{table.name}: {results[-1].seconds:.1f} s", file=sys.stderr)
        with Report(arguments.json) as report:
            report.table("", together_lines(results))
            for result in results:
                report.say("\n".join(f"found alone only: {case}" for case in result.missed))
        return
    outcomes = []
    for table in tables:
        outcomes.append(trial(table))
        print(f"{table.name}: {outcomes[-1].seconds:.1f} s", file=sys.stderr)
    with Report(arguments.json) as report:
        report.table("", lines(outcomes))
        report.say(misses(outcomes))
        report.detail("outcomes", [asdict(outcome) for outcome in outcomes])


if __name__ == "__main__":
    main()
