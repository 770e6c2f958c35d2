"""What tests of PostgreSQL share: tables of a server opened, and sentences in which no password may stand."""

from __future__ import annotations

import traceback
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from aspca.tables.errors import SourceError
from aspca.tables.postgres import open_postgres
from aspca.tables.request import ReadOptions
from aspca.tables.source import Source
from running.postgres import Cluster


def opened(cluster: Cluster, **options: Any) -> Source:
    return open_postgres(cluster.address, ReadOptions(**options))


def numbers(source: Source, names: list[str], size: int = 65536) -> np.ndarray[Any, Any]:
    return np.vstack([batch.values for batch in source.batches(names, size)])


def spoken(error: BaseException) -> str:
    """Everything that an error and whatever hangs on to it says."""
    said, seen, queue = "", set(), [error]
    while queue:
        one = queue.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        said += f"{one} {one!r} {one.args} {vars(one)} {traceback.format_exception(one)}"
        queue += [other for other in (one.__cause__, one.__context__) if other is not None]
    return said


def refused(cluster: Cluster, words: str, **options: Any) -> str:
    """The sentence that opening or reading ends with: one line, without the password."""
    with pytest.raises(SourceError, match=words) as caught, opened(cluster, **options) as source:
        list(source.cells([column.name for column in source.columns]))
    return sentence(cluster, caught.value)


def sentence(cluster: Cluster, error: BaseException) -> str:
    assert "\n" not in str(error)
    assert str(error).endswith(".")
    assert cluster.password not in spoken(error)
    assert quote(cluster.password, safe="") not in spoken(error)
    return str(error)
