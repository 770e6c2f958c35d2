"""How labels are read, and that the area under the curve is scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, roc_auc_score

from aspca.jobs.errors import RequestError
from aspca.jobs.keys import area_under_curve, evaluate, read_labels
from aspca.jobs.tables import MemoryColumn, MemoryTable


def labelled(cells: list[object]) -> MemoryTable:
    return MemoryTable("t.csv", {"kind": MemoryColumn("text", None, cells)})


@pytest.mark.parametrize(
    ("cells", "truth"),
    [
        ([0, 1, 0], [0, 1, 0]),
        (["0", "1", "1"], [0, 1, 1]),
        ([0.0, 1.0], [0, 1]),
        ([False, True], [0, 1]),
        ([1, -1, 1], [0, 1, 0]),
        (["1.0", "-1.0"], [0, 1]),
        (["Normal", "dos", "probe"], [0, 1, 1]),
        (["normal.", "smurf."], [0, 1]),
        (["B", "M", "B"], [0, 1, 0]),
        (["no", "yes"], [0, 1]),
    ],
)
def test_labels_that_are_understood(cells: list[object], truth: list[int]) -> None:
    assert read_labels(labelled(cells), "kind")[0].tolist() == [bool(one) for one in truth]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([0, None, 1], "t.csv: row 1 has no label in column 'kind'"),
        ([0, 0], "'0' only"),
        (["red", "blue"], "one must say normal"),
        (["normal", "ok", "bad"], "one must say normal"),
        (["A", "B", "C"], "one must say normal"),
    ],
)
def test_labels_that_are_not(cells: list[object], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        read_labels(labelled(cells), "kind")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=2))
def test_area_under_the_curve_is_scikit_learns(rows: list[tuple[bool, int]]) -> None:
    truth, scores = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    if truth.all() or not truth.any():
        return
    assert area_under_curve(truth, scores) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    found = evaluate(truth, scores, scores > 4, "")
    expected = confusion_matrix(truth, scores > 4, labels=[False, True]).ravel().tolist()
    assert [found.passed, found.false_alarms, found.misses, found.hits] == expected
