"""Tables 1 to 4 and 9: records, settings, sparsity, thresholds, and measures over lambda."""

from __future__ import annotations

from collections import Counter

import numpy as np

from aspca.paper.datasets import SEED, load_synthetic
from aspca.paper.published import EQUAL, Comparison, Tolerance, compare_numbers, get_printed, get_rows
from aspca.paper.results import Listing, Table
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
    ("breast-cancer", PLAIN): {
        "L1": _SPARSER,
        "variance": Tolerance(relative=0.002),
        "AUC": Tolerance(absolute=0.001),
    },
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
