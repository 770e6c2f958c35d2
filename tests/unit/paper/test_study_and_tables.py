"""What the tables are made of: matching components, groups by signatures, trees, the fits of a study."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from aspca.paper.baselines import PCADetector
from aspca.paper.datasets import load_synthetic
from aspca.paper.published import match_components
from aspca.paper.study import METHODS, MOST_LEAVES, Node, Study
from aspca.paper.tables import SignatureGroup, find_nearest


@pytest.fixture(scope="module")
def study() -> Study:
    return Study("synthetic", load_synthetic())


def test_components_are_found_whatever_their_order_and_sign() -> None:
    rng = np.random.default_rng(0)
    truth = np.linalg.qr(rng.normal(size=(6, 4)))[0]
    names = tuple("abcdef")
    printed = {
        number: {name: Decimal(f"{truth[j, k]:.4f}") for j, name in enumerate(names) if abs(truth[j, k]) > 0.3}
        for number, k in (("1", 0), ("3", 2))
    }
    shuffled = truth[:, [2, 3, 0, 1]] * [-1, 1, -1, 1]
    found = match_components(shuffled, names, printed)
    assert found.positions == {"1": 0, "3": 2}
    np.testing.assert_allclose(found.loadings[:, [0, 2]], truth[:, [0, 2]])
    # The others fill the places between, none twice.
    assert found.labels == ("1", "(2)", "3", "(4)")
    np.testing.assert_allclose(found.loadings.T @ found.loadings, np.eye(4), atol=1e-12)


def test_the_group_most_like_a_printed_one() -> None:
    small, large, other = (
        SignatureGroup(("1H", "2L"), 5, 5),
        SignatureGroup(("1H", "2L", "3H"), 50, 50),
        SignatureGroup(("4H",), 500, 500),
    )
    assert find_nearest(["1H", "2L"], [large, small, other]) is small
    assert find_nearest(["1H", "2L", "9H"], [large, small, other]) is large


def test_a_tree_counts_every_row_once(study: Study) -> None:
    def list_leaves(node: Node) -> list[Node]:
        return [leaf for child in node.children for leaf in list_leaves(child)] or [node]

    root = study.tree
    leaves = list_leaves(root)
    assert not any(leaf.feature for leaf in leaves)
    assert 2 <= len(leaves) <= MOST_LEAVES
    for count in ("found", "false_alarms", "passed"):
        assert sum(getattr(leaf, count) for leaf in leaves) == getattr(root, count)
    assert root.found == int((study.flagged & study.anomalous).sum())
    assert root.found + root.false_alarms + root.passed == study.data.data.shape[0]
    assert dict(root.kinds) == {"A = B": 5, "D = C + A": 5, "F = 0": 5}
    assert root.features[0] == root.feature


def test_plain_pca_is_the_detector_of_the_same_name(study: Study) -> None:
    detector = PCADetector(n_components=4, scaling="none").fit(study.data.data)
    np.testing.assert_allclose(study.fit("PCA").scores, -detector.score_samples(study.data.data), rtol=1e-9)
    assert study.fit("ASPCA-BG", 0.0) is study.fit("PCA"), "at lambda 0 nothing is rotated"


@pytest.mark.parametrize("method", METHODS)
def test_all_columns_are_a_basis_with_the_abnormal_ones_last(study: Study, method: str) -> None:
    columns = study.build_basis(method)
    np.testing.assert_allclose(columns.T @ columns, np.eye(7), atol=1e-9)
    span = study.fit(method).loadings
    np.testing.assert_allclose(columns[:, -4:] @ columns[:, -4:].T, span @ span.T, atol=1e-9)


@pytest.mark.parametrize("method", ["PCA", "ASPCA-F", "ASPCA-B"])
def test_nested_sequences_give_the_areas_of_single_fits(study: Study, method: str) -> None:
    assert study.compute_aucs_by_number(method)[study.n_components - 1] == pytest.approx(
        study.fit(method).auc, abs=1e-12
    )


def test_the_defaults_split_over_features_is_their_score(study: Study) -> None:
    _, judged = study.product
    np.testing.assert_allclose(study.product_shares.sum(axis=1), judged.scores[study.anomalous], rtol=1e-9)
