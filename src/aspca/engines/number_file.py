"""The numbers of a text file, kept as float64 in a scratch file: text is parsed once, however often rows are read.

Plain reads and writes, no mapping: pages of the file are the system's to keep or drop, and never memory of the process.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aspca.linalg.arrays import Floats


@dataclass(frozen=True)
class NumberFile:
    """`n_rows` rows of float64, one after the other, without a header: a file of this machine and this run.

    Parameters
    ----------
    columns : which columns of the table a row holds, in this order
    """

    path: Path
    columns: tuple[int, ...]
    n_rows: int

    def rows(self, columns: Sequence[int], size: int) -> Iterator[Floats]:
        """These columns, in this order, `size` rows at a time and the rest at the end; arrays (m, q), C-contiguous.

        Raises
        ------
        OSError
            The file is not there any more, or is not whole.
        """
        places = {column: place for place, column in enumerate(self.columns)}
        chosen = [places[column] for column in columns]
        everything = chosen == list(range(len(self.columns)))
        with self.path.open("rb") as file:
            for start in range(0, self.n_rows, size):
                rows = np.empty((min(size, self.n_rows - start), len(self.columns)))
                if file.readinto(rows.data) < rows.nbytes:
                    raise OSError(errno.EIO, "cut short", str(self.path))
                yield rows if everything else np.ascontiguousarray(rows[:, chosen])
