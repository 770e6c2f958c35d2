"""KDD99 under any integer coding of its three symbolic features, from moments alone.

A coded column is a combination of indicators, so the scatter of every coding is W'GW, with G the scatter of the numeric
columns and all indicators: thousands of codings in a minute. A coding matters by its order only: centring takes away
where it starts, the sign of a column does not change what is printed, and its scale is divided out.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.paper.datasets import (
    FIRST_500,
    KDD99_CODES,
    KDD99_FEATURE_NAMES,
    KDD99_FILE,
    KDD99_LIMIT,
    KDD99_LOGARITHMIC,
    find_data,
)

SYMBOLIC = (1, 2, 3)
NUMERIC = [j for j in range(len(KDD99_FEATURE_NAMES)) if j not in SYMBOLIC]
LAND = "land"
Strings = np.ndarray[tuple[int, ...], np.dtype[np.str_]]

# All values in the order in which public preprocessing code lists them, by all signs that of their first appearance in
# the whole file of 4.9 million records: the 10 % file has no http_2784, harvest, aol and http_8001.
WHOLE_FILE = tuple(list(codes) for codes in KDD99_CODES)
_BY_STATE = "S0 S1 S2 S3 SF REJ RSTO RSTR RSTOS0 SH OTH"
_BRO = "S0 S1 SF REJ S2 S3 RSTO RSTR RSTOS0 SH OTH"
# As the paper's table lists them; it writes warezserver for warezmaster, and leaves out land.
_TABLE = """
normal smurf neptune back teardrop pod satan ipsweep portsweep nmap buffer_overflow loadmodule perl rootkit ftp_write
guess_passwd imap multihop phf spy warezclient warezmaster land
"""


@dataclass(frozen=True)
class Records:
    """The records that the paper takes, land among them: numbers (n, 38), symbols (n, 3), kinds (n,); file[j], every
    symbol of the 10 % file in its order."""

    numbers: Floats
    symbols: Strings
    kinds: Strings
    file: tuple[list[str], ...]

    @classmethod
    def load(cls) -> Records:
        with gzip.open(find_data(KDD99_FILE)) as file:
            lines = file.read().decode("ascii").split()
        heads = [line.split(",", 4) for line in lines]
        kinds = [line[line.rindex(",") + 1 : -1] for line in lines]
        seen, chosen = Counter[str](), []
        for i, kind in enumerate(kinds):
            seen[kind] += 1
            if kind not in FIRST_500 or seen[kind] <= KDD99_LIMIT:
                chosen.append(i)
        rows = (f"{heads[i][0]},{heads[i][4][: heads[i][4].rindex(',')]}" for i in chosen)
        return cls(
            numbers=np.loadtxt(rows, delimiter=","),
            symbols=np.array([heads[i][1:4] for i in chosen]),
            kinds=np.array([kinds[i] for i in chosen]),
            file=tuple([head[k] for head in heads] for k in SYMBOLIC),
        )

    def where(self, name: str) -> Floats:
        return np.asarray(self.numbers[:, [KDD99_FEATURE_NAMES[j] for j in NUMERIC].index(name)])


class Coded:
    """Some of the records, ready for any coding."""

    def __init__(self, records: Records, taken: np.ndarray, logarithms: Sequence[int] = KDD99_LOGARITHMIC) -> None:
        self.symbols, self.kinds = records.symbols[taken], records.kinds[taken]
        self.labels = (self.kinds != "normal").astype(np.intp)
        numbers = records.numbers[taken]
        for j in logarithms:
            numbers[:, NUMERIC.index(j)] = np.log1p(numbers[:, NUMERIC.index(j)])
        numbers -= numbers.mean(axis=0)
        largest = np.abs(numbers).max(axis=0)
        numbers /= np.where(largest > 0, largest, 1.0)
        self.words = [sorted(set(column)) for column in self.symbols.T]
        indicators = [self.symbols[:, [k]] == np.array(words) for k, words in enumerate(self.words)]
        self._frequencies = [each.mean(axis=0) for each in indicators]
        self._columns = np.hstack([numbers, *(each - each.mean(axis=0) for each in indicators)])
        self._scatter = self._columns.T @ self._columns
        self._first = np.cumsum([len(NUMERIC), *(len(words) for words in self.words)])

    def weights(self, orders: Sequence[Sequence[str]]) -> Floats:
        """W: the 41 scaled columns as combinations of numbers and indicators."""
        W = np.zeros((self._scatter.shape[0], len(KDD99_FEATURE_NAMES)))
        W[np.arange(len(NUMERIC)), NUMERIC] = 1.0
        for k, order in enumerate(orders):
            place = {word: float(i) for i, word in enumerate(order)}
            codes = np.array([place[word] for word in self.words[k]])
            largest = np.abs(codes - self._frequencies[k] @ codes).max()
            W[self._first[k] : self._first[k + 1], SYMBOLIC[k]] = codes / largest
        return W

    def scatter(self, orders: Sequence[Sequence[str]]) -> Floats:
        W = self.weights(orders)
        return np.asarray(W.T @ self._scatter @ W)

    def rows(self, orders: Sequence[Sequence[str]]) -> Floats:
        """D (n, 41)."""
        return np.asarray(self._columns @ self.weights(orders))

    def orders(self, k: int, records: Records) -> dict[str, list[str]]:
        """Natural orders of one symbolic feature (0, 1, 2: protocol, service, flag), by name."""
        if k == 0:
            # The paper says which is which.
            return {"tcp, udp, icmp": WHOLE_FILE[0]}
        column, normal, whole = self.symbols[:, k], self.kinds == "normal", records.file[k]
        parts = {kind: list(column[self.kinds == kind]) for kind in dict.fromkeys(self.kinds)}
        rest = [word for kind in parts if kind != "normal" for word in parts[kind]]
        listed = [word for kind in _TABLE.split() for word in parts.get(kind, [])]
        found = {
            "first seen, whole file": WHOLE_FILE[k],
            "first seen, 10 % file": list(dict.fromkeys(whole)),
            "first seen, records taken": list(dict.fromkeys(column)),
            "first seen, normal first": list(dict.fromkeys([*column[normal], *column[~normal]])),
            "first seen, attacks first": list(dict.fromkeys([*column[~normal], *column[normal]])),
            "first seen, as the table": list(dict.fromkeys(listed)),
            "first seen, kind by kind": list(dict.fromkeys([*parts["normal"], *rest])),
            "first seen, kinds by name": list(dict.fromkeys(word for kind in sorted(parts) for word in parts[kind])),
            "first seen, from the end": list(dict.fromkeys(column[::-1])),
            "alphabet, records taken": sorted(set(column)),
            "alphabet without case": sorted(set(column), key=str.lower),
            "alphabet, 10 % file": sorted(set(whole)),
            "alphabet without case, 10 % file": sorted(set(whole), key=str.lower),
            "alphabet, all values": sorted(WHOLE_FILE[k]),
            "alphabet without case, all values": sorted(WHOLE_FILE[k], key=str.lower),
            "by frequency": [word for word, _ in Counter(column).most_common()],
            "by frequency, 10 % file": [word for word, _ in Counter(whole).most_common()],
            "by frequency, normal": [word for word, _ in Counter([*column[normal]]).most_common()],
            "by frequency, attacks": [word for word, _ in Counter([*column[~normal]]).most_common()],
            "by length": sorted(set(column), key=lambda word: (len(word), word)),
        }
        if k == 2:
            found["by state"] = _BY_STATE.split()
            found["as Bro lists them"] = _BRO.split()
            found["SF, then the alphabet"] = ["SF", *sorted(set(WHOLE_FILE[2]) - {"SF"})]
        return {name: [*order, *sorted(set(column) - set(order))] for name, order in found.items()}


@dataclass(frozen=True)
class Abnormal:
    """PCA's last d vectors; what does not depend on the basis of the null space, and how far that can move the rest."""

    variance: float
    norm: float
    above_tenth: int
    above_hundredth: int
    null: int
    V: Floats

    @classmethod
    def of(cls, A: Floats, d: int = 35) -> Abnormal:
        """With unit vectors, the sparsest basis there is, where columns are constant."""
        values, vectors = np.linalg.eigh(A)
        null = int((values <= 1e-10 * values[-1]).sum())
        size = np.abs(vectors[:, null:d])
        return cls(
            float(values[:d].sum()),
            float(size.sum()) + null,
            int((size > 0.1).sum()) + null,
            int((size > 0.01).sum()) + null,
            null,
            vectors[:, :d],
        )

    @property
    def more(self) -> tuple[float, int]:
        """What another basis of the null space adds at most, to the L1 norm and to each card."""
        return self.null * (np.sqrt(self.null) - 1.0), self.null * (self.null - 1)
