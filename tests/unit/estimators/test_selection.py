"""Curves for choosing, and the cap on features per rule: each figure recomputed from a fit of its own."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from aspca import ASPCA, Moments, select
from aspca.estimators.selection_bases import Bases, Clock, Found
from aspca.paper.datasets import load_breast_cancer, load_synthetic
from aspca.settings import Settings
from aspca.sparse_pca.subspace import sparse_subspace

DATA = load_synthetic()


@pytest.fixture(scope="module")
def selection():
    estimator = ASPCA(n_components=4, alpha=0.01, scaling="none", score="spe")
    return select(DATA.data, DATA.labels, estimator=estimator, n_resamples=4)


def test_every_line_is_what_a_fit_gives(selection) -> None:
    assert [one.n_components for one in selection.over_components] == list(range(1, 8))
    assert {one.alpha for one in selection.over_components} == {0.01}
    assert {one.n_components for one in selection.over_alphas} == {4}
    assert [one.alpha for one in selection.over_alphas] == sorted(one.alpha for one in selection.over_alphas)[::-1]
    for one in (*selection.over_components, *selection.over_alphas):
        model = ASPCA(one.n_components, one.alpha, scaling="none", score="spe").fit(DATA.data)
        V = model.components_
        assert one.nonzeros == (V != 0).sum() / len(V)
        assert one.largest == (V != 0).sum(axis=1).max()
        assert one.l1 == pytest.approx(np.abs(V).sum(), rel=1e-6)
        spread = model.transform(DATA.data).var(axis=0).sum() / DATA.data.var(axis=0).sum()
        assert one.variance == pytest.approx(spread, rel=1e-6)
        assert one.auc == pytest.approx(roc_auc_score(DATA.labels, -model.score_samples(DATA.data)), abs=1e-6)
        assert 0 <= one.stability <= 1
        assert one.n_components / 7 - 0.2 <= one.subspace_stability <= 1 + 1e-12
    assert selection.chosen in selection.over_components
    assert selection.chosen in selection.over_alphas


def test_planted_rules_are_found_again_in_half_of_the_rows(selection) -> None:
    assert selection.chosen.stability == 1.0
    assert selection.chosen.subspace_stability >= 0.98
    # The whole space is always the same.
    assert selection.over_components[-1].subspace_stability == pytest.approx(1.0, abs=1e-9)


def test_as_text_and_table(selection) -> None:
    lines = selection.text.splitlines()
    assert sum(line.startswith("-> ") for line in lines) == 2
    assert all(len(line) <= 90 for line in lines)
    frame = selection.to_frame()
    assert list(frame["curve"].value_counts().items()) == [("components", 7), ("alpha", 7)]
    assert frame["l1"].tolist() == [one.l1 for one in (*selection.over_components, *selection.over_alphas)]


def test_without_labels_resamples_or_many_rows() -> None:
    frame = pd.DataFrame(DATA.data, columns=DATA.feature_names)
    found = select(frame, n_components=[2, 4], alphas=[0.01, 0.1], n_resamples=0)
    assert {one.auc for one in found.over_alphas} == {one.stability for one in found.over_alphas} == {None}
    assert [one.n_components for one in found.over_components] == [2, 4]
    few = select(DATA.data[:3], n_components=[1], alphas=[0.1])
    assert few.chosen.stability is None


@pytest.mark.parametrize("variant", ["B", "BG", "F", "FG", "G"])
@pytest.mark.parametrize("rotation", ["levels", "all"])
def test_the_beginning_of_a_sequence_is_the_sequence_of_fewer(variant: str, rotation: str) -> None:
    """The slow twin: each number of components solved by itself."""
    A = np.corrcoef(DATA.data.T)
    settings = Settings.of(ASPCA(variant=variant, rotation=rotation).get_params())
    bases = Bases(A, settings, {0.05: 7}, Clock(None))
    for d in range(1, 8):
        alone = sparse_subspace(A, d, 0.05, variant, rotation=rotation, proof="quick").loadings
        found = bases.loadings(d, 0.05)
        assert found is not None
        assert np.abs(found).sum() == pytest.approx(np.abs(alone).sum(), rel=1e-9)
        assert ((found != 0) == 0).sum() == ((alone != 0) == 0).sum()
        # The same columns, but for order and signs.
        cosines = np.abs(found.T @ alone)
        np.testing.assert_allclose(np.sort(cosines.max(axis=0)), np.ones(d), atol=1e-9)


def test_halves_are_tried_until_they_agree() -> None:
    assert Found(30, [1.0, 1.0]).has_converged
    assert not Found(30, [1.0, 0.5]).has_converged
    assert not Found(30, [1.0]).has_converged
    assert Found(30, [0.7, 0.6, 0.65, 0.7]).has_converged
    # One rule that was found twice may well be missed next time.
    assert not Found(1, [1.0, 1.0]).has_converged
    found = select(DATA.data, n_components=[2, 4], alphas=[0.01], n_resamples=12)
    assert found.chosen.stability == 1.0
    assert 2 < found.chosen.n_halves < 12
    assert {one.n_halves % 2 for one in found.over_components} == {0}


def test_progress_ends_at_what_was_announced() -> None:
    told: list[tuple[int, int]] = []
    select(DATA.data, n_components=[2, 4], alphas=[0.01, 0.1], n_resamples=4, callback=lambda *at: told.append(at))
    assert {most for _, most in told} == {told[-1][0]}
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_no_time_leaves_the_choice_alone_and_says_so() -> None:
    found = select(DATA.data, DATA.labels, time_budget=0.0)
    assert found.remark is not None
    assert found.remark.startswith("The time budget of 0 s ended: 1 of 13 settings were measured")
    assert found.over_components == (found.chosen,)
    assert found.over_alphas == (found.chosen,)
    assert (found.chosen.stability, found.chosen.n_halves) == (None, 0)
    assert " ".join(found.text.split()).endswith(found.remark)
    assert select(DATA.data, n_components=[2], alphas=[0.1], n_resamples=0, time_budget=1e6).remark is None
    with pytest.raises(ValueError, match="time_budget must be None or seconds >= 0, got -1"):
        select(DATA.data, time_budget=-1)


def test_areas_are_those_of_fits() -> None:
    found = select(DATA.data, DATA.labels, n_components=[2, 3], alphas=[0.01, 0.1], n_resamples=0)
    for one in (*found.over_components, *found.over_alphas):
        model = ASPCA(one.n_components, one.alpha).fit_moments(Moments.from_array(DATA.data))
        expected = roc_auc_score(DATA.labels, -model.score_samples(DATA.data))
        assert one.auc == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0, 1], "labels has shape (2,), but there are 515 rows"),
        (np.zeros(515), "labels must hold both 0 (normal) and 1 (anomaly)"),
        (np.r_[np.ones(500), np.full(15, 2)], "labels must hold both 0 (normal) and 1 (anomaly)"),
    ],
)
def test_labels_that_cannot_be_used(labels, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        select(DATA.data, labels)


@pytest.mark.parametrize("cap", [pytest.param(1, marks=pytest.mark.long), 2, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("variant", ["B", "BG"])
def test_no_rule_has_more_features_than_allowed(cap: int, variant: str) -> None:
    X = load_breast_cancer().data
    model = ASPCA(n_components=6, max_features=cap, variant=variant).fit(X)
    sizes = (model.components_ != 0).sum(axis=1)
    assert sizes.max() <= cap
    free = ASPCA(n_components=6, variant=variant).fit(X)
    assert (free.components_ != 0).sum(axis=1).max() > 3
    assert model.alpha_ > free.alpha_
    # A sixteenth of an octave lower, some rule has too many.
    lower = ASPCA(n_components=6, alpha=model.alpha_ * 2 ** (-1 / 16), variant=variant).fit(X)
    assert (lower.components_ != 0).sum(axis=1).max() > cap
    # The same as asking for the penalty that was found.
    again = ASPCA(n_components=6, alpha=model.alpha_, variant=variant).fit(X)
    assert (again.components_ != 0).sum(axis=1).max() <= cap
    assert model.subspace_.verify(model.covariance_)


def test_a_cap_that_holds_anyway_changes_nothing() -> None:
    free = ASPCA(n_components=4, alpha=0.01, scaling="none").fit(DATA.data)
    capped = ASPCA(n_components=4, alpha=0.01, scaling="none", max_features=7).fit(DATA.data)
    assert capped.alpha_ == free.alpha_
    assert np.abs(capped.components_ - free.components_).max() <= 1e-6


@pytest.mark.parametrize("bad", [0, -1, 2.5, "3", True])
def test_caps_that_do_not_exist(bad: object) -> None:
    with pytest.raises(ValueError, match="max_features must be None or an integer of at least 1"):
        ASPCA(max_features=bad).fit(DATA.data)
    with pytest.raises(ValueError, match="max_features raises alpha, which variant G does not use"):
        ASPCA(max_features=2, variant="G").fit(DATA.data)
