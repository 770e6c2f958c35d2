"""A folder of outputs is the old one or the new one, ours by the manifest inside, and nobody else's is touched."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from aspca.writers import folder as module
from aspca.writers.folder import FIRST_LINE, MANIFEST, choose_output_folder, replaced_folder
from aspca.writers.replaced_file import OutputError, replaced_file


def written(path: Path, text: str = "1") -> Path:
    with replaced_folder(path) as folder:
        (folder / "scores.csv").write_text(text)
        (folder / "category-000").mkdir()
        (folder / "category-000" / "model.json").write_text(text)
    return path


def all_of(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def contents(path: Path) -> dict[str, str]:
    """What stands in the files of a folder, the manifest left out."""
    return {file.name: file.read_text() for file in path.iterdir() if file.is_file() and file.name != MANIFEST}


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
    written(target)

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
    written(target)
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


@pytest.mark.parametrize("strange", ["thesis.txt", "data.csv.aspca/thesis.txt"])
def test_nobody_elses_folder_is_replaced(tmp_path: Path, strange: str) -> None:
    path = tmp_path / "mine" / strange
    path.parent.mkdir(parents=True)
    path.write_text("years of work")
    with pytest.raises(OutputError, match="would be replaced as a whole"), replaced_folder(tmp_path / "mine"):
        pytest.fail("it was offered")
    assert path.read_text() == "years of work"


def test_outputs_of_an_output_may_be_replaced(tmp_path: Path) -> None:
    written(tmp_path / "demo")
    inner = written(tmp_path / "demo" / "data.csv.aspca")
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
    assert choose_output_folder([str(path)]) == f"{path}.aspca"
    assert (
        choose_output_folder([str(path), str(path)])
        == choose_output_folder(["-"])
        == choose_output_folder(["*.csv"])
        == "output.aspca"
    )


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


# ---- the manifest


def test_what_the_manifest_says(tmp_path: Path) -> None:
    out = written(tmp_path / "out")
    first, *lines = (out / MANIFEST).read_text().splitlines()
    assert first == FIRST_LINE
    digest = hashlib.sha256(b"1").hexdigest()
    assert lines == [f"{digest}  category-000/model.json", f"{digest}  scores.csv"]


def test_names_alone_are_not_enough(tmp_path: Path) -> None:
    """A folder of somebody's that holds only files named like ours."""
    (tmp_path / "plant").mkdir()
    for name in ("data.csv", "scores.csv", "model.json"):
        (tmp_path / "plant" / name).write_text("years of work")
    before = all_of(tmp_path)
    with pytest.raises(OutputError, match=r"and not the mark \.aspca-output that aspca leaves"):
        written(tmp_path / "plant")
    assert all_of(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("thesis.txt", "holds 'thesis.txt', which is no output"),
        # Named like one of ours, but not among what was written.
        ("data.csv", "holds 'data.csv', which is no output"),
        ("category-000/data.csv", "holds 'category-000/data.csv', which is no output"),
        ("category-001/model.json", "holds 'category-001', which is no output"),
        # Somebody's remarks on what was written.
        ("scores.csv", "holds 'scores.csv', which was changed since"),
        ("category-000/model.json", "holds 'category-000/model.json', which was changed since"),
    ],
)
def test_what_others_put_into_our_folder_stays(tmp_path: Path, name: str, why: str) -> None:
    out = written(tmp_path / "out")
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("years of work")
    before = all_of(tmp_path)
    with pytest.raises(OutputError, match=why):
        written(out, "2")
    assert all_of(tmp_path) == before


def test_links_and_pipes_are_not_ours(tmp_path: Path) -> None:
    for make in (lambda path: path.symlink_to(tmp_path), os.mkfifo):
        out = written(tmp_path / "out")
        (out / "scores.csv").unlink()
        make(out / "scores.csv")
        with pytest.raises(OutputError, match="which is no output"):
            written(out, "2")
        (out / "scores.csv").unlink()


@pytest.mark.parametrize("content", [b"", b"mine\n", b"\xff\xfe", None])
def test_no_mark_of_ours(tmp_path: Path, content: bytes | None) -> None:
    out = written(tmp_path / "out")
    if content is None:
        (tmp_path / "far").write_bytes((out / MANIFEST).read_bytes())
        (out / MANIFEST).unlink()
        (out / MANIFEST).symlink_to(tmp_path / "far")
    else:
        (out / MANIFEST).write_bytes(content)
    with pytest.raises(OutputError, match="not the mark"):
        written(out, "2")
    assert (out / "scores.csv").read_text() == "1"


@pytest.mark.parametrize("swaps", [True, False])
def test_what_comes_in_the_meantime_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swaps: bool) -> None:
    if not swaps:
        monkeypatch.setattr(module, "_swapped", lambda one, other: False)
    out = written(tmp_path / "out")

    def replace() -> None:
        with replaced_folder(out) as folder:
            (folder / "scores.csv").write_text("2")
            (out / "thesis.txt").write_text("years of work")

    with pytest.raises(OutputError, match=f"'{out}' would be replaced as a whole, but holds 'thesis.txt'"):
        replace()
    assert (out / "thesis.txt").read_text() == "years of work"
    assert (out / "scores.csv").read_text() == "1"
    assert os.listdir(tmp_path) == ["out"]


def test_modes_are_kept(tmp_path: Path) -> None:
    """A folder written under umask 077 stays private, and so do its files; a new one has what the process gives."""
    before = os.umask(0o077)
    try:
        out = written(tmp_path / "out")
        os.umask(0o022)
        with replaced_folder(out) as folder:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            for name in ("scores.csv", "new.csv"):
                (folder / name).write_text("2")
        other = written(tmp_path / "other")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (out, *out.iterdir(), other, *other.iterdir())}
    assert modes["out"] == 0o700
    assert modes["scores.csv"] == 0o644
    assert stat.S_IMODE((out / "scores.csv").stat().st_mode) == 0o600
    assert stat.S_IMODE((out / "new.csv").stat().st_mode) == 0o644
    assert (modes["other"], modes["category-000"]) == (0o755, 0o755)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_owners_are_kept(tmp_path: Path) -> None:
    out = written(tmp_path / "out")
    os.chown(out, 1234, 1234)
    os.chown(out / "scores.csv", 1234, 1234)
    written(out, "2")
    assert out.stat().st_uid == (out / "scores.csv").stat().st_gid == 1234


def test_what_was_left_by_name_alone_stays(tmp_path: Path) -> None:
    left = tmp_path / ".out.0123456789abcdef.tmp"
    left.mkdir()
    (left / "thesis.txt").write_text("years of work")
    written(tmp_path / "out")
    assert (left / "thesis.txt").exists()


def test_roots_are_not_replaced() -> None:
    with pytest.raises(OutputError, match="cannot be replaced as a whole"):
        module.refuse_foreign("/")
