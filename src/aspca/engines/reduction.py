"""From a source to `Moments`, batch by batch: all that fitting needs of a file of any length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspca.engines.errors import SourceError, shown
from aspca.engines.source import Source
from aspca.moments import Moments
from aspca.moments.validation import LARGEST_VALUE


def moments_of(source: Source, names: Sequence[str], size: int = 65536) -> Moments:
    """The moments of the columns `names`, in this order; the same within rounding for every `size`.

    Raises
    ------
    SourceError
        A missing or infinite value, one beyond +-1e150, or see `Source.batches`; the file, column and row are named.
    """
    total = Moments.empty(len(names))
    missing = {column.name: column.n_missing for column in source.columns}
    for batch in source.batches(names, size):
        bad = ~(np.abs(batch.values) <= LARGEST_VALUE)
        if bad.any():
            row, index = (int(found[0]) for found in np.nonzero(bad))
            where, value = source.where(batch.start + row), batch.values[row, index]
            if np.isnan(value):
                count = f"{missing[names[index]]} of {source.count()} rows lack one"
                raise SourceError(
                    f"{where} has no value in column {shown(names[index])} ({count}); "
                    "fill missing values, or leave out these rows or the column."
                )
            raise SourceError(
                f"{where} has the value {value:g} in column {shown(names[index])}; "
                f"values must lie within +-{LARGEST_VALUE:g}, so rescale the column."
            )
        try:
            total = total.update(batch.values, names=names)
        except ValueError as error:
            raise SourceError(f"{source.description}: {error}") from None
    return total
