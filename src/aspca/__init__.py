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
    from aspca.files.errors import ModelFileError
    from aspca.jobs.detect import detect
    from aspca.jobs.errors import JobError
    from aspca.jobs.fit import fit_source
    from aspca.jobs.outcome import Finding
    from aspca.jobs.result import Detection
    from aspca.jobs.score import Scored, score_source
    from aspca.judging.explained_row import ExplainedRow
    from aspca.judging.explanation import Explanation
    from aspca.judging.groups import Group, Groups
    from aspca.judging.incidents import Incident
    from aspca.judging.limits import Limit, benjamini_hochberg
    from aspca.moments import Moments
    from aspca.rules.rule import Rule
    from aspca.sparse_pca.certificate import Certificate
    from aspca.sparse_pca.solve import TiedSubspaceWarning
    from aspca.sparse_pca.subspace import SparseSubspace, sparse_subspace, sparse_subspace_path

_HOME = {
    "ASPCA": "aspca.estimators.aspca",
    "Certificate": "aspca.sparse_pca.certificate",
    "Detection": "aspca.jobs.result",
    "ExplainedRow": "aspca.judging.explained_row",
    "Explanation": "aspca.judging.explanation",
    "Finding": "aspca.jobs.outcome",
    "Group": "aspca.judging.groups",
    "Groups": "aspca.judging.groups",
    "Incident": "aspca.judging.incidents",
    "JobError": "aspca.jobs.errors",
    "Limit": "aspca.judging.limits",
    "ModelFileError": "aspca.files.errors",
    "Moments": "aspca.moments",
    "PerCategory": "aspca.estimators.per_category",
    "Preprocessor": "aspca.estimators.preprocessor",
    "Rule": "aspca.rules.rule",
    "Scored": "aspca.jobs.score",
    "Selection": "aspca.estimators.selection",
    "SparseSubspace": "aspca.sparse_pca.subspace",
    "TiedSubspaceWarning": "aspca.sparse_pca.solve",
    "benjamini_hochberg": "aspca.judging.limits",
    "detect": "aspca.jobs.detect",
    "explain": "aspca.estimators.pipelines",
    "fit_source": "aspca.jobs.fit",
    "load": "aspca.estimators.stored",
    "save": "aspca.estimators.stored",
    "score_source": "aspca.jobs.score",
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
