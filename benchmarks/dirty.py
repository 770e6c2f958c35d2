"""Learning from rows that hold gross errors: is detection what it is after a clean fit?

    python benchmarks/dirty.py                                # three families, p 10, 30 and 100, one seed
    python benchmarks/dirty.py --family sums --p 18 --seeds 0 1 2 --json result.json
    python benchmarks/dirty.py --all-peers --budget 120       # peers on every kind of error, two minutes each
    python benchmarks/dirty.py --tails                        # clean rows with tails: what robust fitting costs them
    python benchmarks/dirty.py --cost                         # seconds beside the plain fit
    python benchmarks/dirty.py --servers                      # what it costs clean rows, and gains on files as they are

Families (`library.dirt`): totals that share parts, planted rules that share features, a factor model. Training rows
are spoiled in one way each; AUC on clean test rows with one moved feature. *Robust* is
``ASPCA(robust="on")``; *plain* is ``robust="off"`` and learns from everything; *clean* is the plain fit to the rows
before they were spoiled. The goal is the AUC of the clean fit less 0.005 (0.02 for 20 % of rows). *Rules* is the share
of the rules the rows were made by that the clean and the robust fit have, by their features; a factor model has no
sparsest ones. *Flagged* are normal test rows at a nominal 2.5 %, by the clean and by the robust fit; *cells excluded*
is what the robust fit did not learn from, *in rows* the rows of those that are listed. Peers (FastMCD of scikit-learn,
CovDetMCD of statsmodels, DDC and cellMCD of robpy) get the kinds `PEER_KINDS` unless told otherwise, and a budget of
seconds for each fit: one that needs more is told so, and not asked again about the same family and p.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from library.dirt import FAMILIES, KINDS, ROWS, TAILS, Known, family, slack, spoiled, with_tails
from library.labelled import Floats, Labelled
from library.report import Cell, Goal, Report, Row, add_json
from library.robust_peers import PEERS, within
from library.servers import File, family_of, files_of
from library.timing import fastest
from sklearn.metrics import average_precision_score, roc_auc_score

from aspca import ASPCA

PEER_KINDS = ("nothing", "5 % cells", "10 % rows", "20 % rows", "10 % in one cluster", "5 % in range")
# What robust fitting may cost: times the plain fit.
_MOST_TIMES = 4.0


# ---- errors


@cache
def _clean(name: str, p: int, seed: int, n: int | None) -> tuple[Known, ASPCA]:
    known = family(name, p, seed, n)
    return known, ASPCA(robust="off").fit(known.data.train)


def _kept(model: ASPCA, rules: Sequence[frozenset[int]]) -> float:
    """The share of these rules that the model has too."""
    found = {frozenset(int(feature[1:]) for feature in rule.features) for rule in model.rules_}
    return float(np.mean([rule in found for rule in rules])) if rules else float("nan")


def _auc(model: ASPCA, data: Labelled) -> float:
    return float(roc_auc_score(data.labels, -model.score_samples(data.test)))


def _excluded(model: ASPCA) -> tuple[int, int]:
    """How many cells were not learned from, and in how many rows (of those that are listed)."""
    excluded = model.model_.excluded
    return int(excluded.cells.sum()), len(excluded.rows)


def _flagged(model: ASPCA, data: Labelled) -> float:
    return float((model.predict(data.test[data.labels == 0]) == -1).mean())


def figures_of(
    name: str, p: int, kind: str, seeds: Sequence[int], peers: Sequence[str], ask: Callable[..., object]
) -> Row:
    figures: dict[str, list[float]] = {}
    told: dict[str, list[object]] = {peer: [] for peer in peers}
    for seed in seeds:
        known, clean = _clean(name, p, seed, ROWS.get(kind))
        data = known.data
        train = spoiled(data.train, kind, np.random.default_rng(seed))
        robust = ASPCA(robust="on").fit(train)
        cells, rows = _excluded(robust)
        found = {
            "clean": _auc(clean, data),
            "robust": _auc(robust, data),
            "plain": _auc(ASPCA(robust="off").fit(train), data),
            "rules clean": _kept(clean, known.rules),
            "rules": _kept(robust, known.rules),
            "flagged clean": _flagged(clean, data),
            "flagged": _flagged(robust, data),
            "cells excluded": float(cells),
            "in rows": float(rows),
        }
        for key, value in found.items():
            figures.setdefault(key, []).append(value)
        for peer in peers:
            scores = ask(peer, name, p, train, data.test)
            told[peer].append(scores if isinstance(scores, str) else roc_auc_score(data.labels, scores))
    means = {key: float(np.mean(values)) for key, values in figures.items()}
    line: dict[str, Cell] = {"training rows": kind, "AUC clean": means["clean"]}
    line["AUC robust"] = Goal(means["robust"], least=means["clean"] - slack(kind))
    line["AUC plain"] = means["plain"]
    for peer in peers:
        words = [one for one in told[peer] if isinstance(one, str)]
        line[peer] = words[0] if words else float(np.mean(told[peer]))
    if not np.isnan(means["rules"]):
        line["rules clean"] = means["rules clean"]
        line["rules"] = Goal(means["rules"], least=0.95)
    line |= {key: means[key] for key in ("flagged clean", "flagged")}
    return line | {key: round(means[key], 1) for key in ("cells excluded", "in rows")}


class Asker:
    """Asks peers, and remembers which took too long."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.slow = seconds, dict[tuple[str, str, int], str]()

    def __call__(self, peer: str, name: str, p: int, train: Floats, test: Floats) -> Floats | str:
        if (peer, name, p) in self.slow:
            return self.slow[peer, name, p]
        answer = within(self.seconds, peer, train, test)
        if isinstance(answer, str) and answer.startswith("over"):
            self.slow[peer, name, p] = answer
        return answer


