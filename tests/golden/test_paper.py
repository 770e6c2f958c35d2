"""The paper's published figures, through the public API.

`rounding="dominant"` is the paper's; the same rows with `rounding="sparse"` are printed beside them (`pytest -rP`).
The paper's lambda belongs to D'D, the public alpha to D'D / n.
"""

from __future__ import annotations

import runpy
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from aspca import ASPCA
from aspca.datasets.breast_cancer import load_breast_cancer
from aspca.datasets.dataset import Dataset
from aspca.datasets.kdd99 import load_kdd99
from aspca.datasets.synthetic import load_synthetic


@dataclass(frozen=True)
class Row:
    """One row of the paper's tables, and the model behind it."""

    l1: float
    card_01: int
    card_001: int
    variance: float
    auc: float
    scores: np.ndarray
    model: ASPCA

    def __str__(self) -> str:
        return f"{self.l1:.4f}, {self.card_01}, {self.card_001}, variance {self.variance:.4f}, AUC {self.auc:.4f}"


@cache
def _data(name: str) -> Dataset:
    return {"breast": load_breast_cancer, "kdd99": load_kdd99, "synthetic": load_synthetic}[name]()


@cache
def row(name: str, variant: str, lam: float, rounding: str = "dominant", normal_only: bool = False) -> Row:
    try:
        data = _data(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    X = data.data[data.labels == 0] if normal_only else data.data
    model = ASPCA.paper(
        n_components={"breast": 10, "kdd99": 35, "synthetic": 4}[name],
        alpha=lam / X.shape[0],
        variant=variant,
        rounding=rounding,
        scaling="none" if name == "synthetic" else "maxabs",
    ).fit(X)
    scores = -model.score_samples(data.data)
    size = np.abs(model.components_)
    return Row(
        l1=float(size.sum()),
        card_01=int((size > 0.1).sum()),
        card_001=int((size > 0.01).sum()),
        variance=float(model.explained_variance_.sum()) * X.shape[0],
        auc=float(roc_auc_score(data.labels, scores)),
        scores=scores,
        model=model,
    )


def report(name: str, variant: str, lam: float, published: str, *, compare: bool = True) -> Row:
    """The row with the paper's rounding; printed beside the published one and the one with sparse rounding."""
    dominant, sparse = (row(name, variant, lam, rounding) for rounding in ("dominant", "sparse"))
    print(f"{name} {variant} lambda = {lam:g}")
    print(f"  published  {published}\n  dominant   {dominant}\n  sparse     {sparse}")
    if compare:
        assert_sparse_is_as_good(dominant, sparse)
    return dominant


def assert_sparse_is_as_good(dominant: Row, sparse: Row) -> None:
    assert sparse.l1 <= dominant.l1 * 1.005, "the sparse rounding should not be denser"
    assert sparse.auc >= dominant.auc - 0.005, "the sparse rounding should detect as well"


class TestBreastCancer:
    def test_pca(self) -> None:
        # lambda = 0 is plain PCA, not rotated.
        pca = row("breast", "B", 0.0)
        assert pca.l1 == pytest.approx(34.228, abs=5e-4)
        assert (pca.card_01, pca.card_001) == (111, 237)
        assert pca.variance == pytest.approx(1.2728, abs=5e-5)
        assert round(pca.auc, 3) == 0.959

    def test_b_at_5(self) -> None:
        b = report("breast", "B", 5.0, "12.31, 18, 18, variance 20.2968, AUC 0.982")
        assert round(b.l1, 2) == 12.31
        assert (b.card_01, b.card_001) == (18, 18)
        assert b.variance == pytest.approx(20.30, abs=0.05)
        assert round(b.auc, 3) == 0.982

    def test_threshold(self) -> None:
        labels = _data("breast").labels
        flagged = row("breast", "BG", 5.0).scores >= 0.1003
        assert flagged[labels == 1].mean() == 1.0
        # 17 of 357: the table's 0.0476, not the text's 18.
        assert flagged[labels == 0].sum() == 17
        assert round(flagged[labels == 0].mean(), 4) == 0.0476

    @pytest.mark.parametrize(
        "published",
        [
            {"area_se": 1.0},
            {"symmetry_worst": 0.9894},
            {"fractal_dimension_worst": 0.9631, "fractal_dimension_mean": -0.2693},
            {"compactness_worst": 0.9445, "compactness_mean": -0.3286},
            {"area_worst": 0.8554, "radius_worst": -0.5180},
        ],
        ids=lambda published: "+".join(published),
    )
    def test_published_components(self, published: dict[str, float]) -> None:
        names = list(_data("breast").feature_names)
        components = row("breast", "BG", 5.0).model.components_
        wanted = {names.index(name): loading for name, loading in published.items()}
        leading = next(iter(wanted))
        (match,) = [c for c in components if np.argmax(np.abs(c)) == leading]
        match = match * np.sign(match[leading])
        for j, loading in wanted.items():
            assert match[j] == pytest.approx(loading, abs=0.005)
        # The paper omits coefficients below 0.1, and one above: a unit vector with 0.9894 must hold another of 0.145.
        if set(published) == {"symmetry_worst"}:
            wanted[names.index("symmetry_mean")] = -np.sqrt(1 - 0.9894**2)
            assert match[names.index("symmetry_mean")] == pytest.approx(-0.1452, abs=0.005)
        assert set(np.flatnonzero(np.abs(match) > 0.1)) == set(wanted)

    def test_bg_at_1(self) -> None:
        bg = report("breast", "BG", 1.0, "14.95, -, -, variance 6.2777, AUC 0.950")
        assert bg.l1 <= 14.95
        assert bg.variance == pytest.approx(6.2777, abs=0.001)
        assert round(bg.auc, 3) == 0.950

    @pytest.mark.parametrize("lam", [10.0, 50.0])
    def test_bg_at_10_and_50(self, lam: float) -> None:
        bg = report("breast", "BG", lam, "10, -, -, variance 57.0009, AUC 0.966")
        assert bg.l1 == pytest.approx(10.0, abs=1e-12)
        assert bg.variance == pytest.approx(57.0009, abs=5e-5)
        assert round(bg.auc, 3) == 0.966

    def test_fg_at_1_is_reported(self) -> None:
        # Forward sequences depend on how non-rank-one steps early in the sequence are rounded: no figure is asserted
        # but the certificate, which says that the convex problems themselves were solved.
        fg = report("breast", "FG", 1.0, "26.68, -, -, variance 14.2012, AUC 0.903", compare=False)
        assert max(c.sdp_gap for c in fg.model.subspace_.certificates) <= 1e-6
        assert fg.l1 <= 26.68

    @pytest.mark.xfail(strict=True, reason="sparse 0.913, dominant 0.919: early forward steps are not rank one")
    def test_fg_at_1_sparse_beside_dominant(self) -> None:
        assert_sparse_is_as_good(*(row("breast", "FG", 1.0, rounding) for rounding in ("dominant", "sparse")))


class TestKDD99:
    def test_b_at_100(self) -> None:
        b = report("kdd99", "B", 100.0, "54.52, 101, 215")
        assert b.l1 <= 55.2

    def test_bg_at_100(self) -> None:
        bg = report("kdd99", "BG", 100.0, "43.05, 57, 157, variance 21735, AUC 0.964")
        assert bg.l1 <= 43.05
        assert bg.card_01 <= 57
        assert bg.card_001 <= 157
        assert bg.variance == pytest.approx(21735, rel=0.005)
        assert bg.auc >= 0.964

    @pytest.mark.parametrize(
        ("lam", "l1", "published"),
        [
            (10.0, 44.59, "44.59, -, -, variance 21523, AUC 0.963"),
            (50.0, 43.97, "43.97, -, -, variance 21589, AUC 0.964"),
            (500.0, 40.67, "40.67, -, -, variance 22997, AUC 0.967"),
        ],
    )
    def test_bg_along_lambda(self, lam: float, l1: float, published: str) -> None:
        assert report("kdd99", "BG", lam, published).l1 <= l1

    @pytest.mark.parametrize(
        "published",
        [
            {"protocol_type": 0.8906, "logged_in": 0.3658},
            {"dst_bytes": 0.9520, "logged_in": -0.2222},
            {"dst_host_same_srv_rate": 0.7722, "dst_host_srv_count": -0.6286},
        ],
        ids=lambda published: "+".join(published),
    )
    def test_published_components(self, published: dict[str, float]) -> None:
        components = row("kdd99", "BG", 100.0).model.components_
        names = list(_data("kdd99").feature_names)
        leading = names.index(next(iter(published)))
        closest = max(components, key=lambda c: abs(c[leading]))
        closest = closest * np.sign(closest[leading])
        for name, loading in published.items():
            assert closest[names.index(name)] == pytest.approx(loading, abs=0.01)


class TestSynthetic:
    def test_b_at_5(self) -> None:
        b = report("synthetic", "B", 5.0, "5.31, 8, 8")
        assert round(b.l1, 2) == 5.31
        assert (b.card_01, b.card_001) == (8, 8)

    def test_threshold_separates_all_fifteen(self) -> None:
        flagged = row("synthetic", "BG", 5.0).scores >= 0.25
        np.testing.assert_array_equal(flagged, _data("synthetic").labels == 1)

    @pytest.mark.parametrize("normal_only", [False, True])
    @pytest.mark.parametrize("rounding", ["dominant", "sparse"])
    def test_same_rules_with_and_without_anomalies(self, rounding: str, normal_only: bool) -> None:
        components = row("synthetic", "BG", 5.0, rounding, normal_only).model.components_
        supports = {tuple(np.flatnonzero(np.abs(c) > 0.01).tolist()): c for c in components}
        A, B, C, D, _, F, G = range(7)
        assert set(supports) == {(A, B), (A, B, C, D), (F,), (G,)}
        np.testing.assert_allclose(np.abs(supports[A, B])[[A, B]], [0.71, 0.71], atol=0.02)
        four = supports[A, B, C, D] * -np.sign(supports[A, B, C, D][D])
        np.testing.assert_allclose(four[:4], [0.31, 0.31, 0.64, -0.64], atol=0.02)


def test_the_papers_threshold_separates_other_draws_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """benchmarks/synthetic_seeds.py compares the paper's 0.25 with the paper's score."""
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "argv", ["synthetic_seeds.py", "--seeds", "3"])
    runpy.run_path(str(folder / "synthetic_seeds.py"), run_name="__main__")
    assert "3 of 3" in capsys.readouterr().out
