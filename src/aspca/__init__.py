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
    from aspca.estimators.pipelines import explain
    from aspca.estimators.preprocessor import Preprocessor
    from aspca.estimators.selection import Selection, select
    from aspca.estimators.stored import load, save
    from aspca.findings.explained_row import ExplainedRow
    from aspca.findings.explanation import Explanation
    from aspca.findings.groups import Group, Groups
    from aspca.findings.incidents import Incident
    from aspca.model.thresholds import Limit, benjamini_hochberg
    from aspca.model_file.errors import ModelFileError
    from aspca.moments import Moments
    from aspca.pipeline.detect import detect
    from aspca.pipeline.errors import JobError
    from aspca.pipeline.fit import fit_source
    from aspca.pipeline.outcome import Finding
    from aspca.pipeline.result import Detection
    from aspca.pipeline.score import Scored, score_source
    from aspca.rules.rule import Rule
    from aspca.sparse_pca.certificate import Certificate
    from aspca.sparse_pca.solve import TiedSubspaceWarning
    from aspca.sparse_pca.subspace import SparseSubspace, sparse_subspace, sparse_subspace_path

_HOME = {
    "ASPCA": "aspca.estimators.aspca",
    "Certificate": "aspca.sparse_pca.certificate",
    "Detection": "aspca.pipeline.result",
    "ExplainedRow": "aspca.findings.explained_row",
    "Explanation": "aspca.findings.explanation",
    "Finding": "aspca.pipeline.outcome",
    "Group": "aspca.findings.groups",
    "Groups": "aspca.findings.groups",
    "Incident": "aspca.findings.incidents",
    "JobError": "aspca.pipeline.errors",
    "Limit": "aspca.model.thresholds",
    "ModelFileError": "aspca.model_file.errors",
    "Moments": "aspca.moments",
    "PerCategory": "aspca.estimators.per_category",
    "Preprocessor": "aspca.estimators.preprocessor",
    "Rule": "aspca.rules.rule",
    "Scored": "aspca.pipeline.score",
    "Selection": "aspca.estimators.selection",
    "SparseSubspace": "aspca.sparse_pca.subspace",
    "TiedSubspaceWarning": "aspca.sparse_pca.solve",
    "benjamini_hochberg": "aspca.model.thresholds",
    "detect": "aspca.pipeline.detect",
    "explain": "aspca.estimators.pipelines",
    "fit_source": "aspca.pipeline.fit",
    "load": "aspca.estimators.stored",
    "save": "aspca.estimators.stored",
    "score_source": "aspca.pipeline.score",
    "select": "aspca.estimators.selection",
    "sparse_subspace": "aspca.sparse_pca.subspace",
    "sparse_subspace_path": "aspca.sparse_pca.subspace",
}

__all__ = [
    "ASPCA",
    "Certificate",
    "Detection",
    "ExplainedRow",
    "Explanation",
    "Finding",
    "Group",
    "Groups",
    "Incident",
    "JobError",
    "Limit",
    "ModelFileError",
    "Moments",
    "PerCategory",
    "Preprocessor",
    "Rule",
    "Scored",
    "Selection",
    "SparseSubspace",
    "TiedSubspaceWarning",
    "benjamini_hochberg",
    "detect",
    "explain",
    "fit_source",
    "load",
    "save",
    "score_source",
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
