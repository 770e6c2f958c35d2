"""stdout is data, stderr is talk: on a terminal lines fit and progress is shown, through pipes only data come out."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from aspca.cli.main import main

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
FILE, MODEL, OTHER, SMALL = "aspca-demo/data.csv", "aspca-demo/model.json", "other.json", "small.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    with contextlib.chdir(folder):
        assert main(["demo", "--quiet"]) == 0
        assert main(["fit", FILE, "--label", "kind", "--model", OTHER, "--n-components", "2", "--quiet"]) == 0
        lines = [f"{i},{2 * i + i % 3},{i * i % 7},{int(i % 9 == 4)}" for i in range(30)]
        Path(SMALL).write_text("\n".join(["a,b,c,bad", *lines]))
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def said(capsys: pytest.CaptureFixture[str], words: str) -> tuple[str, str]:
    """What a command writes to stdout and to stderr."""
    capsys.readouterr()
    assert main(words.split()) == 0
    shown = capsys.readouterr()
    return shown.out, shown.err


def refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def strict_json(text: str) -> object:
    """As every other language reads it: no NaN, no Infinity, no key twice."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=once)


JSON = [
    f"detect {FILE} --label kind --no-output --json",
    f"detect {FILE} --ignore kind --time E --no-output --json",
    f"fit {FILE} --label kind --model new.json --json",
    f"explain {FILE} --model {MODEL} --row 3 --row 512 --json",
    f"rules {MODEL} --json",
    f"select {SMALL} --label bad --resamples 2 --json",
    f"compare {MODEL} {OTHER} --json",
    f"fit {FILE} --label kind --model -",
]
CSV = [
    (f"detect {FILE} --label kind --no-output --csv", {"row", "score", "rule", "feature", "needed"}),
    (f"score {FILE} --model {MODEL}", {"row", "score", "anomaly"}),
    (f"select {SMALL} --label bad --resamples 2 --csv", {"curve", "n_components", "alpha", "auc"}),
]


@pytest.mark.promise
@pytest.mark.parametrize("words", JSON, ids=[words.partition(" ")[0] for words in JSON])
def test_json(here: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    out, err = said(capsys, words)
    document = strict_json(out)
    assert document
    # Sentences, and none of the data.
    assert "{" not in err
    assert all(line.endswith((".", "/.")) for line in err.splitlines())


@pytest.mark.promise
@pytest.mark.parametrize(("words", "columns"), CSV, ids=[words.partition(" ")[0] for words, _ in CSV])
def test_csv(here: Path, capsys: pytest.CaptureFixture[str], words: str, columns: set[str]) -> None:
    out, err = said(capsys, words)
    lines = list(csv.reader(io.StringIO(out)))
    assert columns <= set(lines[0])
    assert len(lines) > 10
    assert {len(line) for line in lines} == {len(lines[0])}
    assert "," not in err.replace(", ", "")


@pytest.mark.promise
def test_json_lines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, f"score {FILE} --model {MODEL} --json")
    documents = [strict_json(line) for line in out.splitlines()]
    assert [one["row"] for one in documents] == list(range(515))


# Those without --quiet have nothing to say.
TALKERS = [words for words in (*JSON, *(words for words, _ in CSV)) if not words.startswith(("rules", "compare"))]


