"""The paper's tables: records, settings, sparsity, thresholds, measures over lambda; components and signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aspca.linalg.arrays import Bools
from aspca.paper.datasets import SEED, load_synthetic
from aspca.paper.published import (
    EQUAL,
    Comparison,
    Listing,
    Table,
    Tolerance,
    compare_numbers,
    compare_words,
    get_printed,
    get_rows,
    get_source,
    match_components,
)
from aspca.paper.study import PLAIN, Fit, Study

# Draws of the synthetic data, whose generator the paper does not publish.
_SEEDS = 100
# Table 9 has these two.
ROTATED = ("ASPCA-FG", "ASPCA-BG")

# All tolerances were fixed before the numbers were known (docs/reproduction.md). Sparser than the paper is no fault.
_SPARSER = Tolerance(absolute=0.02, or_lower=True)
_FEWER = Tolerance(or_lower=True)
# Where early steps decide (F) or the codes of categories are not known (KDD99).
_LOOSE = {"L1": Tolerance(relative=0.05), "card 0.1": Tolerance(relative=0.15), "card 0.01": Tolerance(relative=0.15)}
_TIGHT = {"L1": _SPARSER, "card 0.1": _FEWER, "card 0.01": _FEWER}
_SPARSITY: dict[tuple[str, str], Tolerance | dict[str, Tolerance]] = {
    ("synthetic", "ASPCA-B"): EQUAL,
    ("synthetic", "ASPCA-BG"): EQUAL,
    ("breast-cancer", "PCA"): _TIGHT,
    ("breast-cancer", "ASPCA-B"): _TIGHT,
    ("breast-cancer", "ASPCA-BG"): _TIGHT,
    ("kdd99", "ASPCA-B"): {**_LOOSE, "L1": Tolerance(at_most=55.2)},
    ("kdd99", "ASPCA-BG"): {**_TIGHT, "L1": _FEWER},
}
_KDD99 = {"L1": Tolerance(relative=0.03), "variance": Tolerance(relative=0.01), "AUC": Tolerance(absolute=0.006)}
# By data set and method as fitted: at lambda 0 that is plain PCA.
_PENALTIES = {
    ("breast-cancer", PLAIN): {"L1": _SPARSER, "variance": Tolerance(relative=0.002), "AUC": Tolerance(absolute=0.001)},
    ("breast-cancer", "ASPCA-FG"): {
        "L1": Tolerance(relative=0.05),
        "variance": Tolerance(relative=0.05),
        "AUC": Tolerance(absolute=0.02),
    },
    ("kdd99", PLAIN): {**_KDD99, "L1": Tolerance(relative=0.05), "AUC": Tolerance(absolute=0.003)},
    ("kdd99", "ASPCA-FG"): _KDD99,
    ("kdd99", "ASPCA-BG"): _KDD99,
}
_PENALTIES["breast-cancer", "ASPCA-BG"] = _PENALTIES["breast-cancer", PLAIN]
# Rates on KDD99, whose codes are not published.
_RATE = 0.03
# The file has no warezserver.
_SPELLED = {"warezserver": "warezmaster"}


def list_categories() -> dict[str, tuple[str, ...]]:
    """Kinds of attacks in each category, as the file spells them."""
    return {
        category: tuple(_SPELLED.get(kind, kind) for kind in row["types"])
        for category, row in get_rows("statistics").items()
        if row["types"]
    }


def compare_records(study: Study) -> Table:
    """Table 1, first half: how many records of each kind were taken from KDD99."""
    counts = Counter(study.data.kinds)
    found: list[Comparison] = []
    for category, row in get_rows("statistics").items():
        kinds = list_categories().get(category, ("normal",))
        ours = {kind: counts[_SPELLED.get(kind, kind)] for kind in row["types"]}
        ours["records"] = sum(counts[kind] for kind in kinds)
        printed = {"records": row["records"], **row["types"]}
        found += compare_numbers(("statistics", study.name, category), printed, ours)
    return Table("Records", tuple(found), ("The paper's warezserver is warezmaster in the file.",))


def compare_parameters(study: Study) -> Table:
    """Table 2, settings: the number of components at which plain PCA detects best, and lambda, taken by hand."""
    ours = {"abnormal PCs": int(study.compute_aucs_by_number(PLAIN).argmax()) + 1, "lambda": study.penalty}
    place, printed = ("parameters", study.name, "settings"), get_printed("parameters", study.name)
    return Table(
        "Parameters",
        tuple(compare_numbers(place, printed, ours)),
        ("Ours is the number of abnormal components at which plain PCA has its highest AUC; lambda is the paper's.",),
    )


def compare_sparsity(study: Study) -> Table:
    """Table 3: how sparse the loadings of each method are."""
    found: list[Comparison] = []
    for method, printed in get_rows("sparsity", study.name).items():
        allowed = _SPARSITY.get((study.name, method), _LOOSE)
        place, ours = ("sparsity", study.name, method), study.fit(method).measures
        found += compare_numbers(place, printed, ours, allowed)
    return Table("Sparsity of the loadings", tuple(found), _explain_constant_columns(study))


def _explain_constant_columns(study: Study) -> tuple[str, ...]:
    """Two constant columns have no directions of their own: plain PCA's figures with another basis of their plane."""
    plain = study.fit(PLAIN).loadings
    constant = np.flatnonzero(~np.any(study.rows, axis=0))
    if constant.size != 2:
        return ()
    turned = np.delete(plain, np.flatnonzero(np.abs(plain[constant]).sum(axis=0) > 0.5), axis=1)
    even = np.zeros((plain.shape[0], 2))
    even[constant] = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    size = np.abs(np.column_stack([turned, even]))
    first, second = (study.names[j] for j in constant)
    return (
        f"PCA: {first} and {second} are constant, so two of its directions are any basis of their plane. With (1, 1) "
        f"and (1, -1) over the root of two it has {size.sum():.2f}, {(size > 0.1).sum()} and {(size > 0.01).sum()}.",
    )


