"""The Tennessee Eastman process: are faults found, and are the variables named that a process engineer would name?

    python benchmarks/tennessee.py                                                  # two numbers of rules
    python benchmarks/tennessee.py --n-components 39 --alpha 0.02 --scaling maxabs  # the setting of the golden test
    python benchmarks/tennessee.py --sweep --n-components 21 34 39 45               # how stable the names are; minutes

Fitted on the normal run (500 rows, 52 variables); the faults 1 to 10 enter at row 160 of 960. Charts: the three
scores of ASPCA, Hotelling's T2 beside its rules, and plain PCA with as many directions: SPE, T2, and its residuals
whitened. An *alarm* is
three flagged rows in a row; its *delay* counts rows from 160 to the first of the three, so it is known two rows later.
Contributions are means over the rows from the first alarm to `--span` rows later.

The number of rules is 52 - k: k components keep 90 % of the variance (21 rules), or pass Horn's parallel analysis (39).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import f

from aspca import ASPCA
from aspca.datasets.locate import find_data
from aspca.linalg.arrays import Bools, Floats
from aspca.model.limits import box_limit, conformal_limit
from aspca.model.scores import SCORES, score_weights

ENTERS = 160
IN_A_ROW = 3
FAULTS = tuple(range(1, 11))

# What the fault's description makes a process engineer look at.
NAMED = {
    4: ("reactor cooling water, inlet temperature", ("XMEAS9", "XMEAS21", "XMV10")),
    5: ("condenser cooling water, inlet temperature", ("XMEAS22", "XMV11")),
    6: ("loss of the A feed", ("XMEAS1", "XMV3")),
    7: ("C header pressure", ("XMEAS4", "XMV4")),
    1: ("ratio of the A and C feeds", ("XMEAS1", "XMEAS4", "XMV3", "XMV4")),
}
# The last one reaches the end of every run: the whole fault.
SPANS = (0, 2, 5, 10, 20, 50, 100, 300, 800)
SPLITS = ("loadings", "terms", "squared terms", "residual")
# A column scaled by its largest value has about a ninth of the variance of a standardised one: alphas of like meaning.
SWEPT_ALPHAS = {"standard": (0.01, 0.05, 0.2), "maxabs": (0.001, 0.005, 0.02)}


@dataclass(frozen=True)
class Runs:
    """The normal run to fit to (500, p), another one (960, p), and one per fault (960, p)."""

    names: tuple[str, ...]
    train: Floats
    normal: Floats
    faults: dict[int, Floats]


def load() -> Runs:
    """Raises FileNotFoundError where the data are not there."""
    with np.load(find_data("tep/tep.npz")) as file:
        table = {key: np.asarray(file[key], dtype=np.float64) for key in file if key != "names"}
        names = tuple(str(name) for name in file["names"])
    return Runs(names, table["train"], table["test00"], {k: table[f"test{k:02d}"] for k in FAULTS})


@dataclass(frozen=True)
class Chart:
    """A score, sum_i (x . u_i)^2 over the columns u_i of `directions`, of rows x that are centred and scaled.

    Attributes
    ----------
    directions : ndarray of shape (p, m)
    by_rule : bool
        Each term is split over its variables by the squares of u_i; otherwise the score is split by the squares of
        M^(1/2) x with M the sum of u_i u_i': for plain SPE the squared residuals. Both splits add up to the score.
    limit : float
        Scores above are flagged.
    """

    name: str
    mean: Floats
    scale: Floats
    directions: Floats
    by_rule: bool
    limit: float

    def rows(self, X: Floats) -> Floats:
        return np.asarray((X - self.mean) / self.scale)

    def scores(self, X: Floats) -> Floats:
        return np.asarray(((self.rows(X) @ self.directions) ** 2).sum(axis=1))

    def contributions(self, X: Floats) -> Floats:
        """Of each variable (n, p); rows sum to the score."""
        return split(self.rows(X), self.directions, "loadings" if self.by_rule else "residual")


def split(x: Floats, directions: Floats, kind: str) -> Floats:
    """A score of centred and scaled rows x (n, p), split over their variables (n, p) in one of four ways.

    A term c_i = (x . u_i)^2 is shared out by u_ij^2 ("loadings", what `explain` does), by |u_ij x_j| ("terms") or by
    (u_ij x_j)^2 ("squared terms"); "residual" does not look at single terms, and is the same for every basis.
    """
    if kind == "residual":
        left, sizes, _ = np.linalg.svd(directions, full_matrices=False)
        return np.asarray((x @ (left * sizes) @ left.T) ** 2)
    terms = (x @ directions) ** 2
    squares = directions**2
    if kind == "loadings":
        return np.asarray(terms @ (squares / squares.sum(axis=0)).T)
    sizes = np.abs(x[:, :, None] * directions) if kind == "terms" else x[:, :, None] ** 2 * squares
    return np.asarray(np.einsum("ni,nji->nj", terms / sizes.sum(axis=1), sizes))


def fit(runs: Runs, n_components: int, alpha: float, scaling: str, level: float, score: str) -> ASPCA:
    return ASPCA(
        n_components=n_components,
        alpha=alpha,
        variant="BG",
        rounding="sparse",
        scaling=scaling,
        score=score,
        contamination="auto",
        limit="box",
        level=level,
        alarm="total",
        tol=1e-6,
        max_iter=5000,
        time_budget=None,
    ).fit(pd.DataFrame(runs.train, columns=list(runs.names)))


def aspca_charts(model: ASPCA, level: float) -> Iterator[Chart]:
    """The three scores of one fit, since the rules do not depend on the score, and T2 beside them."""
    loadings = model.components_.T
    projected = loadings.T @ model.covariance_ @ loadings
    for kind in SCORES:
        # Nothing here is so tight that float64 could not resolve it.
        weights = score_weights(kind, projected, np.zeros(len(projected)))
        variances = np.asarray(np.linalg.eigvalsh(weights @ projected @ weights), dtype=np.float64)
        limit = box_limit(variances, level)
        yield Chart(kind, model.mean_, model.scale_, loadings @ weights, True, limit)
    normal = model.model_.normal
    yield Chart("t2", model.mean_, model.scale_, normal.directions, False, normal.limit(level).value)


def pca_charts(runs: Runs, d: int, scaling: str, level: float) -> Iterator[Chart]:
    """Plain PCA: the d directions of least variance (SPE), and the others in units of their spread (T2)."""
    n, p = runs.train.shape
    mean = runs.train.mean(axis=0)
    centred = runs.train - mean
    scale = {"standard": centred.std(axis=0), "maxabs": np.abs(centred).max(axis=0), "none": np.ones(p)}[scaling]
    variances, vectors = np.linalg.eigh((centred / scale).T @ (centred / scale) / n)
    yield Chart("pca spe", mean, scale, vectors[:, :d], False, box_limit(variances[:d], level))
    # What of a better detection is due to the units alone, not to sparse rules: in them, every basis scores the same.
    floored = np.maximum(variances[:d], 1e-6 * variances[d - 1])
    units = vectors[:, :d] / np.sqrt(floored)
    yield Chart("pca whitened", mean, scale, units, False, box_limit(variances[:d] / floored, level))
    r = p - d
    limit = r * (n + 1) / (n - r) * float(f.ppf(level, r, n - r)) if r else np.inf
    yield Chart("pca t2", mean, scale, vectors[:, d:] / np.sqrt(variances[d:]), False, limit)


def first_alarm(flagged: Bools) -> int | None:
    """The first row from the fault's entry on that is flagged with the next two; None where there is none."""
    runs = flagged[ENTERS:-2] & flagged[ENTERS + 1 : -1] & flagged[ENTERS + 2 :]
    return ENTERS + int(np.argmax(runs)) if runs.any() else None


