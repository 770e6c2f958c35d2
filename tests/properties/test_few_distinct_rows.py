"""Tables of a few distinct rows, of constants and of copies: finite scores, or one sentence that says what is wrong."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import aspca
from aspca import ASPCA

pytestmark = pytest.mark.usefixtures("one_thread")


def repeated(seed: int, kind: str, distinct: int, copies: int, columns: int = 4, also: str = "") -> pd.DataFrame:
    """Some distinct rows, each as often, and perhaps a column that is constant or a copy of another."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(distinct, columns))
    rows = {
        "real": rows,
        "whole": np.round(5.0 * rows),
        "offset": rows + 10.0 ** rng.integers(0, 14),
        "units": rows * 10.0 ** rng.integers(-12, 12, size=columns),
        "huge": rows * 1e140,
        "tiny": rows * 1e-140,
        "constant": np.full_like(rows, rows[0, 0]),
    }[kind]
    if also == "constant":
        rows = np.column_stack([rows, np.full(distinct, 1e6)])
    elif also == "copy":
        rows = np.column_stack([rows, rows[:, 0]])
    table = np.tile(rows, (copies, 1))
    return pd.DataFrame(table, columns=[f"c{place}" for place in range(table.shape[1])])


KINDS = st.sampled_from(["real", "whole", "offset", "units", "huge", "tiny", "constant"])


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    KINDS,
    st.integers(1, 5),
    st.sampled_from([1, 2, 7, 100]),
    st.integers(1, 6),
    st.sampled_from(["", "constant", "copy"]),
)
# Distances of such rows are whole numbers less a rounding error: the edge of the inner half lay just below all of them.
@example(1, "whole", 4, 100, 6, "")
@example(0, "real", 3, 100, 2, "")
@example(2, "offset", 3, 100, 3, "")
@example(7, "units", 4, 100, 6, "copy")
def test_a_result_or_a_sentence(seed: int, kind: str, distinct: int, copies: int, columns: int, also: str) -> None:
    frame = repeated(seed, kind, distinct, copies, columns, also)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for robust in ("off", "on"):
            model = result_or_sentence(lambda robust=robust: ASPCA(robust=robust).fit(frame))
            if model is not None:
                scores = model.score_samples(frame)
                assert np.isfinite(scores).all()
                stored = Path(folder) / f"{robust}.json"
                aspca.save(model, stored)
                np.testing.assert_array_equal(aspca.load(stored).score_samples(frame), scores)
                np.testing.assert_array_equal(aspca.score_source(stored, frame)["score"], -scores)
        found = result_or_sentence(lambda: aspca.detect(frame))
        assert (found is None) == (len(frame) < 2)
        if found is not None:
            assert all(np.isfinite(finding.score) for finding in found.findings)


def result_or_sentence(run: Callable[[], Any]) -> Any:
    """What comes of it; None after one sentence for people."""
    try:
        return run()
    except ValueError as error:
        raised = error
    # numpy's own errors are of this kind too, and no sentences for people.
    assert not isinstance(raised, np.linalg.LinAlgError)
    assert "\n" not in str(raised)
    assert "converge" not in str(raised)
    return None
