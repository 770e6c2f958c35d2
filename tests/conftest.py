"""The slow twins and the zoo of tables beside this file can be imported: pytest's importlib mode alone does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# No test asserts a time, so none fails for one: a busy machine is no counterexample. And the same tree passes or fails
# each time; `make test-long` draws anew.
settings.register_profile("aspca", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None)
settings.load_profile("aspca")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "long":
        settings.load_profile("long")