def list_sparsity_over_seeds(study: Study) -> Listing:
    """The same for ASPCA-B and F over draws of the generator, which the paper does not publish."""
    fits: dict[str, list[Fit]] = {"ASPCA-F": [], "ASPCA-B": []}
    separated = 0
    for seed in range(_SEEDS):
        draw = Study(study.name, load_synthetic(seed))
        for method, found in fits.items():
            found.append(draw.fit(method))
        separated += bool(np.array_equal(draw.fit("ASPCA-B").scores >= draw.threshold, draw.anomalous))
    rows = []
    for method, found in fits.items():
        norms = [fit.l1 for fit in found]
        cards = Counter(f"{fit.measures['card 0.1']:g}, {fit.measures['card 0.01']:g}" for fit in found)
        rows.append((method, min(norms), float(np.median(norms)), max(norms), *cards.most_common(1)[0]))
    return Listing(
        f"The same over {_SEEDS} draws of our generator",
        ("method", "L1, lowest", "median", "highest", "most frequent cards", "of draws"),
        tuple(rows),
        (
            f"The paper's generator is not published; ours is shown with seed {SEED}. "
            f"The paper's threshold of {study.threshold:g} separates anomalies from normal rows in {separated} of "
            f"{_SEEDS} draws.",
        ),
    )


def compare_thresholds(study: Study) -> Table:
    """Table 4: what the paper's thresholds on the squared prediction error of ASPCA-BG find; also its text's counts."""
    flagged, anomalous = study.flagged, study.anomalous
    loose = study.name == "kdd99"
    printed = get_printed("thresholds", study.name)
    found = compare_numbers(
        ("thresholds", study.name, f"SPE >= {study.threshold:g}"),
        {what: printed[what] for what in ("TPR", "FPR")},
        {"TPR": float(flagged[anomalous].mean()), "FPR": float(flagged[~anomalous].mean())},
        Tolerance(absolute=_RATE) if loose else EQUAL,
    )
    found += compare_numbers(
        ("counts", study.name, "rows"),
        get_printed("counts").get(study.name, {}),
        {
            "true positives": int((flagged & anomalous).sum()),
            "false positives": int((flagged & ~anomalous).sum()),
            "true negatives": int((~flagged & ~anomalous).sum()),
        },
        Tolerance(absolute=float(int(_RATE * anomalous.sum()))) if loose else EQUAL,
    )
    return Table("What the thresholds find", tuple(found))


