"""The paper's three experiments: which tables and figures belong to each data set, and running them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aspca.paper import claims, figures, tables
from aspca.paper.datasets import Dataset, load_breast_cancer, load_kdd99, load_synthetic
from aspca.paper.published import Part, Reproduction, Section
from aspca.paper.study import Study
from aspca.pipeline.passes import Silent, Watcher
from aspca.tables.errors import JobError, RequestError

Step = Callable[[Study], Part | tuple[Part, ...]]

# In the paper's order, and for which of the three: S, B and K.
_STEPS: tuple[tuple[Step, str], ...] = (
    (tables.compare_records, "K"),
    (tables.compare_parameters, "SBK"),
    (figures.show_synthetic_rows, "S"),
    (figures.show_number_of_components, "BK"),
    (tables.compare_sparsity, "SBK"),
    (tables.list_sparsity_over_seeds, "S"),
    (figures.show_loading_matrices, "SBK"),
    (tables.compare_penalties, "BK"),
    (figures.show_penalties, "BK"),
    (tables.compare_thresholds, "SBK"),
    (figures.show_roc_curves, "SBK"),
    (tables.compare_components, "SBK"),
    (tables.compare_components_of_normal_rows, "S"),
    (figures.show_synthetic_projections, "S"),
    (figures.show_malignant_projections, "B"),
    (tables.compare_signatures, "K"),
    (claims.compare_jspca, "SBK"),
    (figures.show_jspca_matrix, "SB"),
    (figures.show_tree, "SBK"),
    (claims.compare_claims, "SBK"),
    (claims.list_beyond_paper, "SBK"),
)


@dataclass(frozen=True)
class Experiment:
    """A data set by its name, and what the paper shows of it."""

    name: str
    title: str
    steps: tuple[Step, ...]

    def run(self, study: Study, watcher: Watcher) -> Section:
        """All of it, computed; figures are only prepared."""
        watcher.stage(self.title, len(self.steps), "steps")
        parts: list[Part] = []
        for step in self.steps:
            found = step(study)
            parts += found if isinstance(found, tuple) else (found,)
            watcher.advance(1)
        return Section(self.name, self.title, study.data.description, tuple(parts))


EXPERIMENTS = {
    name: Experiment(name, title, tuple(step for step, wanted in _STEPS if letter in wanted))
    for letter, name, title in (
        ("S", "synthetic", "Synthetic data"),
        ("B", "breast-cancer", "Breast-Cancer"),
        ("K", "kdd99", "KDD99"),
    )
}


def run_experiments(
    only: Sequence[str] = (), *, kdd99: str | None = None, watcher: Watcher | None = None
) -> Reproduction:
    """Run the paper's experiments.

    All where `only` names none. `kdd99` is the path of the 10 % file of KDD Cup 1999; None: the file in `ASPCA_DATA`,
    or else what scikit-learn fetches. RequestError: there is no such experiment, or KDD99 alone was asked for and
    is not there; JobError: the file given is not the one.
    """
    watcher = Silent() if watcher is None else watcher
    unknown = next((name for name in only if name not in EXPERIMENTS), None)
    if unknown is not None:
        raise RequestError(f"--only: there is no experiment {unknown!r}; there are {', '.join(EXPERIMENTS)}.")
    names = tuple(name for name in EXPERIMENTS if not only or name in only)
    if kdd99 is not None and "kdd99" not in names:
        raise RequestError("--kdd99 names a file that --only leaves out; add kdd99 to --only, or leave --kdd99 out.")
    # All data first: a file that cannot be used is refused before anything is computed.
    sets, missing = {}, []
    for name in names:
        try:
            sets[name] = _load(name, kdd99, watcher)
        except FileNotFoundError as error:
            if kdd99 is not None or names == ("kdd99",):
                raise RequestError(str(error)) from None
            missing.append(f"KDD99 is left out. {error}")
    sections = [EXPERIMENTS[name].run(Study(name, data), watcher) for name, data in sets.items()]
    return Reproduction(tuple(sections), tuple(missing))


def _load(name: str, kdd99: str | None, watcher: Watcher) -> Dataset:
    if name == "synthetic":
        return load_synthetic()
    if name == "breast-cancer":
        return load_breast_cancer()
    watcher.stage("Reading KDD99", unit="")
    try:
        return load_kdd99(kdd99, download=True)
    except ValueError as error:
        raise JobError(str(error)) from None
