"""`aspca.detect` is the command: the same files byte for byte, the same findings, from files and from data frames."""

from __future__ import annotations

import contextlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import aspca
from aspca import ASPCA, JobError
from aspca.cli.main import main
from aspca.settings import DEFAULTS, IN_MEMORY

BROKEN = [60, 61, 150, 220]


def frame(seed: int = 0, n: int = 300) -> pd.DataFrame:
    """mem + free = 100, cpu = 2 disk; the first is broken in the rows `BROKEN`. Numbers that a CSV holds exactly."""
    rng = np.random.default_rng(seed)
    mem, disk = rng.uniform(20, 80, size=(2, n)).round(3)
    table = pd.DataFrame(
        {
            "time": pd.date_range("2026-01-01", periods=n, freq="min"),
            "host": [f"=web-{i}" for i in range(n)],
            "site": np.where(np.arange(n) % 3 == 0, "east", "west"),
            "cpu": (2 * disk + rng.normal(size=n)).round(3),
            "mem": mem,
            "free": (100 - mem + 0.5 * rng.normal(size=n)).round(3),
            "disk % used": disk,
            "on": rng.random(n) < 0.5,
            "broken": 0,
        }
    )
    table.loc[BROKEN, "free"] += 20.0
    table.loc[BROKEN, "broken"] = 1
    return table


