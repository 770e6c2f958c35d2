"""Rules, loadings and curves of choices, as drawn."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

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
from aspca.plots.canvas import set_log_scale

from .conftest import Fitted, check_legible, check_ticks, fitted, read_texts, read_ticks


def widths(bars: object) -> np.ndarray:
    return np.array([bar.get_width() for bar in bars])  # type: ignore[attr-defined]


@pytest.mark.parametrize("score", ["auto", "standardized"])
def test_shares_of_rules_are_those_of_the_flagged_rows(plain: Fitted, score: str) -> None:
    model = plain.model if score == "auto" else ASPCA(n_components=3, score=score).fit(plain.frame)
    shown = plot_rules(model, plain.frame)
    why = model.explain(plain.frame)
    total = why.scores[why.anomalies].sum()
    shares = widths(shown.shares_)
    assert np.allclose(shares, (why.rule_contributions[why.anomalies].sum(axis=0) / total)[shown.order_])
    assert (np.diff(shares) <= 0).all()
    labels = [f"{i}:  {model.rules_[i]}" for i in shown.order_]
    if score == "auto":
        (outside,) = widths(shown.outside_)
        assert np.isclose(outside, why.outside[why.anomalies].sum() / total)
        assert np.isclose(shares.sum() + outside, 1.0)
        assert read_ticks(shown.axes_[0], "y") == [*labels, "outside the rules"]
    else:
        # Scores of rules alone have nothing outside.
        assert shown.outside_ is None
        assert np.isclose(shares.sum(), 1.0)
        assert read_ticks(shown.axes_[0], "y") == labels


def test_without_anomalies_there_are_no_shares(plain: Fitted) -> None:
    normal = plain.frame[plain.model.predict(plain.frame) == 1]
    shown = plot_rules(plain.model, normal)
    assert shown.shares_ is None
    assert len(shown.axes_) == 1
    assert any(f"None of the {len(normal)} rows" in text for text in read_texts(shown.figure_))


def test_spreads_are_those_of_the_scaled_rows(plain: Fitted) -> None:
    everything = ASPCA(n_components=3, robust="off").fit(plain.frame)
    shown = plot_rules(everything)
    model = everything.model_
    scaled = (plain.frame.to_numpy() - everything.mean_) / everything.scale_
    spreads = (scaled @ model.table.loadings).std(axis=0)
    assert np.allclose(shown.spreads_.get_xdata(), spreads / np.sqrt(model.space.typical))
    assert shown.order_.tolist() == [0, 1, 2]
    assert len(shown.axes_) == 1


def test_an_exact_rule_is_called_exact(plain: Fitted) -> None:
    frame = plain.frame.assign(F=3.0)
    shown = plot_rules(ASPCA(n_components=3).fit(frame), frame)
    assert [text.get_text() for text in shown.axes_[0].texts].count("exact") == 1
    # At the edge, whatever float64 resolves of it.
    (place,) = np.flatnonzero([rule.exact for rule in np.array(shown.rules)[shown.order_]])
    assert shown.spreads_.get_xdata()[place] == shown.axes_[0].get_xlim()[0]
    check_legible(shown.figure_)


@pytest.mark.parametrize("spread", [1e-9, 1e-6, 0.003, 0.29, 0.9])
def test_ticks_of_spreads_do_not_collide(plain: Fitted, spread: float) -> None:
    for width in (4.0, 9.0):
        _, axes = plt.subplots(figsize=(width, 4), layout="constrained")
        spreads = np.array([spread, 0.3, 0.95])
        shown = RulesDisplay(plain.model.rules_, plain.model.model_.names, spreads).plot(axes)
        shown.figure_.canvas.draw()
        check_ticks(shown.axes_[0])
        assert sum(map(bool, read_ticks(shown.axes_[0], "x"))) >= 2


def test_long_labels_of_a_short_logarithmic_axis_do_not_touch() -> None:
    figure, axes = plt.subplots(figsize=(2.8, 2.8), layout="constrained")
    axes.set_xlim(1.3965e-07, 2.0881e-07)
    set_log_scale(axes, "x")
    axes.tick_params(labelsize=8)
    figure.canvas.draw()
    check_ticks(axes)
    assert len(axes.get_xticks()) >= 2


def test_35_rules_with_long_names(many: Fitted) -> None:
    shown = plot_rules(many.model, many.frame)
    labels = read_ticks(shown.axes_[0], "y")
    assert len(labels) == 36
    assert all("= " in label for label in labels[:-1])
    check_legible(shown.figure_)
    few = plot_rules(many.model, many.frame, n_rules=4)
    assert few.order_.tolist() == shown.order_[:4].tolist()
    assert few.figure_.get_size_inches()[1] < shown.figure_.get_size_inches()[1]


def test_loadings_are_cells_and_zeros_are_empty(plain: Fitted, many: Fitted) -> None:
    for one in (plain, many):
        shown = plot_loadings(one.model)
        loadings, cells = one.model.components_.T, shown.mesh_.get_array()
        assert np.array_equal(np.ma.getmaskarray(cells), loadings == 0)
        assert np.array_equal(cells.filled(0.0), loadings)
        assert len(set(read_ticks(shown.ax_, "y"))) == len(loadings)
        check_legible(shown.figure_)
    assert (plain.model.components_ == 0).any()
    rules = plot_loadings(plain.model, of="rules")
    assert np.array_equal(rules.mesh_.get_array().filled(0.0), plain.model.model_.table.loadings)
    assert rules.ax_.get_xlabel() == "number of the rule"
    heaviest = plot_loadings(plain.model, n_features=2)
    weight = (plain.model.components_**2).sum(axis=0)
    assert set(heaviest.features_) == set(np.argsort(-weight, kind="stable")[:2])
    assert "2 of 6 features" in heaviest.ax_.texts[-1].get_text()


def test_whatever_is_not_zero_has_a_colour_and_few_cells_their_numbers(plain: Fitted) -> None:
    shown = plot_loadings(plain.model)
    mesh, values = shown.mesh_, plain.model.components_.T
    for value in (1e-9, -1e-9, 0.5, -1.0):
        assert np.abs(np.array(mesh.cmap(mesh.norm(value))[:3]) - 1.0).max() > 0.1
    assert mesh.cmap(mesh.norm(1e-9)) != mesh.cmap(mesh.norm(-1e-9))
    written = [text.get_text() for text in shown.ax_.texts[: int((values != 0).sum())]]
    numbers = [float(text.replace("\N{MINUS SIGN}", "-")) for text in written]
    assert np.allclose(numbers, values[values != 0], rtol=0.5, atol=0)
    assert np.allclose(numbers, values[values != 0], rtol=0, atol=0.005)


def test_labels_in_small_axes_do_not_collide(many: Fitted) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    loadings = plot_loadings(many.model, ax=axes[0])
    rules = plot_rules(many.model, many.frame, ax=axes[1])
    assert loadings.figure_ is rules.figure_ is figure
    assert loadings.ax_ is axes[0]
    figure.canvas.draw()
    check_ticks(axes[0])


def test_hostile_names(hostile: Fitted) -> None:
    loadings = plot_loadings(hostile.model)
    for shown in (loadings, plot_rules(hostile.model, hostile.frame)):
        check_legible(shown.figure_)
    label = loadings.ax_.get_yticklabels()[0]
    assert label._preprocess_math(label.get_text()) == (hostile.frame.columns[0], False)


def test_few_rules_with_long_names_are_written_upright_rather_than_cut_to_pieces() -> None:
    names = tuple(f"measured_value_of_the_very_long_sensor_name_in_building_{j:02d}" for j in range(6))
    long = fitted(names)
    display = plot_heatmap(long.model, long.frame, by="rules")
    labels = display.ax_.get_xticklabels()
    assert labels[0].get_rotation() == 90
    for label, rule in zip(labels, (long.model.rules_[k] for k in display.columns_), strict=False):
        assert "=" in label.get_text()
        assert all(name[-11:] in label.get_text() for name in rule.features)
    check_legible(display.figure_)


def test_a_model_without_rules_is_drawn_as_one() -> None:
    frame = pd.DataFrame({"only": np.random.default_rng(0).normal(size=100)})
    model = ASPCA().fit(frame)
    assert not model.rules_
    for display in (plot_rules(model, frame), plot_rules(model)):
        assert any("No rules" in text for text in read_texts(display.figure_))
        check_legible(display.figure_)
    with pytest.raises(ValueError, match="There are no rules to draw"):
        plot_loadings(model, of="rules")
    assert len(plot_explanation(model, frame, row=3).rules_) == 0
    assert plot_heatmap(model, frame, by="rules").columns_.size == 0


def test_curves_of_a_selection(plain: Fitted) -> None:
    found = aspca.select(plain.frame, plain.labels, n_components=[1, 3, 6], alphas=[0.1, 0.001], n_resamples=2)
    shown = plot_selection(found)
    assert shown.axes_.shape == (4, 2)
    curves = {"n_components": found.over_components, "alpha": found.over_alphas[::-1]}
    for field in ("nonzeros", "largest", "variance", "stability", "subspace_stability", "auc"):
        for setting, choices in curves.items():
            line = shown.lines_[field, setting]
            assert line.get_xdata().tolist() == [getattr(one, setting) for one in choices]
            assert line.get_ydata().tolist() == [getattr(one, field) for one in choices]
            low, high = line.axes.get_ylim()
            assert all(low <= value <= high for value in line.get_ydata())
    check_legible(shown.figure_)


def test_what_was_not_measured_has_no_panel(plain: Fitted) -> None:
    estimator = ASPCA(n_components=3, alpha=0.0)
    shown = SelectionDisplay.from_estimator(estimator, plain.frame, n_components=[2, 3], n_resamples=0)
    assert shown.axes_.shape == (2, 2)
    assert shown.axes_[0, 1].get_xscale() == "linear"


def test_other_things_are_refused(plain: Fitted) -> None:
    with pytest.raises(TypeError, match=r"aspca\.select"):
        plot_selection(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fitted ASPCA"):
        plot_rules(object())
    with pytest.raises(ValueError, match="components, rules"):
        plot_loadings(plain.model, of="features")
    with pytest.raises(ValueError, match="leave ax out"):
        plot_rules(plain.model, ax=plt.figure().add_axes((0, 0, 1, 1)))
