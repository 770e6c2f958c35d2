"""Frozen dataclasses as plain JSON values, and back: driven by their fields and type hints, every number exact.

Dataclasses and named tuples are objects, tuples are lists. Vectors are lists of numbers; matrices lists of rows,
symmetric ones of the upper triangle's rows, and sparse ones of a list of columns, each the positions and values of what
is not 0. Numbers that are not finite are words. What is read is checked field by field: type, size and range before
anything is allocated, then what the parts of an object must be to each other.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from aspca.model_file.json_text import ModelFileError, show

WORDS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
# Integers that float64 holds exactly.
LARGEST_INTEGER = 2**53
LARGEST = float(np.finfo(np.float64).max)
# Sparse matrices are dense in memory: a small file must not ask for a huge one.
LARGEST_MATRIX = 2**25
# The name of a size that is new in every object.
LOCAL = "k"
# Whether all is well; else the field, what it must be, and what it is (empty: its value).
Requirement = tuple[bool | np.bool_, str, str, str]


@dataclass(frozen=True)
class Bounds:
    """What a field may hold."""

    shape: tuple[str | int, ...] = ()  # of lists and arrays: sizes or their names, which the first field decides
    least: float = -LARGEST  # numbers that are not finite are allowed where these are not
    most: float | str = LARGEST  # a name of a size: below it; of texts, the longest
    words: tuple[str, ...] = ()  # the texts that it may be; empty: any
    many: tuple[int, int] = (0, LARGEST_MATRIX)  # how many entries a list may have
    gaps: bool = False  # whether NaN is allowed
    test: Callable[[Any], bool] | None = None  # what else must be true
    allowed: str = ""  # the same, to complete "must be ..."


_ANY = Bounds()


@dataclass
class Reader:
    """Reads plain values as what type hints say, or refuses them in a sentence.

    `bounds`, `checks`, `sizes` and `omitted` are by class: what its fields may hold, what they must be to each other, a
    size that it decides, and fields that are not in the file, with what they are then.
    """

    file: str
    cure: str
    bounds: Mapping[type, Mapping[str, Bounds]]
    checks: Mapping[type, Callable[[Any], Iterable[Requirement]]]
    omitted: Mapping[type, Mapping[str, Any]]
    sizes: Mapping[type, tuple[str, Callable[[Any], int]]]
    known: dict[str, int] = field(default_factory=dict)

    def refused(self, path: str, found: str, allowed: str) -> ModelFileError:
        """The sentence for a field."""
        return ModelFileError(f"{self.file}: the field {path} is {found}, but must be {allowed}; {self.cure}.")

    def read(self, hint: Any, value: Any, path: str, bounds: Bounds = _ANY) -> Any:
        """The value that a plain one stands for."""
        kind = get_origin(hint) or hint
        if kind in (Union, types.UnionType):
            found = self._read_one_of(get_args(hint), value, path, bounds)
        elif kind is np.ndarray:
            found = self._read_array(np.dtype(get_args(get_args(hint)[1])[0]), value, path, bounds)
        elif kind is tuple:
            found = self._read_tuple(get_args(hint), value, path, bounds)
        elif _names(kind):
            found = self.read_object(kind, value, path)
        elif kind is Literal:
            found = self._read_text(value, path, Bounds(words=get_args(hint)))
        elif kind is bool:
            if not isinstance(value, bool):
                raise self.refused(path, show(value), "true or false")
            found = value
        elif kind is str:
            found = self._read_text(value, path, bounds)
        else:
            found = self._read_number(kind, value, path, bounds)
        if bounds.test is not None and not bounds.test(found):
            raise self.refused(path, show(value), bounds.allowed)
        return found

    def read_object(self, kind: type, value: Any, path: str) -> Any:
        """A dataclass or named tuple from an object that has just its fields."""
        omitted, bounds, hints = self.omitted.get(kind, {}), self.bounds.get(kind, {}), _hints(kind)
        names = [name for name in _names(kind) if name not in omitted]
        if not isinstance(value, dict):
            raise self.refused(path, show(value), "an object")
        for key in value:
            if key not in names:
                raise ModelFileError(
                    f"{self.file}: the key {show(key)} in the {f'field {path}' if path else 'file'} is not known, but "
                    f"only {', '.join(names)} may stand there; {self.cure}."
                )
        outer = self.known.pop(LOCAL, None)
        made = dict(omitted)
        for name in names:
            below = f"{path}.{name}".lstrip(".")
            if name not in value:
                raise ModelFileError(f"{self.file}: the field {below} is missing, but must be there; {self.cure}.")
            made[name] = self.read(hints[name], value[name], below, bounds.get(name, _ANY))
        self.known.pop(LOCAL, None)
        if outer is not None:
            self.known[LOCAL] = outer
        try:
            found = kind(**made)
        except (ValueError, IndexError) as error:
            raise self.refused(path, f"refused ({str(error).rstrip('.')})", "one that can be built") from None
        if kind in self.sizes:
            name, count = self.sizes[kind]
            self.known[name] = count(found)
        self.require(self.checks[kind](found) if kind in self.checks else (), value, path)
        return found

    def require(self, requirements: Iterable[Requirement], value: Any, path: str = "") -> None:
        """Refuse the first that is not met; what comes after it may rely on it."""
        for right, name, allowed, found in requirements:
            if not right:
                for key in name.split("."):
                    value = value.get(key) if isinstance(value, dict) else value
                raise self.refused(f"{path}.{name}".lstrip("."), found or show(value), allowed)

    def _read_one_of(self, hints: tuple[Any, ...], value: Any, path: str, bounds: Bounds) -> Any:
        """The first type that a value looks like; where only one may be, that says what is wrong with it."""
        if value is None and types.NoneType in hints:
            return None
        hints = tuple(hint for hint in hints if hint is not types.NoneType)
        for hint in hints[1:]:
            kind = get_origin(hint) or hint
            if (
                type(value) is kind
                or (isinstance(value, dict) and _names(kind))
                or (type(value) is int and kind is float)
            ):
                return self.read(hint, value, path, bounds)
        return self.read(hints[0], value, path, bounds)

    def _read_text(self, value: Any, path: str, bounds: Bounds) -> str:
        if bounds.words and (not isinstance(value, str) or value not in bounds.words):
            raise self.refused(path, show(value), f"one of {', '.join(bounds.words)}")
        if not isinstance(value, str) or len(value) > float(bounds.most):
            longest = "" if bounds.most == LARGEST else f" of at most {bounds.most} characters"
            raise self.refused(path, show(value), f"a text{longest}")
        try:
            # Surrogates in pairs are one character once parsed; those left over are alone.
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise self.refused(path, show(value), "a text without lone surrogates") from None
        return value

    def _limits(self, bounds: Bounds, kind: Any) -> tuple[float, float, str]:
        """The least, the most, and both in words."""
        most = self.known[bounds.most] - 1 if isinstance(bounds.most, str) else bounds.most
        if kind is not int:
            return bounds.least, most, f"a number from {bounds.least:g} to {most:g}"
        least, most = max(bounds.least, -LARGEST_INTEGER), min(most, LARGEST_INTEGER)
        return least, most, f"a whole number from {least} to {most}"

    def _read_number(self, kind: Any, value: Any, path: str, bounds: Bounds) -> float:
        least, most, allowed = self._limits(bounds, kind)
        number: Any = WORDS.get(value) if kind is float and isinstance(value, str) else value
        right = type(number) in ((int,) if kind is int else (int, float))
        if not right or (type(number) is int and abs(number) > LARGEST_INTEGER) or not least <= number <= most:
            raise self.refused(path, show(value), allowed)
        return float(number) if type(number) is float else int(number)

    def _read_tuple(self, hints: tuple[Any, ...], value: Any, path: str, bounds: Bounds) -> tuple[Any, ...]:
        if len(hints) == 2 and hints[1] is ...:
            entries = self._list(value, path, bounds.shape[0] if bounds.shape else None, bounds.many)
            hints = hints[:1] * len(entries)
            bounds = Bounds(bounds.shape[1:], bounds.least, bounds.most, bounds.words)
        else:
            entries = self._list(value, path, len(hints), bounds.many)
        pairs = enumerate(zip(hints, entries, strict=True))
        return tuple(self.read(hint, entry, f"{path}[{i}]", bounds) for i, (hint, entry) in pairs)

    def _list(self, value: Any, path: str, size: str | int | None, many: tuple[int, int]) -> list[Any]:
        """A list of as many entries as there may be."""
        expected = self.known.get(size) if isinstance(size, str) else size
        least, most = many if expected is None else (expected, expected)
        if not isinstance(value, list) or not least <= len(value) <= most:
            allowed = f"a list of {least}" if least == most else f"a list of {least} to {most}"
            raise self.refused(path, show(value), allowed)
        if isinstance(size, str):
            self.known[size] = len(value)
        return value

    # ---- arrays

    def _read_array(self, dtype: np.dtype[Any], value: Any, path: str, bounds: Bounds) -> np.ndarray[Any, Any]:
        entries = self._list(value, path, bounds.shape[-1] if _sparse(value) else bounds.shape[0], bounds.many)
        if len(bounds.shape) == 1:
            found = self._read_vector(dtype, entries, path, bounds)
        elif _sparse(value):
            found = self._read_columns(dtype, entries, path, bounds)
        else:
            found = self._read_rows(dtype, entries, path, bounds)
        found.flags.writeable = False
        return found

    def _read_rows(self, dtype: np.dtype[Any], rows: list[Any], path: str, bounds: Bounds) -> np.ndarray[Any, Any]:
        n, ends = len(rows), [rows[0], rows[-1]] if rows else []
        triangle = n > 1 and [len(end) for end in ends if isinstance(end, list)] == [n, 1]
        if triangle:
            self._list(rows, path, bounds.shape[1], bounds.many)
        read = []
        for i, row in enumerate(rows):
            entries = self._list(row, f"{path}[{i}]", n - i if triangle else bounds.shape[1], bounds.many)
            read.append(self._read_vector(dtype, entries, f"{path}[{i}]", bounds))
        if not triangle:
            return np.array(read, dtype=dtype).reshape(n, len(read[0]) if read else 0)
        matrix = np.zeros((n, n), dtype=dtype)
        for i, values in enumerate(read):
            matrix[i, i:] = matrix[i:, i] = values
        return matrix

    def _read_columns(
        self, dtype: np.dtype[Any], columns: list[Any], path: str, bounds: Bounds
    ) -> np.ndarray[Any, Any]:
        size = bounds.shape[0]
        rows = self.known[size] if isinstance(size, str) else size
        if rows * len(columns) > LARGEST_MATRIX:
            raise self.refused(path, f"a matrix of {rows} by {len(columns)}", f"of at most {LARGEST_MATRIX} entries")
        found = np.zeros((rows, len(columns)), dtype=dtype)
        for j, column in enumerate(columns):
            at = f"{path}[{j}]"
            if not isinstance(column, dict) or set(column) != {"index", "value"}:
                raise self.refused(at, show(column), "an object of index and value")
            entries = self._list(column["index"], f"{at}.index", None, (0, rows))
            index = self._read_vector(np.dtype(np.intp), entries, f"{at}.index", Bounds(least=0, most=rows - 1))
            if not (np.diff(index) > 0).all():
                raise self.refused(f"{at}.index", "a list in another order", "ascending")
            entries = self._list(column["value"], f"{at}.value", index.size, bounds.many)
            found[index, j] = self._read_vector(dtype, entries, f"{at}.value", bounds)
        return found

    def _read_vector(self, dtype: np.dtype[Any], values: list[Any], path: str, bounds: Bounds) -> np.ndarray[Any, Any]:
        kind: Any = {"f": float, "i": int, "b": bool}[dtype.kind]
        least, most, allowed = self._limits(bounds, kind)
        found, wrong = values, None
        if set(map(type, values)) != {float}:
            found = [WORDS.get(v, v) if kind is float and type(v) is str else v for v in values]
            fitting = (float, int) if kind is float else (kind,)
            odd = (type(v) not in fitting or (type(v) is int and abs(v) > LARGEST_INTEGER) for v in found)
            wrong = next((k for k, one in enumerate(odd) if one), None)
        if wrong is None:
            array = np.array(found, dtype=dtype)
            right = (array >= least) & (array <= most) | (bounds.gaps & np.isnan(array))
            if kind is bool or right.all():
                return array
            wrong = int(np.flatnonzero(~right)[0])
        raise self.refused(f"{path}[{wrong}]", show(values[wrong]), "true or false" if kind is bool else allowed)


def _sparse(value: Any) -> bool:
    """Whether a list is one of columns."""
    return isinstance(value, list) and any(isinstance(entry, dict) for entry in value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass or a named tuple; none of anything else."""
    if is_dataclass(kind):
        return tuple(one.name for one in fields(kind))
    return tuple(getattr(kind, "_fields", ()))