# ---- clean rows


def tail_lines(several: Sequence[int], seeds: Sequence[int]) -> list[Row]:
    """AUC and AP after a plain and a robust fit to clean rows with tails."""
    lines: list[Row] = []
    for law in TAILS:
        for p in several:
            figures = []
            for seed in seeds:
                data = with_tails(law, p, seed)
                models = [ASPCA(robust=robust).fit(data.train) for robust in ("off", "on")]
                scores = [-model.score_samples(data.test) for model in models]
                found = [
                    measure(data.labels, one) for measure in (roc_auc_score, average_precision_score) for one in scores
                ]
                figures.append([*found, *_excluded(models[1])])
            auc, auc_robust, ap, ap_robust, cells, rows = np.mean(figures, axis=0).tolist()
            lines.append({
                "clean rows": f"{law}, p = {p}",
                "AUC plain": auc,
                "AUC robust": Goal(auc_robust, least=auc - 0.005),
                "AP plain": ap,
                "AP robust": Goal(ap_robust, least=ap - 0.005),
                "cells excluded": cells,
                "in rows": rows,
            })  # fmt: skip
    return lines


def server_lines(peers: Sequence[str], seconds: float) -> list[Row]:
    """AP and AUC on servers: learned from their clean training rows, and from the very rows that are judged."""
    figures: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    failed: dict[tuple[str, str, str], str] = {}
    for path in files_of([]):
        file = File.load(path)
        for source, rows in (("clean rows", file.train), ("the file itself", file.test)):
            ways: dict[str, Floats | str] = {
                f"robust {robust}": -ASPCA(robust=robust).fit(rows).score_samples(file.test) for robust in ("off", "on")
            }
            if source != "clean rows":
                ways |= {peer: within(seconds, peer, rows, file.test) for peer in peers}
            for way, scores in ways.items():
                key = family_of(file.name), source, way
                if isinstance(scores, str):
                    failed[key] = scores
                else:
                    found = roc_auc_score(file.label, scores), average_precision_score(file.label, scores)
                    figures.setdefault(key, []).append(found)
    means = {key: np.mean(values, axis=0).tolist() for key, values in figures.items() if key not in failed}
    lines: list[Row] = []
    for key in sorted({*means, *failed}):
        name, source, way = key
        auc, ap = means.get(key, (failed.get(key), failed.get(key)))
        if way == "robust on":
            # Clean rows lose nothing; a file that holds its own incidents gains, and is as good as the best peer.
            plain = means[name, source, "robust off"]
            others = [value[1] for other, value in means.items() if other[:2] == key[:2] and other[2] in peers]
            least = plain[1] - 0.005 if source == "clean rows" else max([plain[1], *(one - 0.01 for one in others)])
            auc = Goal(auc, least=plain[0] - 0.005) if source == "clean rows" else auc
            ap = Goal(ap, least=least)
        lines.append({"": name, "learned from": source, "by": way, "AUC": auc, "AP": ap})
    return lines


# ---- cost


def cost_lines(n: int, p: int, kinds: Sequence[str]) -> list[Row]:
    """Seconds of a plain and a robust fit to the same rows, and of a plain one to the clean rows (the same rules)."""
    lines: list[Row] = []
    clean = family("sums", p, 0, n).data.train
    unspoiled = fastest(lambda: ASPCA(robust="off").fit(clean), 3)
    for kind in kinds:
        train = spoiled(clean, kind, np.random.default_rng(0))
        plain = fastest(lambda train=train: ASPCA(robust="off").fit(train), 3)
        robust = fastest(lambda train=train: ASPCA(robust="on").fit(train), 3)
        lines.append({
            f"{n:,} x {p}": kind,
            "plain, s": plain,
            "robust, s": robust,
            "times": Goal(robust / plain, most=_MOST_TIMES),
            "times the clean rows'": Goal(robust / unspoiled, most=_MOST_TIMES),
        })  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="+", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--p", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, metavar="KIND")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--all-peers", action="store_true", help="peers on every kind of error")
    parser.add_argument("--budget", type=float, default=8.0, help="seconds that one fit of a peer may take")
    parser.add_argument("--tails", action="store_true", help="clean rows with tails instead")
    parser.add_argument("--servers", action="store_true", help="servers instead: clean rows, and files as they are")
    parser.add_argument("--cost", action="store_true", help="seconds instead")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of --cost")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        if options.servers:
            report.table("Servers", server_lines(options.peers, options.budget))
        elif options.tails:
            report.table("Clean rows with tails", tail_lines(options.p, options.seeds))
        elif options.cost:
            report.table("Cost", cost_lines(options.rows, 40, ("nothing", "0.2 % cells", "5 % cells", "10 % rows")))
        else:
            ask = Asker(options.budget)
            for name in options.family:
                for p in options.p:
                    rows = []
                    for kind in options.kinds:
                        peers = options.peers if options.all_peers or kind in PEER_KINDS else ()
                        rows.append(figures_of(name, p, kind, options.seeds, peers, ask))
                    seeds = ", ".join(map(str, options.seeds))
                    report.table(f"{name}, p = {p}, seed {seeds}", rows)
                    _clean.cache_clear()


if __name__ == "__main__":
    main()