def around(alarm: int, span: int) -> slice:
    return slice(alarm, alarm + span + 1)


def top(values: Floats, names: tuple[str, ...], count: int = 3) -> list[str]:
    return [names[j] for j in np.argsort(-values, kind="stable")[:count]]


# ---- what is printed


def how_many(runs: Runs) -> None:
    """How a process engineer would choose the number of components."""
    n, p = runs.train.shape
    variances = np.linalg.eigvalsh(np.corrcoef(runs.train.T))[::-1]
    kept = 1 + int(np.searchsorted(np.cumsum(variances) / p, 0.9))
    noise = np.random.default_rng(0).standard_normal((50, n, p))
    chance = np.mean([np.linalg.eigvalsh(np.corrcoef(sample.T))[::-1] for sample in noise], axis=0)
    horn = int(np.argmin(variances > chance))
    print(f"90 % of the variance: {kept} components, {p - kept} rules; parallel analysis: {horn}, {p - horn} rules.")
    print(f"Directions with less than a tenth of a variable's variance: {int((variances < 0.1).sum())}.")


def detection(runs: Runs, charts: list[Chart], level: float) -> None:
    print(f"\nDetection rate / delay of the alarm, limits for {level:.0%} from the 500 training rows")
    _detection_table(runs, charts, [chart.limit for chart in charts])
    print("false alarms, another normal run     " + _cells([_rate(c.scores(runs.normal) > c.limit) for c in charts]))
    first, second = runs.normal[:480], runs.normal[480:]
    for name, calibration, held_out in (("second", first, second), ("first", second, first)):
        rates = [c.scores(held_out) > conformal_limit(c.scores(calibration), level) for c in charts]
        print(f"{f'  {name} half, conformal on the other':<37s}" + _cells([_rate(rate) for rate in rates]))
    print(f"The same with conformal limits for {level:.0%} from the 960 rows of the other normal run")
    _detection_table(runs, charts, [conformal_limit(c.scores(runs.normal), level) for c in charts])


