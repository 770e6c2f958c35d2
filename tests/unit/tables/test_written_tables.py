"""No number is misread without a word: hundreds of files are read as their truth says, or refused with what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.tables import ReadOptions, Source, SourceError, open_source
from written_tables import Truth, Written, all_tables

TABLES = all_tables()
WORDS = {
    "--decimal": "decimal",
    "--thousands": "thousands",
    "--missing": "missing",
    "--date-order": "date_order",
    "--encoding": "encoding",
}


def options_of(remedy: tuple[str, ...]) -> dict[str, Any]:
    """Words of a command line as options for reading."""
    options: dict[str, Any] = {}
    for word, value in zip(remedy[::2], remedy[1::2], strict=True):
        if word == "--missing":
            options["missing"] = (*options.get("missing", ()), value)
        elif word in WORDS:
            options[WORDS[word]] = value
    return options


def is_right(source: Source, truth: tuple[Truth, ...], bad: tuple[str, ...]) -> bool:
    """Whether names, kinds, cells that do not fit, and numbers to the last bit are those of the truth."""
    if tuple(cell.text for cell in source.bad_cells) != bad:
        return False
    found = [(column.name, column.kind) for column in source.columns]
    if found != [(column.name, column.kind) for column in truth]:
        return False
    for column in truth:
        if column.kind != "text":
            values = np.concatenate([batch.values[:, 0] for batch in source.batches([column.name])])
            expected = np.array([np.nan if value is None else value for value in column.values])
            if not np.array_equal(values, expected, equal_nan=True):
                return False
    return True


def outcome(path: Path, written: Written, options: dict[str, Any]) -> tuple[str, tuple[str, ...], str]:
    """Right, refused or misread; the remedies, and all that was said."""
    try:
        with open_source([str(path)], ReadOptions(**options)) as source:
            remedy = tuple(dict.fromkeys(column.remedy for column in source.columns if column.remedy))
            told = " ".join(
                [*source.remarks, *map(str, source.bad_cells), *(column.remark for column in source.columns)]
            )
            if written.columns is not None and is_right(source, written.columns, written.bad):
                return "right", (), told
            merged = tuple(word for words in remedy for word in words)
            return "refused" if remedy else "misread", merged, told
    except SourceError as error:
        return "refused" if error.remedy else "misread", error.remedy, str(error)


def judge(written: Written, folder: Path) -> str:
    """How a file fares: right at once, right after what was advised, refused as it must be; or what went wrong."""
    path = folder / "t.csv"
    path.write_bytes(written.data)
    how, remedy, told = outcome(path, written, {})
    if written.columns is None:
        return "refused as it must be" if how == "refused" and "(line " in told else f"wrong: {how}, {told}"
    if how == "right":
        return "right" if bool(told) or not written.said else "wrong: nothing was said"
    if how == "misread":
        # A guess that is said, with the option that settles it.
        header = {True: "--header", False: "--no-header"}.get(written.options.get("header", None))
        if header is None or header not in told:
            return f"wrong: misread, {told}"
    if outcome(path, written, options_of(remedy))[0] == "right":
        return "right as advised"
    named = all(str(value) in told for value in written.options.values() if isinstance(value, str))
    settled = outcome(path, written, written.options)
    if written.options and named and settled[0] == "right":
        return "right by another advice"
    return f"wrong: {how}, {told}, then {settled}"


def test_there_are_enough_and_each_is_made_the_same_way_again() -> None:
    assert len(TABLES) >= 300
    assert len({table.name for table in TABLES}) == len(TABLES)
    assert all_tables() == TABLES


def shares(tables: list[Written], folder: Path) -> float:
    """Which share is read right at once; fails if one is misread, or if what is advised does not help."""
    found = {written.name: judge(written, folder) for written in tables}
    assert {name: how for name, how in found.items() if how.startswith("wrong")} == {}
    return sum(how == "right" for how in found.values()) / len(found)


def test_nothing_is_misread_in_some_files_of_every_kind(tmp_path: Path) -> None:
    assert shares(TABLES[::12], tmp_path) >= 0.8


@pytest.mark.long
def test_nothing_is_misread_in_any_file(tmp_path: Path) -> None:
    assert shares(TABLES, tmp_path) >= 0.8
