"""Scratch is private, goes with its owner, and the next run removes what killed ones left: theirs alone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from aspca.writers import scratch as module
from aspca.writers.scratch import CONTENT, MARK, PREFIX, Scratch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no folders")

# Keeps numbers in its scratch folder, says where, and waits.
OWNER = """
import sys
from aspca.writers.scratch import Scratch
with Scratch() as folder:
    (folder / "numbers").write_bytes(b"secret")
    print(folder, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(module, "_swept", set())
    return tmp_path


def left(folder: Path, name: str = f"{PREFIX}0123", mark: bytes | None = CONTENT) -> Path:
    path = folder / name
    path.mkdir()
    (path / "numbers").write_bytes(b"1")
    if mark is not None:
        (path / MARK).write_bytes(mark)
    return path


def test_private_and_gone(temporary: Path) -> None:
    before = os.umask(0)
    try:
        with Scratch() as folder:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert os.listdir(temporary) == [folder.name]
    finally:
        os.umask(before)
    assert os.listdir(temporary) == []


def test_what_a_killed_process_left_goes_with_the_next_and_a_living_ones_stays(temporary: Path) -> None:
    dead, living = (
        subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    folders = [Path(process.stdout.readline().strip()) for process in (dead, living)]
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    assert all((folder / "numbers").exists() for folder in folders)
    with Scratch() as ours:
        assert sorted(os.listdir(temporary)) == sorted([folders[1].name, ours.name])
    assert (folders[1] / "numbers").exists()
    living.communicate("\n")
    assert os.listdir(temporary) == []


def test_only_our_own(temporary: Path) -> None:
    others = [
        left(temporary, "aspca-thesis"),
        left(temporary, f"{PREFIX}1", mark=None),
        left(temporary, f"{PREFIX}2", mark=b"something else"),
        left(temporary, f"{PREFIX}3", mark=None),
    ]
    far = temporary / "far"
    far.mkdir()
    (far / "mark").write_bytes(CONTENT)
    (others[3] / MARK).symlink_to(far / "mark")
    (temporary / f"{PREFIX}4").symlink_to(left(temporary, "elsewhere"))
    (temporary / f"{PREFIX}5").write_bytes(CONTENT)
    ours, empty = left(temporary, f"{PREFIX}6"), temporary / f"{PREFIX}7"
    empty.mkdir()
    before = set(os.listdir(temporary))
    Scratch().close()
    assert before - set(os.listdir(temporary)) == {ours.name, empty.name}
    assert all((folder / "numbers").exists() for folder in others)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root has folders of others")
def test_not_another_users(temporary: Path) -> None:
    theirs = left(temporary)
    os.chown(theirs, 12345, 12345)
    Scratch().close()
    assert theirs.exists()


def test_a_fork_leaves_its_parents_folder(temporary: Path) -> None:
    scratch = Scratch()
    child = os.fork()
    if child == 0:
        scratch.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert scratch.path.exists()
    scratch.close()
    assert os.listdir(temporary) == []


def test_one_taken_for_a_leftover_is_made_anew(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, mkdtemp = [], tempfile.mkdtemp

    def taken(**options: str) -> str:
        made.append(mkdtemp(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", taken)
    with Scratch() as folder:
        assert str(folder) == made[1]
    assert os.listdir(temporary) == []
