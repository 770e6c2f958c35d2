"""Parity where rows are elsewhere: a PostgreSQL server, two Dask worker processes, Spark; mixed and cut at random."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import aspca
from aspca.cli.main import main
from parity.engine_sources import Given, put_in_engine
from parity.local_sources import Place
from parity.same import SCORES, assert_learned_from, assert_same_model, reference
from parity.table import NAMES, in_pieces, parity_rows
from running.spark_session import PANDAS

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{PANDAS}:FutureWarning"),
    # The frame of Dask is made of rows of this process.
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
]
ENGINES = ["postgres", "dask", "spark"]
# A pass takes Spark a second: robust fits of its own are in tests/unit/tables/test_spark.py, of fewer rows.
QUICK = [(engine, False, "off") for engine in ENGINES]
QUICK += [("postgres", False, "on"), ("postgres", True, "on"), ("dask", False, "on")]


def mixed(seed: int, *, gaps: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the table in another order, and which row each of them was."""
    order = np.random.default_rng(seed).permutation(len(parity_rows()))
    return parity_rows(gaps=gaps)[order], order


def given(engine: str, running: Any, rows: np.ndarray, order: np.ndarray, seed: int) -> Given:
    """The rows in an engine, cut at random, with a name for each."""
    table = Place(rows, NAMES, Path()).arrow.add_column(0, "key", pa.array([f"k{number}" for number in order]))
    pieces = in_pieces(len(rows), np.random.default_rng(seed), most=6000)
    return put_in_engine(engine, running, "parity", table, pieces, 3000)


@pytest.mark.parametrize(
    ("engine", "gaps", "robust"),
    [
        pytest.param(engine, gaps, robust, marks=[] if (engine, gaps, robust) in QUICK else [pytest.mark.long])
        for engine in ENGINES
        for gaps in (False, True)
        for robust in ("off", "on")
    ],
)
def test_one_model_and_one_judgement(engine: str, gaps: bool, robust: str, engines: Callable[[str], Any]) -> None:
    rows, order = mixed(7, gaps=gaps)
    source, options, computed = given(engine, engines(engine), rows, order, 5)
    expected = reference(gaps, robust)
    model = aspca.fit_source(source, id="key", robust=robust, **options)
    if not gaps and robust == "off":
        assert_learned_from(model, rows)
    assert_same_model(model, expected, NAMES)
    found = computed(aspca.score_source(model, source, id="key", **options))
    assert len(found) == len(rows)
    numbers = found["key"].str[1:].astype(int).to_numpy()
    judged = expected.model_.judge(parity_rows(gaps=gaps))
    limit = expected.threshold_
    scores = found["score"].to_numpy(dtype=float)
    assert (np.abs(scores - judged.scores[numbers]) <= SCORES * np.maximum(limit, judged.scores[numbers])).all()
    assert np.array_equal(found["anomaly"].to_numpy(dtype=bool), judged.anomalies[numbers])
    assert np.array_equal(np.sort(numbers), np.arange(len(rows)))
    # Reasons stand beside every anomaly that breaks a rule, in the sentences of the rules, and nowhere else.
    told = found["broken_rules"].notna().to_numpy()
    broken = judged.broken[numbers].any(axis=1) & judged.anomalies[numbers]
    assert np.array_equal(told, broken)
    sentences = {str(rule) for rule in model.rules_}
    for text, proposed in found.loc[told, ["broken_rules", "proposed"]].head(50).itertuples(index=False):
        assert set(text.split("; ")) <= sentences
        options = [] if pd.isna(proposed) else json.loads(proposed)
        assert all(set(option) <= set(NAMES) for option in (options if isinstance(options, list) else [options]))


def numbered_rows() -> tuple[pa.Table, list[int], list[int]]:
    """400 rows that hold their own numbers, with two rules and those rows that keep one of them and not the other.

    total = a + b but for noise: what is gross is set aside. sum = c + d exactly: what is wrong is repaired.
    """
    rng = np.random.default_rng(8)
    a, b, c, d = np.round(rng.uniform(1, 1000, size=(4, 400)) * 4) / 4
    total, gross = a + b + rng.uniform(-1, 1, size=400), [77, 203, 391]
    total[gross] += [20_000.0, 30_000.0, 40_000.0]
    summed, wrong = c + d, [12, 204, 390]
    summed[wrong] += [700.25, 500.5, 600.75]
    columns = {"key": np.arange(400), "a": a, "b": b, "total": total, "c": c, "d": d, "sum": summed}
    return pa.table(columns), gross, wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_numbered_as_they_come(engine: str, engines: Callable[[str], Any]) -> None:
    """From parts of any size: the number of a row is the one that it holds, in findings, scores and sentences."""
    table, gross, wrong = numbered_rows()
    running, options, computed = engines(engine), dict[str, Any](), lambda frame: frame
    source: Any
    if engine == "postgres":
        from aspca.tables.postgres import write_postgres

        mixed_rows = table.take(np.random.default_rng(9).permutation(len(table)))
        write_postgres(running.address, "numbered", table.schema, mixed_rows.to_batches(50), replace=True)
        source, options = running.address, {"query": "SELECT * FROM numbered ORDER BY key"}
    elif engine == "dask":
        import dask.dataframe as dd

        pieces = in_pieces(len(table), np.random.default_rng(9), most=200)
        parts = [table.slice(piece.start, piece.stop - piece.start) for piece in pieces]
        source, computed = dd.from_map(lambda part: part.to_pandas(), parts), lambda frame: frame.compute()
    else:
        source, computed = running.createDataFrame(table), lambda frame: frame.toArrow().to_pandas()
    # A pass takes Spark a second, and a robust fit many.
    model = aspca.fit_source(table.to_pandas() if engine == "spark" else source, id="key", robust="on", **options)
    assert model.model_.excluded is not None
    assert model.model_.excluded.rows.tolist() == gross
    assert str(model.rules_[0]) == "sum = c + d (exactly, 99.25 % of the rows)"
    found = computed(aspca.score_source(model, source, id="key", **options))
    assert found["row"].tolist() == found["key"].astype(int).tolist() == list(range(400))
    # Of rows with noise the farthest leave the limit as well, by little.
    told = found[found["broken_rules"].notna()]
    assert sorted(told.nlargest(6, "score")["row"]) == sorted(gross + wrong)
    assert set(found["row"][found["verdict"] == "error"]) >= {*gross, *wrong}
    violating = found["broken_rules"].str.contains(str(model.rules_[0]), regex=False, na=False)
    assert found["row"][violating].tolist() == wrong
    # On workers a `detect` is many passes more: see `test_detect_finds_the_same_rows`.
    if engine == "postgres":
        findings = aspca.detect(source, id="key", **options).findings
        # All six are errors, and come first.
        assert {(finding.row, finding.name) for finding in findings[:6]} == {(n, str(n)) for n in gross + wrong}
        assert {finding.verdict for finding in findings[:6]} == {"error"}
    # One row is at 0 that no logarithm is of.
    with pytest.raises(aspca.JobError, match=r"row 203 has the value 0 in column 'off', but log needs values above 0"):
        aspca.fit_source(off_by(source, engine), log="off", ignore="key", robust="off", **off_query(options))


