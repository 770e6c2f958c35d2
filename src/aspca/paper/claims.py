"""What the paper's text says in words, looked up in ours; what joint sparse PCA selects; what the product says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from aspca.linalg.arrays import Bools, Floats
from aspca.paper.baselines import JSPCA
from aspca.paper.published import Listing, Table, compare_words, get_half_unit, get_printed, get_rows, get_source
from aspca.paper.study import BEST, METHODS, NONZERO, PLAIN, Study
from aspca.paper.tables import list_categories

# Row, column, source, what the paper says, what is here, whether that agrees; what was asked, where that is told.
Claim = tuple[str, str, str, str, str, bool] | tuple[str, str, str, str, str, bool, str]
# "Similarly or even better".
_SIMILAR = 0.01
# Of the penalty that selects nothing: neither the penalty nor the variant of joint sparse PCA is published.
_SHARES = np.linspace(0.01, 0.99, 50)
# What names the reason of a score holds so much of it.
_MOST = 0.9


def compare_claims(study: Study) -> Table:
    """Statements of sections 4.3.1 to 4.3.3 on a data set."""
    checks = {
        "synthetic": (_check_curves, _check_backward_is_sparser, _check_broken_rules, _check_splits),
        "breast-cancer": (
            *(_check_curves, _check_backward_is_sparser, _check_rotation),
            *(_check_patterns, _check_orthogonality, _check_splits),
        ),
        "kdd99": (_check_curves, _check_backward_is_sparser, _check_rotation, _check_splits),
    }
    found = []
    for check in checks[study.name]:
        claim: tuple[Any, ...] = check(study)
        found.append(compare_words(("text", study.name, *claim[:2]), *claim[2:]))
    return Table("What the text says", tuple(found))


def _check_curves(study: Study) -> Claim:
    perfect = study.name == "synthetic"
    areas = {method: study.fit(method).auc for method in (METHODS if perfect else (PLAIN, "ASPCA-F", "ASPCA-B"))}
    shown, lowest = ", ".join(f"{method} {area:.3f}" for method, area in areas.items()), min(areas.values())
    place = "ROC curves", "AUC", "Section 4.3.1"
    if perfect:
        return *place, "all models obtain a perfect ROC curve", shown, lowest == 1.0
    said, asked = "F(G) and B(G) performed similarly or even better than PCA", f"at most {_SIMILAR:g} below PCA"
    return *place, said, shown, lowest >= areas[PLAIN] - _SIMILAR, asked


def _check_backward_is_sparser(study: Study) -> Claim:
    forward, backward = study.fit("ASPCA-F").l1, study.fit("ASPCA-B").l1
    shown = f"L1 {backward:.2f} and {forward:.2f}"
    return "sparsity", "F and B", "Section 4.3.2", "ASPCA-B is sparser than ASPCA-F", shown, backward < forward


def _check_rotation(study: Study) -> Claim:
    pairs = {method: (study.fit(method).l1, study.fit(f"{method}G").l1) for method in ("ASPCA-F", "ASPCA-B")}
    shown = ", ".join(f"{method} {before:.4f} to {after:.4f}" for method, (before, after) in pairs.items())
    holds = all(after < before for before, after in pairs.values())
    return "sparsity", "global optimisation", "Section 4.3.2", "it lowers the L1 norm of both", shown, holds


def _check_broken_rules(study: Study) -> Claim:
    """Each kind of anomaly is named after the rule that it breaks."""
    supports = [{study.names[j] for j in np.flatnonzero(np.abs(c) > 0.1)} for c in study.matched.loadings.T]
    right = 0
    for kind, row in zip(np.array(study.data.kinds)[study.anomalous], np.abs(study.projections), strict=True):
        features = {sign for sign in kind if sign.isalpha()}
        holding = [k for k, support in enumerate(supports) if features <= support]
        right += int(row.argmax()) == min(holding, key=lambda k: len(supports[k]))
    n, said = study.projections.shape[0], "anomalies have large projections on the component of the rule they break"
    return "projections", "largest", "Section 4.3.3, Figure 5", said, f"the largest of {right} of {n}", right == n


def split_malignant_records(study: Study) -> tuple[list[int], list[int]]:
    """Records, from 0, with their largest projection on the components 2 to 4, and the others."""
    sizes, positions = np.abs(study.projections), study.matched.positions
    on_shape = sizes[:, [positions[number] for number in ("2", "3", "4")]].max(axis=1) > sizes[:, positions["1"]]
    return np.flatnonzero(on_shape).tolist(), np.flatnonzero(~on_shape).tolist()


def _check_patterns(study: Study) -> Claim:
    shape, area = split_malignant_records(study)
    first, second = (", ".join(str(record + 1) for record in part) for part in (shape, area))
    said = "four records have large projections on PCs 2, 3 and 4, the rest on PC 1"
    shown = f"records {first} of the file on PCs 2 to 4, records {second} on PC 1"
    return "malignant records", "patterns", "Section 4.3.3, Figure 7", said, shown, len(shape) == 4


def _check_orthogonality(study: Study) -> Claim:
    (name,) = get_printed("trees", study.name, "split on")
    size = float(np.abs(study.fit().loadings[study.names.index(name)]).max())
    column, said = "largest loading in ASPCA-BG", "orthogonal to the abnormal subspace"
    return name, column, "Section 4.3.3", said, f"{size:g}", size == 0.0


def _check_splits(study: Study) -> Claim:
    printed, ours = get_printed("trees", study.name, "split on"), study.tree.features
    source, holds = get_source("trees", study.name), set(printed) <= set(ours)
    return "decision tree", "splits on", source, ", ".join(printed), ", ".join(ours), holds, "these are among ours"


# ---- joint sparse PCA


def compare_jspca(study: Study) -> Table:
    """What joint sparse PCA selects: one set of features for all anomalies, on KDD99 one for each type of attacks."""
    found = []
    for group, printed in get_rows("jspca", study.name).items():
        if study.name == "synthetic":
            model = _make_jspca(study).fit(study.data.data)
            ours = sorted(study.names[j] for j in model.selected_features_)
            # C takes part in the same rule as D, so it may be there or not.
            words, asked = ", ".join(ours), "the same set, C allowed"
            holds = set(printed) <= set(ours) <= {*printed, "C"}
        else:
            ours, _ = _select_closest(study, group, printed)
            common = len(set(ours) & set(printed))
            words, asked = f"{', '.join(ours)} ({common} of {len(printed)} in common)", "the same set"
            holds = common == len(printed)
        place, source = ("jspca", study.name, group, "features"), get_source("jspca", study.name)
        found.append(compare_words(place, source, ", ".join(printed), words, holds, asked))
    note = "Ours are as many as the paper's, the heaviest at the penalty of those tried where most are in common."
    notes = () if study.name == "synthetic" else (note,)
    return Table("Features that joint sparse PCA selects", tuple(found), notes)


def fit_jspca(study: Study) -> Floats:
    """Loadings of joint sparse PCA (p, d), at the penalty of the table, with one as the largest."""
    model = _make_jspca(study)
    if study.name != "synthetic":
        model.set_params(mu=_select_closest(study, "all", get_printed("jspca", study.name, "all"))[1])
    loadings = model.fit(study.data.data).loadings_
    return np.asarray(loadings / np.abs(loadings).max())


def _select_closest(study: Study, group: str, printed: list[str]) -> tuple[list[str], float]:
    """As many of the heaviest features as are printed, at the penalty where most are in common, and that penalty."""
    if group not in study.selections:
        kinds = list_categories().get(group)
        rows = study.data.data[np.isin(study.data.kinds, ("normal", *kinds))] if kinds else study.data.data
        # The default is a third of the penalty that selects nothing.
        mus = _SHARES * 3.0 * float(_make_jspca(study).fit(rows).mu_)
        path = _make_jspca(study).path(rows, mus)
        heaviest = [[study.names[j] for j in point.selected[: len(printed)]] for point in path]
        best = max(range(mus.size), key=lambda k: len(set(heaviest[k]) & set(printed)))
        study.selections[group] = heaviest[best], float(mus[best])
    return study.selections[group]


def _make_jspca(study: Study) -> JSPCA:
    return JSPCA(n_components=study.n_components, scaling=study.scaling)


# ---- beyond the paper: the defaults, learned as `aspca detect` learns


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
