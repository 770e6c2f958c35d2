"""Every source, here or elsewhere, finds the same identities, the same wrong cells, and what these should be."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import aspca
from aspca import ASPCA
from aspca.identities.identity import share_text
from aspca.identities.localize import localize
from aspca.tables.memory import array_table
from like_table import like
from parity.engine_sources import Given, put_in_engine
from parity.identities_table import FOUND, NAMES, WRONG, identity_rows
from parity.local_sources import KINDS, NAMELESS, Place
from parity.same import SCORES, assert_learned_from, assert_same_model, assert_same_scores, fitted_to
from parity.table import in_pieces
from parity.test_local_sources import InPieces
from running.spark_session import PANDAS

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{PANDAS}:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
]
X_NAMES = tuple(f"x{place}" for place in range(len(NAMES)))
# One for each way that rows take, and text; the others are tried by `make test-long`.
EACH_WAY = ("memory map", "lazy polars", "pyarrow stream", "arrow c stream", "csv", "parquet folder", "duckdb address")
ENGINES = ["postgres", "dask", "spark"]


@cache
def reference(gaps: bool) -> ASPCA:
    return fitted_to(identity_rows(gaps=gaps).rows, gaps=gaps)


@pytest.mark.parametrize("gaps", [False, True])
def test_what_is_found(gaps: bool) -> None:
    """The identities that the table was made of, counted row by row, and no other; every wrong cell, and its value."""
    made = identity_rows(gaps=gaps)
    model = reference(gaps)
    found = {frozenset(NAMES[j] for j in one.columns): one for one in model.model_.identities}
    assert set(found) == set(FOUND)
    for columns, (how, spoiled) in FOUND.items():
        known = ~np.isnan(made.rows[:, [NAMES.index(name) for name in columns]]).any(axis=1)
        n_broken = WRONG[spoiled]
        n_kept = int(known.sum()) - n_broken
        one = found[columns]
        assert (one.n_kept, one.n_broken, one.accuses) == (n_kept, n_broken, True)
        assert one.remark == f"{how}, {share_text(n_kept, n_broken)}"
    repairs = localize(model.model_.identities, made.rows)
    told = {(one.row, NAMES[j]): value for one in repairs for j, value in zip(one.cells, one.values, strict=True)}
    assert told == pytest.approx(made.wrong, rel=1e-12)
    assert not any(one.ties for one in repairs)
    if not gaps:
        assert_learned_from(model, made.rows)


def compared(kind: str, gaps: bool, folder: Path) -> None:
    made = identity_rows(gaps=gaps)
    place = Place(made.rows, NAMES, folder)
    source = KINDS[kind].made(place)
    options = KINDS[kind].options
    model = aspca.fit_source(source, **options)
    expected = reference(gaps)
    names = X_NAMES if kind in NAMELESS else NAMES
    assert_same_model(model, expected, names)
    again = KINDS[kind].made(place) if KINDS[kind].once else source
    reading = {name: value for name, value in options.items() if name != "ignore"}
    assert_same_scores(model, again, expected, made.rows, **reading)
    again = KINDS[kind].made(place) if KINDS[kind].once else source
    scored = nw.from_native(aspca.score_source(model, again, **reading), eager_only=True).to_pandas()
    assert_repaired(scored["row"].to_numpy(), scored["proposed"], made.wrong, names)


def assert_repaired(
    numbers: np.ndarray, proposed: Any, wrong: dict[tuple[int, str], float], names: tuple[str, ...] = NAMES
) -> None:
    """Beside every wrong row stands its wrong cell, and what it should be."""
    texts = dict(zip(numbers.tolist(), list(proposed), strict=True))
    for (row, name), value in wrong.items():
        assert json.loads(texts[row]) == {names[NAMES.index(name)]: pytest.approx(value, rel=1e-12)}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in EACH_WAY else [pytest.mark.long]) for kind in KINDS]
)
def test_every_local_source(kind: str, gaps: bool, tmp_path: Path) -> None:
    compared(kind, gaps, tmp_path)


@pytest.mark.parametrize("gaps", [False, True])
def test_neither_pieces_nor_order_matter(gaps: bool) -> None:
    rows = identity_rows(gaps=gaps).rows
    order = np.random.default_rng(4).permutation(len(rows))
    table = like(InPieces, array_table("pieces", NAMES, rows[order]))
    model = aspca.fit_source(table)
    assert_same_model(model, reference(gaps), NAMES)
    assert_same_scores(model, table, reference(gaps), rows[order])


def given(engine: str, running: Any, table: pa.Table) -> Given:
    """The table in an engine, cut at random; how it is read, and a frame of what judging it returns."""
    pieces = in_pieces(len(table), np.random.default_rng(6), most=2000)
    return put_in_engine(engine, running, "identities", table, pieces, 700)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine(engine: str, gaps: bool, engines: Callable[[str], Any]) -> None:
    """Rows in another order, in parts of any size, on workers that send back what they counted."""
    made = identity_rows(gaps=gaps)
    order = np.random.default_rng(12).permutation(len(made.rows))
    table = Place(made.rows[order], NAMES, Path()).arrow.add_column(0, "key", pa.array([f"k{n}" for n in order]))
    source, options, computed = given(engine, engines(engine), table)
    # A pass takes Spark a second, and a robust fit many.
    robust = "off" if engine == "spark" else "auto"
    model = aspca.fit_source(source, id="key", robust=robust, **options)
    expected = fitted_to(made.rows, gaps=gaps, robust=robust)
    assert_same_model(model, expected, NAMES)
    found = computed(aspca.score_source(model, source, id="key", **options))
    numbers = found["key"].str[1:].astype(int).to_numpy()
    assert np.array_equal(np.sort(numbers), np.arange(len(made.rows)))
    judged = expected.model_.judge(made.rows)
    scores = found["score"].to_numpy(dtype=float)
    known = judged.scores[numbers]
    assert (np.abs(scores - known) <= SCORES * np.maximum(expected.threshold_, known)).all()
    assert np.array_equal(found["anomaly"].to_numpy(dtype=bool), judged.anomalies[numbers])
    assert_repaired(numbers, found["proposed"], made.wrong)
    # All that is said beside the scores is what is said here.
    frame = Place(made.rows, NAMES, Path()).pandas
    named = aspca.fit_source(frame, robust=robust)
    assert_same_model(named, expected, NAMES)
    here = aspca.score_source(named, frame)
    for name in ("broken_rules", "proposed"):
        there = [text if isinstance(text, str) else None for text in found[name]]
        assert there == [text if isinstance(text, str) else None for text in here[name].to_numpy()[numbers]]


@pytest.mark.parametrize("engine", ["postgres", "dask", pytest.param("spark", marks=pytest.mark.long)])
def test_detect_says_the_same(engine: str, engines: Callable[[str], Any]) -> None:
    made = identity_rows(gaps=True)
    order = np.random.default_rng(13).permutation(len(made.rows))
    keys = [f"k{number}" for number in order]
    table = Place(made.rows[order], NAMES, Path()).arrow.add_column(0, "key", pa.array(keys))
    source, options, _ = given(engine, engines(engine), table)
    frame = pd.DataFrame(made.rows, columns=list(NAMES)).assign(key=[f"k{n}" for n in range(len(keys))])
    here = aspca.detect(frame, id="key", top=200)
    there = aspca.detect(source, id="key", top=200, **options)
    assert [str(rule) for rule in there.rules] == [str(rule) for rule in here.rules]
    assert there.n_anomalies == here.n_anomalies
    texts = [{finding.name: finding.text.partition(" is ")[2] for finding in found.findings} for found in (there, here)]
    errors = {f"k{row}" for row, _ in made.wrong}
    assert errors <= set(texts[1])
    assert texts[0] == texts[1]
    for name in errors:
        assert texts[0][name].startswith("an error (")
