"""The one error of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file that cannot be used, in one sentence: the file, the field, what is allowed and what to do."""
