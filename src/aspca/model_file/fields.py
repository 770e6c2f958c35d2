"""A value in a model file and where it stands: its type, range and size checked, or refused in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.model_file.errors import ModelFileError
from aspca.model_file.json_text import shown

# Integers that float64 holds exactly.
LARGEST_INTEGER = 2**53
_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
CURE = "the file was altered or made by something else, so take an unaltered copy or save the model again"


def finite_or_word(value: float) -> float | str:
    """A number as files hold it, who know no infinity: as a word where it has none."""
    if math.isfinite(value):
        return float(value)
    # NaN is written only to be refused, by name.
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def words_of_infinity(value: object) -> object:
    """The number that a word for infinity stands for; anything else as it is."""
    return _INFINITE.get(value, value) if isinstance(value, str) else value


class Field:
    """One value of a parsed file.

    Parameters
    ----------
    file : str
        The file's name, for the sentence.
    path : str
        The field's name, such as ``training.scale``.
    value : object
        As `json` parsed it.
    cure : str
        How the sentence ends: what to do.
    """

    __slots__ = ("cure", "file", "path", "value")

    def __init__(self, file: str, path: str, value: object, cure: str = CURE) -> None:
        self.file, self.path, self.value, self.cure = file, path, value, cure

    def refused(self, allowed: str, found: str | None = None) -> ModelFileError:
        """The sentence for this field: what it is and what it must be."""
        return ModelFileError(
            f"{self.file}: the field {self.path} is {found or shown(self.value)}, but must be {allowed}; {self.cure}."
        )

    def require(self, condition: bool | np.bool_, allowed: str, found: str | None = None) -> None:
        """Refuse the field unless the condition holds."""
        if not condition:
            raise self.refused(allowed, found)

    # ---- structure

    def members(self, *keys: str) -> dict[str, Field]:
        """The fields of an object that has just these keys."""
        value = self.value
        if not isinstance(value, dict):
            raise self.refused("an object")
        for key in value:
            if key not in keys:
                where = f"in the field {self.path}" if self.path else "in the file"
                raise ModelFileError(
                    f"{self.file}: the key {shown(key)} {where} is not known, but only {', '.join(keys)} may stand "
                    f"there; {self.cure}."
                )
        for key in keys:
            if key not in value:
                raise ModelFileError(
                    f"{self.file}: the field {self._below(key)} is missing, but must be there; {self.cure}."
                )
        return {key: self._at(self._below(key), value[key]) for key in keys}

    def items(self, least: int, most: int | None = None) -> Iterator[Field]:
        """The entries of a list of `least` to `most` entries (just `least` where no `most` is given)."""
        value = self._list(least, least if most is None else most)
        return (self._at(f"{self.path}[{i}]", entry) for i, entry in enumerate(value))

    def __len__(self) -> int:
        return len(self.value) if isinstance(self.value, list) else 0

    @property
    def absent(self) -> bool:
        """Whether the value is null."""
        return self.value is None

    # ---- single values

    def text(self, longest: int | None = None) -> str:
        """A text without half characters, which no file can hold."""
        value = self.value
        if not isinstance(value, str) or (longest is not None and len(value) > longest):
            raise self.refused("a text" if longest is None else f"a text of at most {longest} characters")
        try:
            # Surrogates in pairs are one character once parsed; those left over are alone.
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise self.refused("a text without lone surrogates") from None
        return value

    def word(self, allowed: Sequence[str]) -> str:
        """One of a few words."""
        if not isinstance(self.value, str) or self.value not in allowed:
            raise self.refused(f"one of {', '.join(allowed)}")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.refused("true or false")
        return self.value

    def integer(self, least: int, most: int = LARGEST_INTEGER) -> int:
        """A whole number from `least` to `most`."""
        if type(self.value) is not int or not least <= self.value <= most:
            raise self.refused(f"a whole number from {least} to {most}")
        return self.value

    def number(self, least: float, most: float, *, infinite: bool = False) -> float:
        """A number from `least` to `most`; a whole number stays an int. `infinite` lets the words for infinity pass."""
        value = self.value
        if infinite and isinstance(value, str) and value in _INFINITE and least <= _INFINITE[value] <= most:
            return _INFINITE[value]
        allowed = f"a number from {least:g} to {most:g}"
        if type(value) is int and abs(value) <= LARGEST_INTEGER and least <= value <= most:
            return value
        if type(value) is float and math.isfinite(value) and least <= value <= most:
            return value
        raise self.refused(allowed)

    # ---- arrays

    def vector(self, size: int, least: float, most: float) -> Floats:
        """A list of `size` finite numbers from `least` to `most`, as float64 (size,)."""
        value = self._list(size, size)
        kinds = set(map(type, value))
        if not kinds <= {float, int}:
            bad = next(i for i, entry in enumerate(value) if type(entry) not in (float, int))
            raise self._at(f"{self.path}[{bad}]", value[bad]).refused(f"a number from {least:g} to {most:g}")
        if int in kinds and max((abs(entry) for entry in value if type(entry) is int), default=0) > LARGEST_INTEGER:
            raise self.refused("a list of numbers of float64", "a list with a huge integer")
        result = np.array(value, dtype=np.float64)
        # Written so that NaN answers False.
        allowed = (result >= least) & (result <= most) & np.isfinite(result)
        if not allowed.all():
            bad = int(np.flatnonzero(~allowed)[0])
            raise self._at(f"{self.path}[{bad}]", value[bad]).refused(f"a number from {least:g} to {most:g}")
        return result

    def extended(self, size: int, least: float, most: float) -> Floats:
        """As `vector`, but entries may be the words for infinity."""
        return np.array([entry.number(least, most, infinite=True) for entry in self.items(size)], dtype=np.float64)

    def sparse_columns(self, rows: int, columns: int, largest: float) -> Floats:
        """A matrix (rows, columns) from one object per column: ascending positions and their values.

        Dense in memory: the caller has checked the size.
        """
        result = np.zeros((rows, columns))
        for j, column in enumerate(self.items(columns)):
            parts = column.members("index", "value")
            index = parts["index"]._positions(rows)
            values = parts["value"].vector(index.size, -largest, largest)
            parts["value"].require((values != 0.0).all(), "a list of numbers other than 0")
            result[index, j] = values
        return result

    def _positions(self, rows: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        value = self._list(1, rows)
        allowed = f"a list of ascending positions from 0 to {rows - 1}"
        for entry in value:
            if type(entry) is not int or not 0 <= entry < rows:
                raise self.refused(allowed, f"a list with the entry {shown(entry)}")
        index = np.array(value, dtype=np.intp)
        self.require((np.diff(index) > 0).all(), allowed, "a list in another order")
        return index

    def _list(self, least: int, most: int) -> list[Any]:
        if not isinstance(self.value, list) or not least <= len(self.value) <= most:
            raise self.refused(f"a list of {least}" if least == most else f"a list of {least} to {most}")
        return self.value

    def _at(self, path: str, value: object) -> Field:
        return Field(self.file, path, value, self.cure)

    def _below(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def sparse_columns_of(matrix: Floats) -> list[dict[str, list[Any]]]:
    """What `Field.sparse_columns` reads, of a matrix (rows, columns)."""
    columns = []
    for column in matrix.T:
        index = np.flatnonzero(column)
        columns.append({"index": index.tolist(), "value": column[index].tolist()})
    return columns
