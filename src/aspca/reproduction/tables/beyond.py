"""Beside the paper: what the product says of the same data, with its defaults and learned as `aspca detect` learns."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from sklearn.metrics import roc_curve

from aspca.linalg.arrays import Floats
from aspca.reproduction.published import digits_of, published
from aspca.reproduction.results import Listing
from aspca.reproduction.study import BEST, Study

# What names the reason of a score holds so much of it.
_MOST = 0.9
# As the paper counts what is not zero.
_SEEN = 0.01


def beyond(study: Study) -> tuple[Listing, ...]:
    """The paper, our fit with its settings, and the defaults side by side; then the defaults' rules in words."""
    model, judged = study.product
    fit, anomalous = study.fit(), study.anomalous
    flagged = np.asarray(judged.anomalies)
    squares = np.square(study.projections(fit))
    parts = np.column_stack([judged.contributions, judged.outside])[anomalous]
    own = [set(rule.features) for rule in model.rules]
    supports = [_support(study, column) for column in fit.loadings.T]
    paper = published("thresholds", study.name)
    rate = float(paper["FPR"]) + _half(paper["FPR"])
    rows = (
        ("AUC", _published_auc(study), fit.auc, study.auc(judged.scores)),
        (
            f"TPR at the paper's FPR of {paper['FPR']}",
            float(paper["TPR"]),
            _found_at(study, fit.scores, rate),
            _found_at(study, judged.scores, rate),
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
            _features_named(squares, supports, set(study.names)),
            _features_named(parts, [*own, set(model.names)], set(model.names)),
        ),
        (
            "features that hold most of a score, median",
            None,
            _features_held(squares @ np.square(fit.loadings).T),
            _features_held(study.product_shares),
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


def _published_auc(study: Study) -> float | None:
    if study.name == "synthetic":
        return 1.0
    return float(published("penalties", study.name, BEST, f"{study.penalty:g}", "AUC"))


def _half(rate: Decimal | int) -> float:
    """What a printed rate may have been rounded by."""
    return 0.5 * 10.0 ** -digits_of(rate) if isinstance(rate, Decimal) else 0.0


def _found_at(study: Study, scores: Floats, rate: float) -> float:
    """The largest share of anomalies above a limit that flags no more normal rows than that."""
    false, true, _ = roc_curve(study.data.labels, scores, drop_intermediate=False)
    return float(true[false <= rate].max())


def _share(flagged: np.ndarray, among: np.ndarray) -> float:
    return float(flagged[among].mean())


def _support(study: Study, column: Floats) -> set[str]:
    return {study.names[j] for j in np.flatnonzero(np.abs(column) > _SEEN)}


def _features_held(parts: Floats) -> float:
    """Median over rows of how many of the largest parts (m, p) hold most of the row's sum."""
    held = np.cumsum(-np.sort(-parts, axis=1), axis=1)
    return float(np.median((held < _MOST * held[:, -1:]).sum(axis=1) + 1))


def _features_named(parts: Floats, supports: Sequence[set[str]], everything: set[str]) -> float:
    """Median over rows of how many features the fewest parts (m, d) name that hold most of the row's sum."""
    counts = []
    for row in parts:
        order = np.argsort(-row, kind="stable")
        held = np.cumsum(row[order])
        needed = int(np.searchsorted(held, _MOST * held[-1])) + 1
        named = set().union(*(supports[k] for k in order[:needed]))
        counts.append(len(named & everything))
    return float(np.median(counts))
