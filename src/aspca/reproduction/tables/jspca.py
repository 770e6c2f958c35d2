"""What joint sparse PCA selects: one set of features for all anomalies, on KDD99 one for each category of attacks."""

from __future__ import annotations

import numpy as np

from aspca.baselines import JSPCA
from aspca.linalg.arrays import Floats
from aspca.reproduction.comparison import claimed
from aspca.reproduction.published import rows_of, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import Study
from aspca.reproduction.tables.statistics import categories

# Neither the penalty nor the variant is published: penalties are tried from nothing selected down to a hundredth of it.
_SHARES = np.linspace(0.01, 0.99, 50)


def jspca(study: Study) -> Table:
    if study.name == "synthetic":
        return _of_synthetic(study)
    source = source_of("jspca", study.name)
    found = []
    for group, printed in rows_of("jspca", study.name).items():
        ours, _ = _closest(study, group, printed)
        common = len(set(ours) & set(printed))
        found.append(
            claimed(
                ("jspca", study.name, group, "features"),
                source,
                ", ".join(printed),
                f"{', '.join(ours)} ({common} of {len(printed)} in common)",
                common == len(printed),
                "the same set",
            )
        )
    return Table("Features that joint sparse PCA selects", tuple(found), (_HOW,))


_HOW = "Ours are as many as the paper's, the heaviest at the penalty of those tried where most are in common."


def _of_synthetic(study: Study) -> Table:
    """C takes part in the same rule as D, so it may be there or not."""
    model = _model(study).fit(study.data.data)
    ours = sorted(study.names[j] for j in model.selected_features_)
    printed = rows_of("jspca", study.name)["all"]
    return Table(
        "Features that joint sparse PCA selects",
        (
            claimed(
                ("jspca", study.name, "all", "features"),
                source_of("jspca", study.name),
                ", ".join(printed),
                ", ".join(ours),
                set(printed) <= set(ours) <= {*printed, "C"},
                "the same set, C allowed",
            ),
        ),
    )


def loadings(study: Study) -> Floats:
    """Of joint sparse PCA (p, d), at the penalty of the table, with one as the largest."""
    if study.name == "synthetic":
        model = _model(study).fit(study.data.data)
    else:
        _, mu = _closest(study, "all", rows_of("jspca", study.name)["all"])
        model = _model(study).set_params(mu=mu).fit(study.data.data)
    return np.asarray(model.loadings_ / np.abs(model.loadings_).max())


def _rows(study: Study, group: str) -> Floats:
    """All rows, or the normal ones and those of a category."""
    kinds = categories().get(group)
    if kinds is None:
        return study.data.data
    return study.data.data[np.isin(study.data.kinds, ("normal", *kinds))]


def _closest(study: Study, group: str, printed: list[str]) -> tuple[list[str], float]:
    """As many of the heaviest features as are printed, at the penalty where most are in common, and that penalty."""
    if group not in study.selections:
        study.selections[group] = _selected(study, _rows(study, group), printed)
    return study.selections[group]


def _selected(study: Study, rows: Floats, printed: list[str]) -> tuple[list[str], float]:
    # The default is a third of the penalty that selects nothing.
    mus = _SHARES * 3.0 * float(_model(study).fit(rows).mu_)
    path = _model(study).path(rows, mus)
    heaviest = [[study.names[j] for j in path.selected(k)[: len(printed)]] for k in range(mus.size)]
    best = max(range(mus.size), key=lambda k: len(set(heaviest[k]) & set(printed)))
    return heaviest[best], float(mus[best])


def _model(study: Study) -> JSPCA:
    return JSPCA(n_components=study.n_components, scaling=study.scaling)
