"""Arrow types that DuckDB cannot read, and the types that their cells are converted to before it sees them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from aspca.escaping import quoted
from aspca.tables.errors import join_names

# DuckDB has decimals of up to so many digits.
MOST_DIGITS = 38
# How many units of a duration make a second.
SECONDS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def to_readable_type(kind: Any) -> Any:
    """The type that cells of an Arrow type are given to DuckDB in: mostly the same.

    Durations become float64, in seconds. Lists and records become lists without any value, which a table leaves out.
    """
    pa = import_module("pyarrow")
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType) or types.is_dictionary(kind):
        inner = kind.value_type if types.is_dictionary(kind) else kind.storage_type
        readable = to_readable_type(inner)
        return kind if readable == inner else readable
    if getattr(types, "is_run_end_encoded", lambda one: False)(kind):
        return to_readable_type(kind.value_type)
    if types.is_nested(kind):
        return pa.list_(pa.null())
    if types.is_float16(kind):
        return pa.float32()
    if types.is_duration(kind):
        return pa.float64()
    if types.is_decimal(kind) and (types.is_decimal256(kind) or kind.scale < 0):
        scale = max(kind.scale, 0)
        digits = kind.precision - kind.scale + scale
        return pa.decimal128(digits, scale) if digits <= MOST_DIGITS else pa.float64()
    return kind


def convert_array(column: Any, kind: Any) -> Any:
    """An Arrow array in a type that `to_readable_type` gave for its own, or in one that it can be cast to."""
    pa = import_module("pyarrow")
    if column.type == kind:
        return column
    if isinstance(column.type, pa.BaseExtensionType):
        return convert_array(column.storage, kind)
    if pa.types.is_nested(kind):
        return pa.nulls(len(column), kind)
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
        return convert_array(column.dictionary_decode(), kind)
    if pa.types.is_nested(column.type):
        return convert_array(import_module("pyarrow.compute").run_end_decode(column), kind)
    if pa.types.is_duration(column.type):
        seconds = column.cast(pa.int64()).to_numpy(zero_copy_only=False) / SECONDS[column.type.unit]
        return pa.array(seconds, kind, from_pandas=True)
    if pa.types.is_decimal256(column.type) and pa.types.is_float64(kind):
        # By way of text: the cast itself is off by a unit in the last place now and then.
        return column.cast(pa.string()).cast(kind)
    return column.cast(kind)


def note_rounded_decimals(label: str, schema: Any, names: Sequence[str]) -> tuple[str, ...]:
    """The sentence on columns of a schema, called `names`, that hold decimals which are read as float64."""
    pa = import_module("pyarrow")
    kinds = (field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema)
    wide = [
        quoted(name)
        for name, kind in zip(names, kinds, strict=True)
        if pa.types.is_decimal(kind) and pa.types.is_float64(to_readable_type(kind))
    ]
    if not wide:
        return ()
    which = f"column{'s' * (len(wide) > 1)} {join_names(wide)}"
    return (f"{label}: decimals of more than {MOST_DIGITS} digits in {which} are read as float64.",)
