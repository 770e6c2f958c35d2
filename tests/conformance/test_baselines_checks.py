"""scikit-learn's own checks of the baselines: every one passes, none is expected to fail."""

from __future__ import annotations

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator

from aspca import ASPCA
from aspca.paper.baselines import JSPCA, PCADetector, SurrogateTree

ESTIMATORS = {
    "pca": PCADetector(),
    "pca-share": PCADetector(contamination=0.1),
    "jspca": JSPCA(),
    "jspca-share": JSPCA(contamination=0.1),
    "tree": SurrogateTree(PCADetector(contamination=0.1), cv=3),
    "tree-aspca": SurrogateTree(ASPCA(contamination=0.1), cv=3),
}


def _cases() -> list[object]:
    return [
        pytest.param(estimator, check, id=f"{name}-{getattr(check, 'func', check).__name__}-{number}")
        for name, estimator in ESTIMATORS.items()
        for number, (_, check) in enumerate(estimator_checks_generator(estimator, legacy=True))
    ]


# scikit-learn's checks provoke warnings of their own (deprecated containers, tied eigenvalues).
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), _cases())
def test_check(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]
