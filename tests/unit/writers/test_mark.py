"""A folder is ours by the mark inside, and only what we wrote into it goes with it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from aspca.writers import folder as module
from aspca.writers import manifest
from aspca.writers.folder import replaced_folder
from aspca.writers.inputs import OutputError


def written(path: Path, text: str = "1") -> Path:
    with replaced_folder(path) as folder:
        (folder / "scores.csv").write_text(text)
        (folder / "category-000").mkdir()
        (folder / "category-000" / "model.json").write_text(text)
    return path


def all_of(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_what_the_mark_says(tmp_path: Path) -> None:
    out = written(tmp_path / "out")
    first, *lines = (out / manifest.NAME).read_text().splitlines()
    assert first == manifest.FIRST_LINE
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
        (tmp_path / "far").write_bytes((out / manifest.NAME).read_bytes())
        (out / manifest.NAME).unlink()
        (out / manifest.NAME).symlink_to(tmp_path / "far")
    else:
        (out / manifest.NAME).write_bytes(content)
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
