"""Far more rows flagged than promised: said once, with the reason that fits and something to paste; else not a word."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.pipeline.detect import detect_request
from aspca.pipeline.options import make_request
from aspca.pipeline.passes import Silent
from aspca.pipeline.result import Detection
from aspca.tables.memory import MemoryTable, make_array_table


def drawn(n: int, seed: int, law: str = "gauss") -> np.ndarray:
    """The third column is the sum of the first two."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(size=(4, n)) if law == "gauss" else rng.standard_t(3, size=(4, n))
    return np.column_stack([a, b, a + b + 0.1 * c, d])


def table_of(values: np.ndarray, kinds: bool = False) -> MemoryTable:
    texts = {"some kind": [("left", "right", "other")[i % 3] for i in range(len(values))]} if kinds else {}
    return make_array_table("memory", tuple("abcd"), values, **texts)


def said(values: np.ndarray, train: np.ndarray | None = None, *, kinds: bool = False, **given: object) -> list[str]:
    learned = None if train is None else table_of(train, kinds)
    ignore = ["some kind"] if kinds and "by" not in given else []
    found: Detection = detect_request(make_request(table_of(values, kinds), learned, ignore=ignore, **given), Silent())
    return [remark for remark in found.remarks if ("lets expect" in remark or "as a whole" in remark)]


@pytest.mark.parametrize("seed", range(5))
def test_not_a_word_where_it_is_as_promised(seed: int) -> None:
    assert said(drawn(1000, seed)) == []
    assert said(drawn(1000, seed), drawn(2000, seed + 100)) == []
    assert said(drawn(60, seed), drawn(2000, seed + 100)) == []


def test_errors_that_were_set_aside_are_no_reason() -> None:
    values = drawn(2000, 0)
    rng = np.random.default_rng(1)
    gross = rng.choice(2000, size=120, replace=False)
    values[gross] += rng.normal(scale=300.0, size=(120, 4))
    assert said(values) == []


def test_a_change() -> None:
    values, other = drawn(4000, 2), drawn(4000, 3)
    values[3000:, 2] += 2.0
    (remark,) = said(values, other)
    assert " times what --level 0.975 lets expect: " in remark
    assert (
        " anomalies are rows of a change. If that is to stay, learn from rows since then: --train NEWER_FILE." in remark
    )
    found = detect_request(make_request(table_of(values), table_of(other), level=0.99), Silent())
    (remark,) = (remark for remark in found.remarks if "lets expect" in remark)
    # 40 of 4,000 are promised.
    n, of_change = found.n_anomalies, found.n_anomalies - found.outcomes[None].n_beyond
    assert remark.startswith(f"{n:,} of 4,000 rows are flagged, {n / 40:.2g} times ")
    assert f": {of_change:,} anomalies are rows of a change" in remark
    values = drawn(4000, 2)
    values[1000:2000, 2] += 2.0
    (remark,) = said(values, other)
    assert "learn from such rows as well: one more --train FILE" in remark


def test_means_that_moved() -> None:
    """Other rows, no one rule off for long: the columns are named, the one that moved most first."""
    rng = np.random.default_rng(4)
    values = drawn(1000, 5)
    values[:, 3] += 1.2 + 1.5 * rng.normal(size=1000)
    values[:, 2] += 0.25 * rng.normal(size=1000)
    (remark,) = said(values, drawn(4000, 6))
    assert remark.startswith("The rows differ as a whole from the rows learned from, ")
    assert "Means have moved (d by 1.2 deviations)" in remark
    assert "one more --train NEWER_FILE." in remark


def test_several_kinds_and_tails() -> None:
    """A Gaussian limit, and rows that are not."""
    values, gaussian = drawn(3000, 7, "t3"), {"score": "standardized", "n_components": 4, "robust": "off"}
    (remark,) = said(values, **gaussian)
    assert remark.endswith("--limit quantile.")
    (remark,) = said(values, kinds=True, **gaussian)
    assert "Rules for each of the 3 values of [some kind]: --by 'some kind'." in remark
    # Said once, and not again where it was done.
    (remark,) = said(values, kinds=True, by="some kind", **gaussian)
    assert "--by" not in remark
    # What the remark advises helps.
    assert said(values, limit="quantile", **gaussian) == []


def test_a_number_promises_nothing() -> None:
    assert said(drawn(1000, 8), limit=1.0) == []


def test_what_labels_call_anomalies_is_not_counted() -> None:
    values, broken = drawn(2000, 9), np.arange(2000) >= 1700
    rng = np.random.default_rng(10)
    values[broken, 2] += rng.normal(scale=20.0, size=300)
    labels = ["bad" if one else "ok" for one in broken]
    table = make_array_table("memory", tuple("abcd"), values, label=labels)
    found = detect_request(make_request(table, table_of(drawn(2000, 11)), label="label"), Silent())
    assert found.n_anomalies > 250
    assert not any(("lets expect" in remark or "as a whole" in remark) for remark in found.remarks)
