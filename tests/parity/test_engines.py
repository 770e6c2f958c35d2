"""Parity where rows are elsewhere: a PostgreSQL server, two Dask worker processes, Spark; mixed and cut at random.

One file, so that one process starts each engine once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import aspca
from aspca import ASPCA
from aspca.cli.main import main
from parity.local_sources import Place
from parity.same import SCORES, assert_same_model, assert_same_moments, fitted_to, two_pass
from parity.table import NAMES, in_pieces, parity_rows
from running.dask_cluster import dask_cluster
from running.spark_session import PANDAS, spark_session

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{PANDAS}:FutureWarning"),
    # The frame of Dask is made of rows of this process.
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
]
ENGINES = ["postgres", "dask", "spark"]
# A pass takes Spark a second: robust fits of its own are in tests/unit/engines/test_spark.py, of fewer rows.
QUICK = [(engine, False, "off") for engine in ENGINES]
QUICK += [("postgres", False, "on"), ("postgres", True, "on"), ("dask", False, "on")]
# A source, what is to be said when it is read, and a frame of pandas made of what judging it returns.
Given = tuple[Any, dict[str, Any], Callable[[Any], pd.DataFrame]]


@pytest.fixture(scope="module")
def engines(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    """Each engine when it is first asked for, and all closed in the end."""
    running: dict[str, Any] = {}
    with ExitStack() as stack:

        def engine(name: str) -> Any:
            if name not in running:
                if name == "postgres":
                    running[name] = request.getfixturevalue("postgres")
                else:
                    running[name] = stack.enter_context(dask_cluster() if name == "dask" else spark_session())
            return running[name]

        yield engine


def mixed(seed: int, *, gaps: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the table in another order, and which row each of them was."""
    order = np.random.default_rng(seed).permutation(len(parity_rows()))
    return parity_rows(gaps=gaps)[order], order


def given(engine: str, running: Any, rows: np.ndarray, order: np.ndarray, seed: int) -> Given:
    """The rows in an engine, cut at random, with a name for each."""
    table = Place(rows, NAMES, Path()).arrow.add_column(0, "key", pa.array([f"k{number}" for number in order]))
    pieces = in_pieces(len(rows), np.random.default_rng(seed), most=6000)
    if engine == "postgres":
        from aspca.engines.postgres import write_postgres

        write_postgres(running.address, "parity", table.schema, table.to_batches(3000), replace=True)
        return running.address, {"table": "parity"}, lambda frame: frame
    if engine == "dask":
        import dask.dataframe as dd

        parts = [table.slice(piece.start, piece.stop - piece.start) for piece in pieces]
        return dd.from_map(lambda part: part.to_pandas(), parts), {}, lambda frame: frame.compute()
    frame = running.createDataFrame(table).repartition(len(pieces))
    return frame, {}, lambda frame: frame.toArrow().to_pandas()


@pytest.fixture(scope="module")
def references() -> dict[tuple[bool, str], ASPCA]:
    return {}


def reference(references: dict[tuple[bool, str], ASPCA], gaps: bool, robust: str) -> ASPCA:
    if (gaps, robust) not in references:
        references[gaps, robust] = fitted_to(parity_rows(gaps=gaps), gaps=gaps, robust=robust)
    return references[gaps, robust]


@pytest.mark.parametrize(
    ("engine", "gaps", "robust"),
    [
        pytest.param(engine, gaps, robust, marks=[] if (engine, gaps, robust) in QUICK else [pytest.mark.long])
        for engine in ENGINES
        for gaps in (False, True)
        for robust in ("off", "on")
    ],
)
def test_one_model_and_one_judgement(
    engine: str, gaps: bool, robust: str, engines: Callable[[str], Any], references: dict[tuple[bool, str], ASPCA]
) -> None:
    rows, order = mixed(7, gaps=gaps)
    source, options, computed = given(engine, engines(engine), rows, order, 5)
    expected = reference(references, gaps, robust)
    model = aspca.fit_source(source, id="key", robust=robust, **options)
    if not gaps and robust == "off":
        assert_same_moments(model.moments_, *two_pass(rows))
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
        assert pd.isna(proposed) or set(json.loads(proposed)) <= set(NAMES)


@pytest.mark.parametrize("engine", ["dask", pytest.param("spark", marks=pytest.mark.long)])
def test_detect_finds_the_same_rows(engine: str, engines: Callable[[str], Any]) -> None:
    rows, order = mixed(2)
    rows, order = rows[:3000], order[:3000]
    source, options, _ = given(engine, engines(engine), rows, order, 1)
    here = aspca.detect(pd.DataFrame(rows, columns=list(NAMES)).assign(key=[f"k{n}" for n in order]), id="key")
    found = aspca.detect(source, id="key", **options)
    assert [str(rule) for rule in found.rules] == [str(rule) for rule in here.rules]
    assert found.n_anomalies == here.n_anomalies
    assert sorted((finding.name, finding.text.partition(" is ")[2]) for finding in found.findings) == sorted(
        (finding.name, finding.text.partition(" is ")[2]) for finding in here.findings
    )


@pytest.mark.parametrize("engine", ["postgres", "dask"])
def test_sums_inside_the_engine_are_the_same_moments(engine: str, engines: Callable[[str], Any]) -> None:
    rows, order = mixed(3)
    source, options, _ = given(engine, engines(engine), rows, order, 2)
    if engine == "postgres":
        model = aspca.fit_source(source, id="key", moments="engine", **options)
        assert_same_moments(model.moments_, *two_pass(rows))
        assert model.threshold_limit_.name == "pearson"
        assert any("no row left it" in remark for remark in model.model_.reading)
    else:
        with pytest.raises(aspca.JobError, match="moments engine is for PostgreSQL"):
            aspca.fit_source(source, id="key", moments="engine", **options)


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
    engine: str, engines: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines(engine)
    rows, order = mixed(6)
    frame = pd.DataFrame(rows[:3000], columns=list(NAMES)).assign(key=[f"k{n}" for n in order[:3000]], half="a")
    frame.loc[1500:, "half"] = "b"
    monkeypatch.chdir(tmp_path)
    frame.to_parquet("readings", partition_cols=["half"])
    for name, more in (("here.json", []), ("there.json", ["--engine", engine])):
        assert main(["fit", "readings", "--id", "key", "--ignore", "half", "--model", name, *more]) == 0
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
