"""From what was asked for to everything that is shown."""

from __future__ import annotations

from collections.abc import Sequence

from aspca.datasets.breast_cancer import load_breast_cancer
from aspca.datasets.dataset import Dataset
from aspca.datasets.kdd99 import load_kdd99
from aspca.datasets.synthetic import load_synthetic
from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.passes import Silent, Watcher
from aspca.reproduction.experiments import EXPERIMENTS, asked_for
from aspca.reproduction.results import Reproduction
from aspca.reproduction.study import Study


def reproduced(
    only: Sequence[str] = (), *, kdd99: str | None = None, download: bool = True, watcher: Watcher | None = None
) -> Reproduction:
    """Run the paper's experiments.

    Parameters
    ----------
    only : names of experiments; all where there are none
    kdd99 : path of the 10 % file of KDD Cup 1999, or None
        None: the file in `ASPCA_DATA`, or else what scikit-learn fetches.
    download : bool
        Whether scikit-learn may fetch it.
    watcher : Watcher or None
        Who is told of progress.

    Raises
    ------
    RequestError
        There is no experiment of such a name, or KDD99 alone was asked for and is not there.
    JobError
        The file given is not the one.
    """
    watcher = Silent() if watcher is None else watcher
    unknown = next((name for name in only if name not in EXPERIMENTS), None)
    if unknown is not None:
        raise RequestError(f"--only: there is no experiment {unknown!r}; there are {', '.join(EXPERIMENTS)}.")
    names = asked_for(only)
    if kdd99 is not None and "kdd99" not in names:
        raise RequestError("--kdd99 names a file that --only leaves out; add kdd99 to --only, or leave --kdd99 out.")
    # All data first: a file that cannot be used is said before anything is computed.
    sets, missing = {}, []
    for name in names:
        try:
            sets[name] = _loaded(name, kdd99, download, watcher)
        except FileNotFoundError as error:
            if kdd99 is not None or names == ("kdd99",):
                raise RequestError(str(error)) from None
            missing.append(f"KDD99 is left out. {error}")
    sections = [EXPERIMENTS[name].section(Study(name, data), watcher) for name, data in sets.items()]
    return Reproduction(tuple(sections), tuple(missing))


def _loaded(name: str, kdd99: str | None, download: bool, watcher: Watcher) -> Dataset:
    if name == "synthetic":
        return load_synthetic()
    if name == "breast-cancer":
        return load_breast_cancer()
    watcher.stage("Reading KDD99", unit="")
    try:
        return load_kdd99(kdd99, download=download)
    except ValueError as error:
        raise JobError(str(error)) from None