def off_by(source: Any, engine: str) -> Any:
    """The same with a column that is 0 in row 203."""
    if engine == "dask":
        return source.assign(off=(source["key"] - 203).abs() * 1.0)
    return source.selectExpr("*", "abs(key - 203) * 1.0D AS off") if engine == "spark" else source


def off_query(options: dict[str, Any]) -> dict[str, Any]:
    return {"query": "SELECT *, abs(key - 203)::float8 AS off FROM numbered ORDER BY key"} if options else {}


@pytest.mark.promise
def test_the_command_on_a_server_and_nowhere_its_password(
    engines: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    running = engines("postgres")
    rows, order = mixed(4)
    given("postgres", running, rows[:2000], order[:2000], 0)
    monkeypatch.chdir(tmp_path)
    address, table = running.address, ["--table", "parity", "--id", "key"]
    assert main(["detect", address, *table, "--output", "found", "--top", "3"]) == 0
    assert main(["fit", address, *table, "--model", "model.json"]) == 0
    assert main(["score", address, *table, "--model", "model.json", "--output", address, "--output-table", "sc"]) == 0
    # A second time it is there, and aspca's own; what it is read from is not.
    assert main(["score", address, *table, "--model", "model.json", "--output", address, "--output-table", "sc"]) == 0
    assert main(["score", address, *table, "--model", "model.json", "-o", address, "--output-table", "parity"]) == 2
    assert main(["score", address, *table, "--model", "missing.json"]) != 0
    assert main(["detect", address, "--table", "nothing"]) != 0
    assert main(["detect", address, "--query", "DROP TABLE parity"]) != 0
    said = capsys.readouterr()
    assert running.run("SELECT count(*) FROM sc") == [(2000,)]
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"report.html", "model.json", "scores.csv"} <= {path.name for path in written}
    for hidden in (running.password, quote(running.password, safe=""), quote(running.password)):
        assert hidden not in said.out + said.err
        assert not [path for path, content in written.items() if hidden.encode() in content]
    assert "***" in said.err


@pytest.mark.parametrize("engine", ["dask", pytest.param("spark", marks=pytest.mark.long)])
def test_the_command_with_an_engine(
    engine: str,
    engines: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    engines(engine)
    rows, order = mixed(6)
    frame = pd.DataFrame(rows[:3000], columns=list(NAMES)).assign(key=[f"k{n}" for n in order[:3000]], half="a")
    frame.loc[1500:, "half"] = "b"
    monkeypatch.chdir(tmp_path)
    frame.to_parquet("readings", partition_cols=["half"])
    for name, more in (("here.json", []), ("there.json", ["--engine", engine])):
        assert main(["fit", "readings", "--id", "key", "--ignore", "half", "--model", name, *more]) == 0
    # Spark reads large files first, and Dask part-2 before part-10.
    assert capsys.readouterr().err.count("rows are numbered in the order in which") == 1
    here, there = (aspca.load(name) for name in ("here.json", "there.json"))
    assert [str(rule) for rule in there.rules_] == [str(rule) for rule in here.rules_]
    assert there.threshold_ == pytest.approx(here.threshold_, rel=1e-12)
    assert (
        main(["score", "readings", "--model", "there.json", "--id", "key", "-o", "s.parquet", "--engine", engine]) == 0
    )
    found = pd.read_parquet("s.parquet").set_index("key").sort_index()
    expected = aspca.score_source("here.json", "readings", id="key").set_index("key").sort_index()
    assert np.allclose(found["score"], expected["score"], rtol=1e-12)
    assert (found["anomaly"].to_numpy(dtype=bool) == expected["anomaly"].to_numpy(dtype=bool)).all()
    # What an engine cannot read is one sentence.
    Path("table.csv").write_text("a,b\n1,2\n")
    assert main(["fit", "table.csv", "--model", "no.json", "--engine", engine]) != 0
    assert not Path("no.json").exists()
