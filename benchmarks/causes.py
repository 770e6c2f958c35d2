"""Real causes: do detectors find operators' incidents, and name the features operators blamed for them?

    python benchmarks/causes.py                                             # all peers, both families: some minutes
    python benchmarks/causes.py --only z-scores mahalanobis --files omi     # peers and files by parts of their names
    python benchmarks/causes.py --ours score=standardized,scaling=standard  # one more line of ours; repeatable
    python benchmarks/causes.py --files a/folder/omi-9.npz --json out.json  # any file of this kind; for a machine

Data: ASD (`omi-*`, application servers) and SMD (`machine-*`, server machines). Each model is fitted to a file's
training rows, with the same settings for all files.

- Detection, over single test rows, nothing adjusted to segments: area under the ROC curve, average precision, and the
  F1 of the best threshold.
- Causes: the features ranked by their mean contribution over the rows of an incident. HitRate@P % is the share of the
  causes among the first floor(P % of their number) features (OmniAnomaly's); NDCG takes the full ranking with
  relevance 1 for causes; top 3 is whether a cause is among the first three. Where features tie (a sparse rule says
  nothing of many), the expected value over all orders of the tied ones counts.
- Averages: over the incidents of a file, then over files. Incidents without a named cause count for detection only.

"Mahalanobis, best" takes, for each column by itself, the best of the four floors: more than any one choice can reach.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import ast
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from rivals import RIVALS, Absent, Fitted, Rival, ours
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from aspca.datasets.locate import find_data
from aspca.linalg.arrays import Bools, Floats, Ints

FAMILIES = {"omi": "ASD", "machine": "SMD"}
# One file of each family, to find the folder by.
KNOWN = ("servers/omi-1.npz", "servers/machine-1-6.npz")
OURS = "ours"
BEST_OF = "Mahalanobis"
# How far the defaults of ours may stay behind the best peer.
GOALS = {"auc": 0.01, "ap": 0.01, "hit150": 0.02, "ndcg": 0.02}
TITLES = {
    "auc": "AUC",
    "ap": "AP",
    "f1": "F1",
    "hit100": "Hit@100%",
    "hit150": "Hit@150%",
    "ndcg": "NDCG",
    "top3": "top 3",
}


@dataclass(frozen=True)
class File:
    """One server: rows (n, p), a label per test row, incidents (k, 2) half-open, and the causes of each (k, p)."""

    name: str
    train: Floats
    test: Floats
    label: Bools
    segments: Ints
    causes: Bools

    @classmethod
    def load(cls, path: Path) -> File:
        with np.load(path) as data:
            return cls(
                path.stem,
                data["train"].astype(np.float64),
                data["test"].astype(np.float64),
                data["label"].astype(bool),
                data["segments"].astype(np.int64),
                data["causes"].astype(bool),
            )


@dataclass(frozen=True)
class Measures:
    """The columns of the table, each from 0 to 1, more is better."""

    auc: float
    ap: float
    f1: float
    hit100: float
    hit150: float
    ndcg: float
    top3: float

    @classmethod
    def mean(cls, several: Iterable[Measures]) -> Measures:
        return cls(*np.mean([list(asdict(one).values()) for one in several], axis=0).tolist())

    @classmethod
    def best(cls, several: Iterable[Measures]) -> Measures:
        """The largest of each column by itself."""
        return cls(*np.max([list(asdict(one).values()) for one in several], axis=0).tolist())


# ---- what is measured


def detection(label: Bools, score: Floats) -> tuple[float, float, float]:
    """Area under the ROC curve, average precision, and the best F1 over all thresholds."""
    precision, recall, _ = precision_recall_curve(label, score)
    f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-300)
    return float(roc_auc_score(label, score)), float(average_precision_score(label, score)), float(f1.max())


def naming(weights: Floats, causes: Bools) -> tuple[float, float, float, float]:
    """HitRate@100 %, HitRate@150 %, NDCG and a cause in the top 3, for one incident.

    Parameters
    ----------
    weights : (p,)
        By which features are ranked, largest first.
    causes : (p,)
        At least one is true.
    """
    order = np.argsort(-weights, kind="stable")
    _, starts, sizes = np.unique(-weights[order], return_index=True, return_counts=True)
    # Tied features share their places: each stands for the mean relevance of its group.
    relevance = np.repeat(np.add.reduceat(causes[order].astype(np.float64), starts) / sizes, sizes)
    n = int(causes.sum())
    discounts = 1.0 / np.log2(np.arange(2, len(weights) + 2))
    ndcg = float(relevance @ discounts / discounts[:n].sum())
    missed = 1.0
    for start, size, in_group in zip(starts, sizes, relevance[starts] * sizes, strict=True):
        taken = min(int(size), max(0, 3 - int(start)))
        missed *= comb(int(size) - round(in_group), taken) / comb(int(size), taken)
    return float(relevance[:n].sum() / n), float(relevance[: 3 * n // 2].sum() / n), ndcg, 1.0 - missed


def measure(file: File, fitted: Fitted) -> Measures:
    """One fitted detector on one file."""
    found = detection(file.label, fitted.score(file.test))
    named = [
        (start, stop, causes) for (start, stop), causes in zip(file.segments, file.causes, strict=True) if causes.any()
    ]
    # Only the rows of incidents: explaining all of them takes some peers minutes.
    parts = fitted.contributions(np.concatenate([file.test[start:stop] for start, stop, _ in named]))
    ends = np.cumsum([0] + [stop - start for start, stop, _ in named])
    ranks = [naming(parts[a:b].mean(axis=0), c) for a, b, (_, _, c) in zip(ends[:-1], ends[1:], named, strict=True)]
    return Measures(*found, *np.mean(ranks, axis=0).tolist())


# ---- one run


def files_of(words: list[str]) -> list[Path]:
    """Files by path, or by a part of their name in the data folder; all of that folder without words."""
    paths = [Path(word) for word in words if word.endswith(".npz")]
    names = [word for word in words if not word.endswith(".npz")]
    if names or not words:
        folder: Path | None = None
        for known in KNOWN:
            try:
                folder = find_data(known).parent
            except FileNotFoundError as error:
                missing = error
            else:
                break
        if folder is None:
            raise missing
        paths += [path for path in sorted(folder.glob("*.npz")) if not names or any(n in path.stem for n in names)]
    return paths


def family_of(name: str) -> str:
    """The data family of a file name; the part before the first hyphen where it is a new one."""
    kind = name.split("-")[0]
    return FAMILIES.get(kind, kind)


def setting(text: str) -> tuple[str, Rival]:
    """A line of ours from ``name=value,name=value``."""
    params: dict[str, Any] = {}
    for pair in text.split(","):
        name, separator, value = pair.partition("=")
        if not separator:
            raise argparse.ArgumentTypeError(
                f"{pair!r} is not name=value; write e.g. score=standardized,n_components=9."
            )
        try:
            params[name.strip()] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            params[name.strip()] = value.strip()
    return f"{OURS} {text}", ours(**params)


def run(paths: list[Path], peers: dict[str, Rival], settings: dict[str, Rival]) -> dict[str, dict[str, Measures]]:
    """Family -> line -> the mean over its files."""
    families: dict[str, dict[str, list[Measures]]] = {}
    absent: set[str] = set()
    for path in paths:
        file = File.load(path)
        lines = families.setdefault(family_of(file.name), {})
        for name, fit in {**peers, **settings}.items():
            start = time.perf_counter()
            try:
                measured = measure(file, fit(file.train))
            except Absent as error:
                if name not in absent:
                    print(f"{name} is left out: {error}", file=sys.stderr)
                absent.add(name)
                continue
            lines.setdefault(name, []).append(measured)
            print(f"{file.name}: {name}, {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return {family: {name: Measures.mean(each) for name, each in lines.items()} for family, lines in families.items()}


def best_peer(lines: dict[str, Measures]) -> Measures | None:
    """The best peer in each column by itself; None where only lines of ours ran."""
    peers = [line for name, line in lines.items() if not name.startswith(OURS)]
    return Measures.best(peers) if peers else None


def goals(lines: dict[str, Measures]) -> dict[str, dict[str, float | bool]]:
    """Per column with a goal: what the defaults of ours reach, the best peer, and whether that is near enough."""
    best = best_peer(lines)
    if best is None:
        return {}
    found: dict[str, dict[str, float | bool]] = {}
    for column, margin in GOALS.items():
        reached, peer = getattr(lines[OURS], column), getattr(best, column)
        found[column] = {"ours": reached, "best_peer": peer, "margin": margin, "reached": reached >= peer - margin}
    return found


def show(family: str, lines: dict[str, Measures], n_files: int) -> None:
    """One table, and under it the goals."""
    width = max(len(name) for name in lines) + 2
    columns = [field.name for field in fields(Measures)]
    best = best_peer(lines)
    print(f"\n{family}, mean of {n_files} files (* the best peer)")
    print(" " * width + "".join(f"{TITLES[column]:>10}" for column in columns))
    for name, line in lines.items():
        cells = ""
        for column in columns:
            value = getattr(line, column)
            top = best is not None and not name.startswith(OURS) and value == getattr(best, column)
            cells += f"{value:>9.3f}{'*' if top else ' '}"
        print(f"{name:<{width}}{cells.rstrip()}")
    for column, goal in goals(lines).items():
        said = "reached" if goal["reached"] else "NOT reached"
        figures = f"ours {goal['ours']:.3f}, best peer {goal['best_peer']:.3f}, margin {goal['margin']}"
        print(f"  {TITLES[column]}: {figures}: {said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="peers whose name contains a word")
    parser.add_argument(
        "--files", nargs="*", default=[], metavar="FILE", help="parts of file names, or paths of .npz files"
    )
    parser.add_argument("--ours", action="append", type=setting, default=[], metavar="NAME=VALUE,...")
    parser.add_argument("--json", type=Path, metavar="PATH", help="where to write the figures")
    args = parser.parse_args()

    words = [word.lower() for word in args.only]
    peers = {name: fit for name, fit in RIVALS.items() if not words or any(word in name.lower() for word in words)}
    paths = files_of(args.files)
    if not paths:
        parser.error(f"no file matches {' '.join(args.files)}; name parts of the files in the data folder, or paths.")
    families = run(paths, peers, {OURS: ours(), **dict(args.ours)})
    for family, lines in families.items():
        floored = [line for name, line in lines.items() if name.startswith(BEST_OF)]
        if len(floored) > 1:
            lines[f"{BEST_OF}, best"] = Measures.best(floored)
        mine = {name: lines.pop(name) for name in list(lines) if name.startswith(OURS)}
        lines.update(mine)
        show(family, lines, sum(family_of(path.stem) == family for path in paths))
    if args.json is not None:
        text = {
            family: {"lines": {name: asdict(line) for name, line in lines.items()}, "goals": goals(lines)}
            for family, lines in families.items()
        }
        args.json.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
