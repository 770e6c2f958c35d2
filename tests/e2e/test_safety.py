"""Nothing of the user's is lost, read by others or shown: outputs, standard streams, databases, passwords, Markdown."""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aspca
from aspca import JobError
from aspca.cli.main import main

duckdb = pytest.importorskip("duckdb")


def rows(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    table["d"] = table["a"] + table["b"] + 0.01 * rng.normal(size=n)
    table.loc[7, "d"] += 3
    return table


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    rows().to_csv(folder / "in.csv", index=False)
    with contextlib.chdir(folder):
        assert main(["fit", "in.csv", "--model", "m.json", "--quiet"]) == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "here"
    shutil.copytree(made, place)
    monkeypatch.chdir(place)
    return place


def run(words: str | list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    given = words.split() if isinstance(words, str) else words
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **dict(options.get("env") or {})}
    return subprocess.run(
        [sys.executable, "-m", "aspca", *given],
        encoding="utf-8",
        timeout=120,
        check=False,
        **{**streams, "env": env},
    )


def sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that was said, and nothing on stdout."""
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("aspca: ")
    assert shown.err.count("\n") == 1
    return shown.err


# ---- what scores replace


def make_sqlite(path: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE history (a)")
        database.commit()


def make_duckdb(path: str) -> None:
    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE history (a INTEGER)")


def make_zip(path: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")


@pytest.mark.parametrize("name", ["hist.db", "hist.sqlite", "out.xlsx", "out.tsv", "out.csv.gz", "out", "out.json"])
def test_a_suffix_of_no_format_is_refused(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "in.csv", "-m", "m.json", "-o", name]) == 2
    said = sentence(capsys)
    assert all(suffix in said for suffix in (repr(name), ".csv", ".jsonl", ".parquet", ".arrow", ".duckdb"))
    assert not Path(name).exists()
    with pytest.raises(JobError, match=r"does not end in the suffix .* \.csv"):
        aspca.score_source("m.json", "in.csv", name)


@pytest.mark.parametrize("make", [make_sqlite, make_duckdb, make_zip])
@pytest.mark.parametrize("words", ["score in.csv -m m.json -o {}", "fit in.csv -m {}", "report m.json in.csv -o {}"])
def test_a_database_is_never_replaced_by_a_file(
    make: Callable[[str], None], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("old.csv", "old.parquet"):
        make(name)
        before = Path(name).read_bytes()
        assert main(words.format(name).split()) == 2
        assert f"{name!r} is a" in sentence(capsys)
        with pytest.raises(JobError, match="does not replace; name another"):
            aspca.score_source("m.json", "in.csv", name)
        assert Path(name).read_bytes() == before


def test_files_of_tables_are_replaced_and_databases_are_added_to(here: Path) -> None:
    for name in ("s.csv", "s.jsonl", "s.parquet", "s.arrow", "s.duckdb"):
        for _ in range(2):
            assert main(["score", "in.csv", "-m", "m.json", "-o", name, "--quiet"]) == 0
    make_duckdb("old.duckdb")
    assert main(["score", "in.csv", "-m", "m.json", "-o", "old.duckdb", "--quiet"]) == 0
    with duckdb.connect("old.duckdb") as database:
        assert database.execute("SELECT count(*) FROM scores").fetchone() == (60,)
        assert database.execute("SELECT count(*) FROM history").fetchone() == (0,)


def test_json_and_a_suffix_of_another_format_exclude_each_other(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "in.csv", "-m", "m.json", "--json", "-o", "s.csv"]) == 2
    assert "'s.csv' is to be a CSV file" in sentence(capsys)
    assert main(["score", "in.csv", "-m", "m.json", "--json", "-o", "s.jsonl", "--quiet"]) == 0


# ---- standard output that is an input

TO_STDOUT = [
    ("score in.csv -m m.json", "in.csv"),
    ("score in.csv -m m.json --json", "m.json"),
    ("score in*.csv -m m.json", "in.csv"),
    ("score - -m m.json", "in.csv"),
    ("detect in.csv --no-output", "in.csv"),
    ("detect in.csv --train other.csv --output out", "other.csv"),
    ("fit in.csv -m -", "in.csv"),
    ("fit in.csv -m new.json", "in.csv"),
    ("fit in.csv -m old.json", "old.json"),
    ("explain in.csv -m m.json --row 7", "m.json"),
    ("rules m.json --markdown", "m.json"),
    ("rules -", "m.json"),
    ("compare m.json old.json", "old.json"),
    ("report m.json in.csv --json", "in.csv"),
    ("select in.csv --resamples 0", "in.csv"),
]


@pytest.mark.parametrize(("words", "name"), TO_STDOUT, ids=[words for words, _ in TO_STDOUT])
def test_standard_output_is_no_input(
    words: str, name: str, here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for copy, original in (("other.csv", "in.csv"), ("old.json", "m.json")):
        shutil.copy(original, copy)
    os.link(name, "link")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    with open("link", "a", encoding="utf-8") as out, open(name, encoding="utf-8") as file:
        monkeypatch.setattr(sys, "__stdout__", out)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "__stdin__", file)
        monkeypatch.setattr(sys, "stdin", file)
        assert main(words.split()) == 2
    assert "Standard output goes to the file" in capfd.readouterr().err
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.promise
def test_as_a_shell_does_it(here: Path) -> None:
    before = Path("in.csv").read_bytes()
    with open("in.csv", "a", encoding="utf-8") as out:
        done = run("score in.csv -m m.json", stdout=out)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert Path("in.csv").read_bytes() == before
    with open("new.csv", "w", encoding="utf-8") as out:
        assert run("score in.csv -m m.json", stdout=out).returncode == 0
    assert len(Path("new.csv").read_text().splitlines()) == 61


# ---- databases that others made


def test_a_view_is_read_only_where_it_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ", ".join(f"x.a * {k} + sin(x.a * {k}) AS c{k}" for k in range(1, 4))
    view = f"CREATE VIEW v AS SELECT {columns} FROM (SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 5) AS x"  # noqa: S608
    with duckdb.connect("v.duckdb") as database:
        database.execute(view)
    with contextlib.closing(sqlite3.connect("v.sqlite")) as database:
        database.execute(view.replace("sin(x.a *", "abs(x.a -"))
        database.commit()
    for name in ("v.duckdb", "v.sqlite"):
        assert main(["detect", name, "--no-output"]) == 1
        said = sentence(capsys)
        assert "holds views only, 'v'" in said
        assert "--table" in said
        with pytest.raises(JobError, match="holds views only"):
            aspca.fit_source(name)
        assert len(aspca.detect(name, table="v", top=0).outcomes[None].model.names) > 0


def test_a_database_of_others_reads_no_file_of_ours(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("secret.txt").write_text("the-secret-of-this-machine")
    place = str(here / "secret.txt")
    views = {
        "text": f"SELECT content AS a, 1 AS b FROM read_text('{place}')",  # noqa: S608
        "lines": f"SELECT * FROM read_csv('{place}', header = false)",  # noqa: S608
        "names": f"SELECT file FROM glob('{here}/*')",  # noqa: S608
        "blob": f"SELECT content FROM read_blob('{place}')",  # noqa: S608
    }
    with duckdb.connect("v.duckdb") as database:
        for name, query in views.items():
            database.execute(f"CREATE VIEW {name} AS {query}")
    for name in views:
        assert main(["detect", "v.duckdb", "--table", name, "--ignore-text", "--no-output"]) == 1
        said = sentence(capsys)
        assert "the-secret" not in said
        assert "reads another file, which a database may not do" in said
    # Not by a query either, which may come with the file; whatever the file itself holds is read.
    query = f"SELECT length(content) AS a FROM read_text('{place}')"  # noqa: S608
    assert main(["detect", "v.duckdb", "--query", query, "--no-output"]) == 1
    assert "which a database may not do" in sentence(capsys)


def test_what_is_named_is_read_by_any_name(here: Path) -> None:
    odd = here / "odd [1]* '.d"
    odd.mkdir()
    table = rows()
    expected = list(aspca.score_source("m.json", table)["score"])
    table.to_csv(odd / "x [y]?.csv", index=False)
    (odd / "all [of]").mkdir()
    table.to_parquet(odd / "all [of]" / "part [0].parquet")
    with duckdb.connect(str(odd / "x ['z].db")) as database:
        database.register("found", table)
        database.execute("CREATE TABLE t AS SELECT * FROM found")
    os.symlink(odd, "link")
    os.symlink(odd / "x ['z].db", "link.db")
    files = [odd / "x [y]?.csv", odd / "all [of]" / "part [0].parquet", odd / "x ['z].db"]
    for name in (*files, "link.db", "link/x [y]?.csv", odd / "all [of]"):
        scores = aspca.score_source("m.json", str(name))["score"]
        assert list(scores) == expected, name


# ---- Markdown

HOSTILE = [
    "@root",
    "a@b.org",
    "#12",
    "owner/name#12",
    "GH-12",
    "!12",
    "https://evil.example/x",
    "_www.evil.example",
    "[link](https://evil.example)",
    "![picture](//evil.example/p.png)",
    "<img src=x>",
    "<https://evil.example>",
    "&#64;root",
    "x\n\n# head\n\n1. list",
    "mailto:a@b.org",
    "`code`",
]


@pytest.mark.promise
def test_nothing_in_markdown_acts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False, "html": True})
    for start in range(0, len(HOSTILE), 4):
        names = HOSTILE[start : start + 4]
        table = rows().set_axis(names, axis=1).assign(host=[HOSTILE[(start + row) % len(HOSTILE)] for row in range(60)])
        table.to_parquet("h.parquet")
        assert main(["fit", "h.parquet", "--id", "host", "-m", "h.json", "--quiet"]) == 0
        capsys.readouterr()
        assert main(["rules", "h.json", "--markdown"]) == 0
        assert main(["report", "h.json", "h.parquet", "--id", "host", "--format", "markdown", "--quiet"]) == 0
        page = markdown.render(capsys.readouterr().out)
        assert page.count("<h1>") == 1
        assert not re.search(r"<(a|img|ol)\b", page), page
        # Hosts look for these in the text of the page, but not in code.
        text = html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<code>.*?</code>", "", page)))
        assert not re.search(r"@\w|[#!]\d|GH-\d|://|www\.", text), text
        for name in names:
            assert re.sub(r"\W", "", name.split("\n")[0]) in re.sub(r"\W", "", text)


# ---- passwords


def in_frames(error: BaseException) -> str:
    """What a logger of tracebacks with the values of variables would show of our own frames."""
    shown, queue, seen = "", [error], set()
    while queue:
        one = queue.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        frame = one.__traceback__
        while frame is not None:
            if Path(frame.tb_frame.f_code.co_filename).is_relative_to(Path(aspca.__file__).parent):
                shown += repr(frame.tb_frame.f_locals)
            frame = frame.tb_next
        queue += [one.__cause__, one.__context__]
    return f"{shown} {error!r}"


PASSWORD = "S3cr3t-hunter2"  # noqa: S105  # of no server
ADDRESSES = (
    "postgresql://user:{}@127.0.0.1:1/db",
    "POSTGRESQL://user:{}@127.0.0.1:1/db",
    "postgresql:/user:{}@127.0.0.1:1/db",
    "postgresql:///user:{}@127.0.0.1:1/db",
    "postgres:user:{}@127.0.0.1:1/db",
    "Postgres:/user:{}@127.0.0.1:1/db",
    "postgressql://user:{}@127.0.0.1:1/db",
    "postgresql://user:{}",
    "postgresql://user@127.0.0.1:{}/db",
    "postgresql://user@127.0.0.1:1/db?password={}",
    "postgresql://user@127.0.0.1:1/db?passwort={}&sslmode=prefer",
    "mysql://user:{}@127.0.0.1/db",
    "mysql:/user:{}@127.0.0.1/db",
    "user:{}@127.0.0.1/db",
    "host=127.0.0.1 port=1 user=user password={} dbname=db",
    "host=127.0.0.1 port=1 password='{}'",
)
PLACES = (
    "detect {}",
    "detect in.csv --train {}",
    "detect in.csv -o {}",
    "detect in.csv --id {} --no-output",
    "detect in.csv --table {} --no-output",
    "detect in.csv --query {} --no-output",
    "detect in.csv --rule {} --no-output",
    "detect in.csv --transform {} --no-output",
    "detect in.csv --engine {} --no-output",
    "detect in.csv --level {} --no-output",
    "detect in.csv --top {} --no-output",
    "detect in.csv --missing {} --id host --no-output",
    "fit in.csv -m {}",
    "fit {} -m m.json",
    "score in.csv -m {}",
    "score in.csv -m m.json -o {}",
    "score in.csv -m m.json -o s.csv --output-table {}",
    "score {} -m m.json --table t",
    "explain in.csv -m {} --row 1",
    "explain in.csv -m m.json --row {}",
    "explain {} -m m.json --row 1",
    "report {} in.csv",
    "report m.json {}",
    "report m.json in.csv -o {}",
    "report m.json in.csv --format {}",
    "compare {} m.json",
    "compare m.json {}",
    "rules {}",
    "select {}",
    "reproduce --only {}",
    "--{}",
    "{}",
    "rules m.json {}",
)


def told(words: str, address: str, capsys: pytest.CaptureFixture[str], joined: bool = False) -> str:
    """All that a command with this address prints; with --option=value where `joined`."""
    given = [word.replace("{}", address) for word in words.split()]
    if joined:
        given = [
            f"{one}={other}" if one.startswith("--") and other == address else one
            for one, other in zip(given, [*given[1:], ""], strict=True)
            if one != address or not given[given.index(one) - 1].startswith("--")
        ]
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        main(given)
    shown = capsys.readouterr()
    return shown.out + shown.err


@pytest.mark.parametrize("place", range(len(PLACES)), ids=PLACES)
def test_no_password_is_shown_wherever_an_address_stands(
    place: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Every address in every other place: they are misspelt in different ways, but shown by the same code.
    for number, address in enumerate(ADDRESSES[place % 4 :: 4]):
        shown = told(PLACES[place], address.format(PASSWORD), capsys, joined=number % 2 == 1)
        assert "hunter2" not in shown, shown
        assert "S3cr3t" not in shown, shown
        assert "Traceback" not in shown


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.sampled_from(PLACES),
    address=st.sampled_from(ADDRESSES),
    password=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1),
)
def test_no_password_is_shown_whatever_it_is(
    here: Path, capsys: pytest.CaptureFixture[str], words: str, address: str, password: str
) -> None:
    # Marked, for a password such as "a" is part of many a word.
    secret = f"<{password}>"
    shown = told(words, address.format(secret), capsys)
    assert secret not in shown


def test_no_frame_of_an_error_holds_a_password(here: Path) -> None:
    # What follows is the name of a folder, if an odd one.
    for address in (one.format(PASSWORD) for one in ADDRESSES if not one.startswith("host")):
        for work in (
            lambda place: aspca.detect(place),
            lambda place: aspca.detect("in.csv", train=place),
            lambda place: aspca.detect("in.csv", output=place),
            lambda place: aspca.fit_source(place, table="t"),
            lambda place: aspca.score_source("m.json", place),
            lambda place: aspca.score_source("m.json", "in.csv", place),
            lambda place: aspca.score_source("m.json", "in.csv", out=place, out_table="t"),
        ):
            with pytest.raises(JobError) as caught:
                work(address)
            assert PASSWORD not in in_frames(caught.value)
            assert "\n" not in str(caught.value)


# ---- little memory, odd streams and locales


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits on address space")
@pytest.mark.parametrize(("name", "kilobytes"), [("in.csv", 100_000), ("in.csv", 300_000), ("in.arrow", 1_700_000)])
def test_little_address_space_is_named(name: str, kilobytes: int, here: Path) -> None:
    import resource

    rows().to_feather("in.arrow")
    limits = (kilobytes * 1024, resource.RLIM_INFINITY)
    done = run(
        ["detect", name, "--no-output", "--quiet"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits),
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert f"(ulimit -v) is {kilobytes:,} kB, but this needs" in done.stderr


@pytest.mark.parametrize("words", ["score in.csv -m m.json -o {}", "fit in.csv -m {}", "report m.json in.csv -o {}"])
def test_standard_output_has_one_name(words: str, here: Path) -> None:
    done = run(words.format("/dev/stdout"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "- for st" in done.stderr


@pytest.mark.promise
@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"},
    ],
    ids=str,
)
def test_any_locale_gives_the_same(env: dict[str, str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows().rename(columns={"d": "größe ☃"}).to_csv("dätei.csv", index=False)
    assert main(["detect", "dätei.csv", "--no-output", "--json", "--quiet"]) == 0
    expected = json.loads(capsys.readouterr().out)
    done = run("detect dätei.csv -o öut --json", env=env)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Names of files are shown as that locale has them.
    assert {**found, "source": expected["source"], "output": None} == expected
    assert "größe ☃" in found["features"]
    assert Path("öut/report.html").exists()


def test_a_path_that_is_no_text_is_a_sentence(here: Path) -> None:
    try:
        shutil.copy("in.csv", b"\xe4.csv")
    except OSError:
        pytest.skip("names are text here")
    done = run(["detect", os.fsdecode(b"\xe4.csv"), "--no-output"])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "not in UTF-8" in done.stderr
