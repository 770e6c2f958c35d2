"""Runs commands in forks of itself, each with an output that is full, closed, read-only, vanished or no file at all.

Arguments: the folder with the inputs, and "all", or else each kind is tried with one command only. Prints one JSON
object per run: the command, how it ended (negative for a signal), what it said, what was lost of what was there, and
what was left that should not be.
"""

from __future__ import annotations

# Loaded once, before the forks.
import _zoneinfo  # noqa: F401
import contextlib
import ctypes
import json
import os
import pty
import resource
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import duckdb  # noqa: F401
import scipy.linalg
import scipy.optimize
import scipy.special  # noqa: F401

import aspca.cli.app
import aspca.cli.pages
import aspca.estimators.aspca
import aspca.pipeline.detect
import aspca.pipeline.explain_rows
import aspca.pipeline.result_folder  # noqa: F401
from aspca.cli.main import main
from aspca.writers import scratch

# No exit code of the command.
FAULT = 99
COMMANDS = {
    "detect": ["detect", "in.csv", "--id", "host"],
    "fit": ["fit", "in.csv", "--id", "host", "--model", "new.json"],
    "score": ["score", "in.csv", "--model", "old.json"],
    "print": ["fit", "in.csv", "--id", "host", "--model", "-"],
}


def closed(descriptor: int) -> None:
    os.close(descriptor)
    # As Python itself does where it starts with a closed one.
    setattr(sys, ("stdin", "stdout", "stderr")[descriptor], None)
    setattr(sys, ("__stdin__", "__stdout__", "__stderr__")[descriptor], None)


def opened(descriptor: int, path: str, flags: int) -> None:
    new = os.open(path, flags)
    os.dup2(new, descriptor)
    os.close(new)


def broken_pipe(descriptor: int) -> None:
    reader, writer = os.pipe()
    os.dup2(writer, descriptor)
    os.close(reader)
    os.close(writer)


def vanished_terminal(descriptor: int) -> None:
    ours, theirs = pty.openpty()
    os.dup2(theirs, descriptor)
    os.close(ours)
    os.close(theirs)


