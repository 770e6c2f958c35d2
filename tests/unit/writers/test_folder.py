"""A folder of outputs is the old one or the new one, and nobody else's folder is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspca.writers import folder as module
from aspca.writers import manifest
from aspca.writers.folder import place_of, replaced_folder
from aspca.writers.inputs import OutputError
from aspca.writers.replaced_file import replaced_file


def contents(path: Path) -> dict[str, str]:
    """What stands in the files of a folder, the mark left out."""
    return {file.name: file.read_text() for file in path.iterdir() if file.name != manifest.NAME}


def written(path: Path, **files: str) -> Path:
    """A folder of outputs."""
    with replaced_folder(path) as folder:
        for name, text in files.items():
            (folder / f"{name}.csv").write_text(text)
    return path


@pytest.fixture(params=["swap", "two steps"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "two steps":
        monkeypatch.setattr(module, "_swapped", lambda one, other: False)


@pytest.mark.usefixtures("system")
def test_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.aspca"
    with replaced_folder(target) as first:
        (first / "scores.csv").write_text("1")
        (first / "incidents.csv").write_text("1")
        assert not target.exists()
    with replaced_folder(target) as second:
        (second / "scores.csv").write_text("2")
        assert contents(target) == {"scores.csv": "1", "incidents.csv": "1"}
    assert contents(target) == {"scores.csv": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["out.aspca"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_is_raised_changes_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out"
    with replaced_folder(target) as first:
        (first / "scores.csv").write_text("1")

    def interrupted() -> None:
        with replaced_folder(target) as second:
            (second / "scores.csv").write_text("2")
            raise error

    with pytest.raises(error):
        interrupted()
    assert contents(target) == {"scores.csv": "1"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_swap_that_fails_puts_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    with replaced_folder(target) as first:
        (first / "scores.csv").write_text("1")
    rename = module.os.rename

    def refused(one: Path, other: Path) -> None:
        if other == target and one.name.endswith(".tmp"):
            raise OSError(5, "refused", str(other))
        rename(one, other)

    monkeypatch.setattr(module, "_swapped", lambda one, other: False)
    monkeypatch.setattr(module.os, "rename", refused)

    def replace() -> None:
        with replaced_folder(target) as second:
            (second / "scores.csv").write_text("2")

    with pytest.raises(OSError, match="refused"):
        replace()
    assert contents(target) == {"scores.csv": "1"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("strange", ["thesis.txt", "data.csv.aspca/thesis.txt", "sub/scores.csv", "scores.csv"])
def test_nobody_elses_folder_is_replaced(tmp_path: Path, strange: str) -> None:
    path = tmp_path / "mine" / strange
    path.parent.mkdir(parents=True)
    path.write_text("years of work")
    with pytest.raises(OutputError, match="would be replaced as a whole"), replaced_folder(tmp_path / "mine"):
        pytest.fail("it was offered")
    assert path.read_text() == "years of work"


def test_outputs_of_an_output_may_be_replaced(tmp_path: Path) -> None:
    written(tmp_path / "demo", data="1")
    inner = written(tmp_path / "demo" / "data.csv.aspca", scores="1")
    assert inner.is_dir()
    with replaced_folder(tmp_path / "demo") as folder:
        (folder / "data.csv").write_text("2")
    assert contents(tmp_path / "demo") == {"data.csv": "2"}


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    with replaced_folder(tmp_path / "near") as folder:
        (folder / "scores.csv").write_text("1")
    assert (tmp_path / "near").is_symlink()
    assert contents(tmp_path / "far") == {"scores.csv": "1"}


def test_where_no_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path, words in ((tmp_path / "file", "is no folder"), (tmp_path / "no" / "where", "there is no folder")):
        with pytest.raises(OutputError, match=words), replaced_folder(path):
            pytest.fail("it was offered")
    assert (tmp_path / "file").read_text() == "x"


def test_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x")
    assert place_of([str(path)]) == f"{path}.aspca"
    assert place_of([str(path), str(path)]) == place_of(["-"]) == place_of(["*.csv"]) == "output.aspca"


def test_one_file(tmp_path: Path) -> None:
    target = tmp_path / "scores.csv"
    target.write_text("old")
    target.chmod(0o640)

    def interrupted() -> None:
        with replaced_file(target) as stream:
            stream.write("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert contents(tmp_path) == {"scores.csv": "old"}
    with replaced_file(target) as stream:
        stream.write("new")
        assert target.read_text() == "old"
    assert contents(tmp_path) == {"scores.csv": "new"}
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("path", ["/dev/null", ".", "no/where.csv"])
def test_what_is_no_file_is_left_alone(path: str) -> None:
    with pytest.raises(OutputError), replaced_file(path):
        pytest.fail("it was offered")
