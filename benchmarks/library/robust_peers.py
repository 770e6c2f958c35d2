"""Robust estimators of others, each on a budget of seconds: what is slower is told so, not left out in silence.

robpy asks for versions of scikit-learn and statsmodels that lack what the others need; it works with later ones:
`make bench` installs it.
"""

from __future__ import annotations

import multiprocessing
import queue
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from library.labelled import Floats

# The share of rows that the deterministic MCD rests on.
_HALF = 0.75


def _distances(rows: Floats, location: Floats, covariance: Floats) -> Floats:
    centred = rows - location
    return np.asarray((centred @ np.linalg.pinv(covariance, hermitian=True) * centred).sum(axis=1))


def fast_mcd(train: Floats, test: Floats) -> Floats:
    from sklearn.covariance import MinCovDet

    return np.asarray(MinCovDet(random_state=0).fit(train).mahalanobis(test))


def det_mcd(train: Floats, test: Floats) -> Floats:
    from statsmodels.robust.covariance import CovDetMCD

    found = CovDetMCD(train).fit(int(_HALF * len(train)))
    return _distances(test, np.asarray(found.mean), np.asarray(found.cov))


def ddc(train: Floats, test: Floats) -> Floats:
    """The largest of a row's residuals: it judges cells."""
    import pandas as pd
    from robpy.outliers import DDC

    _, residuals = DDC().fit(pd.DataFrame(train)).predict(pd.DataFrame(test))
    return np.asarray(np.nanmax(np.abs(np.asarray(residuals)), axis=1))


def cell_mcd(train: Floats, test: Floats) -> Floats:
    from robpy.covariance import CellMCD

    class Covariance(CellMCD):  # type: ignore[misc]
        def _make_predictions(self, X: Floats, *rest: Any) -> tuple[Floats, Floats]:
            # Of training cells, which nobody asks for here; numpy 2.4 refuses how robpy 0.0.6 computes them.
            return np.zeros(X.shape), np.ones(X.shape)

    found = Covariance(verbosity=50).fit(train)
    return _distances(test, found.location_, found.covariance_)


PEERS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "FastMCD": fast_mcd,
    "CovDetMCD": det_mcd,
    "DDC": ddc,
    "cellMCD": cell_mcd,
}


def within(seconds: float, peer: str, train: Floats, test: Floats) -> Floats | str:
    """The scores (n,) that a peer gives test rows, or in words why there are none."""
    # A process of its own can be ended.
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_answer, args=(peer, train, test, answers), daemon=True)
    process.start()
    try:
        answer: Floats | str = answers.get(timeout=seconds)
    except queue.Empty:
        answer = f"over {seconds:g} s"
    process.kill()
    process.join()
    return answer


def _answer(peer: str, train: Floats, test: Floats, answers: Any) -> None:
    warnings.simplefilter("ignore")
    try:
        with np.errstate(all="ignore"):
            scores = PEERS[peer](train, test)
        answers.put(scores if np.isfinite(scores).all() else "not finite")
    except ImportError:
        answers.put("not installed")
    except Exception as error:
        answers.put(f"fails: {type(error).__name__}")
