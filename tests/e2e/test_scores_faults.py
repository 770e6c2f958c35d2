"""Scores where something breaks in the middle: one sentence, the code of a failure, and no file that looks whole."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA
from aspca.cli.main import main
from aspca.pipeline.passes import Silent
from aspca.pipeline.score import destination_of, write_scored
from aspca.tables import Batch, ReadOptions, open_source
from aspca.tables.errors import JobError
from aspca.tables.keys import Keys

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits on the sizes of files")

N, GROUP = 6000, 1000
FORMATS = ["csv", "jsonl", "parquet", "arrow", "duckdb"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    rows["d"] = rows["a"] + rows["b"] + 0.01 * rng.normal(size=N)
    return rows.assign(host=[f"h{number}" for number in range(N)])


@pytest.fixture(scope="module")
def place(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and a Parquet file of six row groups."""
    folder = tmp_path_factory.mktemp("faults")
    aspca.save(ASPCA().fit(frame[["a", "b", "c", "d"]].iloc[:1000]), folder / "model.json")
    pq.write_table(pa.Table.from_pandas(frame), folder / "in.parquet", row_group_size=GROUP)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def score(place: Path, source: Path | str, out: str, *more: str) -> int:
    return main(["score", str(source), "--model", str(place / "model.json"), "-o", out, *more])


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence that was said."""
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1, said
    assert said[0].startswith("aspca: ")
    assert said[0].endswith(".")
    assert "fault of aspca" not in said[0]
    return said[0]


# ---- no room


@pytest.fixture
def no_room() -> Iterator[None]:
    """A disk that is full, nearly: no file may be longer. The hard limit stays, so that it can be lifted again."""
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("there", [False, True])
def test_no_room(
    suffix: str, there: bool, place: Path, here: Path, no_room: None, capsys: pytest.CaptureFixture[str]
) -> None:
    out = here / f"out.{suffix}"
    if there:
        assert score(place, place / "in.parquet", out.name, "--quiet") == 0
    before = out.read_bytes() if there else b""
    # Less than what is there takes, and than DuckDB's log of these rows.
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    code = score(place, place / "in.parquet", out.name, "--id", "host")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert code == 1
    sentence = refused(capsys)
    if suffix == "csv":
        # Many lines of CSV come by way of another folder.
        assert "there may be no room in it" in sentence
    else:
        assert sentence == f"aspca: {out.name}: File too large."
    # DuckDB may leave its log of what was not committed beside its file, and clears it the next time.
    left = [name for name in os.listdir(here) if name != f"{out.name}.wal" or not there]
    assert left == ([out.name] if there else [])
    if there and suffix == "duckdb":
        # Its file may have grown, its tables have not: no column host is in them.
        with open_source([str(out)], ReadOptions(table="scores")) as table:
            assert (table.count(), len(table.columns)) == (N, 7)
    elif there:
        assert out.read_bytes() == before


# ---- a damaged file


def damaged(path: Path, how: str, target: Path) -> None:
    """Another copy, its fifth row group spoiled, or its end cut off."""
    table = pq.read_table(path)
    pq.write_table(
        table,
        target,
        row_group_size=GROUP,
        compression="zstd",
        use_dictionary=False,
        write_page_checksum=how == "checksums",
    )
    data = bytearray(target.read_bytes())
    if how.startswith("cut"):
        data = data[: len(data) // 2] if how == "cut" else data[: len(data) // 2] + data[-4:]
    else:
        column = pq.ParquetFile(target).metadata.row_group(4).column(3)
        # Without checksums numbers that are others are numbers: only what frames them shows damage.
        place = column.data_page_offset + (column.total_compressed_size // 2 if how == "checksums" else 0)
        data[place : place + 64] = bytes(one ^ 0xFF for one in data[place : place + 64])
    target.write_bytes(bytes(data))


@pytest.mark.parametrize("how", ["checksums", "no checksums", "cut", "cut, with an end"])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_damaged_row_group(
    how: str, suffix: str, place: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged(place / "in.parquet", how, here / "bad.parquet")
    assert score(place, "bad.parquet", f"out.{suffix}") == 1
    assert "bad.parquet: this " in refused(capsys)
    assert os.listdir(here) == ["bad.parquet"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_damage_that_is_met_in_the_middle(suffix: str, place: Path, here: Path) -> None:
    """Spoiled after it was opened and looked through: the first row groups are judged by then."""
    damaged(place / "in.parquet", "no checksums", here / "bad.parquet")
    (here / "in.parquet").write_bytes((place / "in.parquet").read_bytes())
    model = aspca.load(place / "model.json").model_
    destination = destination_of(f"out.{suffix}")
    with open_source(["in.parquet"]) as table:
        (here / "in.parquet").write_bytes((here / "bad.parquet").read_bytes())
        with pytest.raises(ValueError, match=r"in\.parquet: this is not a Parquet file, or it is damaged or cut short"):
            write_scored(model, table, Keys(), destination, Silent())
    assert sorted(os.listdir(here)) == ["bad.parquet", "in.parquet"]


class Shrinking:
    """A table that has fewer rows, or more, each time that it is read."""

    def __init__(self, table: object, rows: int) -> None:
        self._table, self._rows = table, rows

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    def batches(self, names: list[str], size: int = 65536) -> Iterator[Batch]:
        for batch in self._table.batches(names, size):
            times = -(-self._rows // len(batch.values))
            yield Batch(batch.start, np.tile(batch.values, (times, 1))[: self._rows])


@pytest.mark.parametrize("rows", [N - 1, N + 1])
@pytest.mark.parametrize("ids", [(), ("host",)])
def test_rows_that_come_and_go(rows: int, ids: tuple[str, ...], place: Path, here: Path) -> None:
    model = aspca.load(place / "model.json").model_
    with open_source([str(place / "in.parquet")]) as table, pytest.raises(JobError, match="another number of rows"):
        write_scored(model, Shrinking(table, rows), Keys(ids), destination_of("out.parquet"), Silent())
    assert os.listdir(here) == []


def test_a_table_that_is_not_ours(place: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("x.duckdb") as connection:
        connection.execute("CREATE TABLE april AS SELECT 1 AS mine")
    given = ("--output-table", "april", "--quiet")
    assert score(place, place / "in.parquet", "x.duckdb", *given) == 2
    assert "has a table 'april' that aspca did not write; name another with --output-table" in refused(capsys)
    assert score(place, place / "in.parquet", "x.duckdb", *given, "--replace") == 0
    # By now it is.
    assert score(place, place / "in.parquet", "x.duckdb", *given, "--id", "host") == 0
    with open_source(["x.duckdb"]) as table:
        assert [column.name for column in table.columns][:3] == ["row", "host", "score"]
        assert table.count() == N
    assert score(place, place / "in.parquet", "mysql://me:secret@host/base") == 2
    assert "secret" not in refused(capsys)
