"""Files that look bad but have a sensible answer: the rule of the table, and the row that breaks it."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.cli.main import main
from aspca.identities import Identity

ROW = 17


def frame() -> pd.DataFrame:
    """30 rows in which b = 2 a, exactly but for row 17; c is anything."""
    rng = np.random.default_rng(3)
    a = rng.integers(-20, 20, size=30) / 4
    made = pd.DataFrame({"a": a, "b": 2 * a, "c": rng.integers(0, 50, size=30) / 8})
    made.loc[ROW, "b"] += 3
    return made


def text(**options: object) -> str:
    return frame().to_csv(index=False, **options)  # type: ignore[call-overload]


def lines() -> str:
    return frame().to_json(orient="records", lines=True)


# name, bytes, options, names of the three columns
CASES: list[tuple[str, bytes, tuple[str, ...], tuple[str, str, str]]] = [
    ("plain.csv", text().encode(), (), ("a", "b", "c")),
    ("mark.csv", codecs.BOM_UTF8 + text().encode(), (), ("a", "b", "c")),
    ("utf16.csv", text().encode("utf-16"), (), ("a", "b", "c")),
    ("utf32.csv", text().encode("utf-32"), (), ("a", "b", "c")),
    ("utf16-bare.csv", text().encode("utf-16-le"), ("--encoding", "utf-16-le"), ("a", "b", "c")),
    (
        "latin.csv",
        text(header=["höhe", "länge", "breite"]).encode("latin-1"),
        ("--encoding", "latin-1"),
        ("höhe", "länge", "breite"),
    ),
    ("windows.csv", text(lineterminator="\r\n").encode(), (), ("a", "b", "c")),
    ("mac.csv", text(lineterminator="\r").encode(), (), ("a", "b", "c")),
    ("unended.csv", text().encode().rstrip(), (), ("a", "b", "c")),
    ("blank-lines.csv", text().replace("\n", "\n\n").encode(), (), ("a", "b", "c")),
    ("excel.csv", ("sep=;\n" + text(sep=";", decimal=",")).encode(), (), ("a", "b", "c")),
    ("comma.csv", text(sep=";", decimal=",").encode(), (), ("a", "b", "c")),
    ("tabs.tsv", text(sep="\t").encode(), (), ("a", "b", "c")),
    ("bars.txt", text(sep="|").encode(), (), ("a", "b", "c")),
    ("hash.txt", text(sep="#").encode(), ("--delimiter", "#"), ("a", "b", "c")),
    ("tab-said.txt", text(sep="\t").encode(), ("--delimiter", "\\t"), ("a", "b", "c")),
    ("quoted.csv", text(quoting=1).encode(), (), ("a", "b", "c")),
    ("no-header.csv", text(header=False).encode(), (), ("column_1", "column_2", "column_3")),
    ("years.csv", text(header=["2019", "2020", "2021"]).encode(), ("--header",), ("2019", "2020", "2021")),
    ("blank-name.csv", text(header=["", "b", "c"]).encode(), (), ("column_1", "b", "c")),
    ("same-but-case.csv", text(header=["A", "a", "c"]).encode(), (), ("A", "a", "c")),
    ("no-suffix", text().encode(), (), ("a", "b", "c")),
    ("wrong-suffix.parquet.csv", text().encode(), (), ("a", "b", "c")),
    ("packed.csv.gz", gzip.compress(text().encode()), (), ("a", "b", "c")),
    ("hidden-gzip.csv", gzip.compress(text().encode()), (), ("a", "b", "c")),
    ("lines.jsonl", lines().encode(), (), ("a", "b", "c")),
    ("packed.jsonl.gz", gzip.compress(lines().encode()), (), ("a", "b", "c")),
    ("brackets[1].csv", text().encode(), (), ("a", "b", "c")),
    ("so many spaces.csv", text().encode(), (), ("a", "b", "c")),
    ("--quiet.csv", text().encode(), (), ("a", "b", "c")),
]


def parquet(path: Path) -> None:
    frame().to_parquet(path, index=False)


def feather(path: Path) -> None:
    frame().to_feather(path)


def answered(capsys: pytest.CaptureFixture[str], words: list[str], names: tuple[str, str, str]) -> None:
    """The command finds the rules that `ASPCA` finds in the table, and the row that breaks the one of two columns."""
    capsys.readouterr()
    assert main(["detect", "--json", "--output", "out", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    known = frame().set_axis(names, axis=1)
    # As `detect` learns from the file that it judges.
    model = ASPCA(robust="on").fit(known)
    assert told["features"] == list(names)
    assert told["n_rows"] == 30
    assert [rule["text"] for rule in told["rules"]] == [str(rule) for rule in model.rules_]
    for rule, expected in zip(told["rules"], model.rules_, strict=True):
        if isinstance(expected, Identity):
            assert rule["features"] == list(expected.features)
            assert (rule["n_satisfied"], rule["n_violated"]) == (expected.n_kept, expected.n_broken)
        else:
            np.testing.assert_allclose(rule["coefficients"], expected.coefficients, rtol=1e-9)
    worst = told["anomalies"][0]
    assert worst["row"] == ROW
    assert worst["score"] == pytest.approx(-model.score_samples(known)[ROW], rel=1e-9)
    # The value that was made wrong is the first to be blamed.
    assert list(worst["breaks"][0]["needed"]) == [names[1], names[0]]
    assert worst["breaks"][0]["needed"][names[1]]["is"] == known[names[1]][ROW]
    # And what it was is told.
    assert worst["repair"] == {names[1]: [known[names[1]][ROW], 2.0 * known[names[0]][ROW]]}


@pytest.mark.parametrize(("name", "content", "options", "names"), CASES, ids=[case[0] for case in CASES])
def test_text(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    options: tuple[str, ...],
    names: tuple[str, str, str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    answered(capsys, [*options, "--", name], names)
    assert sorted(os.listdir()) == sorted([name, "out"])


@pytest.mark.parametrize(
    ("write", "name"),
    [(parquet, "table.parquet"), (parquet, "table.dat"), (feather, "table.feather"), (feather, "table.dat")],
)
def test_binary(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    write: Callable[[Path], None],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name)
    answered(capsys, [name], ("a", "b", "c"))


def test_several_files_and_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, part in enumerate((frame()[:10], frame()[10:20][["c", "a", "b"]], frame()[20:])):
        part.to_csv(f"part{number}.csv", index=False)
    answered(capsys, ["part0.csv", "part1.csv", "part2.csv"], ("a", "b", "c"))
    answered(capsys, ["part*.csv"], ("a", "b", "c"))


def test_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(text().encode(),))
    writer.start()
    answered(capsys, ["pipe"], ("a", "b", "c"))
    writer.join()


def test_five_thousand_columns_of_which_three_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame().to_csv("narrow.csv", index=False)
    others = pd.DataFrame(np.zeros((30, 4997)), columns=[f"x{k}" for k in range(4997)])
    pd.concat([others, frame()], axis=1).to_csv("wide.csv", index=False)
    assert main(["fit", "narrow.csv", "--model", "m.json", "--quiet"]) == 0
    capsys.readouterr()
    shown = []
    for name in ("narrow.csv", "wide.csv"):
        assert main(["score", name, "--model", "m.json"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
