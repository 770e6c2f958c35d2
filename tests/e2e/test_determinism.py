"""Nothing by luck: the same supports, signs and order on every BLAS kernel and thread count.

A script runs in fresh processes under OPENBLAS_NUM_THREADS = 1 and 2 and under several OPENBLAS_CORETYPE values, each
of which sums in another order. Where a step's optimum is unique (rank one, no tie) supports, signs and order must agree
exactly and values to 1e-9. At the first step that is not, the convex problem's value must agree to 1e-6; from there on
anything goes, and is flagged as such.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import pytest

SCRIPT = r"""
import json, sys
import numpy as np, pandas as pd, scipy.linalg, threadpoolctl
import aspca
from aspca import ASPCA, sparse_subspace
from aspca.paper.datasets import load_breast_cancer, load_synthetic

def describe(model):
    s = model.subspace_
    def columns(V):
        return [{"support": np.flatnonzero(v).tolist(), "signs": np.sign(v[v != 0]).tolist(), "v": v.tolist(),
                 "least": float(np.abs(v[v != 0]).min())} for v in V.T]
    return {
        "alpha": s.alpha,
        "size": float(np.abs(model.covariance_).max()),
        "verified": bool(s.verify(model.covariance_)),
        "sequence": columns(s.sequence),
        "loadings": columns(s.loadings),
        "steps": [{"upper": c.upper, "primal": c.primal, "lower": c.lower, "gap": c.gap, "rank_one": c.rank_one,
                   "tie": c.tie} for c in s.certificates],
        "scores": model.score_samples(model.rows)[:20].tolist(),
        "threshold": model.threshold_,
    }

def fitted(X, **options):
    model = ASPCA(**options).fit(X)
    model.rows = X
    return describe(model)

def said(X):
    found = aspca.detect(pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]))
    return {"rules": [str(rule) for rule in found.rules], "findings": [one.text for one in found.findings]}

def equal_pairs(seed):
    # Three columns twice; in five rows two of the copies are off by the same.
    rng = np.random.default_rng(seed)
    X = np.tile(rng.integers(0, 50, size=(int(rng.integers(60, 500)), 3)).astype(float), 2)
    X[rng.choice(len(X), 5, replace=False)[:, None], np.array([3, 4])] += 7
    return X

def equal_breaks(seed):
    # Sums and a difference of few whole numbers; eight rows break a sum by the same.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 500))
    a = rng.integers(0, 5, size=(n, 4)).astype(float)
    X = np.column_stack([a, a[:, 0] + a[:, 1] + rng.integers(0, 2, size=n) * 0.5, a[:, 2] - a[:, 3]])
    X[rng.choice(n, 8, replace=False), 4] += 10
    return X

