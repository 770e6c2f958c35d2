"""The Tennessee Eastman process: are faults found, and are the variables named that a process engineer would name?

    python benchmarks/tennessee.py                               # all of docs/tennessee.md, half a minute
    python benchmarks/tennessee.py --rules 36:0.02 42:0.02 39:0.015 39:0.03   # how stable the names are
    python benchmarks/tennessee.py --sweep --sizes 21 34 39 45   # many settings and splits; minutes

Fitted on the normal run (500 rows, 52 variables); the faults 1 to 10 enter at row 160 of 960. Charts: the three
scores of ASPCA, Hotelling's T2 beside its rules, and plain PCA with as many directions: SPE, its residuals whitened,
and T2. An *alarm* is three flagged rows in a row; its *delay* counts rows from 160 to the first of the three, so it is
known two rows later. Contributions are means over rows: from the first alarm to `--span` rows later, or to the end.

Two settings, as number of rules : alpha. Horn's parallel analysis leaves 39 rules (52 - 13 components), with alpha
chosen by hand; `auto:auto` is `ASPCA()` but for the level.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from aspca.judging.scores import SCORES, SHARE_OF_TYPICAL
from scipy.stats import f

from aspca import ASPCA
from aspca.datasets.locate import find_data
from aspca.judging.alarms import few_rows_factor
from aspca.judging.blame import FeatureSplit
from aspca.judging.limits import conformal_limit, pearson_limit
from aspca.linalg.arrays import Bools, Floats

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
SPLITS = ("blame", "loadings", "terms", "squared terms", "residual")
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
    split : str
        How the score is split over the variables, see `split`: "blame" for rules, "residual" for the others.
    typical : float
        Variance of a typical variable.
    limit : float
        Scores above are flagged.
    """

    name: str
    mean: Floats
    scale: Floats
    directions: Floats
    split: str
    typical: float
    limit: float

    def rows(self, X: Floats) -> Floats:
        return np.asarray((X - self.mean) / self.scale)

    def scores(self, X: Floats) -> Floats:
        return np.asarray(((self.rows(X) @ self.directions) ** 2).sum(axis=1))

    def contributions(self, X: Floats) -> Floats:
        """Of each variable (n, p); rows sum to the score."""
        return split(self.rows(X), self.directions, self.split, self.typical)


def split(x: Floats, directions: Floats, kind: str, typical: float) -> Floats:
    """A score of centred and scaled rows x (n, p), split over their variables (n, p) in one of five ways.

    "blame" is what `explain` does (`judging.blame`). A term c_i = (x . u_i)^2 is shared out by u_ij^2 ("loadings"), by
    |u_ij x_j| ("terms") or by (u_ij x_j)^2 ("squared terms"). "residual" takes the squares of M^(1/2) x, M the sum of
    u_i u_i': for plain SPE the squared residuals. All add up to the score.
    """
    if kind == "blame":
        return FeatureSplit(directions, typical)(x, x @ directions)
    if kind == "residual":
        left, sizes, _ = np.linalg.svd(directions, full_matrices=False)
        return np.asarray((x @ (left * sizes) @ left.T) ** 2)
    terms = (x @ directions) ** 2
    squares = directions**2
    if kind == "loadings":
        return np.asarray(terms @ (squares / squares.sum(axis=0)).T)
    sizes = np.abs(x[:, :, None] * directions) if kind == "terms" else x[:, :, None] ** 2 * squares
    return np.asarray(np.einsum("ni,nji->nj", terms / sizes.sum(axis=1), sizes))


@dataclass(frozen=True)
class Setting:
    """Number of rules and alpha, either may be "auto"."""

    n_components: int | str
    alpha: float | str
    scaling: str
    level: float

    def fit(self, runs: Runs, score: str) -> ASPCA:
        model = ASPCA(self.n_components, self.alpha, scaling=self.scaling, score=score, level=self.level)
        return model.fit(pd.DataFrame(runs.train, columns=list(runs.names)))


def aspca_charts(models: dict[str, ASPCA]) -> Iterator[Chart]:
    """One per score, and T2 beside the rules, which do not depend on the score."""
    for kind, model in models.items():
        typical = model.model_.typical
        directions = model.model_.weighted_loadings
        yield Chart(kind, model.mean_, model.scale_, directions, "blame", typical, model.threshold_)
    normal = model.model_.normal
    yield Chart(
        "T2", model.mean_, model.scale_, normal.directions, "residual", typical, normal.limit(model.level).value
    )


