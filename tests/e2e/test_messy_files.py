"""CSV files with the defects of real ones: no number, row or line but the true one, or it is said; most are answered.

`benchmarks/messy.py` puts 200 of them through the command, and runs what refusals propose.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from library.defects import ALPHABETS  # the benchmarks are no package
from library.messy import MessyFile, messy_files
from messy import Trial, trial

N_FILES = 24


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[MessyFile]:
    return list(messy_files(7, N_FILES, tmp_path_factory.mktemp("messy")))


@pytest.fixture(scope="module")
def trials(files: list[MessyFile]) -> list[Trial]:
    return [trial(file, paste=False) for file in files]


@pytest.mark.parametrize("number", range(N_FILES))
def test_nothing_is_wrong_without_a_word(trials: list[Trial], number: int) -> None:
    """No traceback, no number or row that is another, no cell told beside a wrong row, nothing left out unsaid."""
    assert not trials[number].problems, (trials[number].file.path.name, trials[number].file.defects)


def test_most_are_answered_at_the_first_call(trials: list[Trial]) -> None:
    refused = {one.file.defects: one.said for one in trials if not one.answered}
    assert len(refused) <= 0.1 * N_FILES, refused


def test_the_truth_is_what_the_files_hold(files: list[MessyFile]) -> None:
    """Each row stands in its line, and each number can be found in its row."""
    for file in files:
        content = file.path.read_bytes()
        content = gzip.decompress(content) if file.path.suffix == ".gz" else content
        encoding = next((name.split()[0] for name in file.defects if name in ALPHABETS), "utf-8")
        lines = re.split("\r\n|\r|\n", content.decode(encoding))
        for row, (line, text) in enumerate(file.rows):
            assert lines[line - 1] == text.split("\n")[0]
            numbers = [one for one in file.fields if one.kind == "number" and one.values[row] is not None]
            assert row in file.damaged or all(one.cells[row].strip() in text for one in numbers)
        assert all(file.fields[column].cells[row] == text for row, column, text in file.odd)