def compare_penalties(study: Study) -> tuple[Table, ...]:
    """Table 9, one for each method: sparsity, variance and AUC over lambda; 0 is plain PCA, not rotated."""
    tables = []
    for method in ROTATED:
        found: list[Comparison] = []
        for penalty, printed in get_rows("penalties", study.name, method).items():
            fit = study.fit(method, float(penalty))
            place, allowed = ("penalties", study.name, method, f"lambda {penalty}"), _PENALTIES[study.name, fit.method]
            found += compare_numbers(place, printed, fit.measures, allowed)
        tables.append(Table(f"{method} over lambda", tuple(found)))
    return tuple(tables)


# ---- components and signatures

# On the synthetic data loadings depend on the draw: whatever the generator, they estimate the same rules.
_LOADINGS = {"synthetic": Tolerance(0.02), "breast-cancer": Tolerance(0.005), "kdd99": Tolerance(0.02)}
# Their codes are not published.
_RECODED = {"flag": Tolerance(0.05), "service": Tolerance(0.05)}
# The paper prints loadings above this.
_PRINTED = 0.1
# A group speaks for its type if it is one of the largest.
_LARGEST = 3
# A component has the features with at least such a loading.
_LARGE_LOADING = 0.3
# By how much counts may differ, as a share of the type; of a group with its false alarms, of the group.
_SHARE_OF_TYPE, _GROUP = 0.03, Tolerance(relative=0.15)
# So near to the threshold the third digit of a loading decides.
_NEAR = 0.02

# Components by the paper's numbers, each with L or H: ``2L`` is low on its component 2.
Signature = tuple[str, ...]


def compare_components(study: Study) -> Table:
    """Tables 5, 6 and 8."""
    return _compare_loadings(study, study.name, "Components of ASPCA-BG")


def compare_components_of_normal_rows(study: Study) -> Table:
    """What is left of them where no anomaly is learned from."""
    normal = Study(study.name, load_synthetic(normal_only=True))
    title = "Components of ASPCA-BG, learned from normal rows only"
    return _compare_loadings(normal, f"{study.name}, normal rows only", title)


def _compare_loadings(study: Study, name: str, title: str) -> Table:
    allowed = {**dict.fromkeys(study.names, _LOADINGS[study.name]), **_RECODED}
    found = match_components(study.fit().loadings, study.names, get_rows("components", name))
    comparisons: list[Comparison] = []
    # Loadings that the paper should print, but does not.
    missing = []
    for number, printed in get_rows("components", name).items():
        ours = dict(zip(study.names, found.loadings[:, found.positions[number]].tolist(), strict=True))
        comparisons += compare_numbers(("components", name, f"PC {number}"), printed, ours, allowed)
        missing += [
            f"{loading:.4f} {feature} in PC {number}"
            for feature, loading in ours.items()
            if abs(loading) > _PRINTED and feature not in printed
        ]
    notes = (f"Ours have further loadings above {_PRINTED}: {', '.join(missing)}.",) if missing else ()
    return Table(title, tuple(comparisons), notes)


@dataclass(frozen=True)
class SignatureGroup:
    """Flagged rows that are low or high on the same components: of the type looked at, and false alarms included."""

    signature: Signature
    in_type: int
    in_group: int

    def __str__(self) -> str:
        return f"{self.in_type}/{self.in_group} {' '.join(self.signature)}"


def compare_signatures(study: Study) -> Table:
    """Table 7. For each type of attack its counts, its groups, and whether these have the features the paper names."""
    kinds = np.array(study.data.kinds)
    keys = _sign_rows(study, np.sqrt(study.threshold) / 2.0)
    found: list[Comparison] = []
    notes = []
    for kind, row in get_rows("signatures").items():
        of_kind = kinds == kind
        groups = group_signatures(keys, of_kind[study.flagged])
        largest = groups[:_LARGEST]
        room = Tolerance(absolute=float(round(_SHARE_OF_TYPE * int(row["total"]))))
        ours = {"total": int(of_kind.sum()), "detected": int((study.flagged & of_kind).sum())}
        printed = {what: row[what] for what in ours}
        allowed = {"total": EQUAL, "detected": room}
        found += compare_numbers(("signatures", study.name, kind), printed, ours, allowed)
        for group in row["groups"]:
            nearest = find_nearest(group["signature"], groups)
            place = ("signatures", study.name, f"{kind} {' '.join(group['signature'])}")
            ours = {"in type": nearest.in_type, "in group": nearest.in_group}
            printed = {what: group[what] for what in ours}
            found += compare_numbers(place, printed, ours, {"in type": room, "in group": _GROUP})
        found.append(_compare_features(study, kind, row["named"], largest))
        notes.append(f"{kind}: our largest groups are {'; '.join(map(str, largest))}.{_describe_near(study, of_kind)}")
    return Table("Signatures", tuple(found), (_compare_limits(study, kinds[study.flagged]), *notes))