def pca_charts(runs: Runs, d: int, scaling: str, level: float) -> Iterator[Chart]:
    """Plain PCA: the d directions of least variance (SPE), and the others in units of their spread (T2)."""
    n, p = runs.train.shape
    mean = runs.train.mean(axis=0)
    centred = runs.train - mean
    scale = {"standard": centred.std(axis=0), "maxabs": np.abs(centred).max(axis=0), "none": np.ones(p)}[scaling]
    covariance = (centred / scale).T @ (centred / scale) / n
    typical = float(np.diag(covariance).mean())
    variances, vectors = np.linalg.eigh(covariance)
    inside = variances[:d]
    yield Chart("PCA SPE", mean, scale, vectors[:, :d], "residual", typical, pearson_limit(inside, level))
    # What of a better detection is due to the units alone, not to sparse rules: in them, every basis scores the same.
    floored = np.maximum(inside, SHARE_OF_TYPICAL * typical)
    limit = pearson_limit(inside / floored, level) * few_rows_factor(int((inside == floored).sum()), n, level)
    yield Chart("PCA whitened", mean, scale, vectors[:, :d] / np.sqrt(floored), "residual", typical, limit)
    r = p - d
    limit = r * (n + 1) / (n - r) * float(f.ppf(level, r, n - r)) if r else np.inf
    yield Chart("PCA T2", mean, scale, vectors[:, d:] / np.sqrt(variances[d:]), "residual", typical, limit)


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
    print(f"\nShare of the fault's rows flagged / delay of the alarm; Gaussian limits for {level:.0%}\n")
    limits = [chart.limit for chart in charts]
    _detection_table(runs, charts, limits)
    quiet = {"training run": runs.train, "another normal run": runs.normal, "before the faults": _before(runs)}
    for name, X in quiet.items():
        print(_line(f"false alarms, {name}", [_rate(c.scores(X) > c.limit) for c in charts]))
    print(f"\nThe same with conformal limits for {level:.0%} from the other normal run\n")
    limits = [conformal_limit(c.scores(runs.normal), level) for c in charts]
    _detection_table(runs, charts, limits)
    rates = [_rate(c.scores(_before(runs)) > limit) for c, limit in zip(charts, limits, strict=True)]
    print(_line("false alarms, before the faults", rates))
    first, second = runs.normal[:480], runs.normal[480:]
    for name, calibration, held_out in (("second", first, second), ("first", second, first)):
        rates = [_rate(c.scores(held_out) > conformal_limit(c.scores(calibration), level)) for c in charts]
        print(_line(f"{name} half of that run, limit from the other half", rates))


def _before(runs: Runs) -> Floats:
    return np.concatenate([X[:ENTERS] for X in runs.faults.values()])


def _detection_table(runs: Runs, charts: list[Chart], limits: list[float]) -> None:
    _header("fault", charts)
    for fault, X in runs.faults.items():
        cells = []
        for chart, limit in zip(charts, limits, strict=True):
            flagged = chart.scores(X) > limit
            alarm = first_alarm(flagged)
            cells.append(f"{100 * flagged[ENTERS:].mean():.1f} / {'-' if alarm is None else alarm - ENTERS}")
        print(_line(str(fault), cells))


def _rate(flagged: Bools) -> str:
    return f"{100 * flagged.mean():.2f}"


def _header(first: str, charts: list[Chart]) -> None:
    print(_line(first, [chart.name for chart in charts]))
    print("|---" * (len(charts) + 1) + "|")


def _line(first: str, cells: list[str]) -> str:
    return f"| {first} | {' | '.join(cells)} |"


def explanations(runs: Runs, charts: list[Chart], span: int) -> None:
    """Which of the variables that an engineer would look at are among the three largest contributions."""
    print(
        "\nThe variables an engineer would name among the three largest contributions, in their order, or the place of"
    )
    print(f"the first where there are none; from the alarm to {span} rows later / from the alarm to the end\n")
    _header("fault", charts)
    for fault, (_, named) in NAMED.items():
        spans = (span, len(runs.normal))
        cells = [" / ".join(_named(runs, chart, fault, named, rows) for rows in spans) for chart in charts]
        print(_line(str(fault), cells))
    print("\nAll of the three largest, with their shares")
    for fault, (what, named) in NAMED.items():
        print(f"fault {fault}: {what} ({', '.join(named)})")
        for chart in charts:
            mean = _mean_contributions(runs, chart, fault, span)
            if mean is not None:
                shares = np.sort(mean)[::-1] / mean.sum()
                listed = [f"{name} {share:.0%}" for name, share in zip(top(mean, runs.names), shares, strict=False)]
                print(f"  {chart.name:13s} {', '.join(listed)}")


def _mean_contributions(runs: Runs, chart: Chart, fault: int, span: int) -> Floats | None:
    alarm = first_alarm(chart.scores(runs.faults[fault]) > chart.limit)
    if alarm is None:
        return None
    return np.asarray(chart.contributions(runs.faults[fault][around(alarm, span)]).mean(axis=0))


def _named(runs: Runs, chart: Chart, fault: int, named: tuple[str, ...], span: int) -> str:
    mean = _mean_contributions(runs, chart, fault, span)
    if mean is None:
        return "no alarm"
    order = top(mean, runs.names, len(runs.names))
    found = [name for name in order[:3] if name in named]
    return ", ".join(found) or f"({1 + min(order.index(name) for name in named)}.)"


def sentences(runs: Runs, model: ASPCA) -> None:
    print(f"\nAt the alarm, score {model.get_params()['score']}")
    for fault in NAMED:
        why = model.explain(pd.DataFrame(runs.faults[fault], columns=list(runs.names)))
        alarm = first_alarm(why.anomalies)
        print(f"fault {fault}: " + ("no alarm" if alarm is None else why.text(alarm)))


