"""A write that fails, or is killed, leaves the old file whole."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aspca.writers.replaced_file
from aspca import ASPCA
from aspca.estimators.stored import load, save
from aspca.writers.replaced_file import replace_file


class FullDisk:
    """A stream that takes half of what is written, and then has no room."""

    def __init__(self, descriptor: int, mode: str) -> None:
        self.stream = os.fdopen(descriptor, mode)

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def write(self, data: bytes) -> int:
        self.stream.write(data[: len(data) // 2])
        self.stream.flush()
        raise OSError(errno.ENOSPC, "No space left on device")


def refuse(number: int) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture
def old(fitted: ASPCA, tmp_path: Path) -> Path:
    save(fitted, tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.mark.parametrize("failure", ["full disk", "replace", "fsync", "open", "interrupt"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    failure: str, old: Path, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = old.read_bytes()
    model = ASPCA(n_components=2).fit(table)
    expected: type[BaseException] = OSError
    if failure == "full disk":
        monkeypatch.setattr(aspca.writers.replaced_file, "open", FullDisk, raising=False)
    elif failure == "interrupt":
        expected = KeyboardInterrupt

        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
    else:
        monkeypatch.setattr(os, failure, refuse(errno.EIO))
    with pytest.raises(expected):
        save(model, old)
    monkeypatch.undo()
    assert old.read_bytes() == before
    assert os.listdir(old.parent) == ["model.json"]
    # And with room again it works.
    save(model, old)
    assert load(old).n_components_ == 2
    assert os.listdir(old.parent) == ["model.json"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written_to(old: Path, table: pd.DataFrame) -> None:
    before = old.read_bytes()
    old.parent.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            save(ASPCA(n_components=2).fit(table), old)
        assert old.read_bytes() == before
    finally:
        old.parent.chmod(0o700)


def test_a_directory_that_is_not_there(fitted: ASPCA, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(fitted, tmp_path / "nowhere" / "model.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_killed_write_leaves_the_old_file_whole(moment: str, old: Path, table: pd.DataFrame) -> None:
    before = old.read_bytes()
    code = (
        "import os, signal, sys; from aspca.writers.replaced_file import replace_file; "
        f"os.{moment} = lambda *a: os.kill(os.getpid(), signal.SIGKILL); "
        "replace_file(sys.argv[1], b'half')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(old)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert old.read_bytes() == before
    # The dead process could not tidy up; what it left does not stand in the way of the next.
    left = [name for name in os.listdir(old.parent) if name != "model.json"]
    assert all(name.startswith(".model.json.") and name.endswith(".tmp") for name in left)
    replace_file(old, b"new")
    assert old.read_bytes() == b"new"


def test_everything_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(descriptor: int) -> None:
        mode = os.fstat(descriptor)
        done.append("directory" if stat.S_ISDIR(mode.st_mode) else f"file of {mode.st_size}")
        fsync(descriptor)

    def recorded_replace(source: str, target: str) -> None:
        done.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    replace_file(tmp_path / "file", b"12345")
    assert done == ["file of 5", "name", "directory"]


def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.touch()
    replace_file(ours, b"")
    assert ours.stat().st_mode == plain.stat().st_mode


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, tmp_path):
        with pytest.raises(OSError, match="no regular file, so it cannot be replaced"):
            replace_file(target, b"new")
    assert pipe.is_fifo()
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]
