"""The paper's components are solved when they are asked for, and are the same whenever that is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aspca
from aspca import ASPCA, Moments, sparse_subspace
from aspca.model.components import Components
from aspca.sparse_pca.defaults import choose_alpha


@pytest.fixture
def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 9))
    X[:, 0] = X[:, 1] + X[:, 2] + 0.05 * rng.normal(size=400)
    X[:, 3] = X[:, 4] + 0.05 * rng.normal(size=400)
    return X


def test_nothing_that_judges_or_explains_asks_for_them(rows: np.ndarray, tmp_path: Path) -> None:
    model = ASPCA().fit(rows)
    model.predict(rows)
    model.score_samples(rows)
    model.explain(rows).text(0)
    assert [str(rule) for rule in model.rules_]
    model.get_feature_names_out()
    aspca.save(model, tmp_path / "model.json")
    assert model.n_components_ == len(model.rules_)
    assert model.model_.components.solved is None


@pytest.mark.parametrize("ask", ["components_", "certificates_", "subspace_", "n_iter_"])
def test_what_speaks_of_them_solves_them_once(rows: np.ndarray, ask: str) -> None:
    model = ASPCA().fit(rows)
    getattr(model, ask)
    solved = model.model_.components.solved
    assert solved is not None
    model.transform(rows)
    assert model.subspace_ is solved
    assert model.subspace_.verify(model.covariance_)


def test_they_are_what_the_solver_makes_of_the_covariance(rows: np.ndarray) -> None:
    model = ASPCA().fit(rows)
    alpha = choose_alpha(model.covariance_, model.n_components_)
    assert model.alpha_ == alpha
    assert model.model_.components.solved is None
    twin = sparse_subspace(model.covariance_, model.n_components_, alpha, "BG", rotation="levels")
    assert np.array_equal(model.components_, twin.loadings.T)
    assert model.alpha_ == alpha


def test_they_judge_where_the_score_is_theirs(rows: np.ndarray) -> None:
    model = ASPCA(n_components=2, score="standardized").fit(rows)
    assert model.model_.components.solved is not None


@pytest.mark.parametrize("options", [{}, {"private": True}, {"moments": False}, {"private": True, "moments": False}])
def test_a_file_gives_the_same(rows: np.ndarray, tmp_path: Path, options: dict[str, bool]) -> None:
    model = ASPCA().fit(rows)
    aspca.save(model, tmp_path / "model.json", **options)
    loaded = aspca.load(tmp_path / "model.json")
    # Without moments they cannot be found later, so they are in the file.
    assert (loaded.model_.components.solved is None) == options.get("moments", True)
    np.testing.assert_array_equal(loaded.components_, model.components_)
    # Found from the moments, they are proved anew.
    assert bool(loaded.subspace_.verify(model.covariance_)) == options.get("moments", True)


def test_one_that_goes_on_learning_starts_from_those_that_are_there(rows: np.ndarray) -> None:
    model = ASPCA(n_components=2).partial_fit(rows[:200])
    first = model.subspace_
    model.partial_fit(rows[200:])
    assert model.model_.components.warm_start is first
    whole = ASPCA(n_components=2).fit_moments(Moments.from_array(rows))
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-7)


def test_without_anything_to_find_them_from(rows: np.ndarray) -> None:
    model = ASPCA().fit(rows)
    with pytest.raises(ValueError, match="neither components nor the moments"):
        Components(model.model_.settings, None, 2).subspace()
