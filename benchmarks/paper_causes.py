"""Where our figures differ from the paper's: what was tried to get its figures, and how near each came.

    python benchmarks/paper_causes.py forward     # Breast-Cancer, ASPCA-F and FG at lambda 5, 1, 10; B at 5 and 1
    python benchmarks/paper_causes.py kdd-b       # KDD99, ASPCA-B and F at lambda 100, with the coding found
    python benchmarks/paper_causes.py codings     # KDD99, the integer codes behind 97.33 / 248 / 691 / 21518

"variance" and "AUC" are those of the vectors as they are, "of the span" those of the subspace, and forward those of
what is orthogonal to all earlier vectors: they differ where vectors are not orthogonal, and "largest product" says by
how much that is. FG and BG use the paper's own rotation.
"weight" is what stands on Tr(RX) in place of the constraint Tr(RX) = 0, in units of lambda (see `library.loose`).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from library.kdd_codings import LAND, WHOLE_FILE, Abnormal, Coded, Records
from library.loose import EXACT, Choice, Loose, orthonormal
from library.paper_rows import AUC, DIGITS, HUNDREDTH, L1, TENTH, VARIANCE, Scaled, printed, rotated
from library.report import Report, Row, add_json
from sklearn.metrics import roc_auc_score

from aspca import sparse_subspace
from aspca.linalg.arrays import Floats
from aspca.paper.datasets import KDD99_FEATURE_NAMES, KDD99_LOGARITHMIC, load_breast_cancer

KEPT = 10
PRINTED = {
    ("F", 5.0): printed("paper", "17.23 33 50 - -"),
    ("FG", 5.0): printed("paper", "16.50 36 63 20.8308 0.963"),
    ("FG", 1.0): printed("paper", "26.68 - - 14.2012 0.903"),
    ("FG", 10.0): printed("paper", "12.81 - - 30.8123 0.985"),
    ("B", 5.0): printed("paper", "12.31 18 18 20.2968 0.982"),
    ("BG", 1.0): printed("paper", "14.95 - - 6.2777 0.950"),
}
KDD_PRINTED = {
    "B": printed("paper", "54.52 101 215 - -"),
    "BG": printed("paper", "43.05 57 157 21735 0.964"),
    "F": printed("paper", "55.01 96 265 - -"),
    "FG": printed("paper", "42.77 58 159 21873 0.960"),
}
# PCA on KDD99: L1 norm, entries above 0.1 and 0.01, variance.
KDD_PCA = (97.33, 248, 691, 21518.0)
BEST = 10
GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
# Of Clarabel in the paper's form.
TOLERANCES = (1e-8, 1e-4)
CUTS = (1e-3, 5e-3, 1e-2, 2e-2, 5e-2)
# In units of lambda, by lambda; one feature alone in its block is quick, and at lambda = 1 few are.
FORWARD = {
    5.0: (EXACT, 10000.0, 1600.0, 1400.0, 1000.0, 800.0, 500.0),
    10.0: (EXACT, 10000.0, 1000.0, 710.0, 500.0),
    1.0: (EXACT, 10000.0, 1000.0),
}
BACKWARD = (EXACT, 30000.0, 10000.0, 1000.0, 500.0, 20.0)
# Forward, a weight must be well above the largest variance, or earlier vectors come again.
KDD_WEIGHTS = {"B": (EXACT, 10000.0, 1000.0, 700.0, 500.0, 400.0), "F": (EXACT, 10000.0)}
# The forward steps at lambda 5 whose X is not rank one and that decide the subspace.
SPLIT_STEPS = (11, 14)


def forward(report: Report) -> None:
    """Breast-Cancer: orthogonality that is not exact; then gaps, cuts, eigenvectors, other data with exact one."""
    data = load_breast_cancer()
    cancer = Scaled.of(data.data, data.labels)
    for variant, penalty in (("B", 5.0), ("BG", 1.0)):
        tries = {_weight(w): Loose(weight=w * penalty).sequence(cancer.A, penalty, KEPT)[0] for w in BACKWARD}
        for tolerance in TOLERANCES:
            name = f"Clarabel, tolerance {tolerance:g}"
            tries[name], _, _ = Loose(clarabel=tolerance).sequence(cancer.A, penalty, KEPT)
        turned = rotated if variant == "BG" else np.asarray
        lines = [cancer.row(name, turned(V[:, :KEPT])) for name, V in tries.items()]
        report.table(
            f"Breast-Cancer, {variant}, lambda = {penalty:g}", [PRINTED[variant, penalty], *lines], digits=DIGITS
        )
    for penalty, weights in FORWARD.items():
        tries = {_weight(weight): Loose(weight=weight * penalty).blockwise(-cancer.A, penalty) for weight in weights}
        _show(report, cancer, penalty, "weights on Tr(RX)", tries)
    for penalty in FORWARD:
        sequences = {f"gap {gap:g}": Loose(gap=gap).sequence(-cancer.A, penalty) for gap in GAPS}
        sequences |= {f"loadings below {c:g} cut": Loose(cut=c).sequence(-cancer.A, penalty) for c in CUTS}
        if penalty == 5.0:
            sequences |= {name: Loose(choose=how).sequence(-cancer.A, penalty) for name, how in _choices()}
        tries = {name: V for name, (V, _, _) in sequences.items()}
        tries["sparse rounding"] = sparse_subspace(cancer.A, KEPT, penalty, "F", "sparse").loadings
        _show(report, cancer, penalty, "orthogonality exact", tries)
        shares = sequences[f"gap {GAPS[-1]:g}"][2]
        split = ", ".join(f"{i + 1} ({share:.2f})" for i, share in enumerate(shares) if share < 0.99)
        report.say(f"Steps whose X is not rank one (its largest eigenvalue), lambda = {penalty:g}: {split or 'none'}.")
    for name, other in _other_data():
        V, _, _ = Loose().sequence(-other.A, 5.0)
        _show(report, other, 5.0, name, {name: V})


def _show(report: Report, data: Scaled, penalty: float, title: str, tries: dict[str, Floats]) -> None:
    """The last vectors as they are and turned, beside what the paper prints."""
    for variant, turned in (("F", np.asarray), ("FG", rotated)):
        if (variant, penalty) in PRINTED:
            lines = [data.row(name, turned(V[:, -KEPT:]), orthonormal(V)[:, -KEPT:]) for name, V in tries.items()]
            paper = PRINTED[variant, penalty]
            report.table(f"Breast-Cancer, {variant}, lambda = {penalty:g}, {title}", [paper, *lines], digits=DIGITS)


def _choices() -> Iterator[tuple[str, Choice]]:
    """Other vectors than the dominant one at the two steps that matter."""

    def pick(how: dict[int, str]) -> Choice:
        def choose(shares: Floats, vectors: Floats, step: int) -> Floats:
            v = vectors[:, -1]
            if how.get(step) == "second":
                return vectors[:, -2]
            if how.get(step) == "largest":
                return np.where(np.abs(v) >= 0.25, v, 0.0)
            return v

        return choose

    for pair in itertools.product(("first", "second", "largest"), repeat=2):
        if pair != ("first", "first"):
            how = dict(zip(SPLIT_STEPS, pair, strict=True))
            yield ", ".join(f"step {step}: {what}" for step, what in how.items()), pick(how)


def _other_data() -> Iterator[tuple[str, Scaled]]:
    """Breast-Cancer scaled or selected otherwise, orthogonality exact."""
    from sklearn.datasets import load_breast_cancer as load

    bunch = load()
    malignant = np.flatnonzero(bunch.target == 0)
    benign = np.flatnonzero(bunch.target == 1)
    for name, taken in {"the last 10 malignant": malignant[-10:], "malignant 11 to 20": malignant[10:20]}.items():
        labels = np.r_[np.zeros(benign.size, dtype=np.intp), np.ones(taken.size, dtype=np.intp)]
        yield name, Scaled.of(bunch.data[np.r_[benign, taken]], labels)
    data = load_breast_cancer()
    yield "scaled by raw sizes", Scaled.of(data.data, data.labels, np.abs(data.data).max(axis=0))
    yield "scaled by ranges", Scaled.of(data.data, data.labels, np.ptp(data.data, axis=0) / 2.0)
    yield "scaled by deviations", Scaled.of(data.data, data.labels, data.data.std(axis=0))


def kdd_b(report: Report) -> None:
    """KDD99 at lambda = 100 with the paper's coding: which rounding, or which looseness, comes near its rows."""
    records = Records.load()
    coded = Coded(records, np.ones(records.kinds.size, dtype=bool))
    D = coded.rows(WHOLE_FILE)
    kdd = Scaled(D, coded.labels, D.T @ D)
    rows: dict[str, list[Row]] = {variant: [row] for variant, row in KDD_PRINTED.items()}
    for rounding in ("dominant", "sparse"):
        for variant, lines in rows.items():
            found = sparse_subspace(kdd.A, 35, 100.0, variant, rounding)
            lines.append(kdd.row(f"ours, {rounding}", found.loadings))
    for variant, weights in KDD_WEIGHTS.items():
        for weight in weights:
            V = Loose(weight=weight * 100.0).blockwise(kdd.A if variant == "B" else -kdd.A, 100.0)
            kept = V[:, :35] if variant == "B" else V[:, -35:]
            rows[variant].append(kdd.row(_weight(weight), kept))
            rows[variant + "G"].append(kdd.row(_weight(weight), rotated(kept)))
    digits = DIGITS | {VARIANCE: 1, "of the span": 1}
    for variant, lines in rows.items():
        report.table(f"KDD99, {variant}, lambda = 100", lines, digits=digits)


