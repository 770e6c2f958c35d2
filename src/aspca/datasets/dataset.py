"""What every loader returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, Ints, frozen


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A table with labels that fitting never sees. Arrays are read-only.

    Parameters
    ----------
    data : (n, p)
        Neither centred nor scaled.
    feature_names : p names
    labels : (n,)
        1 for an anomaly, 0 for a normal row.
    kinds : n words
        "normal", or what sort of anomaly the row is.
    description : str
        Where the data come from and what was chosen of them.
    """

    data: Floats
    feature_names: tuple[str, ...]
    labels: Ints
    kinds: tuple[str, ...]
    description: str

    def __post_init__(self) -> None:
        n, p = self.data.shape
        if (len(self.feature_names), self.labels.shape, len(self.kinds)) != (p, (n,), n):
            raise ValueError(f"Names, labels and kinds must fit the {n} rows and {p} columns of the data.")
        labels = np.array(self.labels, dtype=np.intp)
        labels.flags.writeable = False
        object.__setattr__(self, "data", frozen(self.data))
        object.__setattr__(self, "labels", labels)
