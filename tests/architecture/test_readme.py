"""What the README shows runs, and prints what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_two_commands_are_shown() -> None:
    shell = "\n".join(code for language, code in BLOCKS if language == "sh")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("demo", "test"):
        assert f"make {command}" in shell
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_python_blocks_run_as_one_session() -> None:
    session = "\n".join(code for language, code in BLOCKS if language == "python")
    test = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    assert len(test.examples) > 10
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


@pytest.mark.parametrize("module", ["aspca.estimators.aspca"])
def test_docstring_examples(module: str) -> None:
    results = doctest.testmod(__import__(module, fromlist=["_"]), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 0
    assert results.failed == 0
