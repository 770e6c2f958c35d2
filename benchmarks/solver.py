"""The solver's speed and reach: each row of work beside its peer, in one run, on one thread.

    python benchmarks/solver.py                      # all rows: about half an hour, most of it the peers'
    python benchmarks/solver.py kdd blocks           # rows whose name contains one of the words
    python benchmarks/solver.py --json result.json   # the same figures for a machine

Ours runs at tol = 1e-4 with its certificates and witness, and every certificate is checked to be that good. The peers
solve the very same subproblems (our earlier components given), each in its strongest form, until what they return
proves the same gap ("gap"), or until their value happens to be that near ("value"): see `library.convex`. Goals are
about the same gap. Printed are ratios of medians; the machine's own seconds mean little, and on a busy machine ratios
move by a third from run to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field

import numpy as np
from library import convex
from library.problems import ROWS_OF, block_rows, dense_correlation, largest_off_diagonal
from library.report import Cell, Goal, Report, add_json
from library.report import Row as Line
from library.timing import median as seconds
from sklearn.decomposition import PCA

from aspca import ASPCA, Moments, sparse_subspace, sparse_subspace_path
from aspca.linalg.arrays import Floats
from aspca.model.projector import Projector
from aspca.moments.space import column_scale, scaled_covariance
from aspca.paper.datasets import load_breast_cancer, load_kdd99
from aspca.sparse_pca.component import Effort
from aspca.sparse_pca.groups import split_features
from aspca.sparse_pca.rotation import sparse_rotation
from aspca.sparse_pca.rotation.descent import paper_rotation
from aspca.sparse_pca.sequence import Sequence, extract

GAP = 1e-4
# The paper's scheme of rotation, as it was studied: 30 values of mu, 50 steps each.
PAPER_STEPS = 30 * 50


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    measure: str
    ratio: float
    goal: float
    more_is_better: bool
    detail: dict[str, object] = field(default_factory=dict)

    @property
    def line(self) -> Line:
        """A line of the printed table."""
        sides = {"least": self.goal} if self.more_is_better else {"most": self.goal}
        ratio: Cell = self.ratio if np.isnan(self.goal) else Goal(self.ratio, **sides)
        detail = ", ".join(f"{key} {_short(value)}" for key, value in self.detail.items())
        return {"work": self.work, "ratio": ratio, "beside": self.measure, "detail": detail}


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def paper_matrix(X: Floats) -> Floats:
    moments = Moments.from_array(X)
    return np.asarray(scaled_covariance(moments, column_scale(moments, "maxabs")) * X.shape[0], dtype=np.float64)


def first(C: Floats, alpha: float, count: int = 1) -> Sequence:
    """The first components of a sequence; public variant F runs through all the normal ones."""
    effort = Effort(GAP, 5000, np.inf)
    return extract(C, alpha, count, effort, scale=1e-9 * float(np.trace(np.abs(C))) / len(C), dominant=False)


# ---- rows


def beside_peers(
    work: str,
    C: Floats,
    alpha: float,
    earlier: list[Floats],
    values: list[float],
    ours: float,
    goal: float,
    peers: tuple[str, ...],
    **detail: object,
) -> Iterator[Row]:
    """A line for each peer and criterion; the goal is about the quickest peer, called directly, at the same gap."""
    taken: dict[str, float] = {}
    for peer in peers:
        criteria = ("gap", "value") if peer in convex.DIRECT else ("value",)
        runs = [convex.solve(peer, C, alpha, V, value, GAP, criteria) for V, value in zip(earlier, values, strict=True)]
        for criterion in criteria:
            name = f"{peer}, {criterion}"
            taken[name] = sum(run[criterion].seconds for run in runs)
            far = sum(run[criterion].off > GAP for run in runs)
            detail[f"{name} s"] = taken[name]
            if far:
                detail[f"{name} not within 1e-4"] = f"{far} of {len(runs)}"
    strongest = min((name for name in taken if name.endswith(", gap")), key=lambda name: taken[name])
    detail["ours s"] = ours
    for name, theirs in taken.items():
        wanted = goal if name == strongest else float("nan")
        yield Row(work, f"x {name}", theirs / ours, wanted, True, detail if name == strongest else {})


def sequence_beside(
    name: str, A: Floats, d: int, lam: float, goal: float, peers: tuple[str, ...] = (*convex.DIRECT, "CVXPY")
) -> Iterator[Row]:
    sparse_subspace(A, 1, lam, "B", tol=GAP)
    ours = seconds(lambda: sparse_subspace(A, d, lam, "B", tol=GAP), 5)
    result = sparse_subspace(A, d, lam, "B", tol=GAP)
    assert max(c.sdp_gap for c in result.certificates) <= GAP
    earlier = [result.sequence[:, :k] for k in range(d)]
    yield from beside_peers(
        f"{name} B, lambda {lam:g}, d {d}",
        A,
        lam,
        earlier,
        [c.primal for c in result.certificates],
        ours,
        goal,
        peers,
        **{"rank one": sum(c.rank_one for c in result.certificates)},
    )


def paper_sequences() -> Iterator[Row]:
    cancer = paper_matrix(load_breast_cancer().data)
    yield from sequence_beside("Breast-Cancer", cancer, 10, 5.0, 50)
    yield from sequence_beside("Breast-Cancer", cancer, 10, 1.0, 10)


def kdd_sequence() -> Iterator[Row]:
    # CVXPY's form takes minutes here.
    yield from sequence_beside("KDD99", paper_matrix(load_kdd99().data), 35, 100.0, 40, convex.DIRECT)


def dense_first(p: int, peers: tuple[str, ...], seeds: int) -> Iterator[Row]:
    """The first component both ways, on matrices of several kinds: the median and the worst of the seeds."""
    for kind in ROWS_OF:
        for direction in "BF":
            ratios: list[dict[str, float]] = []
            gaps = []
            for seed in range(seeds):
                A = np.corrcoef(ROWS_OF[kind](4 * p + 200, p, seed).T)
                alpha = 0.3 * largest_off_diagonal(A)
                C = A if direction == "B" else -A
                ours = seconds(lambda C=C, alpha=alpha: first(C, alpha), 5)
                step = first(C, alpha).steps[0]
                value = step.primal + alpha
                gaps.append((step.primal - step.lower) / max(abs(value), alpha))
                none = [np.zeros((p, 0))]
                lines = beside_peers("", C, alpha, none, [value], ours, 100, peers)
                ratios.append({line.measure: line.ratio for line in lines})
            name = f"dense p {p} {direction}, {kind}"
            medians = {measure: float(np.median([line[measure] for line in ratios])) for measure in ratios[0]}
            strongest = min((measure for measure in medians if measure.endswith(", gap")), key=lambda m: medians[m])
            for measure, median in medians.items():
                detail = {"worst": min(line[measure] for line in ratios), "largest sdp_gap": max(gaps)}
                goal = 100.0 if measure == strongest else float("nan")
                yield Row(name, f"{measure}, median of {seeds}", median, goal, True, detail)


def hard_beside_scs() -> Iterator[Row]:
    """Common factors so strong that the convex optimum is not rank one, and its support is wide."""
    A = dense_correlation(300, 0, common=0.4)
    alpha = 0.1 * largest_off_diagonal(A)
    ours = seconds(lambda: first(-A, alpha), 3)
    value = first(-A, alpha).steps[0].primal + alpha
    yield from beside_peers(
        "hard p 300 F, alpha 0.1", -A, alpha, [np.zeros((300, 0))], [value], ours, float("nan"), ("SCS",)
    )


def dense_1000() -> Iterator[Row]:
    A = dense_correlation(1000, 0)
    unit = seconds(lambda: np.linalg.eigh(A), 3)
    for share in (0.1, 0.3):
        alpha = share * largest_off_diagonal(A)
        assert len(split_features(A, alpha)) == 1
        for direction, C in (("B", A), ("F", -A)):
            start = time.perf_counter()
            found = first(C, alpha)
            ours = time.perf_counter() - start
            step = found.steps[0]
            gap = (step.primal - step.lower) / max(abs(step.primal + alpha), alpha)
            assert gap <= GAP
            detail = {"support": int(np.count_nonzero(found.vectors)), "sdp_gap": gap, "rank one": step.rank_one}
            yield Row(f"dense p 1000 {direction}, alpha {share:g}", "x eigh", ours / unit, 40, False, detail)


def blocks_5000() -> Iterator[Row]:
    X = block_rows(250, 20, 6000, 0)
    gram = seconds(lambda: X.T @ X, 3)
    A = X.T @ X / len(X)
    # Above the sampling noise between blocks, below what holds each of them together.
    alpha = 0.1 * largest_off_diagonal(A)
    sizes = [group.size for group in split_features(A, alpha)]
    backward = seconds(lambda: sparse_subspace(A, 20, alpha, "B", tol=GAP), 3)
    detail = {"blocks": len(sizes), "largest block": max(sizes)}
    yield Row("p 5000 in blocks, 20 backward", "x the Gram matrix", backward / gram, 1, False, detail)
    C = -A
    forward = seconds(lambda: first(C, alpha, 20), 3)
    yield Row("p 5000 in blocks, 20 forward", "x the Gram matrix", forward / gram, 1, False, detail)


def whole_300() -> Iterator[Row]:
    A = dense_correlation(300, 0)
    alpha = 0.3 * largest_off_diagonal(A)
    unit = seconds(lambda: np.linalg.eigh(A), 5)
    start = time.perf_counter()
    result = sparse_subspace(A, 250, alpha, "B", tol=GAP)
    taken = time.perf_counter() - start
    detail = {
        "s": taken,
        "rank one": sum(c.rank_one for c in result.certificates),
        "largest sdp_gap": max(c.sdp_gap for c in result.certificates),
    }
    yield Row("p 300, d 250 backward", "x eigh", taken / unit, float("nan"), False, detail)
    ours = seconds(lambda: sparse_subspace(A, 250, 0.0, "G"), 3)
    yield Row("p 300, d 250 G", "x eigh", ours / unit, 25, False)


def rotations() -> Iterator[Row]:
    cases = {}
    try:
        cases["41 x 35 (KDD99)"] = sparse_subspace(paper_matrix(load_kdd99().data), 35, 100.0, "B").sequence
    except FileNotFoundError as error:
        print(f"the rotation of KDD99 left out: {error}")
    for p, d in ((300, 30), (1000, 200)):
        cases[f"{p} x {d}"] = np.linalg.eigh(dense_correlation(p, 0))[1][:, :d]
    for name, V in cases.items():
        repeat = 3 if V.shape[1] < 100 else 1
        ours = seconds(lambda V=V: sparse_rotation(V), repeat)
        paper = seconds(lambda V=V: paper_rotation(V, PAPER_STEPS), repeat)
        ratio = sparse_rotation(V).l1 / float(np.abs(V @ paper_rotation(V, PAPER_STEPS)).sum())
        detail = {"L1 over the paper's": f"{ratio:.5f}"}
        yield Row(f"rotation {name}", "x the paper's scheme", ours / paper, 1, False, detail)


def whole_fit() -> Iterator[Row]:
    X = load_kdd99().data
    model = ASPCA(n_components=35, alpha=100.0 / len(X), variant="BG", scaling="maxabs", tol=GAP)
    model.fit(X)
    pca = seconds(lambda: PCA().fit(X), 5)
    ours = seconds(lambda: model.fit(X), 3)
    yield Row("whole BG fit of KDD99", "x PCA().fit", ours / pca, 60, False, {"ours s": ours, "PCA s": pca})


def scoring() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((41, 35)))[0]
    V[np.abs(V) < 0.1] = 0.0
    X = rng.standard_normal((1_000_000, 41))
    projector = Projector(np.zeros(41), np.zeros(41), np.ones(41), V)
    for name, rows in (("float64", X), ("float32", X.astype(np.float32))):
        dense, ours = [], []
        for _ in range(5):
            dense.append(seconds(lambda: X @ V))
            ours.append(seconds(lambda rows=rows: projector.score(rows)))
        ratio = float(np.median(ours) / np.median(dense))
        yield Row(f"scoring 1,000,000 x 41, {name}", "x X @ V", ratio, 2.5, False)


def path() -> Iterator[Row]:
    A = paper_matrix(load_kdd99().data)
    one = seconds(lambda: sparse_subspace(A, 35, 100.0, "B", tol=GAP), 3)
    for low, high in ((10.0, 500.0), (50.0, 200.0)):
        alphas = list(np.geomspace(low, high, 20))
        taken = seconds(lambda alphas=alphas: sparse_subspace_path(A, 35, alphas, "B", tol=GAP), 3)
        proved = seconds(lambda alphas=alphas: sparse_subspace_path(A, 35, alphas, "B", tol=GAP, proof="full"))
        steps = [c for found in sparse_subspace_path(A, 35, alphas, "B", tol=GAP) for c in found.certificates]
        detail = {
            "all proved": proved / one,
            "proved to 1e-4 at once": f"{100 * np.mean([c.gap <= GAP for c in steps]):.0f} %",
            "median gap of the others": float(np.median([c.gap for c in steps if c.gap > GAP])),
        }
        yield Row(f"KDD99, 20 alphas, {low:g} to {high:g}", "x one fit", taken / one, 4, False, detail)


# ---- growth


def growth() -> dict[str, list[dict[str, float]]]:
    """The cost of a first component with p, of a sequence with d, and of the moments with n."""
    by_p = []
    for p in (50, 100, 200, 400, 800):
        A = dense_correlation(p, 0)
        alpha = 0.3 * largest_off_diagonal(A)
        unit = seconds(lambda A=A: np.linalg.eigh(A), 3)
        back, forth = (seconds(lambda C=C, alpha=alpha: first(C, alpha), 3) for C in (A, -A))
        by_p.append({"p": p, "backward s": back, "forward s": forth, "eigh s": unit})
    A = dense_correlation(100, 0)
    alpha = 0.3 * largest_off_diagonal(A)
    by_d = [{"d": d, "s": seconds(lambda d=d: sparse_subspace(A, d, alpha, "B", tol=GAP))} for d in (1, 5, 20, 80)]
    X = np.random.default_rng(0).standard_normal((400_000, 41))
    by_n = [{"n": n, "s": seconds(lambda n=n: Moments.from_array(X[:n]), 3)} for n in (25_000, 100_000, 400_000)]
    return {"p": by_p, "d": by_d, "n": by_n}


ROWS: dict[str, Callable[[], Iterator[Row]]] = {
    "kdd": kdd_sequence,
    "cancer": paper_sequences,
    "dense100": lambda: dense_first(100, ("Clarabel", "SCS"), 3),
    "dense300": lambda: dense_first(300, ("SCS",), 2),
    "hard300-scs": hard_beside_scs,
    "dense1000": dense_1000,
    "blocks": blocks_5000,
    "whole300": whole_300,
    "rotation": rotations,
    "fit": whole_fit,
    "scoring": scoring,
    "path": path,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help=f"rows to run, of {', '.join((*ROWS, 'growth'))}; all by default")
    add_json(parser)
    options = parser.parse_args()
    wanted = [name for name in (*ROWS, "growth") if not options.words or any(w in name for w in options.words)]
    with Report(options.json) as report:
        rows: list[Row] = []
        for name in wanted:
            try:
                for row in ROWS[name]() if name != "growth" else ():
                    rows.append(row)
                    print(f"{row.work}: {row.ratio:.2f} {row.measure}", file=sys.stderr)
            except FileNotFoundError as error:
                print(f"{name} left out: {error}", flush=True)
        if rows:
            report.table("The solver beside its peers", [row.line for row in rows], digits=2)
            report.detail("rows", [asdict(row) for row in rows])
        for name, table in growth().items() if "growth" in wanted else ():
            lines: list[Line] = [{key: f"{value:.4g}" for key, value in entry.items()} for entry in table]
            report.table(f"Growth with {name}", lines)


if __name__ == "__main__":
    main()
