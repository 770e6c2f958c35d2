"""Every output names the row of the source: a column holds the true number of each row, and all must agree with it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_sources import KEY, WAYS, Table, Way

import aspca
from aspca.cli.main import main
from aspca.tables.errors import JobError

SMALL = 100
# Read in the way of another, or nearly: `make test-long` tries them.
ALIKE = ("units", "thousands", "gzip", "glob", "sqlite query", "arrow file", "polars", "lazy polars", "duckdb query")


def seed_of(name: str) -> int:
    """Each way has its own errors, the same in every run."""
    return sum(map(ord, name))


def assert_broken_first(found: aspca.Detection, table: Table) -> None:
    """The broken rows come first: by how far they are off, or each with the value that it should have."""
    worst = found.findings[:4]
    if table.noisy:
        assert [finding.row for finding in worst] == table.broken[::-1]
        return
    assert sorted(finding.row for finding in worst) == table.broken
    assert [finding.score for finding in worst] == sorted((finding.score for finding in worst), reverse=True)
    for finding in worst:
        row = table.frame.loc[finding.row]
        assert f" is an error (certain): c should be {row.a + row.b:.15g} (not {row.c:.15g})." in finding.text


def assert_detection(found: aspca.Detection, table: Table) -> None:
    """Findings, frame and report name the broken rows, and the cells beside them are those of these rows."""
    assert_broken_first(found, table)
    for finding in found.findings:
        assert (str(finding.row), str(finding.row)) == (finding.name, finding.keys[KEY])
        assert finding.text.startswith(f"Row {finding.row} ")
    rows = pd.DataFrame(found.to_frame()) if found.library == "pandas" else found.to_frame().to_pandas()
    assert rows["row"].astype(str).tolist() == rows[KEY].tolist()
    report = json.loads(found.report(format="json"))
    assert_report(report, table)


def assert_report(report: dict[str, Any], table: Table, expected: Sequence[int] | None = None) -> None:
    broken = set(table.broken if expected is None else expected)
    place = next(column["number"] for column in report["columns"] if column["name"] == KEY)
    truth = table.frame
    assert {anomaly["row"] for anomaly in report["anomalies"]} >= broken
    for anomaly in report["anomalies"]:
        cells = {cell["column"]: cell["text"] for cell in anomaly["cells"]}
        assert float(cells[place]) == anomaly["row"]
        near = anomaly["near"]
        for row in [] if near is None else near["rows"]:
            # Only the nearest of them show their values.
            names = [report["columns"][number]["name"] for number in near["columns"]] if row["values"] else []
            for name, value in zip(names, row["values"], strict=True):
                gap = value == "missing" and name == "d" and row["row"] % 9 == 5
                assert gap or value == f"{truth.loc[row['row'], name]:.15g}"
    rule = report["rules"][0]
    assert {report["columns"][term["column"]]["name"] for term in rule["terms"]} == {"a", "b", "c"}
    assert (rule["kind"] == "identity", rule["exact"]) == (not table.noisy, not table.noisy)
    # Of rows with noise the farthest may leave the limit as well.
    assert set(rule["rows"][: len(broken)] if table.noisy else rule["rows"]) == broken
    told = {cell["row"] for cell in report["excluded"]["first_cells"]}
    assert told == (broken if table.noisy else set())


def assert_folder(folder: Path, table: Table) -> None:
    scores = pd.read_csv(folder / "scores.csv")
    assert scores["row"].tolist() == scores[KEY].tolist() == list(range(table.n_rows))
    worst = scores.nlargest(4, "score")["row"]
    assert sorted(worst) == table.broken
    why = pd.read_csv(folder / "explanations.csv")
    assert why["row"].tolist() == why[KEY].tolist()
    assert set(why["row"]) == set(scores["row"][scores["anomaly"] == 1])
    if table.noisy:
        assert sorted(set(pd.read_csv(folder / "excluded.csv")["row"])) == table.broken


def assert_broken(scored: pd.DataFrame, table: Table) -> None:
    """Broken rules stand beside the broken rows, and where nothing is noise beside no other."""
    told = scored[scored["broken_rules"].notna()]
    assert sorted(told.nlargest(4, "score")["row"]) == table.broken
    assert len(told) == 4 or table.noisy


def rows_told(text: str) -> list[int]:
    """The rows that a remark on excluded values names."""
    found = re.search(r"learned without [^;]*, in rows? ([0-9, ]+)", text)
    assert found is not None, text
    return [int(row) for row in found[1].split(",")]


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name in ALIKE else []) for name in WAYS])
def test_findings_files_and_report(name: str, noisy: bool, tmp_path: Path) -> None:
    table, way = Table(SMALL, seed_of(name), tmp_path, noisy), WAYS[name]
    source = way.made(table)
    folder = tmp_path / "out"
    found = aspca.detect(source, id=KEY, output=folder, report=True, **way.options)
    assert_detection(found, table)
    assert_folder(folder, table)
    assert ("learned without" in " ".join(found.remarks)) == noisy
    if noisy:
        assert rows_told(" ".join(found.remarks)) == table.broken
    reading = {option: value for option, value in way.options.items() if option != "ignore"}
    for id in (KEY, None):
        scored = aspca.score_source(folder / "model.json", source, id=id, **reading)
        scored = scored if isinstance(scored, pd.DataFrame) else scored.to_pandas()
        assert scored["row"].tolist() == list(range(SMALL))
        assert_broken(scored, table)
        if id is not None:
            assert scored[KEY].astype(float).tolist() == list(range(SMALL))


# ---- the command


def called(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main([str(word) for word in words]) == code
    shown = capsys.readouterr()
    return shown.out, shown.err


def options_of(way: Way, *names: str) -> list[str]:
    return [word for name in names if name in way.options for word in (f"--{name}", way.options[name])]


# What is done with rows is the same for all ways of reading them.
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("name", ["word for missing", "odd lines", "xlsx"])
def test_the_command(name: str, noisy: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, way = Table(SMALL, seed_of(name) + 1, tmp_path, noisy), WAYS[name]
    path, model = way.made(table), tmp_path / "model.json"
    reading, ignored = options_of(way, "missing", "query"), options_of(way, "ignore")
    out, err = called(capsys, "detect", path, "--ignore", KEY, "--no-output", *reading, *ignored)
    told = [int(row) for row in re.findall(r"^ +(\d+) .*c = a \+ b", out, re.MULTILINE) if row != "0"]
    assert (told[:4] if noisy else sorted(told)) == (table.broken[::-1] if noisy else table.broken)
    if noisy:
        assert rows_told(err) == table.broken
    out, err = called(capsys, "fit", path, "--robust", "on", "--model", model, "--ignore", KEY, *reading, *ignored)
    if noisy:
        assert rows_told(err) == table.broken
    scored = pd.read_csv(io.StringIO(called(capsys, "score", path, "--model", model, "--id", KEY, *reading)[0]))
    assert scored["row"].tolist() == scored[KEY].tolist() == list(range(SMALL))
    lines = called(capsys, "score", path, "--model", model, "--json", *reading)[0].splitlines()
    assert_broken(pd.DataFrame(map(json.loads, lines)), table)
    truth = table.frame
    for asked in (["--row", table.broken[0]], ["--id", KEY, "--row", table.broken[0]]):
        (reason,) = json.loads(called(capsys, "explain", path, "--model", model, "--json", *asked, *reading)[0])
        assert reason["row"] == table.broken[0]
        values = {feature["feature"]: feature["value"] for feature in reason["features"]}
        assert values["c"] == truth["c"][table.broken[0]]
    report = json.loads(called(capsys, "report", model, path, "--json", "--id", KEY, *reading)[0])
    assert report["excluded"]["elsewhere"]
    assert_report(report, table)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(SMALL, 11, tmp_path)
    text = WAYS["word for missing"].made(table).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert_detection(aspca.detect("-", id=KEY, ignore="d"), table)


def test_a_memory_map_of_numbers(tmp_path: Path) -> None:
    table = Table(SMALL, 12, tmp_path)
    np.save(tmp_path / "rows.npy", table.frame[["a", "b", "c"]].to_numpy())
    found = aspca.detect(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert sorted(finding.row for finding in found.findings[:4]) == table.broken
    noisy = Table(SMALL, 12, tmp_path, noisy=True)
    np.save(tmp_path / "noisy.npy", noisy.frame[["a", "b", "c"]].to_numpy())
    found = aspca.detect(np.load(tmp_path / "noisy.npy", mmap_mode="r"))
    assert [finding.row for finding in found.findings[:4]] == noisy.broken[::-1]


# ---- large files


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> aspca.ASPCA:
    return aspca.fit_source(Table(2000, 3, tmp_path_factory.mktemp("model")).frame, ignore=[KEY, "d"], robust="on")


@pytest.mark.parametrize(
    ("name", "threads"),
    [("word for missing", 1), ("word for missing", 2), ("plain text", 2), ("parquet", 2), ("duckdb", 2)],
)
def test_more_rows_than_one_thread_takes(
    name: str, threads: int, tmp_path: Path, model: aspca.ASPCA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above 4 MB DuckDB reads a text in parts, and above 122,880 rows its own tables and Parquet's row groups."""
    monkeypatch.setattr("aspca.duckdb_session.os.cpu_count", lambda: threads)
    table = Table(150_000, seed_of(name), tmp_path)
    scored = aspca.score_source(model, WAYS[name].made(table), id=KEY)
    assert (scored["row"] == np.arange(table.n_rows)).all()
    assert (scored[KEY].astype(float) == scored["row"]).all()
    assert scored["row"][scored["broken_rules"].notna()].tolist() == table.broken


