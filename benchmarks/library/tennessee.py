"""The Tennessee Eastman process: a simulated chemical plant, its faults, and what an engineer would look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.paper.datasets import find_data
from library.labelled import Bools, Floats

ENTERS = 160
FAULTS = tuple(range(1, 11))

# What the fault's description makes a process engineer look at.
NAMED = {
    4: ("reactor cooling water, inlet temperature", ("XMEAS9", "XMEAS21", "XMV10")),
    5: ("condenser cooling water, inlet temperature", ("XMEAS22", "XMV11")),
    6: ("loss of the A feed", ("XMEAS1", "XMV3")),
    7: ("C header pressure", ("XMEAS4", "XMV4")),
    1: ("ratio of the A and C feeds", ("XMEAS1", "XMEAS4", "XMV3", "XMV4")),
}


@dataclass(frozen=True)
class Runs:
    """The normal run to fit to (500, p), another one (960, p), and one per fault (960, p)."""

    names: tuple[str, ...]
    train: Floats
    normal: Floats
    faults: dict[int, Floats]

    @property
    def before(self) -> Floats:
        """The rows of all runs before their fault enters."""
        return np.concatenate([X[:ENTERS] for X in self.faults.values()])


def load() -> Runs:
    """Raises FileNotFoundError where the data are not there."""
    with np.load(find_data("tep/tep.npz")) as file:
        table = {key: np.asarray(file[key], dtype=np.float64) for key in file if key != "names"}
        names = tuple(str(name) for name in file["names"])
    return Runs(names, table["train"], table["test00"], {k: table[f"test{k:02d}"] for k in FAULTS})


def first_alarm(flagged: Bools) -> int | None:
    """The first row from the fault's entry on that is flagged with the next two; None where there is none."""
    runs = flagged[ENTERS:-2] & flagged[ENTERS + 1 : -1] & flagged[ENTERS + 2 :]
    return ENTERS + int(np.argmax(runs)) if runs.any() else None


def top(values: Floats, names: tuple[str, ...], count: int = 3) -> list[str]:
    return [names[j] for j in np.argsort(-values, kind="stable")[:count]]
