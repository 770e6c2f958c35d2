"""What is said of a file that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aspca.tables import ReadOptions, SourceError, open_source


def refusal(path: Path, **options: Any) -> SourceError:
    """The error: one line that begins with the path."""
    with pytest.raises(SourceError) as caught:
        open_source([str(path)], ReadOptions(**options)).close()
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count("\n") == 0
    return caught.value