# ---- sentences that name a row


@st.composite
def odd_texts(draw: st.DrawFn) -> tuple[str, int, int, str, dict[str, str]]:
    """A text with a fault in one row: the text, the row, its line, what is to be said of it, and for which options."""
    n_rows = draw(st.integers(8, 30))
    faulty = draw(st.integers(1, n_rows - 1))
    cells, sentence, options = draw(
        st.sampled_from(
            [
                ("1e200,1", "has the value 1e+200 in column 'a'", {}),
                ("1e200,1", "has the value 1e+200 in column 'a'", {"by": "kind"}),
                ("0,1", "has the value 0 in column 'a', but log needs", {"by": "kind", "log": "a"}),
                ("1,", "has no label in column 'kind'", {"label": "kind"}),
                ("oops,1", "Cell 'oops' in column a, row {row}: expected a number.", {}),
                ("1,1,1", "Row {row} (line {line}): expected 3 cells, not 4.", {}),
            ]
        )
    )
    lines = draw(st.lists(st.just(""), max_size=3))
    lines += [*draw(st.sampled_from([[], ["sep=,"]])), "a,kind,note"]
    line = 0
    for row in range(n_rows):
        lines += draw(st.lists(st.just(""), max_size=2))
        line = len(lines) + 1 if row == faulty else line
        note = draw(st.sampled_from(["plain", '"quoted"', '"two\nlines"', '"two\n\nmore, and ""quotes"""']))
        lines += f"{cells if row == faulty else f'{row + 1},{row % 2}'},{note}".split("\n")
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return ending.join(lines) + draw(st.sampled_from(["", ending])), faulty, line, sentence, options


