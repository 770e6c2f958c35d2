"""Anomaly detection that says why: sparse, orthonormal, certified rules from the abnormal subspace.

Public names are loaded when first used, so that scoring starts without scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from aspca.estimators.aspca import ASPCA
    from aspca.estimators.per_category import PerCategory
    from aspca.estimators.preprocessor import Preprocessor
    from aspca.estimators.selection import Selection, select
    from aspca.estimators.stored import load, save
    from aspca.files.errors import ModelFileError
    from aspca.model.explanation import Explanation
    from aspca.model.extraction import TiedSubspaceWarning, sparse_subspace
    from aspca.model.groups import Group, Groups
    from aspca.model.incidents import Incident
    from aspca.model.limits import Limit, benjamini_hochberg
    from aspca.model.path import sparse_subspace_path
    from aspca.model.rules import Rule
    from aspca.model.subspace import Certificate, SparseSubspace
    from aspca.moments import Moments

_HOME = {
    "ASPCA": "aspca.estimators.aspca",
    "Certificate": "aspca.model.subspace",
    "Explanation": "aspca.model.explanation",
    "Group": "aspca.model.groups",
    "Groups": "aspca.model.groups",
    "Incident": "aspca.model.incidents",
    "Limit": "aspca.model.limits",
    "ModelFileError": "aspca.files.errors",
    "Moments": "aspca.moments",
    "PerCategory": "aspca.estimators.per_category",
    "Preprocessor": "aspca.estimators.preprocessor",
    "Rule": "aspca.model.rules",
    "Selection": "aspca.estimators.selection",
    "SparseSubspace": "aspca.model.subspace",
    "TiedSubspaceWarning": "aspca.model.extraction",
    "benjamini_hochberg": "aspca.model.limits",
    "load": "aspca.estimators.stored",
    "save": "aspca.estimators.stored",
    "select": "aspca.estimators.selection",
    "sparse_subspace": "aspca.model.extraction",
    "sparse_subspace_path": "aspca.model.path",
}

__all__ = [
    "ASPCA",
    "Certificate",
    "Explanation",
    "Group",
    "Groups",
    "Incident",
    "Limit",
    "ModelFileError",
    "Moments",
    "PerCategory",
    "Preprocessor",
    "Rule",
    "Selection",
    "SparseSubspace",
    "TiedSubspaceWarning",
    "benjamini_hochberg",
    "load",
    "save",
    "select",
    "sparse_subspace",
    "sparse_subspace_path",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'aspca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
