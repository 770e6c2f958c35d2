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
        ours = _closest(study, _rows(study, group), printed)
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
    model = JSPCA(n_components=study.n_components, scaling=study.scaling).fit(study.data.data)
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
    """Of joint sparse PCA (p, d): at the lowest penalty tried that selects no more features than the paper has."""
    if study.name == "synthetic":
        return np.asarray(JSPCA(n_components=study.n_components, scaling=study.scaling).fit(study.data.data).loadings_)
    rows, most = study.data.data, len(rows_of("jspca", study.name)["all"])
    model = JSPCA(n_components=study.n_components, scaling=study.scaling)
    largest = _largest(study, rows)
    path = model.path(rows, _SHARES * largest)
    share = next(share for k, share in enumerate(_SHARES) if path.selected(k).size <= most)
    return np.asarray(model.set_params(mu=share * largest).fit(rows).loadings_)


def _largest(study: Study, rows: Floats) -> float:
    """The penalty that selects nothing: the default is a third of it."""
    return 3.0 * float(JSPCA(n_components=study.n_components, scaling=study.scaling).fit(rows).mu_)


def _rows(study: Study, group: str) -> Floats:
    """All rows, or the normal ones and those of a category."""
    kinds = categories().get(group)
    if kinds is None:
        return study.data.data
    return study.data.data[np.isin(study.data.kinds, ("normal", *kinds))]


def _closest(study: Study, rows: Floats, printed: list[str]) -> list[str]:
    model = JSPCA(n_components=study.n_components, scaling=study.scaling)
    path = model.path(rows, _SHARES * _largest(study, rows))
    heaviest = [[study.names[j] for j in path.selected(k)[: len(printed)]] for k in range(_SHARES.size)]
    return max(heaviest, key=lambda names: len(set(names) & set(printed)))
