"""How a job tells that it goes on, to whoever watches."""

from __future__ import annotations

from typing import Protocol


class Watcher(Protocol):
    """Told at the start of each stage, and after each part of it."""

    def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
        """A stage begins: `what` is done, to `total` things if that is known."""

    def advance(self, amount: int) -> None:
        """So many more are done."""


class Silent:
    """Nobody watches."""

    def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
        pass

    def advance(self, amount: int) -> None:
        pass