@settings(max_examples=25)
@given(odd_texts())
def test_a_sentence_names_row_and_line(drawn: tuple[str, int, int, str, dict[str, str]]) -> None:
    text, row, line, sentence, options = drawn
    with TemporaryDirectory() as folder:
        path = Path(folder) / "odd.csv"
        path.write_bytes(text.encode())
        if "expected" in sentence:
            (unread,) = (one for one in aspca.detect(path, ignore="note", **options).findings if one.bad_cells)
            assert (unread.row, unread.text) == (row, sentence.format(row=row, line=line))
            return
        with pytest.raises(JobError) as refused:
            aspca.detect(path, ignore="note", **options)
    assert f"row {row} (line {line})" in str(refused.value)
    assert sentence in str(refused.value)


def test_a_sentence_names_the_file_of_several(tmp_path: Path) -> None:
    table = Table(60, 5, tmp_path)
    lines = table.lines()
    lines[43] = "43,0,0,0,0"
    files = [table.text(f"{part}.csv", lines[start : start + 20]) for part, start in enumerate((0, 20, 40))]
    with pytest.raises(JobError, match=r"2\.csv: row 3 \(line 5\) has the value 0 in column 'a', but log needs"):
        aspca.detect(list(map(str, files)), log="a", ignore=KEY)


