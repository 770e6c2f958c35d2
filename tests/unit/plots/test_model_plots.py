"""Rules, loadings and curves of choices, as drawn."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import aspca
from aspca.plots import SelectionDisplay, plot_loadings, plot_rules, plot_selection

from .conftest import Fitted, cut_off, overlapping


def test_shares_of_rules_are_those_of_the_flagged_rows(plain: Fitted) -> None:
    shown = plot_rules(plain.model, plain.frame)
    why = plain.model.explain(plain.frame)
    parts = why.rule_contributions[why.anomalies].sum(axis=0)
    widths = np.array([bar.get_width() for bar in shown.shares_])
    assert np.allclose(widths, (parts / parts.sum())[shown.order_])
    assert (np.diff(widths) <= 0).all()
    assert np.isclose(widths.sum(), 1.0)
    labels = [label.get_text() for label in shown.axes_[0].get_yticklabels()]
    assert labels == [f"{i}:  {plain.model.rules_[i]}" for i in shown.order_]


def test_spreads_are_those_of_the_scaled_rows(plain: Fitted) -> None:
    shown = plot_rules(plain.model)
    spreads = plain.model.transform(plain.frame).std(axis=0)
    typical = np.sqrt(plain.model.model_.typical)
    assert np.allclose(shown.spreads_.get_xdata(), spreads / typical)
    assert shown.order_.tolist() == [0, 1, 2]
    assert shown.shares_ is None
    assert len(shown.axes_) == 1


def test_an_exact_rule_is_called_exact(plain: Fitted) -> None:
    frame = plain.frame.assign(F=3.0)
    shown = plot_rules(aspca.ASPCA(n_components=3).fit(frame), frame)
    exact = [text for text in shown.axes_[0].texts if text.get_text() == "exact"]
    assert len(exact) == 1


def test_35_rules_with_long_names_do_not_collide(many: Fitted) -> None:
    shown = plot_rules(many.model, many.frame)
    assert len(shown.axes_[0].get_yticklabels()) == 35
    assert not overlapping(shown.axes_[0], "y")
    assert not overlapping(shown.axes_[1], "x")
    assert not cut_off(shown.figure_)
    few = plot_rules(many.model, many.frame, n_rules=4)
    assert few.order_.tolist() == shown.order_[:4].tolist()
    assert few.figure_.get_size_inches()[1] < shown.figure_.get_size_inches()[1]


def test_35_loadings_of_long_names_do_not_collide(many: Fitted) -> None:
    shown = plot_loadings(many.model)
    cells = shown.mesh_.get_array()
    loadings = many.model.components_.T
    assert np.array_equal(cells.filled(0.0), loadings)
    assert not overlapping(shown.ax_, "x")
    assert not overlapping(shown.ax_, "y")
    assert not cut_off(shown.figure_)
    names = [label.get_text() for label in shown.ax_.get_yticklabels()]
    assert len(set(names)) == 41


def test_empty_cells(plain: Fitted) -> None:
    loadings = plain.model.components_.T
    assert (loadings == 0).any()
    cells = plot_loadings(plain.model).mesh_.get_array()
    assert np.array_equal(np.ma.getmaskarray(cells), loadings == 0)
    assert np.array_equal(cells.filled(0.0), loadings)


def test_whatever_is_not_zero_has_a_colour(plain: Fitted) -> None:
    mesh = plot_loadings(plain.model).mesh_
    white = np.ones(3)
    for value in (1e-9, -1e-9, 0.5, -1.0):
        assert np.abs(np.array(mesh.cmap(mesh.norm(value))[:3]) - white).max() > 0.1
    assert mesh.cmap(mesh.norm(1e-9)) != mesh.cmap(mesh.norm(-1e-9))


def test_few_cells_carry_their_numbers(plain: Fitted) -> None:
    shown = plot_loadings(plain.model)
    written = [text.get_text() for text in shown.ax_.texts[: int((plain.model.components_ != 0).sum())]]
    values = plain.model.components_.T
    assert written == [f"{value:.2f}".replace("-", "\N{MINUS SIGN}") for value in values[values != 0]]


def test_of_many_features_the_heaviest(plain: Fitted) -> None:
    shown = plot_loadings(plain.model, n_features=2)
    weight = (plain.model.components_**2).sum(axis=0)
    assert set(shown.features_) == set(np.argsort(-weight, kind="stable")[:2])
    assert "2 of 6 features" in shown.ax_.texts[-1].get_text()


def test_labels_in_small_axes_do_not_collide(many: Fitted) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    loadings = plot_loadings(many.model, ax=axes[0])
    rules = plot_rules(many.model, many.frame, ax=axes[1])
    assert loadings.figure_ is rules.figure_ is figure
    assert loadings.ax_ is axes[0]
    assert not overlapping(axes[0], "x")
    assert not overlapping(axes[0], "y")


def test_hostile_names(hostile: Fitted) -> None:
    loadings = plot_loadings(hostile.model)
    rules = plot_rules(hostile.model, hostile.frame)
    for shown in (loadings, rules):
        assert not cut_off(shown.figure_)
    label = loadings.ax_.get_yticklabels()[0]
    assert label._preprocess_math(label.get_text()) == (hostile.frame.columns[0], False)


def test_panels_need_axes_of_a_grid(plain: Fitted) -> None:
    with pytest.raises(ValueError, match="leave ax out"):
        plot_rules(plain.model, ax=plt.figure().add_axes((0, 0, 1, 1)))


def test_curves_of_a_selection(plain: Fitted) -> None:
    found = aspca.select(plain.frame, plain.labels, n_components=[1, 3, 6], alphas=[0.1, 0.001], n_resamples=2)
    shown = plot_selection(found)
    assert shown.axes_.shape == (4, 2)
    for field in ("nonzeros", "largest", "variance", "stability", "subspace_stability", "auc"):
        line = shown.lines_[field, "n_components"]
        assert line.get_xdata().tolist() == [one.n_components for one in found.over_components]
        assert line.get_ydata().tolist() == [getattr(one, field) for one in found.over_components]
        upward = found.over_alphas[::-1]
        assert shown.lines_[field, "alpha"].get_xdata().tolist() == [one.alpha for one in upward]
        assert shown.lines_[field, "alpha"].get_ydata().tolist() == [getattr(one, field) for one in upward]
    assert not cut_off(shown.figure_)
    assert all(not overlapping(axes, which) for axes in shown.axes_.flat for which in "xy")


def test_what_was_not_measured_has_no_panel(plain: Fitted) -> None:
    shown = SelectionDisplay.from_estimator(
        aspca.ASPCA(n_components=3, alpha=0.0), plain.frame, n_components=[2, 3], n_resamples=0
    )
    assert shown.axes_.shape == (2, 2)
    assert shown.axes_[0, 1].get_xscale() == "linear"


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match=r"aspca\.select"):
        plot_selection(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fitted ASPCA"):
        plot_rules(object())
