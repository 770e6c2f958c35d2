"""Anomaly detection that says why: sparse, orthonormal, certified rules from the abnormal subspace.

Public names are loaded when first used, so that scoring starts without scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from aspca.estimators.aspca import ASPCA as ASPCA
    from aspca.estimators.per_category import PerCategory as PerCategory
    from aspca.estimators.pipelines import explain as explain
    from aspca.estimators.preprocessor import Preprocessor as Preprocessor
    from aspca.estimators.selection import Selection as Selection
    from aspca.estimators.selection import select as select
    from aspca.estimators.stored import load as load
    from aspca.estimators.stored import save as save
    from aspca.findings.explanation import Explanation as Explanation
    from aspca.findings.finding import Finding as Finding
    from aspca.findings.groups import Group as Group
    from aspca.findings.groups import Groups as Groups
    from aspca.findings.incidents import Incident as Incident
    from aspca.model.thresholds import Limit as Limit
    from aspca.model.thresholds import benjamini_hochberg as benjamini_hochberg
    from aspca.model_file.json_text import ModelFileError as ModelFileError
    from aspca.moments import Moments as Moments
    from aspca.pipeline.detect import detect as detect
    from aspca.pipeline.fit import fit_source as fit_source
    from aspca.pipeline.result import Detection as Detection
    from aspca.pipeline.score import Scored as Scored
    from aspca.pipeline.score import score_source as score_source
    from aspca.rules.rule import Rule as Rule
    from aspca.sparse_pca.certificate import Certificate as Certificate
    from aspca.sparse_pca.solve import TiedSubspaceWarning as TiedSubspaceWarning
    from aspca.sparse_pca.subspace import SparseSubspace as SparseSubspace
    from aspca.sparse_pca.subspace import sparse_subspace as sparse_subspace
    from aspca.sparse_pca.subspace import sparse_subspace_path as sparse_subspace_path
    from aspca.tables.errors import JobError as JobError

# The modules of the public names.
_NAMES = {
    "aspca.estimators.aspca": ("ASPCA",),
    "aspca.estimators.per_category": ("PerCategory",),
    "aspca.estimators.pipelines": ("explain",),
    "aspca.estimators.preprocessor": ("Preprocessor",),
    "aspca.estimators.selection": ("Selection", "select"),
    "aspca.estimators.stored": ("load", "save"),
    "aspca.findings.explanation": ("Explanation",),
    "aspca.findings.finding": ("Finding",),
    "aspca.findings.groups": ("Group", "Groups"),
    "aspca.findings.incidents": ("Incident",),
    "aspca.model.thresholds": ("Limit", "benjamini_hochberg"),
    "aspca.model_file.json_text": ("ModelFileError",),
    "aspca.moments": ("Moments",),
    "aspca.pipeline.detect": ("detect",),
    "aspca.tables.errors": ("JobError",),
    "aspca.pipeline.fit": ("fit_source",),
    "aspca.pipeline.result": ("Detection",),
    "aspca.pipeline.score": ("Scored", "score_source"),
    "aspca.rules.rule": ("Rule",),
    "aspca.sparse_pca.certificate": ("Certificate",),
    "aspca.sparse_pca.solve": ("TiedSubspaceWarning",),
    "aspca.sparse_pca.subspace": ("SparseSubspace", "sparse_subspace", "sparse_subspace_path"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'aspca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
