"""What the paper's text says of the results in words, looked up in ours."""

from __future__ import annotations

import numpy as np

from aspca.reproduction.comparison import Comparison, claimed
from aspca.reproduction.published import published, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import METHODS, PLAIN, Study
from aspca.reproduction.surrogate import Node, surrogate
from aspca.reproduction.tables.components import in_the_papers_order

# "Similarly or even better".
_SIMILAR = 0.01


def claims(study: Study) -> Table:
    found = {"synthetic": _synthetic, "breast-cancer": _breast_cancer, "kdd99": _kdd99}[study.name](study)
    return Table("What the text says", tuple(found))


def _synthetic(study: Study) -> list[Comparison]:
    return [_perfect(study), _sparser(study), _rules_broken(study), _tree(study, surrogate(study))]


def _breast_cancer(study: Study) -> list[Comparison]:
    return [
        _as_well_as_pca(study),
        _sparser(study),
        _rotation_helps(study),
        _patterns(study),
        _orthogonal(study),
        _tree(study, surrogate(study)),
    ]


def _kdd99(study: Study) -> list[Comparison]:
    return [_as_well_as_pca(study), _sparser(study), _rotation_helps(study), _tree(study, surrogate(study))]


def _perfect(study: Study) -> Comparison:
    areas = {method: study.fit(method).auc for method in METHODS}
    words = ", ".join(f"{method} {area:.3f}" for method, area in areas.items())
    return claimed(
        ("text", study.name, "ROC curves", "AUC"),
        "Section 4.3.1",
        "all models obtain a perfect ROC curve",
        words,
        min(areas.values()) == 1.0,
    )


def _as_well_as_pca(study: Study) -> Comparison:
    areas = {method: study.fit(method).auc for method in (PLAIN, "ASPCA-F", "ASPCA-B")}
    return claimed(
        ("text", study.name, "ROC curves", "AUC"),
        "Section 4.3.1",
        "F(G) and B(G) performed similarly or even better than PCA",
        ", ".join(f"{method} {area:.3f}" for method, area in areas.items()),
        min(areas.values()) >= areas[PLAIN] - _SIMILAR,
        f"at most {_SIMILAR:g} below PCA",
    )


def _sparser(study: Study) -> Comparison:
    forward, backward = study.fit("ASPCA-F").l1, study.fit("ASPCA-B").l1
    return claimed(
        ("text", study.name, "sparsity", "F and B"),
        "Section 4.3.2",
        "ASPCA-B is sparser than ASPCA-F",
        f"L1 {backward:.2f} and {forward:.2f}",
        backward < forward,
    )


def _rotation_helps(study: Study) -> Comparison:
    pairs = {method: (study.fit(method).l1, study.fit(f"{method}G").l1) for method in ("ASPCA-F", "ASPCA-B")}
    return claimed(
        ("text", study.name, "sparsity", "global optimisation"),
        "Section 4.3.2",
        "it lowers the L1 norm of both",
        ", ".join(f"{method} {before:.4f} to {after:.4f}" for method, (before, after) in pairs.items()),
        all(after < before for before, after in pairs.values()),
    )


def _rules_broken(study: Study) -> Comparison:
    """Each kind of anomaly is named after the rule that it breaks."""
    order = in_the_papers_order(study)
    sizes = np.abs(study.rows[study.anomalous] @ order.loadings)
    supports = [{study.names[j] for j in np.flatnonzero(np.abs(column) > 0.1)} for column in order.loadings.T]
    right = 0
    for kind, row in zip(np.array(study.data.kinds)[study.anomalous], sizes, strict=True):
        features = {sign for sign in kind if sign.isalpha()}
        holding = [k for k, support in enumerate(supports) if features <= support]
        right += int(row.argmax()) == min(holding, key=lambda k: len(supports[k]))
    return claimed(
        ("text", study.name, "projections", "largest"),
        "Section 4.3.3, Figure 5",
        "anomalies have large projections on the component of the rule they break",
        f"the largest of {right} of {sizes.shape[0]}",
        right == sizes.shape[0],
    )


def malignant_patterns(study: Study) -> tuple[list[int], list[int]]:
    """Records, from 0, with their largest projection on the components 2 to 4, and the others."""
    order = in_the_papers_order(study)
    sizes = np.abs(study.rows[study.anomalous] @ order.loadings)
    shape = sizes[:, [order.positions[number] for number in ("2", "3", "4")]].max(axis=1)
    area = sizes[:, order.positions["1"]]
    return np.flatnonzero(shape > area).tolist(), np.flatnonzero(shape <= area).tolist()


def _patterns(study: Study) -> Comparison:
    shape, area = malignant_patterns(study)
    first, second = (", ".join(str(record + 1) for record in part) for part in (shape, area))
    return claimed(
        ("text", study.name, "malignant records", "patterns"),
        "Section 4.3.3, Figure 7",
        "four records have large projections on PCs 2, 3 and 4, the rest on PC 1",
        f"records {first} of the file on PCs 2 to 4, records {second} on PC 1",
        len(shape) == 4,
    )


def _orthogonal(study: Study) -> Comparison:
    (name,) = published("trees", study.name, "split on")
    size = float(np.abs(study.fit().loadings[study.names.index(name)]).max())
    return claimed(
        ("text", study.name, name, "largest loading in ASPCA-BG"),
        "Section 4.3.3",
        "orthogonal to the abnormal subspace",
        f"{size:g}",
        size == 0.0,
    )


def _tree(study: Study, root: Node) -> Comparison:
    printed = published("trees", study.name, "split on")
    return claimed(
        ("text", study.name, "decision tree", "splits on"),
        source_of("trees", study.name),
        ", ".join(printed),
        ", ".join(root.features),
        set(printed) <= set(root.features),
        "these are among ours",
    )