def _detection_table(runs: Runs, charts: list[Chart], limits: list[float]) -> None:
    print(" " * 37 + _cells([chart.name for chart in charts]))
    for fault, X in runs.faults.items():
        cells = []
        for chart, limit in zip(charts, limits, strict=True):
            flagged = chart.scores(X) > limit
            alarm = first_alarm(flagged)
            cells.append(f"{flagged[ENTERS:].mean():.3f} /{'-' if alarm is None else alarm - ENTERS:>4}")
        print(f"fault {fault:<31d}" + _cells(cells))
    before = np.concatenate([X[:ENTERS] for X in runs.faults.values()])
    rates = [_rate(c.scores(before) > limit) for c, limit in zip(charts, limits, strict=True)]
    print("false alarms before the faults       " + _cells(rates))


def _rate(flagged: Bools) -> str:
    return f"{flagged.mean():.3f}"


def _cells(cells: list[str]) -> str:
    return " ".join(f"{cell:>13s}" for cell in cells)


def explanations(runs: Runs, charts: list[Chart], model: ASPCA, span: int) -> None:
    print(f"\nLargest contributions from the first alarm to {span} rows later (* named by process engineers)")
    for fault, (what, named) in NAMED.items():
        print(f"fault {fault}: {what} ({', '.join(named)})")
        for chart in charts:
            alarm = first_alarm(chart.scores(runs.faults[fault]) > chart.limit)
            if alarm is None:
                print(f"  {chart.name:13s} no alarm")
                continue
            mean = chart.contributions(runs.faults[fault][around(alarm, span)]).mean(axis=0)
            shown = [("*" if name in named else "") + name for name in top(mean, runs.names)]
            order = top(mean, runs.names, len(runs.names))
            rank = 1 + min(order.index(name) for name in named)
            shares = np.sort(mean)[::-1][:3] / mean.sum()
            listed = ", ".join(f"{name} {share:.0%}" for name, share in zip(shown, shares, strict=True))
            print(f"  {chart.name:13s} {'yes' if rank <= 3 else f'no, {rank}.':8s} {listed}")
        frame = pd.DataFrame(runs.faults[fault], columns=list(runs.names))
        why = model.explain(frame)
        alarm = first_alarm(why.anomalies)
        if alarm is not None:
            print("  " + why.text(alarm))


def moves_first(runs: Runs) -> None:
    """Which variables leave their range first: the ground on which any explanation stands."""
    mean, spread = runs.train.mean(axis=0), runs.train.std(axis=0)
    print("\nRows after the fault until a variable stays beyond 3 standard deviations for three rows")
    for fault, (_, named) in NAMED.items():
        z = (runs.faults[fault] - mean) / spread
        first = {name: first_alarm(np.abs(z[:, j]) > 3.0) for j, name in enumerate(runs.names)}
        moved = sorted((alarm - ENTERS, name) for name, alarm in first.items() if alarm is not None)
        delays = {name: delay for delay, name in moved}
        wanted = [f"{name} {delays.get(name, 'never')}" for name in named]
        others = [f"{name} {delay}" for delay, name in moved if name not in named][:5]
        print(f"  fault {fault}: {', '.join(wanted)}; first of the others: {', '.join(others)}")