def to_plain(value: Any, omitted: Mapping[type, Mapping[str, Any]]) -> Any:
    """What `Reader` reads of a value, as JSON has it."""
    if names := _names(type(value)):
        left = omitted.get(type(value), {})
        return {name: to_plain(getattr(value, name), omitted) for name in names if name not in left}
    if isinstance(value, tuple | list):
        return [to_plain(entry, omitted) for entry in value]
    if isinstance(value, np.ndarray):
        return _plain_matrix(value) if value.ndim == 2 else _plain_vector(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _plain_vector(np.array([value], dtype=np.float64))[0]
    return value if value is None else str(value)


def _plain_vector(values: np.ndarray[Any, Any]) -> list[Any]:
    found: list[Any] = values.tolist()
    for k in np.flatnonzero(~np.isfinite(values)):
        found[k] = "NaN" if math.isnan(found[k]) else "Infinity" if found[k] > 0 else "-Infinity"
    return found


def _plain_matrix(matrix: np.ndarray[Any, Any]) -> list[Any]:
    # -0.0 is kept.
    there = (matrix != 0) | np.signbit(matrix)
    if there.size and 2 * there.sum() <= there.size:
        pairs = ((np.flatnonzero(some), column) for some, column in zip(there.T, matrix.T, strict=True))
        return [{"index": index.tolist(), "value": _plain_vector(column[index])} for index, column in pairs]
    symmetric = len(matrix) > 1 and matrix.shape[0] == matrix.shape[1] and matrix.T.tobytes() == matrix.tobytes()
    return [_plain_vector(row[i:] if symmetric else row) for i, row in enumerate(matrix)]