def odd_numbers(n: int = 300) -> list[str]:
    """Numbers, but for one."""
    return ["x" if row == 7 else f"{row}.5" for row in range(n)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, seed in (("january", 0), ("february", 1)):
        frame(seed).to_csv(f"{name}.csv", index=False)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def by_command(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What the command prints as JSON."""
    capsys.readouterr()
    assert main(["detect", *words, "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


ROLES = {"id": "host", "time": "time", "label": "broken"}
WORDS = ["--id", "host", "--time", "time", "--label", "broken"]
CASES: list[tuple[dict[str, Any], str]] = [
    ({"ignore": ["site"]}, "--ignore site"),
    ({"categorical": {"site": "one-hot"}, "top": 3}, "--categorical site --top 3"),
    ({"ignore": "site", "train": "february.csv"}, "--ignore site --train february.csv"),
    (
        {"ignore": "site", "limit": "conformal", "calibrate": "february.csv", "level": 0.9, "n_components": 2},
        "--ignore site --limit conformal --calibrate february.csv --level 0.9 --n-components 2",
    ),
    ({"ignore": "site", "scores": "parquet"}, "--ignore site --scores parquet"),
    ({"ignore": "site", "preset": "paper", "private": True}, "--ignore site --preset paper --private"),
    ({"by": "site", "log": ["cpu"], "transform": {"mem": "sqrt"}}, "--by site --log cpu --transform mem=sqrt"),
]


@pytest.mark.promise
@pytest.mark.parametrize(("options", "words"), CASES, ids=[words for _, words in CASES])
def test_the_same_as_the_command(
    here: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], words: str
) -> None:
    found = aspca.detect("january.csv", output="python", **ROLES, **options)
    told = by_command(capsys, "january.csv", *WORDS, *words.split(), "--output", "command")
    assert contents(here / "python") == contents(here / "command")
    assert found.output == "python"
    documents = told["categories"] if "by" in options else [told]
    assert found.n_rows == sum(document["n_rows"] for document in documents) == 300
    assert found.n_anomalies == sum(document["n_anomalies"] for document in documents)
    for document, (category, outcome) in zip(documents, found.outcomes.items(), strict=True):
        assert document.get("category") == category
        assert [rule["text"] for rule in document["rules"]] == [str(rule) for rule in outcome.rules]
        keys = ("row", "name", "category", "score", "times", "outside", "text")
        assert [[one[key] for key in keys] for one in document["anomalies"]] == [
            [getattr(finding, key) for key in keys] for finding in outcome.findings
        ]
        for one, finding in zip(document["anomalies"], outcome.findings, strict=True):
            assert [rule["rule"] for rule in one["breaks"]] == [rule.rule for rule in finding.breaks]
            assert [rule["needed"] for rule in one["breaks"]] == [
                {name: {"is": now, "needed": then} for name, (now, then) in rule.needed.items()}
                for rule in finding.breaks
            ]
        assert document["evaluation"]["auc"] == outcome.evaluation.auc
        assert [one["text"] for one in document["incidents"]] == [one.text for one in outcome.incidents]


@pytest.mark.promise
def test_what_the_result_holds(here: Path) -> None:
    found = aspca.detect("january.csv", ignore=["site"], **ROLES)
    assert [finding.row for finding in found.findings[:4]] == sorted(
        BROKEN, key=lambda row: -next(one.score for one in found.findings if one.row == row)
    )
    for finding in found.findings[:4]:
        assert finding.name == f"=web-{finding.row}"
        assert set(finding.breaks[0].needed) == {"mem", "free"}
        assert found.rules[finding.breaks[0].rule].features == ("mem", "free")
        # What was added is taken away again, to within the noise.
        now, then = finding.breaks[0].needed["free"]
        assert now - then == pytest.approx(20.0, abs=2.0)
        assert finding.breaks[0].broken
        assert finding.breaks[0].share + finding.outside <= 1.0 + 1e-9
        assert finding.times == pytest.approx(finding.score / found.model.threshold)
        assert finding.text.startswith(f"Row =web-{finding.row} is an error (")
    assert found.evaluation is not None
    assert found.evaluation.hits == 4
    assert found.incidents is not None
    # 60 and 61 are one.
    assert sum(incident.rows.size for incident in found.incidents) == found.n_anomalies
    assert repr(found) == f"Detection(4 errors and 2 unusual rows in 300 rows by {len(found.rules)} rules)"
    assert str(found) == found.text
    for words in (*map(str, found.rules), *(finding.text for finding in found.findings), "AUC 1.0000"):
        assert words in found.text
    lines = found.to_frame()
    assert lines["row"].drop_duplicates().tolist() == [finding.row for finding in found.findings]
    assert {"host", "time", "score", "rule", "text", "share", "deviation", "feature", "value", "needed"} <= set(lines)


@pytest.mark.promise
def test_one_model_for_each_category(here: Path) -> None:
    found = aspca.detect("january.csv", by="site", **ROLES)
    assert list(found.outcomes) == list(found.models) == ["east", "west"]
    assert [finding.row for finding in found.findings[:4] if finding.row in BROKEN]
    times = [finding.times for finding in found.findings]
    assert times == sorted(times, reverse=True)
    assert {finding.category for finding in found.findings} <= {"east", "west"}
    assert "== site = east" in found.text
    assert repr(found).endswith("in 2 categories of 'site')")
    assert set(found.to_frame()["category"]) <= {"east", "west"}
    with pytest.raises(ValueError, match="There is one model for each category of 'site': see outcomes"):
        _ = found.model


@pytest.mark.promise
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_is_the_csv(here: Path, library: str) -> None:
    """Read from memory or from a file: every file that is written is the same, but for how the cells were written."""
    tables = {seed: frame(seed) for seed in (0, 1)}
    made = {"pandas": lambda table: table, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[library]
    # A report says which file was read.
    options: dict[str, Any] = {"categorical": "site", "report": False, **ROLES}
    from_frame = aspca.detect(made(tables[0]), train=made(tables[1]), output="frame", **options)
    from_file = aspca.detect("january.csv", train="february.csv", output="file", **options)
    by_frame, by_file = contents(here / "frame"), contents(here / "file")
    models = [json.loads(written.pop("model.json")) for written in (by_frame, by_file)]
    formats = [model.pop("cell_format") for model in models]
    assert models[0].pop("checksum") != models[1].pop("checksum")
    assert models[0] == models[1]
    assert (formats[0]["decimal"], formats[0]["columns"], formats[1]["decimal"]) == (None, [], ".")
    # It lists the checksum of the model.
    assert by_frame.pop(".aspca-output") != by_file.pop(".aspca-output")
    assert by_frame == by_file
    assert from_frame.findings == from_file.findings
    assert from_frame.source == "the table"
    lines = from_frame.to_frame()
    assert type(lines).__module__.partition(".")[0] == library


def test_an_array(here: Path) -> None:
    names = ["cpu", "mem", "free", "disk % used"]
    X = frame()[names].to_numpy()
    found = aspca.detect(X)
    model = ASPCA(robust="on").fit(X)
    assert found.n_anomalies == int((model.predict(X) == -1).sum())
    assert [str(rule) for rule in found.rules] == [str(rule) for rule in model.rules_]
    assert found.rules[0].features[0].startswith("x")
    assert not list(here.glob("*.aspca"))


def test_the_index_of_a_frame_names_its_rows() -> None:
    table = frame().drop(columns=["time", "host", "site"])
    later = table[table.index >= 100].rename_axis("run")
    found = aspca.detect(later, train=table.set_axis([f"r{i}" for i in table.index]), label="broken")
    assert {finding.row + 100 for finding in found.findings} >= {150, 220}
    assert all(finding.name == str(finding.row + 100) for finding in found.findings)
    assert "run" not in found.model.names


@pytest.mark.promise
def test_nothing_is_written_unless_asked_for(here: Path) -> None:
    before = contents(here)
    found = aspca.detect("january.csv", ignore="site", **ROLES)
    assert found.output is None
    assert contents(here) == before


@pytest.mark.promise
def test_all_or_nothing(here: Path) -> None:
    aspca.detect("january.csv", ignore="site", output="out", **ROLES)
    before = contents(here)
    with pytest.raises(JobError, match="has no column 'nowhere'"):
        aspca.detect("january.csv", ignore="site", output="out", label="nowhere")
    table = frame()
    table.loc[250, "mem"] = 1e200
    table.to_csv("odd.csv", index=False)
    with pytest.raises(JobError, match="mem"):
        aspca.detect("odd.csv", train="january.csv", ignore="site", output="out", **ROLES)
    assert contents(here) == before | {"odd.csv": (here / "odd.csv").read_bytes()}
    (here / "mine").mkdir()
    (here / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(JobError, match=r"'thesis\.txt' and not the mark .*: name another folder with output\."):
        aspca.detect("january.csv", ignore="site", output=here / "mine", **ROLES)
    assert (here / "mine" / "thesis.txt").read_text() == "years"


@pytest.mark.promise
@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("nowhere.csv", {}, r"nowhere\.csv"),
        ([], {}, "No file is given"),
        (np.zeros(3), {}, "the table: .*1 dimension"),
        (None, {}, "the table: "),
        (
            frame().assign(site=odd_numbers()),
            {},
            r"Column 'site' of the table holds text \('x' in row 7\).*with ignore site",
        ),
        (frame(), {"ignore": "site", "labels": "broken"}, r"There is no option 'labels'; did you mean 'label'\?"),
        (frame(), {"ignore": "sites"}, r"ignore: the table has no column 'sites'; did you mean 'site'\?"),
        (frame(), {"ignore": "site", "level": 2}, "level must be a number between 0 and 1, got 2"),
        (frame(), {"ignore": "site", "score": "loud"}, "score must be one of complete, standardized, spe, got 'loud'"),
        (frame()[:1], {"ignore": ["site", "host"]}, "the table has 1 row"),
        (
            frame().assign(mem=lambda table: table["mem"].where(table.index > 2)),
            {"allow_missing": False},
            r"values are missing \(NaN\) in column 'mem' \(3\).*allow_missing",
        ),
        (frame(), {"ignore": "site", "train": frame().drop(columns="mem"), "time": "cpus"}, "time: the table has no"),
        (frame().drop(columns="mem"), {"ignore": "site", "train": frame()}, "the table has no column 'mem', which the"),
        (frame(), {"ignore": "site", "n_components": 99}, "n_components must lie between 1 and"),
    ],
)
def test_mistakes_are_one_sentence(source: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(JobError, match=sentence) as raised:
        aspca.detect(source, **options)
    assert "--" not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_every_option_is_in_the_signature() -> None:
    parameters = inspect.signature(aspca.detect).parameters
    assert list(parameters)[:2] == ["source", "train"]
    # Other features than the columns of a table are for arrays.
    assert not set(IN_MEMORY) & set(parameters)
    expected = {name: default for name, default in DEFAULTS.items() if name not in IN_MEMORY}
    assert {name: parameters[name].default for name in expected} == expected
    assert parameters["output"].default is None
    for name in parameters:
        if name not in DEFAULTS:
            assert name in (aspca.detect.__doc__ or "")


def test_detecting_in_files_needs_no_scikit_learn(here: Path) -> None:
    code = (
        "import sys, aspca\n"
        "assert not {'numpy', 'duckdb'} & set(sys.modules)\n"
        "assert aspca.detect('january.csv', ignore='site', id='host', time='time').n_anomalies\n"
        "assert not {'sklearn', 'pandas', 'rich', 'typer'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=here, check=True)


@pytest.mark.promise
def test_what_the_terminal_shows_is_what_the_result_says(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = aspca.detect("january.csv", ignore="site", **ROLES)
    with contextlib.chdir(here):
        assert main(["detect", "january.csv", "--ignore", "site", *WORDS, "--no-output", "--quiet"]) == 0
    page = capsys.readouterr().out
    outcome = found.outcomes[None]
    assert outcome.headline in " ".join(page.split())
    for rule in found.rules:
        assert str(rule) in page
    for finding in found.findings:
        assert str(finding.name) in page


def test_columns_that_look_like_labels_are_offered_as_such(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = frame().rename(columns={"broken": "is_fraud"})
    table["target"] = table["cpu"]
    table.to_csv("labelled.csv", index=False)
    said = (
        "Column 'is_fraud' looks like a label, so no rules are learned from it: --label is_fraud compares the verdicts "
        "with it, --number is_fraud learns from it."
    )
    assert main(["detect", "labelled.csv", "--ignore", "site", "--output", "guessed"]) == 0
    assert said in capsys.readouterr().err.splitlines()
    learned = "Column 'is_fraud' looks like a label, so no rules are learned from it: --number is_fraud learns from it."
    assert main(["fit", "labelled.csv", "--ignore", "site", "--model", "model.json"]) == 0
    assert learned in capsys.readouterr().err.splitlines()
    names = set(aspca.fit_source("labelled.csv", ignore="site").feature_names_in_)
    assert "target" in names
    assert "is_fraud" not in names
    # What is offered can be pasted.
    compared = by_command(capsys, "labelled.csv", "--ignore", "site", "--output", "compared", "--label", "is_fraud")
    assert compared["evaluation"]["auc"] > 0.9
    assert main(["detect", "labelled.csv", "--ignore", "site", "--output", "taken", "--number", "is_fraud"]) == 0
    assert "looks like a label" not in capsys.readouterr().err
    features = [
        aspca.detect("labelled.csv", ignore="site", **kept).model.names for kept in ({}, {"number": "is_fraud"})
    ]
    assert [("is_fraud" in names, "target" in names) for names in features] == [(False, True), (True, True)]


def test_copies_of_rows_are_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = frame()
    columns = ["cpu", "mem", "free", "disk % used", "on", "broken"]
    table.loc[[17, 30], columns] = table.loc[[4, 2], columns].to_numpy()
    table.to_csv("copied.csv", index=False)
    assert main(["detect", "copied.csv", "--output", "out", "--id", "host"]) == 0
    said = "2 rows are copies of an earlier row in every feature (rows 17 and 4, 30 and 2)."
    assert said in capsys.readouterr().err.splitlines()
    assert said in aspca.detect("copied.csv", id="host").remarks
    assert main(["detect", "january.csv", "--output", "out", "--id", "host"]) == 0
    assert "copies" not in capsys.readouterr().err
