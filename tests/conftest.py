"""The slow twins and the zoo of tables beside this file can be imported: pytest's importlib mode alone does not."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# No test asserts a time, so none fails for one: a busy machine is no counterexample.
settings.register_profile("aspca", deadline=None)
settings.load_profile("aspca")
