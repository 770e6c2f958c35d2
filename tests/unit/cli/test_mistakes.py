"""Every mistake is one sentence on stderr, an exit code of 1 or 2, and leaves nothing behind.

Where another command would do, it is the last line, and does.
"""

from __future__ import annotations

import shlex
import signal
from pathlib import Path

import pytest

from aspca.cli.main import main

GOOD = "a,b,c\n" + "".join(f"{i},{2 * i + i % 3},{i * i % 7}\n" for i in range(20))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "text.csv").write_text("host,a,b\nx,1,2\nx,2,3\nz,3,5\n")
    (tmp_path / "zero.csv").write_text("a,b\n1,2\n0,3\n3,5\n")
    (tmp_path / "missing.csv").write_text("a,b\n1,2\n,3\n3,5\n")
    (tmp_path / "ambiguous.csv").write_text("a;b\n1,234;2\n2,345;3\n3,456;5\n")
    (tmp_path / "words.csv").write_text("kind\nx\ny\nx\nx\n")
    (tmp_path / "huge.csv").write_text("a,b\n1,2\n2,1e200\n4,5\n")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "other.csv").write_text("x,y\n1,2\n2,3\n4,4\n")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    assert main(["fit", "good.csv", "--model", "model.json", "--quiet"]) == 0
    return tmp_path


MISTAKES = [
    ("", 2, "Missing command"),
    ("paint good.csv", 2, "No such command 'paint'"),
    ("detect", 2, "Missing argument 'FILE'"),
    ("detect good.csv --frobnicate", 2, "No such option: --frobnicate"),
    ("detect nowhere.csv", 1, "nowhere.csv"),
    ("detect empty.csv", 1, "empty.csv"),
    (
        "detect ambiguous.csv",
        2,
        "ambiguous.csv: column 'a' is not read: the comma of '1,234' in row 0 (line 2) may stand before decimals",
    ),
    ("detect missing.csv --no-allow-missing", 2, "missing.csv: values are missing (NaN) in column 'a' (1): fill them"),
    ("detect words.csv", 2, "words.csv has no column of numbers left to make rules of; it could take the values of"),
    ("detect huge.csv", 2, "huge.csv: row 1 (line 3) has the value 1e+200 in column 'b'; values must lie within"),
    ("detect text.csv --log host", 2, "--log: column 'host' of text.csv holds text ('x' in row 0), but log takes"),
    ("detect text.csv --categorical hose", 2, "--categorical: text.csv has no column 'hose'; did you mean 'host'?"),
    ("detect text.csv --ignore host --transform a=ln", 2, "--transform takes a column and one of log, log1p"),
    ("detect text.csv --ignore host --log a --date a", 2, "Column 'a' cannot be both log and date"),
    (
        "detect zero.csv --log a",
        2,
        "zero.csv: row 1 (line 3) has the value 0 in column 'a', but log needs values above 0",
    ),
    ("detect one.csv", 1, "one.csv has 1 row"),
    ("detect good.csv --label d", 2, "--label: good.csv has no column 'd'"),
    ("detect text.csv --id host --label b", 2, "--label: column 'b' holds '2', '3', '5', of which one must say"),
    ("detect good.csv --ignore a --ignore b --ignore c", 1, "no column of numbers left"),
    ("detect good.csv --n-components 0", 2, "--n-components must be"),
    ("detect good.csv --n-components 4", 1, "n_components must lie between 1 and 3"),
    ("detect good.csv --alpha much", 2, "--alpha must be"),
    ("detect good.csv --level high", 2, "--level must be a number between 0 and 1, got 'high'"),
    ("detect good.csv --score rule", 2, "--score must be one of complete, standardized, spe, got 'rule'"),
    ("detect good.csv --limit conformal", 2, "conformal"),
    ("detect good.csv --preset poster", 2, "--preset must be one of paper"),
    ("detect good.csv --json --csv", 2, "exclude each other"),
    ("detect good.csv --output mine", 2, "'thesis.txt' and not the mark"),
    ("detect good.csv --output no/where", 2, "there is no folder"),
    ("detect good.csv --train other.csv", 2, "has no columns 'x', 'y', which the rules learned need"),
    ("detect text.csv --id host --time host", 2, "--time: column 'host' of text.csv holds no times"),
    ("detect good.csv --delimiter ;;", 2, "delimiter"),
    ("fit good.csv", 2, "Missing option '--model'"),
    ("fit good.csv --model no/where.json", 2, "There is no folder"),
    ("fit good.csv --model mine", 2, "is no regular file"),
    ("score good.csv --model nowhere.json", 1, "nowhere.json: No such file"),
    ("score good.csv --model broken.json", 1, "broken.json"),
    (
        "score other.csv --model model.json",
        2,
        "other.csv has no columns 'a', 'b', 'c', which the rules of the model need",
    ),
    ("score missing.csv --model model.json --output scores.csv", 2, "missing.csv has no column 'c'"),
    ("score good.csv --model model.json --output mine", 2, "'mine' does not end in the suffix of a format"),
    ("score good.csv --model model.json --output good.csv", 2, "'good.csv' is read from"),
    ("score good.csv --model model.json --output model.json", 2, "'model.json' does not end in the suffix"),
    ("fit good.csv --model good.csv", 2, "'good.csv' is read from"),
    ("score - --model -", 2, "Only one of the model and the rows"),
    ("score good.csv --model model.json --id d", 2, "--id: good.csv has no column 'd'"),
    ("explain good.csv --model model.json --row 20", 2, "has 20 rows, numbered from 0, so there is no row 20"),
    ("explain good.csv --model model.json --row x", 2, "--row: 'x' is no number of a row"),
    ("rules broken.json", 1, "broken.json"),
    ("rules model.json --json --csv", 2, "--json and --csv and --markdown exclude each other"),
    ("explain good.csv --model model.json --id a --row x", 2, "no row of good.csv is called 'x' by 'a'"),
    ("select one.csv", 1, "fewer than 2 rows"),
    ("compare model.json broken.json", 1, "broken.json"),
]