def test_lines_of_json_and_of_a_sheet(tmp_path: Path) -> None:
    """Empty lines and empty rows are no rows, but they are counted as lines."""
    sheet = openpyxl.Workbook()
    for line, cells in {2: ("a", "b"), 3: (1, 2), 6: (3, 4), 7: (0, 5), 9: (6, 7)}.items():
        for column, cell in enumerate(cells, start=1):
            sheet.active.cell(line, column, cell)
    sheet.save(tmp_path / "sheet.xlsx")
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n\n\n{"a": 2}\n\n{"a": 0}\n{"a": 5}\n')
    for name, line in (("sheet.xlsx", 7), ("lines.jsonl", 6)):
        with pytest.raises(JobError, match=rf"{name}: row 2 \(line {line}\) has the value 0 in column 'a', but log"):
            aspca.detect(tmp_path / name, log="a")


# ---- one model for each category, other rows to learn from


def with_sites(table: Table) -> pd.DataFrame:
    """With a site for each row, at random, and a time."""
    rng = np.random.default_rng(table.seed)
    frame = table.frame.assign(site=np.where(rng.random(table.n_rows) < 0.4, "east", "west"))
    frame["at"] = pd.date_range("2026-01-01", periods=table.n_rows, freq="min").strftime("%Y-%m-%d %H:%M:%S")
    return frame


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_categories(timed: bool, noisy: bool, tmp_path: Path) -> None:
    """Findings, files, remarks and reports of each category name the rows of the whole table."""
    table = Table(200, 21, tmp_path, noisy)
    frame = with_sites(table)
    frame.to_csv(tmp_path / "sites.csv", index=False)
    options: dict[str, Any] = {"time": "at"} if timed else {"ignore": "at"}
    folder = tmp_path / "out"
    found = aspca.detect(tmp_path / "sites.csv", by="site", id=KEY, output=folder, report=True, **options)
    breaking = [finding for finding in found.findings if finding.breaks_a_rule]
    breaking.sort(key=lambda finding: -finding.score)
    assert {finding.row for finding in (breaking[:4] if noisy else breaking)} == set(table.broken)
    for finding in found.findings:
        assert str(finding.row) == finding.keys[KEY]
        assert frame["site"][finding.row] == finding.category == finding.keys["site"]
    told = [row for remark in found.remarks if "learned without" in remark for row in rows_told(remark)]
    assert sorted(told) == (table.broken if noisy else [])
    for number, site in enumerate(["east", "west"]):
        mine = frame.index[frame["site"] == site]
        broken = [row for row in table.broken if row in mine]
        inside = folder / f"category-{number:03d}"
        scores = pd.read_csv(inside / "scores.csv")
        assert scores["row"].tolist() == scores[KEY].tolist() == mine.tolist()
        assert pd.read_csv(inside / "explanations.csv").eval(f"row == {KEY}").all()
        if noisy:
            excluded = pd.read_csv(inside / "excluded.csv")
            assert sorted(set(excluded["row"])) == broken
            assert excluded["value"].tolist() == frame.loc[excluded["row"], "c"].tolist()
        if timed:
            assert pd.read_csv(inside / "incidents.csv").eval(f"peak == {KEY}").all()
        shown = json.loads((inside / "model.json").read_text())["excluded"]["shown"]
        assert shown["rows"] == (broken if noisy else [])
        report = json.loads(found.report(format="json", category=site))
        assert_report(report, table, broken)
        ticks = [] if timed else report["course"]["ticks"]
        assert [tick["label"] for tick in ticks] == [str(mine[tick["place"]]) for tick in ticks]


