"""A real browser for the pages that are written: Debian's chromium, driven by playwright; without it tests are skipped.

`make test` installs chromium where it can.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opened_page import FLAGS, Opened

from aspca.cli.main import main


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium is installed; make test installs it where it can (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a file: `width` pixels wide, `dark` or not, with JavaScript or without."""
    contexts = []

    def opened(path: Path, *, width: int = 1280, dark: bool = False, script: bool = True) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )
        contexts.append(context)
        return Opened(context.new_page(), path)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the demonstration."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    assert main(["demo", "--quiet", "--output", str(folder)]) == 0
    return folder / "report.html"
