"""What is said when an output may not be written where it was asked for."""

from __future__ import annotations


class OutputError(ValueError):
    """One sentence: which file or folder cannot be written, why, what to do. What was asked for is at fault."""
