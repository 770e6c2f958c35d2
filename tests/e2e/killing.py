"""Runs a command again and again in forks of itself, with everything loaded, and kills each run at a random moment.

Arguments: two command lines as JSON, what they write, how many runs, a seed. Half of the moments are chosen from the
time a whole run takes; the others are one of the first operations on the hidden place where the output is made, so that
the moments that matter are among them on any machine. The last line on stderr is JSON: digests of the whole outputs and
of those found after each kill, how many runs were killed, how many of them with something half written, and how many
scratch folders stood in the temporary folder at most.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import duckdb  # noqa: F401  # loaded once, before the forks

import aspca.pipeline.detect
import aspca.pipeline.fit
import aspca.pipeline.result_folder  # noqa: F401
from aspca.cli.main import main

commands, target = json.loads(sys.argv[1]), Path(sys.argv[2])
OPERATIONS = 8
runs, chance = int(sys.argv[3]), random.Random(int(sys.argv[4]))  # noqa: S311


def started(command: list[str], operation: int | None = None) -> int:
    """The number of a new process that runs a command, and kills itself before such an operation."""
    process = os.fork()
    if process == 0:
        if operation is not None:
            sys.addaudithook(Killer(operation))
        os._exit(main([*command, "--quiet"]))
    return process


class Killer:
    """Told of each operation before it is done, kills the process before the one of the hidden place that it should."""

    def __init__(self, operation: int) -> None:
        self.left = operation

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if any(isinstance(word, str) and f"/.{target.name}." in word for word in map(as_text, arguments)):
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1


def as_text(argument: object) -> object:
    return os.fspath(argument) if isinstance(argument, os.PathLike) else argument


def left() -> set[str]:
    """What stands beside the target under a hidden name."""
    return {name for name in os.listdir() if name.startswith(f".{target.name}.")}


def digest() -> str:
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    return hashlib.sha256(b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)).hexdigest()


whole, took = [], 0.0
for command in commands:
    begun = time.perf_counter()
    assert os.waitpid(started(command), 0)[1] == 0
    took = time.perf_counter() - begun
    whole.append(digest())

found, killed, amid, scratch = [], 0, 0, 0
for number in range(runs):
    before = left()
    if number % 4 < 2:
        process = started(commands[number % 2])
        time.sleep(1.1 * took * chance.random())
        os.kill(process, signal.SIGKILL)
    else:
        process = started(commands[number % 2], chance.randrange(OPERATIONS))
    dead = os.WIFSIGNALED(os.waitpid(process, 0)[1])
    killed += dead
    amid += dead and bool(left() - before)
    found.append(digest())
    scratch = max(scratch, len(list(Path(tempfile.gettempdir()).glob("aspca-*"))))
seen = {"whole": whole, "found": found, "killed": killed, "amid": amid, "scratch": scratch}
print(json.dumps(seen), file=sys.stderr)
