"""Table 9: sparsity, variance and AUC over lambda; 0 is plain PCA, not rotated."""

from __future__ import annotations

from aspca.reproduction.comparison import Tolerance, compared
from aspca.reproduction.published import rows_of, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import PLAIN, Fit, Study

METHODS = ("ASPCA-FG", "ASPCA-BG")
_TIGHT = {
    "L1": Tolerance(absolute=0.02, or_lower=True),
    "variance": Tolerance(relative=0.002),
    "AUC": Tolerance(absolute=0.001),
}
_FORWARD = {"L1": Tolerance(relative=0.05), "variance": Tolerance(relative=0.05), "AUC": Tolerance(absolute=0.02)}
_KDD99 = {"L1": Tolerance(relative=0.03), "variance": Tolerance(relative=0.01), "AUC": Tolerance(absolute=0.006)}
_KDD99_PLAIN = {**_KDD99, "L1": Tolerance(relative=0.05), "AUC": Tolerance(absolute=0.003)}


def measured(fit: Fit) -> dict[str, float]:
    """The table's three measures."""
    return {"L1": fit.l1, "variance": fit.variance, "AUC": fit.auc}


def penalties(study: Study) -> tuple[Table, ...]:
    """One table for each method."""
    source = source_of("penalties")
    tables = []
    for method in METHODS:
        found = []
        for penalty, printed in rows_of("penalties", study.name, method).items():
            fit = study.fit(method, float(penalty))
            ours = measured(fit)
            allowed = _allowed(study.name, fit)
            place = ("penalties", study.name, method, f"lambda {penalty}")
            found += [
                compared((*place, what), source, paper, ours[what], allowed[what]) for what, paper in printed.items()
            ]
        tables.append(Table(f"{method} over lambda", tuple(found)))
    return tuple(tables)


def _allowed(name: str, fit: Fit) -> dict[str, Tolerance]:
    if name == "kdd99":
        return _KDD99_PLAIN if fit.method == PLAIN else _KDD99
    return _FORWARD if fit.method == "ASPCA-FG" else _TIGHT