@pytest.mark.parametrize(("command", "code", "words"), MISTAKES, ids=[one[0] or "nothing" for one in MISTAKES])
def test_mistakes(here: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, words: str) -> None:
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(command.split()) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in shown.err
    assert shown.err.startswith("aspca: ")
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before
    sentence, _, pasted = shown.err.partition("To go on, paste:\n")
    assert sentence.count("\n") == 1
    if pasted:
        assert code == 2
        program, *corrected = shlex.split(pasted)
        assert program == "aspca"
        assert main(corrected) == 0


def test_names_cannot_act_on_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "hostile.csv").write_text("\x1b[31mred,a,b\n1,1,2\n2,2,3\n\x1b[32my,3,5\n")
    assert main(["detect", "hostile.csv"]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.err + shown.out
    assert "[32my' in column [\\x1b[31mred], row 2: expected a number" in " ".join(shown.out.split())


def test_markup_is_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"[bold]x{i}[/],{i},{2 * i if i != 9 else 40}\n" for i in range(30))
    (here / "markup.csv").write_text(f"id,[red]a[/red],b\n{lines}")
    assert main(["detect", "markup.csv", "--id", "id", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "[bold]x9[/]" in shown
    assert "[[red]]a[/red]]]" in shown


def test_a_fault_of_ours_says_so(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(path: str) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr("aspca.pipeline.models.model_from", fault)
    assert main(["rules", "model.json"]) == 1
    assert "A fault of aspca, not yours (RuntimeError: unexpected)" in capsys.readouterr().err
    monkeypatch.setenv("ASPCA_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="unexpected"):
        main(["rules", "model.json"])


@pytest.mark.parametrize("missing", ["typer", "duckdb"])
def test_a_missing_extra_says_what_to_install(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    import sys

    for name in [name for name in sys.modules if name == missing or name.startswith(("aspca.cli.app", f"{missing}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["detect", "good.csv"]) == 1
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert missing in shown.lower()
    assert "pip install" in shown


def test_interrupted(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = sorted(here.rglob("*"))
    monkeypatch.setattr("aspca.pipeline.judge.write_model", interrupt)
    capsys.readouterr()
    assert main(["detect", "good.csv"]) == 130
    assert capsys.readouterr().err.startswith("aspca: Interrupted")
    assert sorted(here.rglob("*")) == before


def test_a_signal_that_a_library_swallowed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def swallow(path: str) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit:
            raise ValueError("Query interrupted") from None

    monkeypatch.setattr("aspca.pipeline.models.model_from", swallow)
    assert main(["rules", "model.json"]) == 130
    assert capsys.readouterr().err == "aspca: Terminated; nothing was left half written.\n"
