"""The slow twins and the zoo of tables beside this file can be imported: pytest's importlib mode alone does not."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
