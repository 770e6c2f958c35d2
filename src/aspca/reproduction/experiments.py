"""The paper's three experiments: which tables and figures belong to each data set, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aspca.jobs.passes import Watcher
from aspca.reproduction.figures.loading_matrices import joint_matrix, loading_matrices
from aspca.reproduction.figures.number_of_components import number_of_components
from aspca.reproduction.figures.penalty_curves import penalty_curves
from aspca.reproduction.figures.projections import of_breast_cancer, of_synthetic
from aspca.reproduction.figures.roc_curves import roc_curves
from aspca.reproduction.figures.synthetic_rows import synthetic_rows
from aspca.reproduction.figures.trees import tree
from aspca.reproduction.results import Part, Section
from aspca.reproduction.study import Study
from aspca.reproduction.tables.beyond import beyond
from aspca.reproduction.tables.claims import claims
from aspca.reproduction.tables.components import components, of_normal_rows
from aspca.reproduction.tables.jspca import jspca
from aspca.reproduction.tables.parameters import parameters
from aspca.reproduction.tables.penalties import penalties
from aspca.reproduction.tables.signatures import signatures
from aspca.reproduction.tables.sparsity import over_seeds, sparsity
from aspca.reproduction.tables.statistics import statistics
from aspca.reproduction.tables.thresholds import thresholds

Step = Callable[[Study], Part | tuple[Part, ...]]


@dataclass(frozen=True)
class Experiment:
    """A data set by its name, and what the paper shows of it."""

    name: str
    title: str
    steps: tuple[Step, ...]

    def section(self, study: Study, watcher: Watcher) -> Section:
        """All of it, computed; figures are only prepared."""
        watcher.stage(self.title, len(self.steps), "steps")
        parts: list[Part] = []
        for step in self.steps:
            found = step(study)
            parts += found if isinstance(found, tuple) else (found,)
            watcher.advance(1)
        return Section(self.name, self.title, study.data.description, tuple(parts))


EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        Experiment(
            "synthetic",
            "Synthetic data",
            (
                parameters,
                synthetic_rows,
                sparsity,
                over_seeds,
                loading_matrices,
                thresholds,
                roc_curves,
                components,
                of_normal_rows,
                of_synthetic,
                jspca,
                joint_matrix,
                tree,
                claims,
                beyond,
            ),
        ),
        Experiment(
            "breast-cancer",
            "Breast-Cancer",
            (
                parameters,
                number_of_components,
                sparsity,
                loading_matrices,
                penalties,
                penalty_curves,
                thresholds,
                roc_curves,
                components,
                of_breast_cancer,
                jspca,
                joint_matrix,
                tree,
                claims,
                beyond,
            ),
        ),
        Experiment(
            "kdd99",
            "KDD99",
            (
                statistics,
                parameters,
                number_of_components,
                sparsity,
                loading_matrices,
                penalties,
                penalty_curves,
                thresholds,
                roc_curves,
                components,
                signatures,
                jspca,
                tree,
                claims,
                beyond,
            ),
        ),
    )
}


def asked_for(only: Iterable[str]) -> tuple[str, ...]:
    """Experiments by their names, in the paper's order; all where none is named."""
    wanted = set(only)
    return tuple(name for name in EXPERIMENTS if not wanted or name in wanted)
