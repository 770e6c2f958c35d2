"""Identities are those that the table was made of, wherever its rows are: wrong cells, and what these should be."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import aspca
from aspca import ASPCA
from aspca.identities.identity import write_share
from aspca.identities.localize import localize
from aspca.tables.memory import make_array_table
from like_table import like
from parity.engine_sources import Given, put_in_engine
from parity.identities_table import FOUND, NAMES, WRONG, identity_rows
from parity.local_sources import Place
from parity.same import assert_learned_from, assert_same_model, assert_same_scores, fitted_to
from parity.table import in_pieces
from parity.test_local_sources import InPieces
from running.spark_session import PANDAS

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{PANDAS}:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
]


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
        assert one.remark == f"{how}, {write_share(n_kept, n_broken)}"
    repairs = localize(model.model_.identities, made.rows)
    told = {(one.row, NAMES[j]): value for one in repairs for j, value in zip(one.cells, one.values, strict=True)}
    assert told == pytest.approx(made.wrong, rel=1e-12)
    assert not any(one.ties for one in repairs)
    if not gaps:
        assert_learned_from(model, made.rows)


@pytest.mark.parametrize("gaps", [False, True])
def test_neither_pieces_nor_order_matter(gaps: bool) -> None:
    rows = identity_rows(gaps=gaps).rows
    order = np.random.default_rng(4).permutation(len(rows))
    table = like(InPieces, make_array_table("pieces", NAMES, rows[order]))
    model = aspca.fit_source(table)
    assert_same_model(model, reference(gaps), NAMES)
    assert_same_scores(model, table, reference(gaps), rows[order])


def given(engine: str, running: Any, table: pa.Table) -> Given:
    """The table in an engine, cut at random; how it is read, and a frame of what judging it returns."""
    pieces = in_pieces(len(table), np.random.default_rng(6), most=2000)
    return put_in_engine(engine, running, "identities", table, pieces, 700)


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