@pytest.mark.parametrize("noisy", [False, True])
def test_lasting_changes_of_a_category(noisy: bool, tmp_path: Path) -> None:
    """A relation that changes for a while is one change; what violates an identity is an error in each of the rows."""
    table = Table(400, 22, tmp_path, noisy)
    frame = with_sites(table)
    west = frame.index[frame["site"] == "west"]
    changed = west[100:160]
    frame.loc[changed, "c"] += 700.0
    learned = with_sites(Table(400, 23, tmp_path, noisy))
    found = aspca.detect(frame, by="site", train=learned, ignore=[KEY, "at"], top=400)
    if not noisy:
        broken = {*changed, *table.broken}
        assert {finding.row for finding in found.findings if finding.breaks_a_rule} == broken
        assert not found.outcomes["west"].changes
        return
    (change,) = found.outcomes["west"].changes
    assert (change.first, change.last) == (changed[0], changed[-1])
    assert f"row {changed[0]} to {changed[-1]}" in found.text


def test_estimators_for_each_category(tmp_path: Path) -> None:
    frame = with_sites(Table(200, 24, tmp_path)).drop(columns=[KEY, "at"])
    models = aspca.PerCategory("site").fit(frame)
    assert sorted(row for why in models.explain(frame).values() for row in why.index) == list(range(200))
    odd = frame.astype({"a": object})
    odd.loc[171, "a"] = "x"
    for refused in (aspca.PerCategory("site").fit, models.predict, models.explain):
        with pytest.raises(ValueError, match=r"'a' holds text \('x' in row 171\)"):
            refused(odd)
    frame.loc[172, "a"] = 0.0
    logs = aspca.ASPCA(preprocessor=aspca.Preprocessor(transforms={"a": "log"}))
    with pytest.raises(ValueError, match=r"Row 172 has the value 0 in column 'a', but log needs"):
        aspca.PerCategory("site", logs).fit(frame)


def test_rows_learned_from_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was excluded are cells of the table learned from: that is said, and the page links no row of this one."""
    learned, judged = Table(SMALL, 31, tmp_path, noisy=True), Table(SMALL, 32, tmp_path, noisy=True)
    old = learned.text("old.csv", learned.lines())
    new = judged.text("new.csv", judged.lines())
    found = aspca.detect(new, train=old, id=KEY, robust="on", output=tmp_path / "out", report=True)
    assert [finding.row for finding in found.findings[:4]] == judged.broken[::-1]
    (remark,) = (remark for remark in found.remarks if "learned without" in remark)
    assert rows_told(remark) == learned.broken
    assert f"{learned.broken[-1]} of {old} (robust off" in remark.replace("--", "")
    model = tmp_path / "out" / "model.json"
    _, err = called(capsys, "report", model, new, "-o", tmp_path / "again.html")
    assert f"{learned.broken[-1]} of the table learned from (--robust off" in err
    for page in (tmp_path / "out" / "report.html", tmp_path / "again.html"):
        told = page.read_text(encoding="utf-8").partition('<section id="excluded">')[2].partition("</section>")[0]
        assert all(f">{row}<" in told for row in learned.broken)
        assert "#row-" not in told


def test_a_view_is_read_once(tmp_path: Path) -> None:
    """In whatever order its rows come, numbers and names are those of one reading."""
    table = Table(SMALL, 41, tmp_path)
    with duckdb.connect(str(tmp_path / "view.duckdb")) as database:
        database.register("held", table.arrow)
        database.execute("CREATE TABLE readings AS SELECT * FROM held")
        database.execute("CREATE VIEW mixed AS SELECT * FROM readings ORDER BY random()")
    found = aspca.detect(tmp_path / "view.duckdb", table="mixed", id=KEY)
    assert sorted(int(finding.name or "") for finding in found.findings[:4]) == table.broken
