"""Beyond the paper: what the product says of the same data, with its defaults and learned as `aspca detect` learns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import roc_curve

from aspca.linalg.arrays import Bools, Floats
from aspca.paper.published import get_half_unit, get_printed
from aspca.paper.results import Listing
from aspca.paper.study import BEST, NONZERO, Study

# What names the reason of a score holds so much of it.
_MOST = 0.9


def list_beyond_paper(study: Study) -> tuple[Listing, ...]:
    """The paper, our fit with its settings, and the defaults side by side; then the defaults' rules in words."""
    model, judged = study.product
    fit, anomalous = study.fit(), study.anomalous
    flagged = np.asarray(judged.anomalies)
    squares = np.square(study.rows[anomalous] @ fit.loadings)
    parts = np.column_stack([judged.contributions, judged.outside])[anomalous]
    own = [set(rule.features) for rule in model.rules]
    supports = [{study.names[j] for j in np.flatnonzero(np.abs(c) > NONZERO)} for c in fit.loadings.T]
    paper = get_printed("thresholds", study.name)
    rate = float(paper["FPR"]) + get_half_unit(paper["FPR"])
    printed = None if study.name == "synthetic" else get_printed("penalties", study.name, BEST, f"{study.penalty:g}")
    published_auc = float(printed["AUC"]) if printed else 1.0
    rows = (
        ("AUC", published_auc, fit.auc, study.compute_auc(judged.scores)),
        (
            f"TPR at the paper's FPR of {paper['FPR']}",
            float(paper["TPR"]),
            _find_tpr(study, fit.scores, rate),
            _find_tpr(study, judged.scores, rate),
        ),
        ("TPR at its own limit", float(paper["TPR"]), _share(study.flagged, anomalous), _share(flagged, anomalous)),
        ("FPR at its own limit", float(paper["FPR"]), _share(study.flagged, ~anomalous), _share(flagged, ~anomalous)),
        ("components or rules", study.n_components, fit.loadings.shape[1], len(own)),
        (
            "features per component or rule, median",
            None,
            float(np.median([len(names) for names in supports])),
            float(np.median([len(names) for names in own])) if own else None,
        ),
        (
            "features per explanation, median",
            None,
            count_named(squares, supports, set(study.names)),
            count_named(parts, [*own, set(model.names)], set(model.names)),
        ),
        (
            "features that hold most of a score, median",
            None,
            count_held(squares @ np.square(fit.loadings).T),
            count_held(study.product_shares),
        ),
    )
    comparison = Listing(
        "Beyond the paper",
        ("", "paper", "ours, its settings", "aspca detect, defaults"),
        rows,
        (
            f"The third column is {BEST} with the paper's lambda; the fourth uses no labels and no settings. Features "
            f"per explanation: those of the fewest rules (or components) that hold {_MOST:.0%} of an anomaly's score; "
            "what lies outside the rules counts as all features. Features that hold most: as many as it takes for as "
            "much of the score, split over features; a component's part is split by its squared loadings.",
        ),
    )
    words = Listing("Rules in words", ("rule", "kind"), tuple((str(rule), rule.kind) for rule in model.rules))
    return comparison, words


def _find_tpr(study: Study, scores: Floats, rate: float) -> float:
    """The largest share of anomalies above a limit that flags no more normal rows than that."""
    false, true, _ = roc_curve(study.data.labels, scores, drop_intermediate=False)
    return float(true[false <= rate].max())


def _share(flagged: Bools, among: Bools) -> float:
    return float(flagged[among].mean())


def count_held(parts: Floats) -> float:
    """Median over rows of how many of the largest parts (m, p) hold most of the row's sum."""
    held = np.cumsum(-np.sort(-parts, axis=1), axis=1)
    return float(np.median((held < _MOST * held[:, -1:]).sum(axis=1) + 1))


def count_named(parts: Floats, supports: Sequence[set[str]], everything: set[str]) -> float:
    """Median over rows of how many features the fewest parts (m, d) name that hold most of the row's sum."""
    counts = []
    for row in parts:
        order = np.argsort(-row, kind="stable")
        held = np.cumsum(row[order])
        needed = int(np.searchsorted(held, _MOST * held[-1])) + 1
        named = set().union(*(supports[k] for k in order[:needed]))
        counts.append(len(named & everything))
    return float(np.median(counts))
