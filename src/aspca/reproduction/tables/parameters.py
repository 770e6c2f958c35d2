"""Table 2: the paper's settings. It took the number of components at which plain PCA detects best, lambda by hand."""

from __future__ import annotations

from aspca.reproduction.comparison import compared
from aspca.reproduction.published import published, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import PLAIN, Study


def parameters(study: Study) -> Table:
    best = int(study.aucs_by_number(PLAIN).argmax()) + 1
    found = {"abnormal PCs": best, "lambda": study.penalty}
    source = source_of("parameters")
    return Table(
        "Parameters",
        tuple(
            compared(("parameters", study.name, "settings", name), source, paper, found[name])
            for name, paper in published("parameters", study.name).items()
        ),
        ("Ours is the number of abnormal components at which plain PCA has its highest AUC; lambda is the paper's.",),
    )
