"""What benchmarks/paper_causes.py rests on: the coding of the paper's KDD99, and orthogonality that is not exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from aspca import sparse_subspace
from aspca.paper.datasets import load_breast_cancer


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")


def test_services_and_flags_in_the_order_of_the_whole_file_give_the_papers_pca() -> None:
    from library.kdd_codings import WHOLE_FILE, Abnormal, Coded, Records

    try:
        records = Records.load()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    coded = Coded(records, np.ones(records.kinds.size, dtype=bool))
    A = coded.scatter(WHOLE_FILE)
    D = coded.rows(WHOLE_FILE)
    # The shortcut by indicators is the coded table itself: centred, and divided by its largest size.
    np.testing.assert_allclose(D.T @ D, A, atol=1e-6)
    np.testing.assert_allclose(np.abs(D).max(axis=0)[A.diagonal() > 0], 1.0)
    np.testing.assert_allclose(D.mean(axis=0), 0.0, atol=1e-12)
    found = Abnormal.of(A)
    # Two constant columns; their plane in its densest basis is what the paper's figures hold.
    assert found.null == 2
    norm, card = found.more
    assert round(found.norm + norm, 2) == 97.33
    assert (found.above_tenth + card, found.above_hundredth + card) == (248, 691)
    assert round(found.variance) == 21518
    assert round(float(roc_auc_score(coded.labels, ((D @ found.V) ** 2).sum(axis=1))), 3) == 0.963


def test_an_exact_sequence_is_the_solvers_and_a_loose_one_is_the_papers_variance() -> None:
    from library.loose import Loose, largest_product, orthonormal
    from library.paper_rows import Scaled

    data = load_breast_cancer()
    cancer = Scaled.of(data.data, data.labels)
    exact, _, shares = Loose().sequence(cancer.A, 5.0, 10)
    ours = sparse_subspace(cancer.A, 10, 5.0, "B", "dominant").loadings
    np.testing.assert_allclose(np.abs((exact * ours).sum(axis=0)), 1.0, atol=1e-6)
    assert shares.min() > 1.0 - 1e-6
    assert largest_product(exact) < 1e-12
    # A weight that small leaves the third vector without its loading of -0.0011, at the price of orthogonality.
    loose, _, _ = Loose(weight=20.0 * 5.0).sequence(cancer.A, 5.0, 10)
    assert 1.0e-3 < largest_product(loose) < 1.2e-3
    span = orthonormal(loose)
    assert largest_product(span) < 1e-12
    assert np.vdot(span, cancer.A @ span) == pytest.approx(20.2968, abs=1e-3)
    assert np.vdot(ours, cancer.A @ ours) == pytest.approx(20.3288, abs=1e-3)