@pytest.mark.parametrize("words", TALKERS)
def test_quiet_is_quiet(here: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    aloud, _ = said(capsys, words)
    out, err = said(capsys, f"{words} --quiet")
    assert err == ""
    assert out == aloud


@cache
def on_terminal(here: Path, words: str, width: int) -> str:
    """All that a terminal of some width is sent; the same command is not run again."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    environment["TERM"] = "xterm-256color"
    with subprocess.Popen(
        [sys.executable, "-m", "aspca", *words.split()],
        cwd=here,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        parts = []
        # Linux ends a terminal that nobody writes to any more with an error.
        while part := _read(ours):
            parts.append(part)
        assert process.wait() == 0
    os.close(ours)
    return b"".join(parts).decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


SHOWN = {
    "demo": "demo",
    "detect": f"detect {FILE} --label kind --time E --no-output",
    "fit": f"fit {FILE} --label kind --model shown.json",
    "score": f"score {FILE} --model {MODEL} --output shown.csv",
    "explain": f"explain {FILE} --model {MODEL} --row 512",
    "rules": f"rules {MODEL}",
    "select": f"select {SMALL} --label bad --resamples 2",
    "compare": f"compare {MODEL} {OTHER}",
}


@pytest.mark.parametrize(
    ("command", "width"), [*((command, 80) for command in SHOWN), ("detect", 140), ("explain", 140)]
)
def test_lines_fit_the_terminal(here: Path, command: str, width: int) -> None:
    shown = on_terminal(here, SHOWN[command], width)
    plain = COLOURS.sub("", shown)
    assert plain.strip()
    assert max(map(len, re.split(r"[\r\n]+", plain))) <= width
    # The cursor that progress hides is back.
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h")


@pytest.mark.parametrize("command", ["detect", "score"])
def test_progress_is_shown_and_gone(here: Path, command: str) -> None:
    shown = on_terminal(here, SHOWN[command], 80)
    last = shown.rindex("rows/s")
    assert " left" in shown[last : last + 60]
    # Rows are told and their line is erased before anything else is printed.
    assert "\x1b[2K" in shown[last:]
    assert "rows/s" not in COLOURS.sub("", shown[shown.rindex("\x1b[2K") :])


@pytest.mark.promise
def test_a_process_of_its_own_with_pipes(here: Path) -> None:
    for words in (SHOWN["score"], JSON[0]):
        done = subprocess.run(
            [sys.executable, "-m", "aspca", *words.split()], cwd=here, capture_output=True, text=True, check=True
        )
        assert "\x1b" not in done.stderr
        assert "rows/s" not in done.stderr
        if done.stdout:
            strict_json(done.stdout)


HOSTILE = ["\x1b]0;title\x1b\\\x1b[31mred", "\x9b31mred", "\u202egnihton", "\x7fback"]
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(here: Path) -> Path:
    """A file whose ids would act on a terminal, and a model for it, all rows of which are anomalies."""
    rows = [f'{i},{2 * i + i % 3},"{HOSTILE[i % len(HOSTILE)]}"' for i in range(30)]
    (here / "hostile.csv").write_text("\n".join(["a,b,who", *rows]), newline="")
    command = "fit hostile.csv --ignore who --model hostile.json --quiet --limit 1e-9"
    assert main(command.split()) == 0
    return here


@pytest.mark.promise
def test_cells_do_not_act_on_a_terminal(hostile: Path) -> None:
    for words in (
        "score hostile.csv --model hostile.json --id who",
        "score hostile.csv --model hostile.json --id who --json",
        "detect hostile.csv --id who --no-output --csv --limit 1e-9 --quiet",
        "explain hostile.csv --model hostile.json --id who --row 0 --row 2 --json",
    ):
        shown = on_terminal(hostile, words, 200)
        # What is typed in a row of progress is ours.
        assert not ACTIVE.search(COLOURS.sub("", shown.replace("\r\n", "\n")).replace("\r", "")), words
        assert "gnihton" in shown or "--row" in words
        assert "]0;title" in shown
        assert "\x1b]" not in shown


@pytest.mark.promise
def test_cells_are_exact_in_a_pipe(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "score hostile.csv --model hostile.json --id who")
    lines = list(csv.reader(io.StringIO(out, newline="")))[1:]
    assert [line[1] for line in lines] == [HOSTILE[i % len(HOSTILE)] for i in range(30)]
    out, _ = said(capsys, "score hostile.csv --model hostile.json --id who --json")
    assert [json.loads(line)["who"] for line in out.splitlines()] == [HOSTILE[i % len(HOSTILE)] for i in range(30)]
    # JSON escapes them everywhere: it says the same.
    assert not ACTIVE.search(out)
