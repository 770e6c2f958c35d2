"""Rules and causes: does a detector find planted rules, and name what broke one? ASPCA beside its peers, in one run.

    python benchmarks/interpretation.py                                   # p 10 to 200, noise 0.001 to 0.1: minutes
    python benchmarks/interpretation.py --p 30 --noise 0.01 --seeds 5 --slow    # ECOD, SHAP, JSPCA, a tree beside it
    python benchmarks/interpretation.py --ours scaling=standard --p 10 --json result.json

Data of `library.planted`: sparse integer rules in wild units, each anomaly one feature moved inside its normal range;
means over seeds. *Found* are anomalies above the 99 % quantile of the normal test rows' scores; naming is measured over
those.
    rules        share of the planted rules among the directions the score is read along (of ours, `rules_`)
    read         features in the rules that hold 90 % of the score; the part outside of the rules has all of them
    plain        the same of the rules alone, by plain squares of their decorrelated deviations: before what chance
                 makes of many rules is counted with those that stand out, and before broken ones lift the score
    for 90 %     features with the largest contributions that hold 90 % of the score
    top rule     the rule with the largest part of the score holds the moved feature
    top 1        the moved feature has the largest contribution; of Mahalanobis, by reconstruction
The table of goals compares with the Mahalanobis distance of the whole covariance, naming over the rows both find.
A rule is found if a vector has the same features, entries below 5 % of its largest dropped, and a cosine of at least
0.999 with it, both in units of the features' deviations.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from library.arguments import add_ours, words
from library.labelled import Bools
from library.measures import detected, features_needed, features_read, matched, nonzeros, top_one
from library.planted import Planted, planted
from library.report import Cell, Goal, Report, Row, add_json
from library.rivals import QUICK, SLOW, WHOLE, Absent, Fitted, Rival, ours, varimax_told, whole_covariance
from library.timing import timed
from sklearn.metrics import roc_auc_score

OURS = "ASPCA"
PEERS = ("z-scores", "PCA residual", "Mahalanobis 1e-03", "minor components", "varimax")
# Goals: share of the rules, features to read, and how far below the whole covariance is still level with it.
RULES, FEATURES, TOP_MARGIN, AUC_MARGIN = 0.99, 6.0, 0.005, 0.005

Figures = dict[str, float]


def figures(fitted: Fitted, data: Planted, found: Bools, seconds: float, scores: Any) -> Figures:
    """One method on one table; NaN where a figure does not apply, or nothing was found."""
    changed = data.changed[found]
    nothing = float("nan")
    # Some peers refuse a table without rows.
    parts = np.abs(fitted.contributions(data.test[found])) if found.any() else np.zeros((0, data.test.shape[1]))
    result = {
        "AUC": float(roc_auc_score(data.labels, scores)),
        "found": float(found.sum() / data.anomalous.sum()),
        "rules": nothing if fitted.directions is None else matched(data.directions, fitted.directions)[0],
        "d": nothing if fitted.directions is None else float(fitted.directions.shape[1]),
        "non-zeros": nothing if fitted.directions is None else nonzeros(fitted.directions),
        "read": nothing,
        "plain": nothing,
        "for 90 %": float(features_needed(parts).mean()) if found.any() else nothing,
        "top rule": nothing,
        "top 1": top_one(parts, changed),
        "seconds": seconds,
    }
    if fitted.model is not None and found.any():
        why = fitted.model.explain(data.test[found])
        loadings = fitted.model.model_.table.loadings
        first = why.rule_contributions.argmax(axis=1)
        result["read"] = float(features_read(why.rule_contributions, why.outside, loadings).mean())
        squares = np.square(why.judgement.weighted)
        result["plain"] = float(features_read(squares, np.zeros(len(squares)), loadings).mean())
        result["top rule"] = float((loadings[changed, first] != 0).mean())
    return result


def together(mine: Fitted, whole: Fitted, data: Planted, both: Bools) -> Figures:
    """Naming over the rows that both find."""
    changed = data.changed[both]
    return {
        name: top_one(np.abs(fitted.contributions(data.test[both])), changed) if both.any() else float("nan")
        for name, fitted in ((OURS, mine), (WHOLE, whole))
    }


def mean_of(runs: Sequence[Figures], name: str) -> float:
    values = [run[name] for run in runs if not np.isnan(run[name])]
    return float(np.mean(values)) if values else float("nan")


def methods_of(options: argparse.Namespace) -> dict[str, Rival]:
    """Peers, then ours; a peer told the number of rules is made for each table."""
    peers: dict[str, Rival] = {name: QUICK[name] for name in PEERS}
    peers[WHOLE] = whole_covariance
    if options.slow:
        peers |= SLOW
    mine = {OURS: ours()} | {f"{OURS} {words(given)}": ours(**given) for given in options.ours}
    return {**peers, **mine}


def trial(p: int, noise: float, options: argparse.Namespace, report: Report) -> Row:
    """All methods on one setting, as a table; and its line of the table of goals."""
    methods = methods_of(options)
    runs: dict[str, list[Figures]] = {}
    naming: list[Figures] = []
    for seed in range(options.seeds):
        data = planted(p, noise, seed, common=options.common, uneven=options.uneven)
        told = {"varimax, told d": varimax_told(len(data.rules))}
        kept: dict[str, tuple[Fitted, Bools]] = {}
        for name, fit in {**told, **methods}.items():
            try:
                fitted, seconds = timed(lambda fit=fit, data=data: fit(data.train))
                scores = fitted.score(data.test)
            except Absent as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                continue
            found = detected(scores, data.anomalous)
            runs.setdefault(name, []).append(figures(fitted, data, found, seconds, scores))
            if name in (OURS, WHOLE):
                kept[name] = fitted, found
        (mine, found), (whole, theirs) = kept[OURS], kept[WHOLE]
        naming.append(together(mine, whole, data, found & theirs))
    title = f"p = {p}, {len(data.rules)} rules, noise {noise:g}, {options.seeds} seeds"
    lines = [{"": name, **{column: mean_of(of, column) for column in of[0]}} for name, of in runs.items()]
    peers = [name for name in runs if not name.startswith(OURS)]
    digits = {"d": 1, "non-zeros": 1, "read": 1, "plain": 1, "for 90 %": 1}
    plain = ("d", "non-zeros", "seconds")
    report.table(title, lines, best_of=peers, bold=[OURS], fewer=["for 90 %"], plain=plain, digits=digits)
    return goals(p, noise, {name: mean_of(runs[OURS], name) for name in runs[OURS][0]}, runs, naming)


def goals(p: int, noise: float, mine: Figures, runs: Mapping[str, list[Figures]], naming: list[Figures]) -> Row:
    whole = mean_of(runs[WHOLE], "AUC")
    named = mean_of(naming, WHOLE)
    line: dict[str, Cell] = {"p, noise": f"{p}, {noise:g}"}
    line["rules"] = Goal(mine["rules"], least=RULES)
    line["read"] = Goal(mine["read"], most=FEATURES)
    line["plain"] = mine["plain"]
    line["for 90 %"] = Goal(mine["for 90 %"], most=FEATURES)
    line["top rule"] = mine["top rule"]
    line["top 1"] = Goal(mean_of(naming, OURS), least=named - TOP_MARGIN)
    line["AUC"] = Goal(mine["AUC"], least=whole - AUC_MARGIN)
    line["found"] = mine["found"]
    line["seconds"] = mine["seconds"]
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--p", type=int, nargs="+", default=[10, 30, 100, 200])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.001, 0.01, 0.05, 0.1])
    parser.add_argument("--common", type=float, default=0.3, help="share of variance from common factors")
    parser.add_argument("--uneven", type=float, default=0.0, help="decades over which noise differs between features")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--slow", action="store_true", help="ECOD, SHAP, JSPCA and a surrogate tree as well")
    add_ours(parser)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        lines = [trial(p, noise, options, report) for p in options.p for noise in options.noise]
        report.table("Ours, and its goals", lines, digits={"read": 1, "plain": 1, "for 90 %": 1, "seconds": 2})


if __name__ == "__main__":
    main()
