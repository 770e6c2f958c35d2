"""A page in a real browser, and whatever it said or asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Opened:
    """A page, and whatever it said or asked for."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page, self.path = page, path
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))

    def go(self, anchor: str = "") -> Any:
        self.page.goto(self.path.as_uri() + anchor)
        return self.page

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def check_quiet(self) -> None:
        """No word on the console, no dialog, and nothing was asked for but the file itself."""
        assert self.said == []
        assert {url.partition("#")[0] for url in self.asked} <= {self.path.as_uri(), "data:,"}
