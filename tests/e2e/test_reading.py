"""How cells are read: by the evidence of all files, in the same way for rows that are judged later; and cells that
cannot be read are findings, in every output."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import aspca
from aspca.cli.main import main
from aspca.tables.errors import JobError

N = 60
Rows = list[list[str]]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ledger(write: Callable[[float], str], seed: int = 0, n: int = N, least: int = 1) -> Rows:
    """Rows in which total = net + tax, each number written by `write`."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(100 * least, 300_000, size=(n, 2)) / 100
    return [[write(float(one)) for one in (net, tax, net + tax)] for net, tax in parts]


def english(value: float) -> str:
    return f"{value:.2f}"


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def save(name: str, rows: Rows, header: Sequence[str] = ("net", "tax", "total"), delimiter: str = ";") -> str:
    lines = [delimiter.join(header), *(delimiter.join(row) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


def command(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(shlex.split(line))
    return code, *capsys.readouterr()


def table(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))


# ---- cells that cannot be read


SENTENCE = "cell 'bbbb' in column tax, row 45: expected a number"


@pytest.fixture
def spoiled() -> str:
    rows = ledger(english)
    rows[45][1] = "bbbb"
    rows[12][2] = "9999999.00"
    return save("ledger.csv", rows)


@pytest.mark.promise
def test_a_cell_that_is_no_number_is_a_finding_in_every_output(
    spoiled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = command(f"detect {spoiled} -o out", capsys)
    assert code == 0
    assert SENTENCE in " ".join(out.split())
    scores = {int(row["row"]): row for row in table("out/scores.csv")}
    assert scores[45]["anomaly"] == scores[12]["anomaly"] == "1"
    lines = [row for row in table("out/explanations.csv") if row["row"] == "45"]
    assert [(line["text"], line["feature"]) for line in lines] == [(SENTENCE, "tax")]
    assert "expected a number" in Path("out/report.html").read_text(encoding="utf-8")
    document = json.loads(command(f"detect {spoiled} --json -o out", capsys)[1])
    first = document["anomalies"][0]
    assert (document["n_unread"], first["row"], first["text"]) == (1, 45, f"C{SENTENCE[1:]}.")
    assert first["bad_cells"] == [{"row": 45, "column": "tax", "text": "bbbb", "expected": "a number", "line": None}]


def test_such_a_cell_is_a_finding_in_python_and_its_row_is_no_error_otherwise(spoiled: str) -> None:
    found = aspca.detect(spoiled)
    bad, gross = found.findings[0], found.findings[1]
    assert (bad.row, bad.breaks_a_rule, [str(cell) for cell in bad.bad_cells]) == (45, False, [SENTENCE])
    assert (gross.row, gross.breaks_a_rule) == (12, True)
    frame = found.to_frame()
    assert frame.loc[frame["row"] == 45, "text"].tolist() == [SENTENCE]
    assert SENTENCE[1:] in found.text
    for form in ("json", "markdown"):
        assert "expected a number" in found.report(format=form)
        assert "bbbb" not in found.report(format=form, private=True)


@pytest.mark.parametrize("gaps", [False, True])
def test_rows_that_are_judged_by_a_model_may_have_such_cells(gaps: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the model knows of no missing values."""
    rows = ledger(english)
    if gaps:
        rows[3][0] = ""
    save("train.csv", rows)
    assert command("fit train.csv --model model.json", capsys)[0] == 0
    today = ledger(english, seed=1)
    today[45][1] = "bbbb"
    save("today.csv", today)
    code, out, _ = command("score today.csv --model model.json", capsys)
    assert code == 0
    scored = list(csv.DictReader(out.splitlines()))
    assert (scored[45]["anomaly"], scored[45]["broken_rules"]) == ("1", SENTENCE)
    assert all(row["broken_rules"] == "" for row in scored if row["row"] != "45")
    assert f"C{SENTENCE[1:]}." in command("explain today.csv --model model.json --row 45", capsys)[1]
    frame = aspca.score_source("model.json", "today.csv")
    assert frame["broken_rules"][45] == SENTENCE
    assert command("report model.json today.csv -o r.html", capsys)[0] == 0
    assert "expected a number" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("n", "n_odd", "numeric"), [(60, 5, True), (60, 6, False), (1000, 20, True), (1000, 21, False)]
)
def test_up_to_five_cells_or_two_percent_are_slips(n: int, n_odd: int, numeric: bool) -> None:
    rows = ledger(english, n=n)
    for row in range(n_odd):
        rows[7 + 2 * row][1] = f"1{row}a"
    found = aspca.detect(save("t.csv", rows))
    assert ("tax" in found.outcomes[None].model.names) == numeric
    unread = [finding.row for finding in found.findings if finding.bad_cells]
    if numeric:
        assert unread == [7 + 2 * row for row in range(n_odd)]
        assert found.outcomes[None].n_unread == n_odd
    else:
        assert unread == []
        assert any(
            f"{n_odd} of {n:,} cells are not a number, the first '10a' in row 7 (line 9)" in remark
            for remark in found.remarks
        )


def test_dates_and_truth_values_are_judged_alike(capsys: pytest.CaptureFixture[str]) -> None:
    days = [f"2024-03-{day % 28 + 1:02d}" for day in range(N)]
    days[9] = "soon"
    truths = ["true" if day % 3 else "false" for day in range(N)]
    truths[5] = "maybe"
    rows = [[*row, day, truth] for row, day, truth in zip(ledger(english), days, truths, strict=True)]
    save("t.csv", rows, ("net", "tax", "total", "day", "paid"))
    text = " ".join(command("detect t.csv --date day", capsys)[1].split())
    assert "cell 'soon' in column day, row 9: expected a date" in text
    assert "cell 'maybe' in column paid, row 5: expected true or false" in text


def test_a_cell_in_a_column_that_is_not_used_accuses_nobody(spoiled: str) -> None:
    found = aspca.detect(spoiled, ignore="tax")
    assert found.outcomes[None].n_unread == 0


def test_rows_with_too_few_or_too_many_cells_are_findings(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ledger(english, n=200)
    rows[17] = rows[17][:2]
    rows[30] = [*rows[30], "7"]
    rows[50] = [*rows[50], "", ""]
    code, out, _ = command(f"detect {save('t.csv', rows)}", capsys)
    text = " ".join(out.split())
    assert code == 0
    assert "row 17 (line 19): expected 3 cells, not 2" in text
    assert "row 30 (line 32): expected 3 cells, not 4" in text
    assert "row 50" not in text


# ---- all files of a source


def test_all_files_decide_how_numbers_are_read() -> None:
    """8.767 is 8767 in both files, since one of them proves that the comma stands before decimals."""
    save("jan.csv", [[german(1000 + value) for value in (row, 2 * row)] for row in range(N)], ("a", "b"))
    save("feb.csv", [[f"8.{700 + row}", f"9.{100 + row}"] for row in range(N)], ("a", "b"))
    found = aspca.detect(["jan.csv", "feb.csv"])
    assert found.outcomes[None].model.space.mean[0] > 4000
    assert found.outcomes[None].model.cell_format.decimal == ","


def test_all_files_decide_the_order_of_dates() -> None:
    save("jan.csv", [[f"{1 + row % 28:02d}/01/2024", str(row)] for row in range(N)], ("day", "a"), ",")
    save("feb.csv", [[f"{1 + row % 9:02d}/02/2024", str(row)] for row in range(N)], ("day", "a"), ",")
    model = aspca.fit_source(["feb.csv", "jan.csv"], date="day", ignore_text=True).model_
    first = np.datetime64("2024-01-01").astype(int)
    least, largest = (ends[model.names.index("days(day)")] for ends in (model.moments.minimum, model.moments.maximum))
    assert first <= least < largest <= first + 31 + 28
    assert [column.order for column in model.cell_format.columns if column.name == "day"] == ["dmy"]


def test_a_few_odd_cells_are_those_of_all_files_together() -> None:
    save("jan.csv", ledger(english, n=500))
    rows = ledger(english, seed=1, n=4)
    rows[0][1] = rows[1][1] = rows[2][1] = "n.n."
    save("feb.csv", rows)
    found = aspca.detect(["jan.csv", "feb.csv"])
    assert [finding.row for finding in found.findings if finding.bad_cells] == [500, 501, 502]


def test_other_units_in_another_file_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for name, unit in (("jan.csv", " kg"), ("feb.csv", " lb"), ("plain.csv", "")):
        save(name, [[f"{row}{unit}", str(row)] for row in range(N)], ("weight", "a"))
    for other in ("feb.csv", "plain.csv"):
        code, _, err = command(f"detect jan.csv {other}", capsys)
        assert code == 2
        assert "have different units" in err


# ---- as the rows that were learned from


@pytest.mark.promise
def test_numbers_are_read_as_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    """Alone, 1.234 would be a number below two."""
    save("train.csv", ledger(german))
    assert command("fit train.csv --model model.json", capsys)[0] == 0
    whole = [
        [f"{value // 1000}.{value % 1000:03d}" for value in (1234 + row, 2000 + row, 3234 + 2 * row)]
        for row in range(9)
    ]
    save("today.csv", whole)
    frame = aspca.score_source("model.json", "today.csv")
    assert not frame["anomaly"].any()
    code, out, _ = command("explain today.csv --model model.json --row 0 --json", capsys)
    assert {feature["feature"]: feature["value"] for feature in json.loads(out)[0]["features"]}["net"] == 1234
    save("english.csv", ledger(english, seed=2))
    for line in (
        "score english.csv --model model.json",
        "explain english.csv --model model.json --row 0",
        "report model.json english.csv",
        "detect english.csv --train train.csv",
    ):
        code, out, err = command(line, capsys)
        assert (code, out) == (2, "")
        assert "with the decimal sign ',' of the rows that the rules were learned from" in err
    # What the user says of the file holds.
    code, out, _ = command("score english.csv --model model.json --decimal .", capsys)
    assert code == 0
    assert all(row["broken_rules"] == "" for row in csv.DictReader(out.splitlines()))


def test_units_of_the_model_must_not_be_contradicted() -> None:
    save("train.csv", [[f"{row} kg", str(2 * row)] for row in range(N)], ("weight", "a"))
    aspca.save(aspca.fit_source("train.csv"), "model.json")
    for unit in (" lb", ""):
        save("today.csv", [[f"{row}{unit}", str(2 * row)] for row in range(N)], ("weight", "a"))
        with pytest.raises(JobError, match="has another unit than the rows that the rules were learned from"):
            aspca.score_source("model.json", "today.csv")


def test_words_for_missing_values_are_those_of_the_model() -> None:
    rows = ledger(english)
    rows[4][0] = "-999"
    save("train.csv", rows)
    aspca.save(aspca.fit_source("train.csv", missing=-999), "model.json")
    today = ledger(english, seed=1)
    today[7][1] = "-999"
    save("today.csv", today)
    frame = aspca.score_source("model.json", "today.csv")
    assert not frame["anomaly"][7]
    assert frame["share_of_rules"][7] < 1


def test_the_order_of_dates_is_that_of_the_model() -> None:
    days = [f"{1 + row % 28:02d}/{1 + row % 12:02d}/2024" for row in range(N)]
    save("train.csv", [[day, str(row)] for row, day in enumerate(days)], ("day", "a"), ",")
    aspca.save(aspca.fit_source("train.csv", date="day"), "model.json")
    # By itself, this could be the third of April or the fourth of March.
    save("today.csv", [["03/04/2024", "1"]], ("day", "a"), ",")
    aspca.score_source("model.json", "today.csv")
    save("american.csv", [[f"01/{13 + row % 15}/2024", str(row)] for row in range(N)], ("day", "a"), ",")
    with pytest.raises(JobError, match="day"):
        aspca.score_source("model.json", "american.csv")


# ---- what stands around the cells


CLEAN = ledger(english, n=40)


@pytest.mark.parametrize(
    ("before", "after", "first_line"),
    [
        ("", "", 2),
        ("Ledger of 2024\n", "", 3),
        ("Ledger of 2024;;\nall amounts in euro;;\n;;\n", "", 5),
        ("Ledger of 2024\n\n", "\nSource: our own books\n", 4),
        ("# made by hand, 3; 4\n", "", 3),
    ],
)
def test_titles_above_and_notes_below_a_table_are_left_out(before: str, after: str, first_line: int) -> None:
    rows = [list(row) for row in CLEAN]
    rows[5][1] = "x5"
    save("t.csv", rows)
    Path("t.csv").write_text(before + Path("t.csv").read_text() + after)
    found = aspca.detect("t.csv")
    assert (found.n_rows, found.findings[0].row) == (40, 5)
    assert found.outcomes[None].model.names == ("net", "tax", "total")
    assert any("left out" in remark for remark in found.remarks) == bool(before or after)
    rows[6][0] = rows[7][0] = rows[8][0] = rows[9][0] = rows[10][0] = rows[11][0] = "y"
    save("t.csv", rows)
    Path("t.csv").write_text(before + Path("t.csv").read_text() + after)
    assert any(f"'y' in row 6 (line {first_line + 6})" in remark for remark in aspca.detect("t.csv").remarks)


def test_a_second_line_of_names_or_units_is_left_out() -> None:
    save("t.csv", [["EUR", "EUR", "EUR"], *CLEAN])
    found = aspca.detect("t.csv")
    assert (found.n_rows, found.outcomes[None].n_unread) == (40, 0)
    assert any("the line below the names of columns ('EUR', 'EUR', 'EUR')" in remark for remark in found.remarks)


def test_lines_can_be_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    save("t.csv", CLEAN)
    Path("t.csv").write_text("1;2;3\n" + Path("t.csv").read_text())
    document = json.loads(command("detect t.csv --skip 1 --json", capsys)[1])
    assert (document["n_rows"], document["features"]) == (40, ["net", "tax", "total"])


def test_names_are_made_unique() -> None:
    found = aspca.detect(save("t.csv", [[*row, row[0], "1"] for row in CLEAN], ("net", "tax", "total", "net", "")))
    assert {"net", "tax", "total", "net_2"} <= set(found.outcomes[None].model.names)
    told = " ".join(found.remarks)
    assert "'net' in column 4 becomes 'net_2'" in told
    assert "columns without a name are called 'column_5'" in told


def test_a_header_without_the_name_of_the_first_column_is_that_of_r() -> None:
    save("t.csv", [[f"r{number}", *row] for number, row in enumerate(CLEAN)])
    found = aspca.detect("t.csv")
    assert (found.n_rows, found.outcomes[None].model.names) == (40, ("net", "tax", "total"))


@pytest.mark.parametrize(
    ("encoding", "towns"),
    [
        ("cp1252", ["Köln", "Besançon", "São Paulo"]),
        ("cp1251", ["Москва", "Казань", "Екатеринбург"]),
        ("cp932", ["東京都", "大阪府", "北海道"]),
        ("utf-16", ["Köln", "Besançon", "São Paulo"]),
        ("utf-16-le", ["Köln", "Besançon", "São Paulo"]),
    ],
)
def test_encodings_are_found_and_said(encoding: str, towns: Sequence[str]) -> None:
    lines = ["net;tax;total;town", *(";".join([*row, towns[k % 3]]) for k, row in enumerate(CLEAN))]
    Path("t.csv").write_text("\n".join(lines), encoding=encoding)
    found = aspca.detect("t.csv", by="town")
    assert sorted(found.outcomes) == sorted(towns)
    assert any("is read as" in remark for remark in found.remarks) == (encoding != "utf-16")


def test_the_encoding_is_that_of_the_model() -> None:
    """A short word in letters of Windows' Cyrillic, by itself, looks like one of western Europe."""
    towns = ["Москва", "Казань", "Уфа"]
    lines = ["net;tax;town", *(f"{row};{2 * row + row % 3};{towns[row % 3]}" for row in range(N))]
    Path("train.csv").write_text("\n".join(lines), encoding="cp1251")
    aspca.save(aspca.fit_source("train.csv", categorical="town"), "model.json")
    Path("today.csv").write_text("net;tax;town\n5;10;Уфа\n", encoding="cp1251")
    # A town that the model does not know would be refused.
    assert len(aspca.score_source("model.json", "today.csv")) == 1


def test_points_in_json_are_decimal_signs_whatever_stands_beside_it() -> None:
    save("jan.csv", [[german(1000 + value) for value in (row, 2 * row)] for row in range(N)], ("a", "b"))
    lines = [json.dumps({"a": 8.767 + row, "b": 9.125}) for row in range(N)]
    Path("feb.jsonl").write_text("\n".join(lines))
    for files in (["jan.csv", "feb.jsonl"], ["feb.jsonl", "jan.csv"]):
        assert aspca.fit_source(files).model_.space.mean[1] < 1200