cancer = load_breast_cancer().data
rng = np.random.default_rng(20)
mixing = rng.normal(size=(20, 5)) * (rng.uniform(size=(20, 5)) < 0.5)
factors = rng.normal(size=(300, 5)) @ mixing.T + 0.2 * rng.normal(size=(300, 20))
exact = rng.integers(-3, 4, size=(12, 8)).astype(float)
out = {
    "cancer B 5": fitted(cancer, n_components=10, alpha=5 / len(cancer), variant="B"),
    "cancer BG 5": fitted(cancer, n_components=10, alpha=5 / len(cancer), variant="BG"),
    "cancer BG 1": fitted(cancer, n_components=5, alpha=1 / len(cancer), variant="BG"),
    "synthetic": fitted(load_synthetic().data, n_components=4, alpha=0.02, scaling="none"),
    "synthetic F": fitted(load_synthetic().data, n_components=4, alpha=0.02, scaling="none", variant="FG"),
    "factors": fitted(factors, n_components=6, alpha=0.3, scaling="standard"),
    "pca": fitted(factors, n_components=6, alpha=0.0, variant="B"),
    "ties": fitted(np.hstack([exact, exact[:, :3]]), n_components=6, alpha=0.0, variant="B"),
    "large penalty": fitted(cancer, n_components=10, alpha=1.0, scaling="standard"),
}
words = {f"{make.__name__} {seed}": said(make(seed)) for make in (equal_pairs, equal_breaks) for seed in range(6)}
blas = [i for i in threadpoolctl.threadpool_info() if i["internal_api"] == "openblas"]
kernels = sorted({(i["architecture"], i["num_threads"]) for i in blas})
json.dump({"blas": kernels, "results": out, "said": words}, sys.stdout)
"""

PROBE = "import numpy, scipy.linalg, threadpoolctl, json; a = numpy.ones((64, 64)); a @ a; numpy.linalg.eigh(a); "
PROBE += "print(json.dumps([i.get('architecture') for i in threadpoolctl.threadpool_info()]))"
# From AVX-512 down to SSE2; what the processor cannot run is left out, what OpenBLAS maps together counts once.
CORES = ("SkylakeX", "Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott")
# Each takes as long as everything else here: the two that differ most, and four with `make test-long`.
FEW_CORES, MOST_CORES = 2, 4
MARGIN_OF_ENTRIES = 1e-7


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, env=variables | environment, capture_output=True, text=True, timeout=300, check=False
    )


@cache
def cores(most: int) -> dict[str, str]:
    """OPENBLAS_CORETYPE values that this processor runs, one for each kernel that truly took effect; the newest first,
    and the oldest in any case."""
    found: dict[str, str] = {}
    for name in CORES:
        probe = run(PROBE, OPENBLAS_CORETYPE=name, OPENBLAS_NUM_THREADS="1")
        if probe.returncode == 0:
            kernels = set(json.loads(probe.stdout))
            if len(kernels) == 1 and not kernels & set(found):
                found[kernels.pop()] = name
    kernels = list(found.items())
    return dict(kernels[: most - 1] + kernels[most - 1 :][-1:])


@cache
def outcome(core: str | None, threads: int) -> dict:
    environment = {"OPENBLAS_NUM_THREADS": str(threads)} | ({} if core is None else {"OPENBLAS_CORETYPE": core})
    done = run(SCRIPT, **environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def outcome_by(kernel: str, core: str) -> dict:
    """As `outcome(core, 1)`, which is not computed again where this is the kernel of this processor."""
    own = outcome(None, 1)
    return own if {architecture for architecture, _ in own["blas"]} == {kernel} else outcome(core, 1)


def certain_steps(result: dict) -> int:
    """Steps from the first on whose vector is determined."""
    for number, step in enumerate(result["steps"]):
        if not step["rank_one"] or step["tie"]:
            return number
    return len(result["steps"])


def compare(name: str, one: dict, other: dict) -> list[str]:
    """Sentences about what differs and should not."""
    problems = []
    size = max(one["size"], one["alpha"])
    certain = min(certain_steps(one), certain_steps(other))
    if certain_steps(one) != certain_steps(other):
        problems.append(f"{name}: flags differ from step {certain} on")
    for k in range(min(certain + 1, len(one["steps"]))):
        mine, theirs = one["steps"][k], other["steps"][k]
        tolerance = 1e-9 if k < certain else 1e-6
        for bound in ("primal",) if k == certain else ("primal", "upper"):
            if abs(mine[bound] - theirs[bound]) > tolerance * size:
                problems.append(f"{name}: `{bound}` of step {k} differs by {abs(mine[bound] - theirs[bound]):.1e}")
    for k in range(certain):
        problems += _vectors(f"{name}: step {k}", one["sequence"][k], other["sequence"][k])
    if certain == len(one["steps"]):
        for k, (v, w) in enumerate(zip(one["loadings"], other["loadings"], strict=True)):
            problems += _vectors(f"{name}: loading {k}", v, w)
        worst = max(abs(a - b) for a, b in zip(one["scores"], other["scores"], strict=True))
        if worst > 1e-9 * max(map(abs, one["scores"])):
            problems.append(f"{name}: scores differ by {worst:.1e}")
        if abs(one["threshold"] - other["threshold"]) > 1e-9 * one["threshold"]:
            problems.append(f"{name}: thresholds differ")
    return problems


def _vectors(name: str, v: dict, w: dict) -> list[str]:
    problems = [f"{name}: {what} differ" for what in ("support", "signs") if v[what] != w[what]]
    if not problems:
        far = max(abs(a - b) for a, b in zip(v["v"], w["v"], strict=True))
        if far > MARGIN_OF_ENTRIES:
            problems.append(f"{name}: entries differ by {far:.1e}")
    return problems


@pytest.mark.promise
def test_the_number_of_threads_does_not_matter() -> None:
    one, two = outcome(None, 1), outcome(None, 2)
    if not one["blas"]:
        pytest.skip("this NumPy does not use OpenBLAS")
    assert {threads for _, threads in one["blas"]} == {1}
    if (os.cpu_count() or 1) < 2:
        pytest.skip("there is only one processor")
    assert {threads for _, threads in two["blas"]} == {2}
    problems = [text for name in one["results"] for text in compare(name, one["results"][name], two["results"][name])]
    assert not problems, "\n".join(problems)


NUMBERS_OF_CORES = pytest.mark.parametrize("most", [FEW_CORES, pytest.param(MOST_CORES, marks=pytest.mark.long)])


@NUMBERS_OF_CORES
def test_the_kernel_of_the_blas_does_not_matter(most: int) -> None:
    if len(cores(most)) < 2:
        pytest.skip("this BLAS has one kernel only for this processor")
    problems = []
    for kernel, core in cores(most).items():
        result = outcome_by(kernel, core)
        assert {architecture for architecture, _ in result["blas"]} == {kernel}
        reference = outcome(None, 1)["results"]
        for name in reference:
            problems += [f"{core}: {text}" for text in compare(name, reference[name], result["results"][name])]
    assert not problems, "\n".join(problems)


@NUMBERS_OF_CORES
def test_ranks_and_sentences_are_the_same_on_every_kernel(most: int) -> None:
    """Where rows are off by the same, or columns are the same, rounding does not say which comes first."""
    one, two = outcome(None, 1)["said"], outcome(None, 2)["said"]
    assert all(len(words["findings"]) >= 5 for words in one.values())
    assert two == one
    for kernel, core in cores(most).items():
        found = outcome_by(kernel, core)["said"]
        assert {name: found[name] for name in one if found[name] != one[name]} == {}, kernel


def test_every_outcome_is_verified_and_enough_of_it_is_certain() -> None:
    for name, result in outcome(None, 1)["results"].items():
        assert result["verified"], name
    certain = {name: certain_steps(result) for name, result in outcome(None, 1)["results"].items()}
    # Where these fall to zero, the tests above compare nothing.
    assert certain["cancer B 5"] == certain["cancer BG 5"] == 10
    assert certain["cancer BG 1"] >= 2
    assert certain["synthetic"] == 4
    assert certain["factors"] >= 3
    assert certain["pca"] == 6
    for kind in ("ties", "large penalty"):
        assert any(step["tie"] for step in outcome(None, 1)["results"][kind]["steps"])


@NUMBERS_OF_CORES
def test_ties_are_broken_by_position_on_every_kernel(most: int) -> None:
    """Flagged as ties, yet not left to luck: the lowest features are taken, whatever the BLAS."""
    reference = outcome(None, 1)["results"]
    for kernel, core in cores(most).items():
        result = outcome_by(kernel, core)["results"]
        # All variances are one: the first ten features, alone.
        assert [v["support"] for v in result["large penalty"]["loadings"]] == [[k] for k in range(10)], kernel
        # A null space: its basis comes from the projector, which rounding does not turn.
        far = max(
            abs(a - b)
            for v, w in zip(reference["ties"]["sequence"], result["ties"]["sequence"], strict=True)
            for a, b in zip(v["v"], w["v"], strict=True)
        )
        assert far <= 1e-9, kernel
