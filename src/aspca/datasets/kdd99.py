"""KDD Cup 1999 (the 10 % file), selected and encoded as the paper describes."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence

import numpy as np

from aspca.datasets.dataset import Dataset
from aspca.datasets.locate import find_data
from aspca.linalg.arrays import Floats

FILE = "kdd99/kddcup.data_10_percent.gz"

_NAMES = """
duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins
logged_in num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files
num_outbound_cmds is_host_login is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate
srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count
dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate
dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate
"""
FEATURE_NAMES = tuple(_NAMES.split())
SYMBOLIC = slice(1, 4)  # protocol_type, service, flag
LOGARITHMIC = [FEATURE_NAMES.index(name) for name in ("duration", "src_bytes", "dst_bytes")]
PROTOCOLS = {"tcp": 0, "udp": 1, "icmp": 2}

# Attacks of which the paper takes the first 500 records; of all others it takes every one, except land, which
# its table does not list.
FIRST_500 = frozenset({"smurf", "neptune", "back", "teardrop", "satan", "ipsweep", "portsweep"})
LIMIT = 500
LEFT_OUT = "land"


def load_kdd99(*, download: bool = False) -> Dataset:
    """The paper's 102,451 records of KDD99 with 41 numeric features; kinds are the types of attack.

    Protocols are tcp, udp, icmp = 0, 1, 2; services and flags are numbered in order of appearance in the
    selected records; durations and bytes are log(1 + x).

    Parameters
    ----------
    download : bool
        Whether to fetch the data through scikit-learn where the file is not found (see `locate`).

    Raises
    ------
    FileNotFoundError
        The file is not there, and `download` is False.
    """
    try:
        path = find_data(FILE)
    except FileNotFoundError as missing:
        if not download:
            message = str(missing).removesuffix(".")
            raise FileNotFoundError(f"{message}, or call load_kdd99(download=True).") from None
        return _from_scikit_learn()
    with gzip.open(path) as file:
        return _from_lines(file.read().decode("ascii").split())


def _from_lines(lines: Sequence[str]) -> Dataset:
    kinds = [line[line.rindex(",") + 1 : -1] for line in lines]
    chosen = selection(kinds)
    # The symbols are the second to fourth field: splitting off these leaves the rest to NumPy's parser.
    heads = [lines[i].split(",", 4) for i in chosen]
    numbers = np.loadtxt(
        (f"{duration},{rest[: rest.rindex(',')]}" for duration, _, _, _, rest in heads),
        delimiter=",",
        ndmin=2,
    )
    symbols = [[head[k] for head in heads] for k in range(SYMBOLIC.start, SYMBOLIC.stop)]
    return _assembled(numbers, symbols, [kinds[i] for i in chosen])


def _from_scikit_learn() -> Dataset:
    from sklearn.datasets import fetch_kddcup99

    bunch = fetch_kddcup99(percent10=True, shuffle=False)
    kinds = [label.decode("ascii").removesuffix(".") for label in bunch.target]
    chosen = selection(kinds)
    table = np.asarray(bunch.data)[chosen]
    numbers = np.delete(table, SYMBOLIC, axis=1).astype(np.float64)
    symbols = [[word.decode("ascii") for word in column] for column in table[:, SYMBOLIC].T]
    return _assembled(numbers, symbols, [kinds[i] for i in chosen])


def selection(kinds: Iterable[str]) -> list[int]:
    """Positions of the records the paper takes."""
    seen = dict.fromkeys(FIRST_500, 0)
    chosen = []
    for i, kind in enumerate(kinds):
        if kind in seen:
            seen[kind] += 1
            if seen[kind] > LIMIT:
                continue
        if kind != LEFT_OUT:
            chosen.append(i)
    return chosen


def _assembled(numbers: Floats, symbols: Sequence[Sequence[str]], kinds: Sequence[str]) -> Dataset:
    protocol, service, flag = symbols
    codes = [
        [PROTOCOLS[word] for word in protocol],
        _in_order_of_appearance(service),
        _in_order_of_appearance(flag),
    ]
    data = np.insert(numbers, [SYMBOLIC.start], np.array(codes, dtype=np.float64).T, axis=1)
    data[:, LOGARITHMIC] = np.log1p(data[:, LOGARITHMIC])
    return Dataset(
        data=data,
        feature_names=FEATURE_NAMES,
        labels=np.array([kind != "normal" for kind in kinds], dtype=np.intp),
        kinds=tuple(kinds),
        description="KDD Cup 1999, 10 %: all normal records, attacks as the paper selects them.",
    )


def _in_order_of_appearance(words: Iterable[str]) -> list[int]:
    codes: dict[str, int] = {}
    return [codes.setdefault(word, len(codes)) for word in words]
