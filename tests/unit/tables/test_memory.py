"""Reading takes the same memory for 30 MB and for 300 MB, as the system counts it: tracemalloc does not see DuckDB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak of a process"),
]

SCRIPT = """
import sys
from pathlib import Path
from aspca.tables import open_source
from aspca.pipeline.fit import moments_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation

def peak():
    # Not ru_maxrss: that begins with what the parent of this process had.
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024

with open_source([sys.argv[1]]) as source:
    names = [column.name for column in source.columns]
    print(moments_of(source, Preparation.identity(names), Silent()).n_rows, source.count(), peak())
"""


def peak_of(path: Path) -> int:
    """Megabytes at the highest, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(path)], capture_output=True, text=True, check=True)
    rows, count, peak = map(int, done.stdout.split())
    assert rows == count
    return peak


def write(path: Path, megabytes: int, encoding: str) -> Path:
    line = ",".join(["-0.12345678901234567"] * 20) + "\n"
    with path.open("w", encoding=encoding) as file:
        file.write(",".join(f"c{index}" for index in range(20)) + "\n")
        for _ in range(megabytes):
            file.write(line * (1_000_000 // len(line)))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_memory_does_not_grow(tmp_path: Path, encoding: str) -> None:
    small, large = (peak_of(write(tmp_path / f"{size}.csv", size, encoding)) for size in (30, 300))
    print(f"{encoding}: {small} MB for 30 MB, {large} MB for 300 MB")
    assert large - small < 60
    assert large < 400
