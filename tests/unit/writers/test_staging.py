"""What killed processes left beside a target goes with the next write; what living ones are at work on stays."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aspca.writers import staging
from aspca.writers.folder import replaced_folder, write_manifest
from aspca.writers.replaced_file import replace_file, replaced_bytes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no folders")

# Writes half of a file beside its target, says where, and waits.
WRITER = """
import os, sys
from aspca.writers.replaced_file import replaced_bytes
with replaced_bytes(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print(*sorted(os.listdir()), flush=True)
    sys.stdin.readline()
    stream.write(b" and half")
"""


@contextlib.contextmanager
def writer(folder: Path) -> subprocess.Popen[str]:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, "file"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def hidden(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


def test_the_next_write_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    with writer(tmp_path) as killed:
        assert killed.stdout is not None
        (left,) = killed.stdout.readline().split()
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert hidden(tmp_path) == [left]
    # Another target is no reason to touch it.
    replace_file(tmp_path / "other", b"1")
    assert hidden(tmp_path) == [left]
    replace_file(tmp_path / "file", b"2")
    assert hidden(tmp_path) == []


def test_what_somebody_is_at_work_on_stays(tmp_path: Path) -> None:
    with writer(tmp_path) as alive:
        assert alive.stdout is not None
        assert alive.stdin is not None
        (theirs,) = alive.stdout.readline().split()
        replace_file(tmp_path / "file", b"ours")
        assert hidden(tmp_path) == [theirs]
        alive.stdin.write("\n")
        alive.stdin.flush()
        assert alive.wait() == 0
    assert (tmp_path / "file").read_bytes() == b"half and half"
    assert hidden(tmp_path) == []


def test_until_the_name_is_taken_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last byte and the new name nobody may remove it either."""
    replace = os.replace

    def replace_late(source: str, target: str) -> None:
        monkeypatch.setattr(os, "replace", replace)
        replace_file(target, b"another, in between")
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_late)
    replace_file(tmp_path / "file", b"ours")
    assert (tmp_path / "file").read_bytes() == b"ours"
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("taken", ["before it is locked", "while it is locked"])
def test_one_taken_for_a_leftover_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str) -> None:
    """Another process may come between the making of the file and its lock; then there is a second file."""
    lock, times = staging.fcntl.flock, []

    def lock_late(descriptor: int, how: int) -> None:
        times.append(how)
        if len(times) == 1:
            (path,) = (tmp_path / name for name in hidden(tmp_path))
            path.unlink()
            if taken == "while it is locked":
                raise BlockingIOError
        lock(descriptor, how)

    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    monkeypatch.setattr(staging.fcntl, "flock", lock_late)
    replace_file(tmp_path / "file", b"ours")
    monkeypatch.undo()
    assert len(times) == 2
    assert (tmp_path / "file").read_bytes() == b"ours"
    assert os.listdir(tmp_path) == ["file"]
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_where_nothing_can_be_locked_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / ".file.0123456789abcdef.tmp"
    left.touch()

    def refused(descriptor: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(staging.fcntl, "flock", refused)
    replace_file(tmp_path / "file", b"ours")
    assert (tmp_path / "file").read_bytes() == b"ours"
    assert left.exists()


def test_only_our_own_names_are_touched(tmp_path: Path) -> None:
    others = [".file.tmp", ".file.0123.tmp", ".file.0123456789abcdeF.tmp", "file.0123456789abcdef.tmp"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".file.1111111111111111.tmp").symlink_to(tmp_path / ".file.tmp")
    (tmp_path / ".file.2222222222222222.tmp").mkdir()
    os.mkfifo(tmp_path / ".file.3333333333333333.tmp")
    (tmp_path / ".file.4444444444444444.tmp").touch()
    replace_file(tmp_path / "file", b"ours")
    assert set(os.listdir(tmp_path)) == {
        *others,
        "file",
        ".file.1111111111111111.tmp",
        ".file.2222222222222222.tmp",
    }


@pytest.mark.parametrize("name", ["x" * 255, "\u6c17" * 85, "\U0001f321" * 63])
def test_the_longest_names(tmp_path: Path, name: str) -> None:
    with replaced_bytes(tmp_path / name) as stream:
        (beside,) = hidden(tmp_path)
        assert len(os.fsencode(beside)) <= 255
        stream.write(b"1")
    assert os.listdir(tmp_path) == [name]


def test_a_folder_that_was_left_goes_and_one_in_work_stays(tmp_path: Path) -> None:
    left = tmp_path / ".out.0123456789abcdef.tmp"
    left.mkdir()
    write_manifest(left)
    (left / "scores.csv").write_text("half")
    # Killed while it wrote a file into its folder.
    (left / ".model.json.0123456789abcdef.tmp").write_text("half")
    with replaced_folder(tmp_path / "out") as theirs:
        assert hidden(tmp_path) == [theirs.name]
        (theirs / "scores.csv").write_text("theirs")
        with replaced_folder(tmp_path / "out") as ours:
            (ours / "scores.csv").write_text("ours")
        assert hidden(tmp_path) == [theirs.name]
        assert (tmp_path / "out" / "scores.csv").read_text() == "ours"
    assert (tmp_path / "out" / "scores.csv").read_text() == "theirs"
    assert hidden(tmp_path) == []


def test_a_folder_taken_for_a_leftover_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir, times = os.mkdir, []

    def mkdir_in_vain(path: str, *mode: int) -> None:
        mkdir(path, *mode)
        times.append(path)
        if len(times) == 1:
            os.rmdir(path)

    monkeypatch.setattr(os, "mkdir", mkdir_in_vain)
    with replaced_folder(tmp_path / "out") as folder:
        assert len(times) == 2
        (folder / "scores.csv").write_text("ours")
    assert os.listdir(tmp_path) == ["out"]


# Several at once, each a file and a folder again and again.
CROWD = """
import sys
from aspca.writers.replaced_file import replace_file
from aspca.writers.folder import replaced_folder
for number in range(25):
    mark = sys.argv[1] + str(number)
    replace_file("file", mark.encode())
    with replaced_folder("out") as folder:
        (folder / "scores.csv").write_text(mark)
        (folder / "explanations.csv").write_text(mark)
"""


def test_several_processes_do_not_remove_what_is_each_others(tmp_path: Path) -> None:
    crowd = [
        subprocess.Popen([sys.executable, "-c", CROWD, name], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        for name in "abcd"
    ]
    for process in crowd:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    assert sorted(os.listdir(tmp_path)) == ["file", "out"]
    assert (tmp_path / "file").read_text()[1:] == "24"
    assert len({path.read_text() for path in (tmp_path / "out").glob("*.csv")}) == 1
