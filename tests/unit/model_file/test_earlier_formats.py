"""Files of earlier formats, which no release wrote: refused in one sentence, whatever else is in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aspca
from aspca.cli.main import main
from aspca.model_file.encode import VERSION


@pytest.mark.parametrize("number", range(1, VERSION))
def test_they_are_refused_by_library_and_command(
    number: int, content: dict[str, Any], write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for held in (content, {"format": "aspca-model", "weights": []}):
        path = write({**held, "version": number})
        said = (
            f"{path}: the file was written in format {number} by an earlier development version, but must be of format "
            f"{VERSION}; fit the model again with this version."
        )
        with pytest.raises(aspca.ModelFileError) as caught:
            aspca.load(path)
        assert str(caught.value) == said
        assert main(["rules", str(path)]) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert " ".join(told.err.split()).endswith(said)