def smallest_files() -> None:
    """A disk with no room for the outputs, nearly: no file may be longer."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))


def read_only(*names: str) -> None:
    """Root gives up what lets it write anywhere."""
    for name in names:
        os.chmod(name, stat.S_IRUSR | stat.S_IXUSR)
    header = struct.pack("<Ii", 0x20080522, 0)
    ctypes.CDLL(None).capset(header, bytes(24))


def no_temporary_folder() -> None:
    tempfile.tempdir = str(Path("not", "there").absolute())


def vanished_folder() -> None:
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")


def vanishing(name: str) -> Callable[[], None]:
    """What the output is in goes as soon as the first file of it is written."""

    def prepare() -> None:
        os.mkdir("soon")

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event == name and "soon/." in str(arguments[0]):
                with contextlib.suppress(OSError):
                    shutil.rmtree("soon")

        sys.addaudithook(hook)

    return prepare


def special(make: Callable[[str], object]) -> Callable[[], None]:
    return lambda: make("special.csv")  # type: ignore[return-value]


def listening(path: str) -> None:
    socket.socket(socket.AF_UNIX).bind(path)


def in_folder(path: str) -> list[list[str]]:
    # Scores take the suffix of a format; what is there already has one.
    file = path if os.path.splitext(path)[1] or os.path.exists(path) else f"{path}.csv"
    return [[*COMMANDS["detect"], "--output", path], [*COMMANDS["fit"][:-1], path], [*COMMANDS["score"], "-o", file]]


def printing(*extra: str) -> list[list[str]]:
    return [
        [*COMMANDS["detect"], "--output", "new", *extra],
        [*COMMANDS["detect"], "--no-output", "--csv"],
        COMMANDS["fit"],
        COMMANDS["score"],
        COMMANDS["print"],
        ["rules", "old.json", "--markdown"],
        ["explain", "in.csv", "--model", "old.json", "--row", "1", "--json"],
    ]


LONG = "x" * 300
KINDS: dict[str, tuple[Callable[[], object], list[list[str]]]] = {
    "stdout closed": (lambda: closed(1), printing()),
    "stdout full": (lambda: opened(1, "/dev/full", os.O_WRONLY), printing("--json")),
    "stdout a broken pipe": (lambda: broken_pipe(1), printing()),
    "stdout to be read only": (lambda: opened(1, "/dev/null", os.O_RDONLY), printing()),
    "stdout a vanished terminal": (lambda: vanished_terminal(1), printing()),
    "stderr closed": (lambda: closed(2), printing()),
    "stderr full": (lambda: opened(2, "/dev/full", os.O_WRONLY), printing()),
    "stderr a broken pipe": (lambda: broken_pipe(2), printing()),
    "stderr a vanished terminal": (lambda: vanished_terminal(2), printing()),
    "all closed": (lambda: [closed(number) for number in (0, 1, 2)], printing()),
    "stdin closed": (lambda: closed(0), [["detect", "-"], ["rules", "-"], ["score", "-", "-m", "old.json"]]),
    "no room for files": (smallest_files, [*in_folder("new"), *in_folder("old.out"), *in_folder("new.parquet")]),
    "a folder that may not be written": (lambda: read_only("."), in_folder("new")),
    "outputs to be read only": (
        lambda: read_only("old.json", "old.out", "old.out/scores.csv"),
        [
            [*COMMANDS["detect"], "--output", "old.out"],
            [*COMMANDS["score"], "-o", "old.out/scores.csv"],
            [*COMMANDS["fit"][:-1], "old.json"],
        ],
    ),
    "a folder that is gone": (vanished_folder, in_folder("out")),
    "a folder that goes meanwhile": (vanishing("open"), in_folder("soon/new")),
    "a folder that goes at the end": (vanishing("os.rename"), in_folder("soon/new")),
    "no such folder": (lambda: None, in_folder("not/there")),
    "a file for a folder": (lambda: None, in_folder("in.csv/new")),
    "a name too long": (lambda: None, in_folder(LONG)),
    "a path too long": (lambda: None, in_folder("/".join([LONG[:200]] * 25))),
    "a pipe": (special(os.mkfifo), in_folder("special.csv")),
    "a socket": (special(listening), in_folder("special.csv")),
    "a device": (lambda: None, in_folder("/dev/full")),
    "a link to nowhere": (special(lambda path: os.symlink("not/there", path)), in_folder("special.csv")),
    "a link to itself": (special(lambda path: os.symlink("special.csv", path)), in_folder("special.csv")),
    "a file system that takes no files": (lambda: None, in_folder("/proc/new")),
    "no temporary folder": (no_temporary_folder, [*in_folder("new"), COMMANDS["print"]]),
}


def run(kind: str, command: list[str], place: Path) -> tuple[int, str]:
    """How a command ends, and what it says where it can."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        os.chdir(place)
        scratch._swept.clear()
        signal.alarm(60)
        for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
            os.dup2(writer, descriptor)
            stream.flush()
        os.close(writer)
        code = FAULT
        try:
            KINDS[kind][0]()
            # Those of the parent think that they are what they were.
            for number, name in ((1, "stdout"), (2, "stderr")):
                if getattr(sys, name) is not None:
                    setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115  # until the end
            code = main(command)
            # What Python does at its end, and says where it fails.
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        except BaseException:
            traceback.print_exc()
            code = FAULT
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said


if __name__ == "__main__":
    source, everything = Path(sys.argv[1]), sys.argv[2:] == ["all"]
    for number, (kind, (_, commands)) in enumerate(KINDS.items()):
        for command in commands if everything else [commands[-1 - number % 2]]:
            with tempfile.TemporaryDirectory(dir=source.parent) as made:
                here = Path(made, "here")
                shutil.copytree(source, here)
                before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
                code, said = run(kind, command, here)
                for path in (here, here / "old.out"):
                    os.chmod(path, stat.S_IRWXU)
                now = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
                lost = [path.name for path, content in before.items() if now.get(path) != content]
                left = [path.name for path in here.rglob(".*.tmp")]
            ended = {"kind": kind, "command": command, "code": code, "said": said, "lost": lost, "left": left}
            print(json.dumps(ended), flush=True)
