"""What the README and the pages in docs show runs, and prints what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_two_commands_are_shown() -> None:
    shell = "\n".join(blocks("README.md", "sh"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("demo", "test"):
        assert f"make {command}" in shell
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_there_are_pages_with_code() -> None:
    assert len(blocks("README.md", "python")) > 3
    assert len(blocks("docs/detection.md", "python")) > 3


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_as_one_session(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "python")), {}, page, page, 0)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


@pytest.mark.parametrize(
    "module",
    [
        "aspca.estimators.aspca",
        "aspca.estimators.preprocessor",
        "aspca.estimators.per_category",
        "aspca.estimators.pipelines",
        "aspca.paper.baselines.subspace",
        "aspca.paper.baselines.jspca",
        "aspca.paper.baselines.surrogate",
    ],
)
def test_docstring_examples(module: str) -> None:
    results = doctest.testmod(__import__(module, fromlist=["_"]), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 0
    assert results.failed == 0
