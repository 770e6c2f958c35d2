"""Scores are the same in every format, whoever writes them, and a file is replaced as a whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from aspca.escaping import for_csv
from aspca.model.model import Model
from aspca.pipeline.detect import detect_request
from aspca.pipeline.fit import fit_table
from aspca.pipeline.options import make_request, settings_of
from aspca.pipeline.passes import Silent
from aspca.pipeline.score import Destination, destination_of, write_scored
from aspca.preparation import Preparation
from aspca.tables.errors import RequestError
from aspca.tables.keys import Keys
from aspca.tables.memory import MemoryColumn, MemoryTable
from aspca.tables.table import Batch
from aspca.writers import text_rows
from aspca.writers.replaced_file import OutputError
from like_table import like

duckdb = pytest.importorskip("duckdb")
pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

NAMES = ("a", "b", "c", "d")
KINDS = ("csv", "jsonl", "parquet", "arrow", "duckdb")
REASONS = ["broken_rules", "proposed"]
VERDICT = ["anomaly", "verdict", "p_value"]


@pytest.fixture(scope="module")
def model(table: MemoryTable) -> Model:
    return fit_table(table, Preparation.identity(NAMES), settings_of({}), Silent())


def written(model: Model, table: MemoryTable, path: Path, kind: str, name: str | None) -> tuple[int, int | None]:
    keys = Keys(() if name is None else (name,))
    tally = write_scored(model, table, keys, Destination(str(path), kind), Silent())
    return tally.n_rows, tally.anomalies


def read(path: Path, kind: str) -> list[dict]:
    """The rows of a file of scores as Python values."""
    if kind == "parquet":
        return pq.read_table(path).to_pylist()
    if kind == "arrow":
        return pa.ipc.open_file(path).read_all().to_pylist()
    if kind == "jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.sql("FROM scores").to_arrow_table().to_pylist()


@pytest.mark.parametrize("name", [None, "host"])
def test_every_format_holds_the_same(
    model: Model, table: MemoryTable, values: np.ndarray, name: str | None, tmp_path: Path
) -> None:
    counts = {kind: written(model, table, tmp_path / f"scores.{kind}", kind, name) for kind in KINDS}
    scores = model.score(values)
    flags = scores > model.threshold
    assert set(counts.values()) == {(300, int(flags.sum()))}
    parquet = pq.read_table(tmp_path / "scores.parquet")
    assert parquet.schema.names == ["row", *([name] if name else []), "score", *VERDICT, *REASONS]
    assert [str(kind) for kind in parquet.schema.types if kind != pa.string()] == ["int64", "double", "bool", "double"]
    assert parquet["row"].to_pylist() == list(range(300))
    assert parquet["score"].to_numpy().tobytes() == scores.tobytes()
    assert parquet["anomaly"].to_pylist() == flags.tolist()
    judged = model.judge(values)
    assert parquet["p_value"].to_numpy().tobytes() == judged.p_values.tobytes()
    names = np.where(judged.errors, "error", np.where(flags, "unusual", "normal"))
    assert parquet["verdict"].to_pylist() == names.tolist()
    assert {"error", "normal"} <= set(names)
    rows = parquet.to_pylist()
    assert read(tmp_path / "scores.arrow", "arrow") == rows
    assert read(tmp_path / "scores.duckdb", "duckdb") == rows
    assert read(tmp_path / "scores.jsonl", "jsonl") == rows
    with (tmp_path / "scores.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for column in REASONS:
        assert [line[column] or None for line in lines] == parquet[column].to_pylist()
    assert [line["verdict"] for line in lines] == names.tolist()
    assert [float(line["p_value"]) for line in lines] == judged.p_values.tolist()
    assert [(int(line["row"]), float(line["score"]), line["anomaly"] == "1") for line in lines] == list(
        zip(range(300), scores.tolist(), flags.tolist(), strict=True)
    )
    if name is not None:
        # Only a spreadsheet has to be kept from taking a name for a formula.
        assert parquet[name].to_pylist() == [f"=web-{i}" for i in range(300)]
        assert [line[name] for line in lines] == [f"'=web-{i}" for i in range(300)]


def test_by_duckdb_as_by_python(
    model: Model, table: MemoryTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = []
    for many in (0, 10**9):
        monkeypatch.setattr(text_rows, "_MANY", many)
        written(model, table, tmp_path / "scores.csv", "csv", "host")
        contents.append((tmp_path / "scores.csv").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    "name",
    ["row", "Row", "SCORE", "anomaly", "verdict", "P_value", "share_of_rules", "proposed", 'a"b; DROP TABLE rows', "é"],
)
def test_names_of_any_kind(model: Model, table: MemoryTable, name: str, tmp_path: Path) -> None:
    cells = MemoryColumn("text", None, [None, "", *map(str, range(298))])
    odd = MemoryTable("odd", {**{one: table.content[one] for one in NAMES}, name: cells})
    written(model, odd, tmp_path / "scores.parquet", "parquet", name)
    parquet = pq.read_table(tmp_path / "scores.parquet")
    own = f"id: {name}" if name.lower() in ("row", "score", *VERDICT, "proposed") else name
    assert parquet.schema.names == ["row", own, "score", *VERDICT, *REASONS]
    assert parquet[own].to_pylist() == [None, "", *map(str, range(298))]


def test_a_model_without_a_limit(model: Model, table: MemoryTable, tmp_path: Path) -> None:
    waiting = fit_table(table, Preparation.identity(NAMES), settings_of({"limit": "quantile"}), Silent())
    object.__setattr__(waiting.thresholds, "total", None)
    assert written(waiting, table, tmp_path / "scores.parquet", "parquet", None) == (300, None)
    found = pq.read_table(tmp_path / "scores.parquet")
    for name in ("anomaly", *REASONS):
        assert found[name].to_pylist() == [None] * 300


def test_detect_writes_the_same_as_parquet(table: MemoryTable, tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        options = {"id": "host", "time": "when", "label": "kind", "scores": kind, "output": tmp_path / kind}
        detect_request(make_request(table, **options), Silent())
    assert {file.name for file in (tmp_path / "parquet").iterdir()} == {
        ".aspca-output",
        "scores.parquet",
        "explanations.csv",
        "incidents.csv",
        "model.json",
        "report.html",
        "excluded.csv",
    }
    with (tmp_path / "csv" / "scores.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    rows = pq.read_table(tmp_path / "parquet" / "scores.parquet").to_pylist()
    assert [(str(row["row"]), repr(row["score"]), str(int(row["anomaly"]))) for row in rows] == [
        (line["row"], line["score"], line["anomaly"]) for line in lines
    ]
    assert list(rows[0]) == list(lines[0]) == ["row", "host", "when", "kind", "score", *VERDICT]
    assert [(row["verdict"], repr(row["p_value"])) for row in rows] == [
        (line["verdict"], line["p_value"]) for line in lines
    ]
    assert [(row["when"], row["kind"]) for row in rows] == [(line["when"], line["kind"]) for line in lines]


def test_what_was_excluded_is_a_file_of_its_own(table: MemoryTable, values: np.ndarray, tmp_path: Path) -> None:
    given = {"id": "host", "time": "when", "label": "kind", "output": tmp_path / "out"}
    detect_request(make_request(table, **given), Silent())
    with (tmp_path / "out" / "excluded.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    # The rows that break b = 2 a, and none that was not made wrong; c = 5 is no relation that row 200 could spoil.
    rows = [int(line["row"]) for line in lines]
    assert rows == sorted(set(rows))
    assert {100, 101} <= set(rows) <= {100, 101, 200}
    for line in lines:
        assert float(line["value"]) == values[int(line["row"]), NAMES.index(line["column"])]
        a, b, c = (values[int(line["row"]), NAMES.index(name)] for name in "abc")
        expected = {"a": b / 2, "b": 2 * a, "c": 5.0}[line["column"]]
        assert (line["column"] == "c") == (abs(c - 5.0) > 0.25)
        assert float(line["expected"]) == pytest.approx(expected, abs=0.05)
    # Where nothing is, there is none.
    detect_request(make_request(table, robust="off", **given), Silent())
    assert "excluded.csv" not in {file.name for file in (tmp_path / "out").iterdir()}


class Breaking(MemoryTable):
    """A table that cannot be read to its end."""

    def batches(self, names: Sequence[str], size: int = 100) -> Iterator[Batch]:
        yield next(super().batches(names, 100))
        raise OSError("the disk is gone")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_the_old_file_or_the_new_one(
    kind: str, model: Model, table: MemoryTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, path = tmp_path / "scratch", tmp_path / "scores"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr(text_rows, "_MANY", 0)
    path.write_text("the old one")
    with pytest.raises(OSError, match="the disk is gone"):
        written(model, like(Breaking, table), path, kind, None)
    assert path.read_text() == "the old one"
    written(model, table, path, kind, None)
    assert path.read_bytes()[:3] in (b"row", b'{"r', b"PAR", b"ARR")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["scores", "scratch"]
    assert not list(scratch.iterdir())


def test_formats_by_suffix() -> None:
    named = {
        "-": "csv",
        "a.csv": "csv",
        "a.parquet": "parquet",
        "A.PQ": "parquet",
        "a.jsonl": "jsonl",
    }
    named |= {"a.arrow": "arrow", "a.feather": "arrow", "a.duckdb": "duckdb", "postgresql://u:p@h/d": "postgres"}
    assert {out: destination_of(out).kind for out in named} == named
    for out in ("a.txt", "parquet", "a.db", "a.csv.gz", ""):
        with pytest.raises(OutputError, match=r"does not end in the suffix of a format"):
            destination_of(out)
    assert destination_of("-", lines=True).kind == destination_of("a.jsonl", lines=True).kind == "jsonl"
    assert destination_of("a.duckdb", table="t").table == "t"
    with pytest.raises(RequestError, match=r"--json writes lines of JSON, but 'a\.parquet' is to be a Parquet file"):
        destination_of("a.parquet", lines=True)
    with pytest.raises(RequestError, match=r"--output-table is for databases, but 'a\.csv' is none"):
        destination_of("a.csv", table="t")
    with pytest.raises(
        RequestError, match=r"no way to write to mysql://me:\*\*\*@host/base; give postgresql:// or"
    ) as refused:
        destination_of("mysql://me:secret@host/base")
    assert "secret" not in str(refused.value)
    assert destination_of("postgresql://me:sec@ret@host/base").shown == "postgresql://me:***@host/base, table scores"


def test_floats_of_all_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's digits are Python's, for every bit pattern."""
    rng = np.random.default_rng(8)
    values = rng.integers(0, 2**64, size=50_000, dtype=np.uint64).view(np.float64)
    values[:8] = [0.0, -0.0, 1e16, 1e-5, 9999999999999998.0, np.inf, -np.inf, 5e-324]
    cells = ["=x", "a,b", 'q"q', "nl\nx", "\r", "", "null", " s ", "#c", "é", "-5", None, 3, True, 2.5]
    columns = [
        np.arange(values.size),
        np.where(np.isnan(values), 0.5, values),
        values > 0,
        [cells[i % len(cells)] for i in range(values.size)],
        values,
    ]
    contents = []
    for many in (0, 10**9):
        monkeypatch.setattr(text_rows, "_MANY", many)
        with (
            (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as stream,
            text_rows.CsvWriter(stream, ["=r", "v", "b", "t,", "n"]) as writer,
        ):
            writer.columns(*columns)
        contents.append((tmp_path / "t.csv").read_bytes())
    assert contents[0] == contents[1]
    # The slow, obvious twin.
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    lines = [",".join(text_rows._quoted(for_csv(cell)) for cell in row) + "\n" for row in zip(*plain, strict=True)]
    assert contents[0].decode() == '\'=r,v,b,"t,",n\n' + "".join(lines)
    writer = text_rows.CsvWriter(io.StringIO(), ["a", "b"])
    with pytest.raises(ValueError, match="the same number of cells"):
        writer.columns([1], [1, 2])
