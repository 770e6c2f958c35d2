"""The files beside the tests can be imported: pytest's importlib mode alone does not find them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "report")]