def sweep(runs: Runs, level: float, sizes: list[int]) -> None:
    """Of the five faults, how many have a named variable in the top three: settings x splits x spans."""
    print(f"\nFaults of five with a named variable in the top 3, at spans of {', '.join(map(str, SPANS))} rows;")
    print("rule: faults with one in the rule that the alarm's first row breaks most")
    totals: dict[tuple[str, str, str], list[list[int]]] = {}
    for scaling, alphas in SWEPT_ALPHAS.items():
        for d in sizes:
            for chart in pca_charts(runs, d, scaling, level):
                print(f"{scaling:9s}{d:3d}         {chart.name:13s}", _digits(_hits(runs, chart, "residual")))
            for alpha in alphas:
                model = fit(runs, d, alpha, scaling, level, "spe")
                for chart in list(aspca_charts(model, level))[:3]:
                    hits = {kind: _hits(runs, chart, kind) for kind in SPLITS}
                    for kind, counts in hits.items():
                        totals.setdefault((scaling, chart.name, kind), []).append(counts)
                    cells = "  ".join(f"{kind} {_digits(counts)}" for kind, counts in hits.items())
                    print(
                        f"{scaling:9s}{d:3d} {alpha:<7g} {chart.name:13s} {cells}  rule {_rule_hits(runs, chart)}",
                        flush=True,
                    )
    for key, found in totals.items():
        print(" / ".join(key) + ": mean", np.round(np.mean(found, axis=0), 2), f"all {np.mean(found):.2f}")


def _hits(runs: Runs, chart: Chart, kind: str) -> list[int]:
    counts = [0] * len(SPANS)
    for fault, (_, named) in NAMED.items():
        X = runs.faults[fault]
        alarm = first_alarm(chart.scores(X) > chart.limit)
        if alarm is None:
            continue
        parts = split(chart.rows(X[around(alarm, max(SPANS))]), chart.directions, kind)
        for i, span in enumerate(SPANS):
            counts[i] += bool(set(top(parts[: span + 1].mean(axis=0), runs.names)) & set(named))
    return counts


def _rule_hits(runs: Runs, chart: Chart) -> int:
    """Faults whose alarm's first row breaks most a rule with a named variable among its loadings above 0.1."""
    count = 0
    for fault, (_, named) in NAMED.items():
        alarm = first_alarm(chart.scores(runs.faults[fault]) > chart.limit)
        if alarm is not None:
            worst = int(np.argmax((chart.rows(runs.faults[fault][alarm]) @ chart.directions) ** 2))
            sizes = np.abs(chart.directions[:, worst])
            used = {runs.names[j] for j in np.flatnonzero(sizes > 0.1 * np.linalg.norm(sizes))}
            count += bool(used & set(named))
    return count


def _digits(counts: list[int]) -> str:
    return "".join(map(str, counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-components", type=int, nargs="+", default=[21, 39])
    parser.add_argument("--alpha", type=float, nargs="+", default=[0.05])
    parser.add_argument("--scaling", choices=("standard", "maxabs", "none"), default="standard")
    parser.add_argument("--score", choices=SCORES, default="standardized", help="whose sentences are printed")
    parser.add_argument("--level", type=float, default=0.99)
    parser.add_argument("--span", type=int, default=10)
    parser.add_argument("--sweep", action="store_true")
    args = parser.parse_args()
    runs = load()
    how_many(runs)
    moves_first(runs)
    if args.sweep:
        sweep(runs, args.level, args.n_components)
        return
    for d in args.n_components:
        for alpha in args.alpha:
            model = fit(runs, d, alpha, args.scaling, args.level, args.score)
            used = int(np.count_nonzero(model.components_))
            print(f"\n== {d} rules, alpha {alpha:g}, scaling {args.scaling}: {used} of {d * len(runs.names)} loadings")
            charts = [*aspca_charts(model, args.level), *pca_charts(runs, d, args.scaling, args.level)]
            detection(runs, charts, args.level)
            explanations(runs, charts, model, args.span)


if __name__ == "__main__":
    main()