def _sign_rows(study: Study, far: float) -> list[Signature]:
    """On which components each flagged row is at least so far out."""
    labels = study.matched.labels
    return [
        tuple(f"{labels[j]}{'H' if row[j] > 0 else 'L'}" for j in np.flatnonzero(np.abs(row) >= far))
        for row in study.rows[study.flagged] @ study.matched.loadings
    ]


def group_signatures(keys: Sequence[Signature], of_kind: Bools) -> list[SignatureGroup]:
    """Groups that the type is part of, by how much of it is in them; a signature without entries says nothing."""
    everyone = Counter(keys)
    own = Counter(key for key, is_one in zip(keys, of_kind, strict=True) if is_one and key)
    return [SignatureGroup(key, count, everyone[key]) for key, count in own.most_common()]


def find_nearest(printed: Sequence[str], groups: Sequence[SignatureGroup]) -> SignatureGroup:
    """The group of that signature, or else the one with most entries in common; of several the largest."""
    wanted = set(printed)
    return max(groups, key=lambda one: (wanted == {*one.signature}, len(wanted & {*one.signature}), one.in_type))


def _compare_features(study: Study, kind: str, printed: list[str], groups: Sequence[SignatureGroup]) -> Comparison:
    """Of these groups the one whose components have most of the named features."""
    labels, sizes = study.matched.labels, np.abs(study.matched.loadings)

    def list_features(group: SignatureGroup) -> set[str]:
        columns = [labels.index(entry[:-1]) for entry in group.signature]
        return {study.names[j] for j in np.flatnonzero((sizes[:, columns] >= _LARGE_LOADING).any(axis=1))}

    named = set(printed)
    best = max(groups, key=lambda group: len(named & list_features(group)))
    main = sizes.argmax(axis=0)
    return compare_words(
        ("signatures", study.name, kind, "features"),
        get_source("signatures", study.name),
        ", ".join(printed),
        ", ".join(f"{entry} {study.names[main[labels.index(entry[:-1])]]}" for entry in best.signature),
        named <= list_features(best),
        f"among the {_LARGEST} largest groups one carries them",
    )


def _describe_near(study: Study, of_kind: Bools) -> str:
    """A sentence where the threshold runs through many alike."""
    scores = study.fit().scores[of_kind]
    close = int((np.abs(scores / study.threshold - 1.0) < _NEAR).sum())
    many = close > _SHARE_OF_TYPE * scores.size
    return f" {close} of {scores.size} score within {_NEAR:.0%} of the threshold." if many else ""


def _compare_limits(study: Study, flagged_kinds: Any) -> str:
    """How many of the printed groups have the printed number of the type, by two readings of what is far out."""
    exact = []
    for far in (np.sqrt(study.threshold / 2.0), np.sqrt(study.threshold) / 2.0):
        keys = _sign_rows(study, float(far))
        pairs = [
            (int(printed["in type"]), find_nearest(printed["signature"], groups).in_type)
            for kind, row in get_rows("signatures").items()
            for groups in [group_signatures(keys, flagged_kinds == kind)]
            for printed in row["groups"]
        ]
        exact.append(f"{sum(paper == ours for paper, ours in pairs)} of {len(pairs)}")
    as_printed, as_used = exact
    return (
        "Low and high are beyond half the root of the threshold: the text has the root of half the threshold, which "
        f"gives {as_printed} groups the printed number of their type, where half the root gives {as_used}. Groups "
        "count false alarms, too."
    )
