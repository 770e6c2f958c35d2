"""Contributions, explanations and ROC curves, as drawn; and what is said where matplotlib is missing."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from aspca import ASPCA, Preprocessor
from aspca.plots import RocDisplay, plot_explanation, plot_heatmap, plot_roc

from .conftest import Fitted, check_legible, read_texts, read_ticks


@pytest.mark.parametrize("by", ["features", "rules"])
def test_heatmap_shows_the_shares_of_the_worst_rows(plain: Fitted, by: str) -> None:
    why = plain.model.explain(plain.frame)
    shown = plot_heatmap(why, by=by, n_rows=7)
    worst = np.argsort(-why.scores)[:7]
    parts = why.feature_contributions if by == "features" else why.rule_contributions
    cells = (parts[worst] / why.scores[worst, None])[:, shown.columns_]
    drawn = shown.mesh_.get_array()
    assert np.allclose(drawn[:, : shown.columns_.size].filled(0.0), np.where(cells >= 0.01, cells, 0.0))
    assert np.array_equal(np.ma.getmaskarray(drawn)[:, : shown.columns_.size], cells < 0.01)
    if by == "rules":
        outside = why.outside[worst] / why.scores[worst]
        assert np.allclose(drawn[:, -1].filled(0.0), np.where(outside >= 0.01, outside, 0.0))
        assert read_ticks(shown.ax_, "x")[-1] == "outside the rules"
    assert [int(label.split()[0]) for label in read_ticks(shown.ax_, "y")] == worst.tolist()
    written = [text.get_text() for text in shown.ax_.texts if text.get_text().endswith("%")]
    assert written
    assert all(float(text.rstrip("%")) > 0 for text in written)
    check_legible(shown.figure_)


def test_columns_left_out_are_summed(many: Fitted) -> None:
    shown = plot_heatmap(many.model, many.frame, n_columns=5, n_rows=25)
    drawn = shown.mesh_.get_array().filled(0.0)
    assert drawn.shape == (25, 6)
    assert (np.abs(drawn.sum(axis=1) - 1.0) <= 5 * 0.01).all()
    assert read_ticks(shown.ax_, "x")[-1] == "36 others"
    wide = plot_heatmap(many.model, many.frame)
    assert wide.columns_.size > 20
    check_legible(wide.figure_)


def test_rules_left_out_are_not_outside_the_rules(many: Fitted) -> None:
    why = many.model.explain(many.frame)
    shown = plot_heatmap(why, by="rules", n_columns=5)
    drawn = shown.mesh_.get_array().filled(0.0)
    worst = np.argsort(-why.scores)[: int(why.anomalies.sum())]
    left_out = np.delete(why.shares[worst], shown.columns_, axis=1).sum(axis=1)
    assert np.allclose(drawn[:, -2], np.where(left_out >= 0.01, left_out, 0.0))
    labels = read_ticks(shown.ax_, "x")
    assert labels[-2:] == [f"{35 - len(shown.columns_)} other rules", "outside the rules"]
    assert all("=" in label for label in labels[:-2])
    check_legible(shown.figure_)


def test_only_anomalies_are_drawn_unless_more_are_asked_for(plain: Fitted) -> None:
    why = plain.model.explain(plain.frame)
    count = int(why.anomalies.sum())
    assert 2 <= count < 20
    shown = plot_heatmap(why)
    assert shown.mesh_.get_array().shape[0] == count
    more = plot_heatmap(why, n_rows=count + 3)
    assert more.mesh_.get_array().shape[0] == count + 3
    assert [line.get_ydata()[0] for line in more.ax_.lines if len(set(line.get_ydata())) == 1] == [count - 0.5]
    # Of normal rows a few, and the title says that they are normal.
    normal = plot_heatmap(plain.model, plain.frame[~why.anomalies])
    assert normal.mesh_.get_array().shape[0] == 5
    assert normal.ax_.get_title(loc="left").startswith("No anomaly")
    check_legible(normal.figure_)
    # Drawn again elsewhere it is the same.
    first, (_, axes) = shown.mesh_.get_array(), plt.subplots()
    assert shown.plot(axes).ax_ is axes
    assert np.ma.allequal(shown.mesh_.get_array(), first)


@pytest.mark.parametrize("row", [5, 77, -1])
def test_explanation_of_a_row(plain: Fitted, row: int) -> None:
    why = plain.model.explain(plain.frame)
    shown = plot_explanation(plain.model, plain.frame, row)
    row %= 300
    outside = shown.outside_bar_
    assert np.isclose(outside.get_width(), why.outside[row] / why.scores[row])
    for bars, chosen, parts in (
        ([bar for bar in shown.rule_bars_ if bar is not outside], shown.rules_, why.rule_contributions[row]),
        (shown.feature_bars_, shown.features_, why.feature_contributions[row]),
    ):
        widths = np.array([bar.get_width() for bar in bars])
        assert np.allclose(widths[: chosen.size], parts[chosen] / why.scores[row])
        assert np.isclose(widths.sum() + (outside.get_width() if chosen is shown.rules_ else 0.0), 1.0)
        assert (np.diff(widths[: chosen.size]) <= 0).all()
    # It stands where its size puts it.
    largest = [bar.get_width() for bar in shown.rule_bars_][: shown.rules_.size + 1]
    assert sorted(largest, reverse=True) == largest
    features = shown.features_
    mean, scale = plain.model.mean_[features], plain.model.scale_[features]
    assert np.allclose(shown.values_.get_xdata() * scale + mean, why.values[row, features])
    assert np.allclose(shown.normal_.get_xdata() * scale + mean, why.repaired[row, features])
    check_legible(shown.figure_)


def test_explanation_with_many_rules_and_long_names(many: Fitted) -> None:
    # A score in which every rule has a part, however small, and nothing else has.
    model = ASPCA(**many.model.get_params() | {"score": "standardized"}).fit(many.frame)
    shown = plot_explanation(model, many.frame, 3)
    assert shown.rules_.size == 6
    assert read_ticks(shown.axes_[0], "y")[-1] == "29 other rules"
    assert shown.outside_bar_ is None
    assert read_ticks(plot_heatmap(model, many.frame, by="rules").ax_, "x")[-1] != "outside the rules"
    check_legible(shown.figure_)


def test_a_row_that_keeps_its_rules(plain: Fitted) -> None:
    frame = plain.frame.copy()
    frame.loc[0, "E"] = 30.0
    shown = plot_explanation(plain.model, frame, 0)
    assert shown.rule_bars_[0] is shown.outside_bar_
    assert "Row 0: why it is an anomaly, though it keeps its rules" in read_texts(shown.figure_)


def test_a_value_that_is_missing(plain: Fitted) -> None:
    frame = plain.frame.copy()
    frame.loc[5, "A"] = np.nan
    model = ASPCA(n_components=3, preprocessor=Preprocessor(missing="allow")).fit(frame)
    shown = plot_explanation(model, frame, 5, n_features=6)
    assert np.isfinite([bar.get_width() for bar in shown.rule_bars_]).all()
    check_legible(shown.figure_)
    plot_heatmap(model, frame)


def test_what_cannot_be_drawn(plain: Fitted) -> None:
    why = plain.model.explain(plain.frame)
    with pytest.raises(ValueError, match="There is no row 300"):
        plot_explanation(why, row=300)
    with pytest.raises(ValueError, match="leave X out"):
        plot_heatmap(why, plain.frame)
    with pytest.raises(ValueError, match=r"model\.explain"):
        plot_heatmap(plain.model)
    with pytest.raises(ValueError, match="features, rules"):
        plot_heatmap(why, by="columns")
    with pytest.raises(ValueError, match="both 0"):
        RocDisplay.from_predictions([0, 0], {"one": [1.0, 2.0]})


def test_hostile_names(hostile: Fitted) -> None:
    for shown in (
        plot_heatmap(hostile.model, hostile.frame),
        plot_explanation(hostile.model, hostile.frame, 5),
        plot_explanation(hostile.model, hostile.frame.rename(index={5: r"$\frac{"}), 5),
    ):
        check_legible(shown.figure_)


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
    check_legible(shown.figure_)


def test_the_best_detector_is_named_first_and_the_same_classes_are_numbered(plain: Fitted) -> None:
    scores = {"bad": -np.arange(6.0), "good": np.arange(6.0)}
    shown = RocDisplay.from_predictions([0, 0, 0, 1, 1, 1], scores)
    assert shown.roc_auc == [0.0, 1.0]
    assert shown.ax_.get_legend().get_texts()[0].get_text() == "AUC 1.000:  good"
    assert plot_roc([plain.model, plain.model], plain.frame, plain.labels).names == ["ASPCA 1", "ASPCA 2"]


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
