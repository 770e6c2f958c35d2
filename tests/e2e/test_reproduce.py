"""`aspca reproduce` as people run it: what is printed and written, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sklearn.datasets

from aspca.cli.main import main
from aspca.paper.run import EXPERIMENTS, run_experiments
from aspca.paper.tables import compare_parameters
from aspca.tables.errors import RequestError
from running.environment import blas


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where matplotlib keeps its list of fonts, which takes longer to make than a page."""
    return tmp_path_factory.mktemp("matplotlib")


def run(folder: Path, settings: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "aspca", "reproduce", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**blas(), "PATH": "", "COLUMNS": "100", "MPLCONFIGDIR": str(settings)},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


# The README's example writes such a folder as well.
@pytest.mark.long
def test_a_folder_and_a_document(tmp_path: Path, settings: Path) -> None:
    done = run(tmp_path, settings, "--only", "synthetic", "--out", "paper", "--json")
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "paper" / "reproduction.json").read_text(encoding="utf-8"))
    (section,) = document["sections"]
    assert section["name"] == "synthetic"
    page = (tmp_path / "paper" / "reproduction.html").read_text(encoding="utf-8")
    for part in section["parts"]:
        if part["kind"] == "figure":
            assert (tmp_path / "paper" / "figures" / f"{part['key']}.png").read_bytes().startswith(b"\x89PNG")
            assert b"<svg" in (tmp_path / "paper" / "figures" / f"{part['key']}.svg").read_bytes()
        else:
            assert part["title"] in page
    assert page.count("<img") == len(list((tmp_path / "paper" / "figures").glob("*.png")))
    assert done.stderr == "Wrote paper/.\n"


# The same section as above, which the README's example prints as well.
@pytest.mark.long
def test_a_page_in_the_terminal(tmp_path: Path, settings: Path) -> None:
    done = run(tmp_path, settings, "--only", "synthetic")
    assert "Sparsity of the loadings (Table 3)" in done.stdout
    assert "What differs" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].split() == ["Synthetic", "data", "40", "39", "21", "1"]
    assert done.stderr == ""
    assert list(tmp_path.glob("*.html")) == []


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["--only", "synthetic,moon"], "--only: there is no experiment 'moon'; there are synthetic, breast-cancer,", 2),
        (["--only", "synthetic", "--kdd99", "wrong.gz"], "--kdd99 names a file that --only leaves out", 2),
        (["--kdd99", "nowhere.gz"], "There is no file 'nowhere.gz'; get kddcup", 2),
        (["--kdd99", "wrong.gz"], "'wrong.gz' is not the 10 % file of KDD Cup 1999", 1),
        (["--kdd99", "half.gz"], "'half.gz' is damaged or only a part of a file", 1),
        (["--only", "synthetic", "--out", "missing/folder"], "there is no folder", 2),
        (["--only", "synthetic", "--out", "wrong.gz"], "is no folder, so outputs cannot be written there", 2),
        (["--only", "synthetic", "--out", "mine"], "would be replaced as a whole, but holds 'letter.txt'", 2),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.gz").write_text("no such records\n")
    (tmp_path / "half.gz").write_bytes(b"\x1f\x8b\x08\x00half of it")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    assert main(["reproduce", *arguments]) == code
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.promise
def test_without_kdd99_the_rest_is_done_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_kddcup99", fails)
    monkeypatch.setenv("ASPCA_DATA", str(tmp_path))
    # What is left out does not hang on what is shown of the rest.
    monkeypatch.setitem(EXPERIMENTS, "synthetic", replace(EXPERIMENTS["synthetic"], steps=(compare_parameters,)))
    found = run_experiments(("synthetic", "kdd99"))
    assert [section.name for section in found.sections] == ["synthetic"]
    (sentence,) = found.missing
    assert sentence.startswith("KDD99 is left out. KDD99 is not on this machine")
    assert "ASPCA_DATA" in sentence
    with pytest.raises(RequestError, match="could not fetch it"):
        run_experiments(("kdd99",))


@pytest.mark.long
def test_everything_twice_is_the_same(tmp_path: Path, settings: Path) -> None:
    """All experiments that there are data for, with every figure: the same bytes on a second run."""
    for name in ("first", "second"):
        run(tmp_path, settings, "--out", name)
    first, second = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("first", "second")
    )
    assert first == second