def codings(report: Report) -> None:
    """KDD99: every natural order of services by every natural order of flags, records and logarithms."""
    records = Records.load()
    normal, land = records.kinds == "normal", records.kinds == LAND
    marked = records.where("land") == 1
    report.say(f"Records with the feature land = 1: {(marked & normal).sum()} normal, {(marked & land).sum()} land.")
    first, last = np.flatnonzero(normal)[[0, -1]]
    place = np.arange(normal.size)
    selections = {
        "land in": place >= 0,
        "land out": ~land,
        "land = 1 out": ~marked,
        "land in, normal land = 1 out": ~(marked & normal),
        "land in, first normal out": place != first,
        "land in, last normal out": place != last,
    }
    bytes_only = [j for j in KDD99_LOGARITHMIC if KDD99_FEATURE_NAMES[j] != "duration"]
    logarithms = {"log(1 + x)": KDD99_LOGARITHMIC, "of bytes only": bytes_only, "no logarithm": []}
    found: dict[tuple[object, ...], Tried] = {}
    count = 0
    for (which, taken), (log, columns) in itertools.product(selections.items(), logarithms.items()):
        coded = Coded(records, taken, columns)
        services, flags = coded.orders(1, records), coded.orders(2, records)
        for service, flag in itertools.product(services, flags):
            count += 1
            orders = (WHOLE_FILE[0], services[service], flags[flag])
            last_vectors = Abnormal.of(coded.scatter(orders))
            one = Tried(which, log, service, flag, last_vectors)
            # Orders that differ only in their names, or in words that these records do not have, are one coding.
            found.setdefault((which, log, round(last_vectors.variance, 6), round(last_vectors.norm, 6)), one)
    best = sorted(found.values(), key=lambda one: one.miss)[:BEST]
    present = Tried("land out", "log(1 + x)", "first seen, records taken", "first seen, records taken", None)
    lines = [{"": "paper", L1: "97.33", TENTH: "248", HUNDREDTH: "691", VARIANCE: "21518", AUC: "0.963"}]
    for one in [*best, present]:
        coded = Coded(records, selections[one.records], logarithms[one.logarithm])
        orders = (WHOLE_FILE[0], coded.orders(1, records)[one.service], coded.orders(2, records)[one.flag])
        ours = Abnormal.of(coded.scatter(orders))
        auc = roc_auc_score(coded.labels, ((coded.rows(orders) @ ours.V) ** 2).sum(axis=1))
        lines.append(one.row(ours, float(auc), int(coded.labels.size)))
    report.table(
        f"KDD99, PCA: the {BEST} nearest of {count} combinations ({len(found)} different), and one by appearance",
        lines,
        digits={VARIANCE: 2, AUC: 4, "miss": 4},
    )


