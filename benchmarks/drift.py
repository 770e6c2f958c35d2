"""Servers, the later period: how many normal rows are flagged that were not learned from, and how many beyond changes?

    python benchmarks/drift.py                                # all files of ASPCA_DATA/servers
    python benchmarks/drift.py --files omi --ours limit=pot --json result.json

Each file is learned from its training rows; judged are the later ones that operators call normal, in their order.
*Flagged* is their share at a nominal 2.5 %. *Changes* counts what changed at once (`Explanation.changes`), *rows of
changes* is the share of the flagged rows that are nothing but that, *beyond* the share of all rows that is flagged
by more: outside of changes, or off the new level too.
"""

from __future__ import annotations

import argparse

import numpy as np
from library.arguments import add_ours, words
from library.report import Cell, Report, Row, add_json
from library.servers import File, family_of, files_of

from aspca import ASPCA
from aspca.judging.change_text import events_of


def line(file: File, **params: object) -> Row:
    """One file: shares of the later rows without a label, in per cent."""
    later = file.test[~file.label]
    why = ASPCA(**params).fit(file.train).explain(later)
    changes, beyond = why.changes(), why.beyond()
    flagged = int(why.anomalies.sum())
    return {
        "file": file.name,
        "rows": len(later),
        "flagged %": 100.0 * flagged / len(later),
        "changes": len(events_of(changes)),
        "rows of changes %": 100.0 * (flagged - int(beyond.sum())) / max(flagged, 1),
        "beyond %": 100.0 * float(beyond.mean()),
    }


def summary(rows: list[Row]) -> list[Row]:
    """Median and worst of each column."""
    names = [name for name in rows[0] if name not in ("file", "rows")]
    made = []
    for label, how in (("median", np.median), ("worst", np.max)):
        cells: dict[str, Cell] = {"file": label}
        cells |= {name: float(how([row[name] for row in rows])) for name in names}
        made.append(cells)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=[], metavar="NAME", help="paths, or parts of names")
    add_ours(parser)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        for given in [{}, *options.ours]:
            by_family: dict[str, list[Row]] = {}
            for path in files_of(options.files):
                by_family.setdefault(family_of(path.stem), []).append(line(File.load(path), **given))
            for name, rows in by_family.items():
                report.table(" ".join(filter(None, [name, words(given)])), [*rows, *summary(rows)], digits=1)


if __name__ == "__main__":
    main()
