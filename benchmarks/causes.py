"""Real causes: do detectors find operators' incidents, and name the features operators blamed for them?

    python benchmarks/causes.py                                             # the quick peers, both families: minutes
    python benchmarks/causes.py --slow                                      # ECOD, SHAP, JSPCA, a tree as well
    python benchmarks/causes.py --only z-scores mahalanobis --files omi     # peers and files by parts of their names
    python benchmarks/causes.py --ours score=standardized,scaling=none      # one more line of ours; repeatable
    python benchmarks/causes.py --files a/folder/omi-9.npz --json out.json  # any file of this kind; for a machine

Data: ASD (`omi-*`, application servers) and SMD (`machine-*`, server machines), see `library.servers`. Each model is
fitted to a file's training rows, with the same settings for all files.

- Detection, over single test rows, nothing adjusted to segments: area under the ROC curve, average precision, and the
  F1 of the best threshold.
- Causes: the features ranked by their mean contribution over the rows of an incident. HitRate@P % is the share of the
  causes among the first floor(P % of their number) features (OmniAnomaly's); NDCG takes the full ranking with
  relevance 1 for causes; top 3 is whether a cause is among the first three. Where features tie (a sparse rule says
  nothing of many), the expected value over all orders of the tied ones counts.
- Averages: over the incidents of a file, then over files. Incidents without a named cause count for detection only.

"Mahalanobis, best" takes, for each column by itself, the best of the four floors: more than any one choice can reach.
"before" is what the defaults reached before one list of rules read and judged: no column should be lower by more than
0.005. Below each table, ours beside the best peer.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from library.arguments import add_ours, words
from library.report import Cell, Goal, Report, Row, add_json
from library.rivals import QUICK, RIVALS, Absent, Rival, ours
from library.servers import TITLES, File, Measures, family_of, files_of, measure
from library.timing import timed

OURS, BEFORE, BEST_OF = "ours", "before", "Mahalanobis"
# How far the defaults of ours may stay behind the best peer, and behind themselves before.
GOALS = {"auc": 0.01, "ap": 0.01, "hit150": 0.02, "ndcg": 0.02}
LOWER = 0.005
EARLIER = {
    "ASD": Measures(0.709, 0.244, 0.303, 0.858, 0.954, 0.928, 0.976),
    "SMD": Measures(0.764, 0.456, 0.523, 0.671, 0.794, 0.861, 0.930),
}
# How many files those are means of.
EARLIER_FILES = {"ASD": 6, "SMD": 4}


def run(paths: list[Path], methods: dict[str, Rival]) -> dict[str, dict[str, Measures]]:
    """Family -> line -> the mean over its files."""
    families: dict[str, dict[str, list[Measures]]] = {}
    absent: set[str] = set()
    for path in paths:
        file = File.load(path)
        lines = families.setdefault(family_of(file.name), {})
        for name, fit in methods.items():
            try:
                measured, seconds = timed(lambda fit=fit, file=file: measure(file, fit(file.train)))
            except Absent as error:
                if name not in absent:
                    print(f"{name} is left out: {error}", file=sys.stderr)
                absent.add(name)
                continue
            lines.setdefault(name, []).append(measured)
            print(f"{file.name}: {name}, {seconds:.1f} s", file=sys.stderr)
    return {family: {name: Measures.mean(each) for name, each in lines.items()} for family, lines in families.items()}


def show(report: Report, family: str, lines: dict[str, Measures], n_files: int) -> None:
    """One table, ours with a goal in every column, and under it ours beside the best peer."""
    peers = {name: line for name, line in lines.items() if not name.startswith(OURS)}
    floored = [line for name, line in peers.items() if name.startswith(BEST_OF)]
    rows = [_row(name, line) for name, line in peers.items()]
    if len(floored) > 1:
        rows.append(_row(f"{BEST_OF}, best", Measures.best(floored)))
    before = EARLIER.get(family) if n_files == EARLIER_FILES.get(family) else None
    if before is not None:
        rows.append(_row(BEFORE, before))
    rows += [_row(name, line, before if name == OURS else None) for name, line in lines.items() if name not in peers]
    report.table(f"{family}, mean of {n_files} files", rows, best_of=list(peers), bold=[OURS])
    print()
    if peers:
        best = Measures.best(peers.values())
        for column, margin in GOALS.items():
            goal = Goal(getattr(lines[OURS], column), least=getattr(best, column) - margin)
            report.goal(f"{family} {TITLES[column]}, the best peer less {margin:g}", goal)


def _row(name: str, line: Measures, before: Measures | None = None) -> Row:
    cells: dict[str, Cell] = {"": name}
    for column, value in asdict(line).items():
        least = None if before is None else getattr(before, column) - LOWER
        cells[TITLES[column]] = value if least is None else Goal(value, least=least)
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="peers whose name contains a word")
    parser.add_argument("--slow", action="store_true", help="ECOD, SHAP, JSPCA and a surrogate tree as well")
    parser.add_argument(
        "--files", nargs="*", default=[], metavar="FILE", help="parts of file names, or paths of .npz files"
    )
    add_ours(parser)
    add_json(parser)
    options = parser.parse_args()

    asked = [word.lower() for word in options.only]
    known = RIVALS if options.slow or asked else QUICK
    peers = {name: fit for name, fit in known.items() if not asked or any(word in name.lower() for word in asked)}
    paths = files_of(options.files)
    if not paths:
        parser.error(f"no file matches {' '.join(options.files)}; name parts of names in the data folder, or paths.")
    mine = {OURS: ours()} | {f"{OURS} {words(given)}": ours(**given) for given in options.ours}
    with Report(options.json) as report:
        for family, lines in sorted(run(paths, {**peers, **mine}).items()):
            show(report, family, lines, sum(family_of(path.stem) == family for path in paths))


if __name__ == "__main__":
    main()