@dataclass(frozen=True)
class Tried:
    """One combination; what its L1 norm and cards may be is a range, from unit vectors to the densest null space."""

    records: str
    logarithm: str
    service: str
    flag: str
    found: Abnormal | None

    @property
    def miss(self) -> float:
        """The largest relative distance from a printed figure; none inside a range."""
        assert self.found is not None
        norm, card = self.found.more
        ranges = (
            (KDD_PCA[0], self.found.norm, self.found.norm + norm),
            (KDD_PCA[1], self.found.above_tenth, self.found.above_tenth + card),
            (KDD_PCA[2], self.found.above_hundredth, self.found.above_hundredth + card),
            (KDD_PCA[3], self.found.variance, self.found.variance),
        )
        return max(max(low - wanted, wanted - high, 0.0) / wanted for wanted, low, high in ranges)

    def row(self, ours: Abnormal, auc: float, n: int) -> Row:
        norm, card = ours.more
        return {
            "": f"service {self.service}; flag {self.flag}; {self.records}; {self.logarithm}",
            "records": n,
            L1: f"{ours.norm:.2f} to {ours.norm + norm:.2f}",
            TENTH: f"{ours.above_tenth} to {ours.above_tenth + card}",
            HUNDREDTH: f"{ours.above_hundredth} to {ours.above_hundredth + card}",
            VARIANCE: ours.variance,
            AUC: auc,
            "miss": Tried("", "", "", "", ours).miss,
        }


def _weight(weight: float) -> str:
    return "exact" if weight == EXACT else f"weight {weight:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {"forward": forward, "kdd-b": kdd_b, "codings": codings}
    parser.add_argument("command", choices=commands)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        commands[options.command](report)


if __name__ == "__main__":
    main()
