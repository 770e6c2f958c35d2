"""Bad input, file by file: the documented exit code, one sentence, no traceback, nothing left behind or touched."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_files import NOT_NUMBERS, UNFIT, UNREADABLE, rows

from aspca.cli.main import main
from aspca.writers.folder import replaced_folder

FAILURE, USAGE = 1, 2
# Numbers that cannot be used are a fault of the data; a column of something else wants an option, or another file.
WRONG_VALUES = {"beyond.csv", "infinite.parquet", "large.parquet"}
# A column without any value is left out, and said to be, as text is; texts that all differ name the rows.
ANSWERED = {"missing.csv", "nulls.parquet", "words.csv", "typos.csv", "typos-far.csv", "infinite.csv"}
NOTHING_LEFT = {
    *("missing.parquet", "text.parquet", "categories.feather"),
    *("half.jsonl", "escape.csv", "february.csv", "truth.csv", "infinite.jsonl"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "good.csv").write_bytes(rows(30))
    assert main(["fit", str(folder / "good.csv"), "--model", str(folder / "model.json"), "--quiet"]) == 0
    return folder / "model.json"


class Untouched:
    """Everything in a folder, to compare with later."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = self.now()

    def now(self) -> dict[str, bytes | None]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
            for path in self.folder.rglob("*")
        }

    def check(self) -> None:
        assert self.now() == self.before


