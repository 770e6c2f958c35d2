"""Rules, loadings and curves of choices, as drawn."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import aspca
from aspca import ASPCA
from aspca.plots import (
    RulesDisplay,
    SelectionDisplay,
    plot_explanation,
    plot_heatmap,
    plot_loadings,
    plot_rules,
    plot_selection,
)
from aspca.plots.canvas import log_scale

from .conftest import Fitted, cut_off, fitted, overlapping


def test_shares_of_rules_are_those_of_the_flagged_rows(plain: Fitted) -> None:
    shown = plot_rules(plain.model, plain.frame)
    why = plain.model.explain(plain.frame)
    total = why.scores[why.anomalies].sum()
    parts = why.rule_contributions[why.anomalies].sum(axis=0)
    widths = np.array([bar.get_width() for bar in shown.shares_])
    assert np.allclose(widths, (parts / total)[shown.order_])
    assert (np.diff(widths) <= 0).all()
    (outside,) = shown.outside_
    assert np.isclose(outside.get_width(), why.outside[why.anomalies].sum() / total)
    assert np.isclose(widths.sum() + outside.get_width(), 1.0)
    labels = [label.get_text() for label in shown.axes_[0].get_yticklabels()]
    assert labels == [*(f"{i}:  {plain.model.rules_[i]}" for i in shown.order_), "outside the rules"]


def test_scores_of_rules_alone_have_nothing_outside(plain: Fitted) -> None:
    shown = plot_rules(aspca.ASPCA(n_components=3, score="standardized").fit(plain.frame), plain.frame)
    assert shown.outside_ is None
    assert np.isclose(sum(bar.get_width() for bar in shown.shares_), 1.0)
    assert len(shown.axes_[0].get_yticklabels()) == 3


def test_without_anomalies_there_are_no_shares(plain: Fitted) -> None:
    normal = plain.frame[plain.model.predict(plain.frame) == 1]
    shown = plot_rules(plain.model, normal)
    assert shown.shares_ is None
    assert len(shown.axes_) == 1
    assert any(f"None of the {len(normal)} rows" in text.get_text() for text in shown.figure_.findobj(Text))


def test_spreads_are_those_of_the_scaled_rows(plain: Fitted) -> None:
    everything = ASPCA(n_components=3, robust="off").fit(plain.frame)
    shown = plot_rules(everything)
    model = everything.model_
    scaled = (plain.frame.to_numpy() - everything.mean_) / everything.scale_
    spreads = (scaled @ model.table.loadings).std(axis=0)
    assert np.allclose(shown.spreads_.get_xdata(), spreads / np.sqrt(model.space.typical))
    assert shown.order_.tolist() == [0, 1, 2]
    assert shown.shares_ is None
    assert len(shown.axes_) == 1


def test_an_exact_rule_is_called_exact(plain: Fitted) -> None:
    frame = plain.frame.assign(F=3.0)
    shown = plot_rules(aspca.ASPCA(n_components=3).fit(frame), frame)
    exact = [text for text in shown.axes_[0].texts if text.get_text() == "exact"]
    assert len(exact) == 1
    # At the edge, whatever float64 resolves of it.
    (place,) = np.flatnonzero([rule.exact for rule in np.array(shown.rules)[shown.order_]])
    assert shown.spreads_.get_xdata()[place] == shown.axes_[0].get_xlim()[0]
    assert not overlapping(shown.axes_[0], "x")


@pytest.mark.parametrize("spread", [1e-9, 1e-6, 0.003, 0.29, 0.9])
def test_ticks_of_spreads_do_not_collide(plain: Fitted, spread: float) -> None:
    rules = plain.model.rules_
    for width in (4.0, 9.0):
        _, axes = plt.subplots(figsize=(width, 4), layout="constrained")
        shown = RulesDisplay(rules, plain.model.model_.names, np.array([spread, 0.3, 0.95])).plot(axes)
        assert not overlapping(shown.axes_[0], "x")
        assert sum(bool(label.get_text()) for label in shown.axes_[0].get_xticklabels()) >= 2


def test_35_rules_with_long_names_do_not_collide(many: Fitted) -> None:
    shown = plot_rules(many.model, many.frame)
    labels = [label.get_text() for label in shown.axes_[0].get_yticklabels()]
    assert len(labels) == 36
    assert all("= " in label for label in labels[:-1])
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


def test_rules_may_be_shown_in_place_of_components(plain: Fitted) -> None:
    shown = plot_loadings(plain.model, of="rules")
    assert np.array_equal(shown.mesh_.get_array().filled(0.0), plain.model.model_.table.loadings)
    assert shown.ax_.get_xlabel() == "number of the rule"
    with pytest.raises(ValueError, match="components, rules"):
        plot_loadings(plain.model, of="features")


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
    numbers = [float(text.replace("\N{MINUS SIGN}", "-")) for text in written]
    assert np.allclose(numbers, values[values != 0], rtol=0.5, atol=0)
    assert np.allclose(numbers, values[values != 0], rtol=0, atol=0.005)


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
    for line in shown.lines_.values():
        low, high = line.axes.get_ylim()
        assert all(low <= value <= high for value in line.get_ydata())


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


def test_a_model_without_rules_is_drawn_as_one() -> None:
    frame = pd.DataFrame({"only": np.random.default_rng(0).normal(size=100)})
    model = ASPCA().fit(frame)
    assert not model.rules_
    for display in (plot_rules(model, frame), plot_rules(model)):
        assert any("No rules" in text.get_text() for text in display.figure_.findobj(Text))
        assert not cut_off(display.figure_)
    with pytest.raises(ValueError, match="There are no rules to draw"):
        plot_loadings(model, of="rules")
    assert len(plot_explanation(model, frame, row=3).rules_) == 0
    assert plot_heatmap(model, frame, by="rules").columns_.size == 0


def test_few_rules_with_long_names_are_written_upright_rather_than_cut_to_pieces() -> None:
    names = tuple(f"measured_value_of_the_very_long_sensor_name_in_building_{j:02d}" for j in range(6))
    long = fitted(names)
    display = plot_heatmap(long.model, long.frame, by="rules")
    labels = display.ax_.get_xticklabels()
    assert labels[0].get_rotation() == 90
    for label, rule in zip(labels, (long.model.rules_[k] for k in display.columns_), strict=False):
        assert "=" in label.get_text()
        for name in rule.features:
            assert name[-11:] in label.get_text()
    assert not overlapping(display.ax_, "x")
    assert not cut_off(display.figure_)


def test_long_labels_of_a_short_logarithmic_axis_do_not_touch() -> None:
    _, axes = plt.subplots(figsize=(2.8, 2.8), layout="constrained")
    axes.set_xlim(1.3965e-07, 2.0881e-07)
    log_scale(axes, "x")
    axes.tick_params(labelsize=8)
    assert not overlapping(axes, "x")
    assert len(axes.get_xticks()) >= 2
