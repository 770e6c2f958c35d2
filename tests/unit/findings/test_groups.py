"""Groups by signature, and incidents in time: counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.findings.explanation import Explanation
from aspca.findings.groups import merge_signatures
from aspca.paper.datasets import load_synthetic

DATA = load_synthetic()
PLANTED = np.flatnonzero(DATA.labels)


@pytest.fixture(scope="module", params=["complete", "spe"])
def explanation(request: pytest.FixtureRequest) -> Explanation:
    table = pd.DataFrame(DATA.data, columns=DATA.feature_names)
    # As many as were planted are flagged, so that groups can be counted by hand.
    share = PLANTED.size / len(table)
    model = ASPCA(n_components=4, alpha=10 / len(table), scaling="none", score=request.param, contamination=share)
    return model.fit(table).explain(table)


def test_groups_part_the_anomalies_and_count_labels(explanation: Explanation) -> None:
    groups = explanation.groups(labels=DATA.kinds)
    assert sorted(row for group in groups for row in group.rows) == sorted(PLANTED)
    assert [group.count for group in groups] == sorted((group.count for group in groups), reverse=True)
    for group in groups:
        assert {explanation.signatures[row] for row in group.rows} == {group.signature}
        assert group.typical in group.rows
        score = explanation.scores[group.rows].sum()
        # What the rules leave to one lies outside of them.
        assert group.shares.sum() + explanation.outside[group.rows].sum() / score == pytest.approx(1.0, abs=1e-12)
        total = explanation.rule_contributions[group.rows].sum(axis=0)
        assert np.abs(group.shares - total / score).max() <= 1e-12
        # On these data a signature is always of one kind.
        assert group.labels == {DATA.kinds[group.rows[0]]: group.count}


def test_the_text_has_a_line_for_each_group_or_says_that_there_are_none() -> None:
    table = pd.DataFrame(DATA.data, columns=DATA.feature_names)
    model = ASPCA(n_components=4, alpha=10 / len(table), scaling="none", level=0.99).fit(table)
    groups = model.explain(table).groups()
    assert len(groups) > 1
    assert groups.text.split("\n") == [group.text for group in groups]
    assert model.explain(table[model.predict(table) == 1]).groups().text == "No anomalies."


def test_near_duplicates_of_a_signature_merge() -> None:
    homes = {
        ("1H", 40): "1H",
        ("1H 2L", 30): "1H 2L",
        ("1H 3H", 1): "1H",  # one entry more than 1H
        ("1L", 1): "1H",  # the other side of 1H
        ("1H 2L 5H 7L", 1): "1H 2L",  # holds 1H 2L and more
        ("8H 9H", 1): "8H 9H",  # near nothing
        ("", 1): "",  # no single rule stands out: a group of its own, though one entry less than 1H
    }
    assert merge_signatures(dict(homes.keys()), 3) == {signature: home for (signature, _), home in homes.items()}
    assert merge_signatures(dict(homes.keys()), 1) == {signature: signature for signature, _ in homes}


def test_labels_of_another_length_are_refused(explanation: Explanation) -> None:
    with pytest.raises(ValueError, match="labels has 3 entries, but 515 rows were explained"):
        explanation.groups(labels=["a", "b", "c"])


def test_runs_of_flagged_rows_are_one_incident(explanation: Explanation) -> None:
    (one,) = explanation.incidents()
    assert (one.first, one.last) == (500, 514)
    assert list(one.rows) == list(range(500, 515))
    assert one.peak == int(np.argmax(explanation.scores))
    assert one.text.startswith("15 flagged rows, 500 to 514: mostly the rule ")


def test_time_decides_what_follows_what(explanation: Explanation) -> None:
    n = len(explanation.values)
    # Backwards, and a pause of an hour after the seventh of the flagged rows.
    seconds = np.arange(n)[::-1] * 60.0
    seconds[:508] += 3600.0
    late, early = (set(range(500, 508)), set(range(508, 515)))
    found = explanation.incidents(time=seconds, patience=90.0)
    assert [set(incident.rows) for incident in found] == [early, late]
    dates = np.datetime64("2026-01-01") + seconds.astype("timedelta64[s]")
    dated = explanation.incidents(time=dates, patience=90.0)
    assert [set(incident.rows) for incident in dated] == [early, late]
    assert dated[0].first == dates[514]
    assert len(explanation.incidents(time=seconds, patience=10.0)) == 15


def test_bad_times_are_refused(explanation: Explanation) -> None:
    with pytest.raises(ValueError, match="one entry for each of the 515 explained rows"):
        explanation.incidents(time=[1, 2])
    with pytest.raises(ValueError, match="time must hold numbers or dates"):
        explanation.incidents(time=["x"] * 515)
