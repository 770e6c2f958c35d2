"""What is drawn of scores: every anomaly, and no row that is hidden behind nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aspca import ASPCA
from aspca.plots import ScoresDisplay, plot_scores
from aspca.plots.scores import thin_points

from .conftest import Fitted, check_legible


def test_few_rows_are_all_drawn(plain: Fitted) -> None:
    shown = plot_scores(plain.model, plain.frame)
    scores = -plain.model.score_samples(plain.frame)
    flagged = plain.model.predict(plain.frame) == -1
    assert flagged[[5, 77]].all()
    assert np.array_equal(shown.anomalies_.get_xdata(), np.flatnonzero(flagged))
    assert np.array_equal(shown.anomalies_.get_ydata(), scores[flagged])
    # One row in the middle of all scores nothing.
    positive = scores[scores > 0.0]
    floor = max(positive.min(), 1e-4 * np.median(positive))
    assert np.array_equal(shown.normal_.get_ydata(), np.maximum(scores[~flagged], floor))
    assert shown.threshold_.get_ydata()[0] == plain.model.threshold_
    assert shown.log_
    assert shown.ax_.get_yscale() == "log"
    assert shown.ax_.figure is shown.figure_
    check_legible(shown.figure_)
    legend = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert legend[1] == f"{flagged.sum()} anomalies"
    assert legend[2].startswith("threshold")


def test_thinning_hides_no_anomaly_and_no_spot() -> None:
    rng = np.random.default_rng(0)
    scores = rng.chisquare(3, size=100_000)
    scores[::97] *= 100
    shown = ScoresDisplay.from_predictions(scores, threshold=30.0)
    flagged = scores > 30.0
    assert np.array_equal(shown.anomalies_.get_xdata(), np.flatnonzero(flagged))
    rows = shown.normal_.get_xdata()
    assert rows.size < 60_000
    # Each row left out lies within one cell, of 700 by 250, of one drawn: the twin counts cells one by one.
    x, y = np.flatnonzero(~flagged), np.log(scores[~flagged])
    cells = np.floor((x - x.min()) / np.ptp(x) * 700), np.floor((y - y.min()) / np.ptp(y) * 250)
    everywhere = {(min(a, 699), min(b, 249)) for a, b in zip(*cells, strict=True)}
    kept = np.isin(x, rows)
    assert {(min(a, 699), min(b, 249)) for a, b in zip(cells[0][kept], cells[1][kept], strict=True)} == everywhere
    assert rows.size == len(everywhere)
    # Of a spot the highest is kept.
    assert thin_points(np.zeros(10), np.linspace(0.0, 1.0, 10), 5, 1).tolist() == [9]


def test_scores_of_zero_are_drawn_at_the_edge() -> None:
    scores = np.array([0.0, 1e-30, 1.0, 2.0, 3.0, 500.0])
    shown = ScoresDisplay.from_predictions(scores, threshold=100.0)
    assert shown.normal_.get_ydata().min() > 0
    assert "2 scores below" in " ".join(text.get_text() for text in shown.ax_.texts)


def test_dates_come_from_the_index(plain: Fitted) -> None:
    dated = plain.frame.set_index(pd.date_range("2024-01-01", periods=300, freq="h"))
    shown = plot_scores(plain.model, dated)
    assert shown.ax_.get_xlabel() == "time"
    assert (shown.time == dated.index.to_numpy()).all()
    check_legible(shown.figure_)
    aware = plot_scores(plain.model, plain.frame, time=dated.index.tz_localize("Asia/Tokyo"))
    assert aware.time[0] == np.datetime64("2023-12-31T15:00")


def test_other_detectors(plain: Fitted) -> None:
    forest = make_pipeline(StandardScaler(), IsolationForest(n_estimators=5, random_state=0)).fit(plain.frame)
    shown = plot_scores(forest, plain.frame)
    assert shown.name == "IsolationForest"
    assert len(shown.anomalies_.get_xdata()) == (forest.predict(plain.frame) == -1).sum()
    assert shown.threshold == -forest[-1].offset_
    assert not shown.log_


def test_what_is_marked_is_what_lies_above_the_threshold(plain: Fitted) -> None:
    waiting = plot_scores(ASPCA(n_components=3, limit="conformal").fit(plain.frame), plain.frame)
    assert waiting.anomalies_ is None
    assert waiting.threshold_ is None
    model = ASPCA(n_components=3, level=0.6).fit(plain.frame)
    shown = plot_scores(model, plain.frame)
    above = -model.score_samples(plain.frame) > shown.threshold_.get_ydata()[0]
    assert above.sum() > 10
    assert np.array_equal(shown.anomalies_.get_xdata(), np.flatnonzero(above))


@pytest.mark.parametrize(
    ("time", "sentence"),
    [
        (np.arange(3), "one time per row"),
        (["x"] * 300, "numbers or dates"),
        (np.r_[np.nan, np.arange(299.0)], "missing in row 0"),
    ],
)
def test_times_that_cannot_be(plain: Fitted, time: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        plot_scores(plain.model, plain.frame, time=time)


def test_a_single_row_has_one_tick(plain: Fitted) -> None:
    display = plot_scores(plain.model, plain.frame[5:6])
    assert display.ax_.get_xticks().tolist() == [0]
    assert display.ax_.get_title(loc="left") == "Scores of 1 row by ASPCA"
