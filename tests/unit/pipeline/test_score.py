"""`aspca.score_source`: the estimator's own verdicts, for every kind of source, and for tables that changed."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA, JobError, Preprocessor
from aspca.pipeline import judged_rows, score
from aspca.pipeline.passes import prefetch, write_behind
from aspca.pipeline.score import PartScorer
from aspca.pipeline.sources import frame_table
from aspca.tables.keys import Keys
from aspca.tables.memory import make_array_table

pa, pl, pq = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pyarrow.parquet"))

COLUMNS = ["row", "host", "score", "anomaly", "verdict", "p_value", "broken_rules", "proposed"]


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, n))
    rows = pd.DataFrame({"a": a, "b": b, "sum": a + b + 0.01 * rng.normal(size=n), "host": np.arange(n) + 1000})
    rows.loc[[7, 77], "sum"] += [1.0, -2.0]
    return rows


@pytest.fixture(scope="module")
def model() -> ASPCA:
    return ASPCA().fit(table()[["a", "b", "sum"]])


@pytest.fixture(scope="module")
def expected(model: ASPCA) -> pd.DataFrame:
    return aspca.score_source(model, table(), id="host")


def test_it_is_what_the_estimator_says(model: ASPCA, expected: pd.DataFrame) -> None:
    rows = table()[["a", "b", "sum"]]
    assert list(expected) == COLUMNS
    assert expected["row"].tolist() == list(range(300))
    assert expected["host"].tolist() == table()["host"].tolist()
    assert (expected["score"].to_numpy() == -model.score_samples(rows)).all()
    assert (expected["anomaly"].to_numpy() == (model.predict(rows) == -1)).all()
    judged = model.model_.judge(rows.to_numpy())
    assert (expected["p_value"].to_numpy() == judged.p_values).all()
    assert ((expected["verdict"] == "error").to_numpy() == judged.errors).all()
    assert ((expected["verdict"] == "normal").to_numpy() == ~expected["anomaly"].to_numpy()).all()
    assert set(expected["verdict"]) <= {"error", "unusual", "normal"}
    assert expected["verdict"][[7, 77]].tolist() == ["error", "error"]
    why = model.explain(rows)
    for row in np.flatnonzero(expected["anomaly"]).tolist():
        broken = "; ".join(str(rule) for rule in why[row].broken)
        assert (expected["broken_rules"][row] or "") == broken or pd.isna(expected["broken_rules"][row])
    assert json.loads(expected["proposed"][7])["sum"] == why.needed(7, 0)["sum"]
    assert expected.loc[~expected["anomaly"], ["broken_rules", "proposed"]].isna().all(axis=None)


def test_frames_in_their_own_library(model: ASPCA, expected: pd.DataFrame) -> None:
    for frame, library in ((pl.from_pandas(table()), pl.DataFrame), (pa.Table.from_pandas(table()), pa.Table)):
        found = aspca.score_source(model, frame, id="host")
        assert isinstance(found, library)
        rows = found.to_dicts() if library is pl.DataFrame else found.to_pylist()
        wanted = expected.astype(object).where(expected.notna(), None)
        assert rows == wanted.to_dict("records")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow", "duckdb"])
def test_files_of_any_format_can_be_read_again(
    suffix: str, model: ASPCA, expected: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By way of threads, as many rows would be.
    monkeypatch.setattr(judged_rows, "MANY", 0)
    monkeypatch.setattr(score, "MANY", 0)
    table().to_parquet(tmp_path / "in.parquet")
    aspca.save(model, tmp_path / "model.json")
    out = tmp_path / f"out.{suffix}"
    done = aspca.score_source(tmp_path / "model.json", tmp_path / "in.parquet", out, id=["host"])
    count = int(expected["anomaly"].sum())
    assert (done.n_rows, done.n_anomalies) == (300, count)
    assert repr(done).startswith(f"Scored(300 rows, {count} anomalies, in {out}")
    assert aspca.detect(out, id="host", top=0, ignore_text=True, robust="off").n_rows == 300


def test_parts_of_a_table_are_the_table(model: ASPCA, expected: pd.DataFrame) -> None:
    """What workers do: any cut, each part with the number of its first row, sent as bytes."""
    work = pickle.loads(pickle.dumps(PartScorer(model.model_, Keys(("host",)))))  # noqa: S301
    assert work.names == ("a", "b", "sum", "host")
    pieces = []
    for start, end in ((0, 1), (1, 130), (130, 300)):
        part = frame_table(table().iloc[start:end].reset_index(drop=True), "part")
        pieces += list(work(part, start))
    whole = pa.Table.from_batches(pieces, work.schema)
    assert whole["row"].to_pylist() == list(range(300))
    assert whole["score"].to_numpy().tobytes() == expected["score"].to_numpy().tobytes()
    assert whole["anomaly"].to_pylist() == expected["anomaly"].tolist()
    for name in ("broken_rules", "proposed"):
        assert whole[name].to_pylist() == [None if pd.isna(cell) else cell for cell in expected[name]]


# ---- a table that changed since the fit


CHANGED = {
    "more": lambda rows: rows.assign(note="x", extra=1.0),
    "reordered": lambda rows: rows[["host", "sum", "b", "a"]],
    "lacking": lambda rows: rows.drop(columns="b"),
    "text": lambda rows: rows.assign(b="soon"),
    "dates": lambda rows: rows.assign(b=pd.Timestamp("2024-01-01")),
    "gaps": lambda rows: rows.assign(b=rows["b"].where(rows.index != 5)),
    "infinite": lambda rows: rows.assign(b=rows["b"].where(rows.index != 5, np.inf)),
}


@pytest.mark.parametrize("how", ["more", "reordered"])
def test_more_columns_or_another_order_do_no_harm(how: str, model: ASPCA, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(aspca.score_source(model, CHANGED[how](table()), id="host"), expected)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("lacking", r"has no column 'b', which the rules of the model need"),
        ("text", r"Column 'b' of .* holds texts?.*, but the rules of the model need numbers there"),
        ("dates", r"Column 'b' of .* holds dates, but the rules of the model need numbers there"),
        ("gaps", r"missing|lack"),
        ("infinite", r"row 5.*inf"),
    ],
)
@pytest.mark.parametrize("stored", [False, True])
def test_what_cannot_be_judged_is_one_sentence(
    how: str, words: str, stored: bool, model: ASPCA, tmp_path: Path
) -> None:
    source: Any = CHANGED[how](table())
    if stored:
        source.to_parquet(tmp_path / "in.parquet")
        source = str(tmp_path / "in.parquet")
    out = tmp_path / "out.csv"
    with pytest.raises(JobError, match=words) as refused:
        aspca.score_source(model, source, out)
    assert "\n" not in str(refused.value)
    assert "--" not in str(refused.value).replace("---", "")
    assert not out.exists()


def test_a_model_with_a_preparation_meets_other_cells(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"price": np.exp(rng.normal(size=300)), "amount": np.exp(rng.normal(size=300))})
    rows["cost"] = 1.2 * rows["price"] * rows["amount"] * np.exp(0.01 * rng.normal(size=300))
    rows["kind"] = rng.choice(["a", "b"], size=300)
    how = Preprocessor(transforms=dict.fromkeys(["price", "amount", "cost"], "log"))
    fitted = ASPCA(preprocessor=how).fit(rows)
    other = rows.assign(kind=["new", *rows["kind"][1:]])
    other.loc[3, "cost"] *= 2.0
    found = aspca.score_source(fitted, other[["kind", "cost", "amount", "price"]])
    # A category that nobody knew breaks the rule that there is one of those known.
    assert found["anomaly"][0]
    assert "kind" in found["broken_rules"][0]
    assert json.loads(found["proposed"][3])["cost"] == pytest.approx(rows["cost"][3], rel=0.05)
    with pytest.raises(JobError, match="price"):
        aspca.score_source(fitted, rows.assign(price=0.0))
    with pytest.raises(JobError, match="has no column 'kind'"):
        aspca.score_source(fitted, rows.drop(columns="kind"))


def test_gaps_that_are_allowed() -> None:
    rows = table()[["a", "b", "sum"]]
    fitted = ASPCA(preprocessor=Preprocessor(missing="allow")).fit(rows)
    rows.loc[3, "b"] = np.nan
    found = aspca.score_source(fitted, rows)
    assert list(found)[-3:] == ["share_of_rules", "broken_rules", "proposed"]
    assert found["share_of_rules"][3] < 1.0
    assert (found["share_of_rules"].drop(index=3) == 1.0).all()


# ---- what is refused


def test_what_is_no_model(model: ASPCA, tmp_path: Path) -> None:
    for given, words in ((ASPCA(), "has no model to judge rows by"), ({}, "a fitted ASPCA or the path")):
        with pytest.raises(JobError, match=words):
            aspca.score_source(given, table())
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(aspca.ModelFileError):
        aspca.score_source(tmp_path / "no.json", table())


def test_no_input_is_written_to(model: ASPCA, tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table().to_parquet(path)
    aspca.save(model, tmp_path / "model.csv")
    os.symlink(path, tmp_path / "link.parquet")
    before = path.read_bytes()
    for out in (path, tmp_path / "link.parquet"):
        with pytest.raises(JobError, match="is read from, so it cannot be written to"):
            aspca.score_source(model, path, out)
    with pytest.raises(JobError, match="is read from"):
        aspca.score_source(tmp_path / "model.csv", path, tmp_path / "model.csv")
    with pytest.raises(JobError, match="no column 'nobody'"):
        aspca.score_source(model, path, tmp_path / "o.csv", id="nobody")
    with pytest.raises(JobError, match=r"^out_table is for databases"):
        aspca.score_source(model, path, tmp_path / "o.csv", out_table="t")
    with pytest.raises(JobError, match="There is no option 'delimeter'; files are read by delimiter, encoding"):
        aspca.score_source(model, path, tmp_path / "o.csv", delimeter=";")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(JobError, match="is no regular file"):
        aspca.score_source(model, path, tmp_path / "folder.parquet")
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["folder.parquet", "in.parquet", "link.parquet", "model.csv"]


# ---- at once


def test_what_is_raised_beside_is_raised_here() -> None:
    def numbers(last: int) -> Any:
        yield from range(last)
        raise KeyError("broken")

    taken: list[int] = []
    with pytest.raises(KeyError, match="broken"):
        taken.extend(prefetch(numbers(3)))
    assert taken == [0, 1, 2]
    # Whoever stops early hears of nothing that comes later, and closes it.
    stopped = prefetch(numbers(1))
    assert next(stopped) == 0
    stopped.close()

    def use(item: int) -> None:
        taken.append(item)
        if item == 1:
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write_behind(range(9), use)
    assert taken == [0, 1, 2, 0, 1]


def test_no_rows_beside_no_keys(model: ASPCA) -> None:
    nothing = make_array_table("nothing", ["a", "b", "sum"], np.empty((0, 3)))
    found = aspca.score_source(model, nothing)
    assert list(found) == [name for name in COLUMNS if name != "host"]
    assert len(found) == 0
