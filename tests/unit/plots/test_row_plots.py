"""Contributions, explanations and ROC curves, as drawn; and what is said where matplotlib is missing."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from aspca.plots import RocDisplay, plot_explanation, plot_heatmap, plot_roc

from .conftest import Fitted, cut_off, overlapping


@pytest.mark.parametrize("by", ["features", "rules"])
def test_heatmap_shows_the_shares_of_the_worst_rows(plain: Fitted, by: str) -> None:
    why = plain.model.explain(plain.frame)
    shown = plot_heatmap(why, by=by, n_rows=7)
    worst = np.argsort(-why.scores)[:7]
    parts = why.feature_contributions if by == "features" else why.rule_contributions
    shares = parts[worst] / why.scores[worst, None]
    drawn = shown.mesh_.get_array()
    cells = shares[:, shown.columns_]
    assert np.allclose(drawn[:, : shown.columns_.size].filled(0.0), np.where(cells >= 0.005, cells, 0.0))
    assert np.array_equal(np.ma.getmaskarray(drawn)[:, : shown.columns_.size], cells < 0.005)
    labels = [label.get_text() for label in shown.ax_.get_yticklabels()]
    assert [int(label.split()[0]) for label in labels] == worst.tolist()
    assert not overlapping(shown.ax_, "x")
    assert not overlapping(shown.ax_, "y")


def test_columns_left_out_are_summed(many: Fitted) -> None:
    shown = plot_heatmap(many.model, many.frame, n_columns=5)
    drawn = shown.mesh_.get_array().filled(0.0)
    assert drawn.shape == (25, 6)
    assert (np.abs(drawn.sum(axis=1) - 1.0) <= 5 * 0.005).all()
    assert shown.ax_.get_xticklabels()[-1].get_text() == "36 others"


def test_a_wide_heatmap_does_not_collide(many: Fitted) -> None:
    shown = plot_heatmap(many.model, many.frame)
    assert shown.columns_.size > 20
    assert not overlapping(shown.ax_, "x")
    assert not overlapping(shown.ax_, "y")
    assert not cut_off(shown.figure_)


@pytest.mark.parametrize("row", [5, 77, -1])
def test_explanation_of_a_row(plain: Fitted, row: int) -> None:
    why = plain.model.explain(plain.frame)
    shown = plot_explanation(plain.model, plain.frame, row)
    row %= 300
    for bars, chosen, parts in (
        (shown.rule_bars_, shown.rules_, why.rule_contributions[row]),
        (shown.feature_bars_, shown.features_, why.feature_contributions[row]),
    ):
        widths = np.array([bar.get_width() for bar in bars])
        assert np.allclose(widths[: chosen.size], parts[chosen] / why.scores[row])
        assert np.isclose(widths.sum(), 1.0)
        assert (np.diff(widths[: chosen.size]) <= 0).all()
    features = shown.features_
    mean, scale = plain.model.mean_[features], plain.model.scale_[features]
    assert np.allclose(shown.values_.get_xdata() * scale + mean, why.values[row, features])
    assert np.allclose(shown.normal_.get_xdata() * scale + mean, why.repaired[row, features])
    assert not cut_off(shown.figure_)
    assert all(not overlapping(axes, which) for axes in shown.axes_ for which in "xy")


def test_explanation_with_many_rules_and_long_names(many: Fitted) -> None:
    shown = plot_explanation(many.model, many.frame, 3)
    assert shown.rules_.size == 6
    assert shown.axes_[0].get_yticklabels()[-1].get_text() == "29 other rules"
    assert not cut_off(shown.figure_)
    assert all(not overlapping(axes, which) for axes in shown.axes_ for which in "xy")


def test_rows_that_are_not_there(plain: Fitted) -> None:
    why = plain.model.explain(plain.frame)
    with pytest.raises(ValueError, match="There is no row 300"):
        plot_explanation(why, row=300)
    with pytest.raises(ValueError, match="leave X out"):
        plot_heatmap(why, plain.frame)
    with pytest.raises(ValueError, match=r"model\.explain"):
        plot_heatmap(plain.model)
    with pytest.raises(ValueError, match="features, rules"):
        plot_heatmap(why, by="columns")


def test_hostile_names(hostile: Fitted) -> None:
    for shown in (
        plot_heatmap(hostile.model, hostile.frame),
        plot_explanation(hostile.model, hostile.frame, 5),
        plot_explanation(hostile.model, hostile.frame.rename(index={5: r"$\frac{"}), 5),
    ):
        assert not cut_off(shown.figure_)


def test_roc_curves(plain: Fitted) -> None:
    labels = np.arange(300) % 7 == 0
    names = ["_hidden", r"$\frac{a$"]
    shown = plot_roc(dict.fromkeys(names, plain.model), plain.frame, labels)
    scores = -plain.model.score_samples(plain.frame)
    flagged = plain.model.predict(plain.frame) == -1
    for line, point in zip(shown.lines_, shown.alarms_, strict=True):
        x, y = line.get_data()
        assert np.isclose(np.trapezoid(y, x), roc_auc_score(labels, scores))
        assert point.get_xdata()[0] == flagged[~labels].mean()
        assert point.get_ydata()[0] == flagged[labels].mean()
    texts = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert len(texts) == 3
    assert texts[0].endswith("_hidden")
    assert not cut_off(shown.figure_)


def test_the_best_detector_is_named_first_and_the_same_classes_are_numbered(plain: Fitted) -> None:
    scores = {"bad": -np.arange(6.0), "good": np.arange(6.0)}
    shown = RocDisplay.from_predictions([0, 0, 0, 1, 1, 1], scores)
    assert shown.roc_auc == [0.0, 1.0]
    assert shown.ax_.get_legend().get_texts()[0].get_text() == "AUC 1.000:  good"
    assert plot_roc([plain.model, plain.model], plain.frame, plain.labels).names == ["ASPCA 1", "ASPCA 2"]
    with pytest.raises(ValueError, match="both 0"):
        RocDisplay.from_predictions([0, 0], {"one": [1.0, 2.0]})


def test_plotting_again_elsewhere(plain: Fitted) -> None:
    shown = plot_heatmap(plain.model, plain.frame)
    first = shown.mesh_.get_array()
    _, axes = plt.subplots()
    assert shown.plot(axes) is shown
    assert shown.ax_ is axes
    assert np.ma.allequal(shown.mesh_.get_array(), first)


def test_without_matplotlib_one_sentence() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
from aspca.plots import RocDisplay
try:
    RocDisplay.from_predictions([0, 1], [0.0, 1.0])
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Plots need matplotlib, which is not installed: pip install aspca[plot]\n"