def held(runs: Runs, model: ASPCA) -> None:
    """How much of a variable the rules look at: the squared length of its row of loadings, 0 to 1."""
    lengths = dict(zip(runs.names, (model.components_**2).sum(axis=0), strict=True))
    print("\nPart of each named variable that the rules look at, 0 to 1")
    for fault, (_, named) in NAMED.items():
        print(f"  fault {fault}: " + ", ".join(f"{name} {lengths[name]:.2f}" for name in named))


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


def feed_and_valve(runs: Runs) -> None:
    """Faults 1 and 6 move the A feed; only fault 6 parts it from its valve."""
    pair = [runs.names.index("XMEAS1"), runs.names.index("XMV3")]
    mean, spread = runs.train[:, pair].mean(axis=0), runs.train[:, pair].std(axis=0)
    usual = ((runs.train[:, pair] - mean) / spread) @ [1.0, -1.0]
    print("\nLargest distance from the mean in spreads: the A feed (XMEAS1), and its difference from its valve (XMV3)")
    for fault in (1, 6):
        z = (runs.faults[fault][ENTERS:, pair] - mean) / spread
        print(f"  fault {fault}: {np.abs(z[:, 0]).max():.1f}, {np.abs(z @ [1.0, -1.0]).max() / usual.std():.1f}")


def sweep(runs: Runs, level: float, sizes: list[int]) -> None:
    """Of the five faults, how many have a named variable in the top three: settings x splits x spans."""
    print(f"\nFaults of five with a named variable in the top 3, at spans of {', '.join(map(str, SPANS))} rows")
    totals: dict[tuple[str, str, str], list[list[int]]] = {}
    for scaling, alphas in SWEPT_ALPHAS.items():
        for d in sizes:
            for chart in pca_charts(runs, d, scaling, level):
                print(f"{scaling:9s}{d:3d}         {chart.name:13s}", _digits(_hits(runs, chart, "residual")))
            for alpha in alphas:
                setting = Setting(d, alpha, scaling, level)
                models = {kind: setting.fit(runs, kind) for kind in SCORES}
                for chart in list(aspca_charts(models))[: len(SCORES)]:
                    hits = {kind: _hits(runs, chart, kind) for kind in SPLITS}
                    for kind, counts in hits.items():
                        totals.setdefault((scaling, chart.name, kind), []).append(counts)
                    cells = "  ".join(f"{kind} {_digits(counts)}" for kind, counts in hits.items())
                    print(f"{scaling:9s}{d:3d} {alpha:<7g} {chart.name:13s} {cells}", flush=True)
    for key, found in totals.items():
        print(" / ".join(key) + ": mean", np.round(np.mean(found, axis=0), 2), f"all {np.mean(found):.2f}")


def _hits(runs: Runs, chart: Chart, kind: str) -> list[int]:
    counts = [0] * len(SPANS)
    for fault, (_, named) in NAMED.items():
        X = runs.faults[fault]
        alarm = first_alarm(chart.scores(X) > chart.limit)
        if alarm is None:
            continue
        parts = split(chart.rows(X[around(alarm, max(SPANS))]), chart.directions, kind, chart.typical)
        for i, span in enumerate(SPANS):
            counts[i] += bool(set(top(parts[: span + 1].mean(axis=0), runs.names)) & set(named))
    return counts


def _digits(counts: list[int]) -> str:
    return "".join(map(str, counts))


def _rules(text: str) -> tuple[int | str, float | str]:
    count, _, alpha = text.partition(":")
    return count if count == "auto" else int(count), alpha if alpha == "auto" else float(alpha)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=_rules, nargs="+", default=[(39, 0.02), ("auto", "auto")])
    parser.add_argument("--scaling", choices=("standard", "maxabs", "none"), default="maxabs")
    parser.add_argument("--score", choices=SCORES, default="whitened", help="whose sentences are printed")
    parser.add_argument("--level", type=float, default=0.99)
    parser.add_argument("--span", type=int, default=10)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[21, 39], help="numbers of rules of the sweep")
    args = parser.parse_args()
    runs = load()
    how_many(runs)
    moves_first(runs)
    feed_and_valve(runs)
    if args.sweep:
        sweep(runs, args.level, args.sizes)
        return
    for n_components, alpha in args.rules:
        setting = Setting(n_components, alpha, args.scaling, args.level)
        models = {score: setting.fit(runs, score) for score in SCORES}
        model = models[args.score]
        d, p = model.components_.shape
        used = int(np.count_nonzero(model.components_))
        print(f"\n== {d} rules, alpha {model.model_.alpha:.3g}, scaling {args.scaling}: {used} of {d * p} loadings")
        charts = [*aspca_charts(models), *pca_charts(runs, d, args.scaling, args.level)]
        detection(runs, charts, args.level)
        explanations(runs, charts, args.span)
        held(runs, model)
        sentences(runs, model)


if __name__ == "__main__":
    main()
