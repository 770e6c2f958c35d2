"""The interface under test; the only place where the library, or a prototype outside the repository, is imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Cells = tuple[int, ...]
Values = tuple[float, ...]
_PROTOTYPE = Path(__file__).resolve().parents[2].parent / "shared" / "prototypes" / "identities_complete.py"


class Identity(Protocol):
    """An exact relation; the determined column comes first."""

    @property
    def columns(self) -> tuple[int, ...]: ...
    @property
    def text(self) -> str: ...
    @property
    def share(self) -> float: ...
    @property
    def accuses(self) -> bool: ...
    def residual(self, X: Floats) -> Floats: ...
    def tolerance(self, X: Floats) -> Floats: ...


class Repair(Protocol):
    """The cells of a row that should change, their values, and other choices that are about as likely."""

    @property
    def row(self) -> int: ...
    @property
    def cells(self) -> Cells: ...
    @property
    def values(self) -> Values: ...
    @property
    def ties(self) -> Sequence[tuple[Cells, Values]]: ...


class Found(Protocol):
    @property
    def identities(self) -> Sequence[Identity]: ...
    def localize(self, X: Floats) -> Sequence[Repair]: ...


Finder = Callable[[Floats, list[str]], Found]


def get_finder(prototype: bool) -> Finder:
    """The library's search, or that of the prototype where it is available."""
    if prototype:
        return _prototype_finder()
    try:
        from aspca.identities import find_identities
        from aspca.identities.localize import localize
    except ImportError as error:
        raise SystemExit("aspca.identities is not available: install this project, or use --prototype.") from error

    def find(X: Floats, names: list[str]) -> Found:
        found = find_identities(X, names)
        return _LibraryFound(found.identities, lambda rows: localize(found, rows))

    return find


@dataclass(frozen=True)
class _LibraryFound:
    identities: Sequence[Identity]
    localize: Callable[[Floats], Sequence[Repair]]


def _prototype_finder() -> Finder:
    if not _PROTOTYPE.exists():
        raise SystemExit("--prototype needs ../shared beside the repository.")
    spec = importlib.util.spec_from_file_location("identities_prototype", _PROTOTYPE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)

    def find(X: Floats, names: list[str]) -> Found:
        found = module.identities(X)
        return _PrototypeFound(tuple(_PrototypeIdentity(module, one, X, tuple(names)) for one in found), module)

    return find


@dataclass(frozen=True, eq=False)
class _PrototypeIdentity:
    module: ModuleType
    inner: Any
    learned: Floats
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(int(j) for j in self.inner.columns)

    @property
    def text(self) -> str:
        return str(self.inner.text(self.names))

    @property
    def equation(self) -> str:
        return self.text

    @property
    def share(self) -> float:
        return float(self.inner.share)

    @property
    def accuses(self) -> bool:
        return bool(self.inner.share >= self.module.ACCUSES and not self.inner.others)

    def residual(self, X: Floats) -> Floats:
        return np.asarray(self.inner.residuals(X, np.zeros_like(X))[0], dtype=np.float64)

    def tolerance(self, X: Floats) -> Floats:
        """With the steps of the table it was learned from; never less than six digits, as the prototype judges rows."""
        H = np.broadcast_to(np.nanmedian(self.module.half_steps(self.learned), axis=0), X.shape)
        _, *tolerances = self.inner.residuals(X, H)
        return np.asarray(tolerances[max(self.inner.tier, 2)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _PrototypeFound:
    identities: tuple[_PrototypeIdentity, ...]
    module: ModuleType

    def localize(self, X: Floats) -> Sequence[Repair]:
        repairs: Sequence[Repair] = self.module.guilt([one.inner for one in self.identities], X)
        return repairs
