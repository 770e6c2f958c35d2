"""The walk of a row that ARCHITECTURE.md describes is the one that `aspca detect x.csv` takes."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType

import pytest

import aspca
from aspca.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(Path(aspca.__file__).parent)


def test_the_walk_of_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    walk = re.findall(r"`(\w+(?:\.\w+)+)`", text.partition("## The walk of a row")[2].partition("\n## ")[0])
    assert 20 < len(walk) <= 40
    lines = [f"{a},{b},{a + b},{a * b % 97 / 7:.2f}" for a in range(20) for b in range(10)]
    lines[50] = lines[50].replace(",5,", ",5,9")
    (tmp_path / "x.csv").write_text("\n".join(["a,b,total,other", *lines]) + "\n", encoding="utf-8")
    called: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            module = Path(code.co_filename).relative_to(PACKAGE).with_suffix("")
            called.setdefault(f"{'.'.join(module.parts)}.{code.co_qualname}")

    # Files are read beside a thread that notices an interrupt.
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        assert main(["detect", str(tmp_path / "x.csv")]) == 0
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert "1 error" in capsys.readouterr().out
    assert [name for name in walk if name not in called] == []
    # In the order in which they are called first.
    assert sorted(walk, key=list(called).index) == walk