def refused(here: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> tuple[int, str]:
    """Run a command that must fail; its exit code and its one sentence, before a command to paste if there is one."""
    capsys.readouterr()
    state = Untouched(here)
    code = main(command)
    shown = capsys.readouterr()
    state.check()
    assert shown.out == ""
    sentence = shown.err.partition("To go on, paste:\n")[0]
    assert sentence.startswith("aspca: ")
    assert sentence.endswith((".\n", "?\n"))
    assert sentence.count("\n") == 1
    assert shown.err.replace("\n", "").isprintable()
    assert "Traceback" not in shown.err
    assert "A fault of aspca" not in shown.err
    return code, sentence.removeprefix("aspca: ")[:-1]


def earlier_output(here: Path, name: str) -> None:
    """An output of an earlier run, which a run that fails may not touch."""
    with replaced_folder(here / f"{name}.aspca") as folder:
        (folder / "scores.csv").write_text("row,score,anomaly\n0,1.0,0\n")


def ids(cases: list[tuple]) -> list[str]:
    return [case[0] for case in cases]


@pytest.mark.parametrize(("name", "content", "options", "sentence"), UNREADABLE, ids=ids(UNREADABLE))
def test_unreadable(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    options: tuple[str, ...],
    sentence: str,
) -> None:
    (here / name).write_bytes(content)
    earlier_output(here, name)
    assert refused(here, capsys, ["detect", name, *options]) == (FAILURE, f"{name}: {sentence}")


@pytest.mark.parametrize(("name", "content", "options"), NOT_NUMBERS, ids=ids(NOT_NUMBERS))
def test_not_numbers(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, options: tuple[str, ...]
) -> None:
    (here / name).write_bytes(content)
    if name in ANSWERED:
        assert main(["detect", name, *options]) == 0
        assert "'a'" in capsys.readouterr().err
        return
    earlier_output(here, name)
    code, sentence = refused(here, capsys, ["detect", name, *options])
    assert name in sentence
    assert "'a'" in sentence or name in NOTHING_LEFT
    if name in WRONG_VALUES:
        assert "row 1" in sentence
    assert code == (FAILURE if name in WRONG_VALUES | NOTHING_LEFT else USAGE)


@pytest.mark.parametrize(("name", "content", "options", "code", "words"), UNFIT, ids=ids(UNFIT))
def test_unfit(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    options: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    (here / name).write_bytes(content)
    earlier_output(here, name)
    found, sentence = refused(here, capsys, ["detect", name, *options])
    assert words in sentence
    assert found == code


COMMANDS = {
    "fit": "fit {file} --model new.json",
    "fit over an old model": "fit {file} --model old.json",
    "score": "score {file} --model {model} --output new.csv",
    "score to stdout": "score {file} --model {model}",
    "explain": "explain {file} --model {model} --row 0",
    "select": "select {file}",
    "detect into a folder": "detect {file} --output out",
    "detect by a bad file": "detect good.csv --train {file}",
    "detect with a bad second file": "detect good.csv {file}",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
@pytest.mark.parametrize(
    "name",
    [
        "empty.csv",
        "cut.csv.gz",
        "open-quotes.csv",
        "long-rows.csv",
        "cut.parquet",
        "cut.feather",
        "cut.jsonl",
    ],
)
def test_every_command(here: Path, capsys: pytest.CaptureFixture[str], model: Path, command: str, name: str) -> None:
    (_, content, _, sentence) = next(case for case in UNREADABLE if case[0] == name)
    (here / name).write_bytes(content)
    (here / "good.csv").write_bytes(rows(20))
    (here / "old.json").write_bytes(model.read_bytes())
    words = command.format(file=name, model=model).split()
    assert refused(here, capsys, words) == (FAILURE, f"{name}: {sentence}")


@pytest.mark.promise
def test_late_in_a_file_to_be_scored(here: Path, capsys: pytest.CaptureFixture[str], model: Path) -> None:
    """What is wrong only after many rows were scored leaves the old scores as they were."""
    (here / "late.csv").write_bytes(rows(200_000) + b"1,1e200,3\n")
    (here / "scores.csv").write_text("old")
    command = ["score", "late.csv", "--model", str(model), "--output", "scores.csv"]
    code, sentence = refused(here, capsys, command)
    assert code == FAILURE
    assert "late.csv" in sentence
    assert "'b'" in sentence
    assert "row 200000" in sentence


@pytest.fixture
def special(here: Path) -> Iterator[dict[str, str]]:
    """Paths at which there is no file."""
    (here / "folder").mkdir()
    (here / "link.csv").symlink_to(here / "gone.csv")
    (here / "circle.csv").symlink_to(here / "circle.csv")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("socket")
    yield {
        "folder": "this is a directory",
        "nowhere.csv": "there is no such file",
        "*.parquet": "no file matches",
        "link.csv": "this link points to a file that is not there",
        "circle.csv": "cannot be opened",
        "/dev/null": "this is a device",
        "socket": "this is a device",
        "a\0b.csv": "NUL character",
        "x" * 5000: "there is no such file",
        "": "there is no such file",
    }
    listener.close()


@pytest.mark.promise
def test_no_file(here: Path, capsys: pytest.CaptureFixture[str], model: Path, special: dict[str, str]) -> None:
    for path, words in special.items():
        for command in (["detect", path], ["fit", path, "--model", "m.json"], ["score", path, "--model", str(model)]):
            code, sentence = refused(here, capsys, command)
            assert code == FAILURE
            assert words in sentence
            assert sentence.startswith(path.replace("\0", "\\x00"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything")
@pytest.mark.parametrize("what", ["file", "folder of the output"])
def test_no_permission(here: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    (here / "mine").mkdir()
    path = here / "mine" / "t.csv"
    path.write_bytes(rows(20))
    locked = path if what == "file" else path.parent
    locked.chmod(0o000 if what == "file" else 0o500)
    try:
        code = main(["detect", "mine/t.csv"])
    finally:
        locked.chmod(0o700)
    assert code == FAILURE
    assert "ermission" in capsys.readouterr().err
    assert os.listdir(path.parent) == ["t.csv"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "the file is empty"), (b"a,b\n1,2\n3,4,5\n", "row 1 (line 3) has 3 cells"), (b"PAR1", "cut short")],
    ids=["empty", "ragged", "parquet"],
)
def test_a_pipe(here: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str) -> None:
    os.mkfifo(here / "pipe")
    writer = threading.Thread(target=(here / "pipe").write_bytes, args=(content,))
    writer.start()
    capsys.readouterr()
    code = main(["detect", "pipe"])
    writer.join()
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err.count("\n")) == (FAILURE, "", 1)
    assert words in shown.err
    assert sorted(os.listdir(here)) == ["pipe"]


@pytest.mark.promise
@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("long-rows.csv", ("detect", "long-rows.csv"), FAILURE),
        ("bomb.csv.gz", ("detect", "bomb.csv.gz"), FAILURE),
        ("cut.parquet", ("fit", "cut.parquet", "--model", "m.json"), FAILURE),
        ("mixed.csv", ("detect", "mixed.csv"), USAGE),
        ("long.csv", ("select", "long.csv"), FAILURE),
    ],
)
def test_in_a_process_of_its_own(here: Path, name: str, arguments: tuple[str, ...], code: int) -> None:
    cases = {case[0]: case[1] for case in (*UNREADABLE, *NOT_NUMBERS)}
    (here / name).write_bytes(cases[name])
    done = subprocess.run(
        [sys.executable, "-m", "aspca", *arguments], cwd=here, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("aspca: ")
    assert done.stderr.partition("To go on, paste:\n")[0].count("\n") == 1
    assert name in done.stderr
    assert os.listdir(here) == [name]


def test_there_are_enough() -> None:
    assert len(UNREADABLE) + len(NOT_NUMBERS) + len(UNFIT) >= 60
