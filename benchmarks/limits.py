"""Do limits hold? Fresh rows flagged beside the level that was promised.

    python benchmarks/limits.py                                   # laws without relations: n, p, number of rules
    python benchmarks/limits.py --laws Gauss t5 --n 60 1000 --p 10 --draws 40
    python benchmarks/limits.py --tables                          # tables of public packages, three random splits

**Laws** (`library.shapes`). Columns are unrelated, so every rule asked for is made of nothing: the hardest case for
a limit that rests on the fitted covariance. Per cent of fresh rows flagged at a nominal 2.5 and 1 %, the mean over
draws. *Auto* is the default, *moments* the model of `fit_moments`; *quantile*
takes training scores as they are; *split* fits to four fifths of the rows, with conformal limits from the rest;
*chi2* is the textbook's: the Mahalanobis distance beside the chi-square quantile. `rules` are those asked for: chosen,
5, or p. Where there are fewer than three independent rows per feature (`worth`) the fit says so: ``told``.
The certified sequence has no part in scores, so its penalty is left out (alpha = 0).

**Tables.** Of each table of `real_tables` with at least 300 rows, two thirds of the rows at random to learn from, the
others to judge; three splits. Identities hold in all rows; nothing is spoiled.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
from library.labelled import Floats
from library.report import Cell, Goal, Report, Row, add_json
from library.shapes import LAWS, draw
from scipy.stats import chi2

from aspca import ASPCA, Moments

LEVELS = (0.975, 0.99)
# How far fresh rows may be from the level: typically and at worst where there are three rows per feature, and below.
TYPICAL, WORST, FEW = 1.4, 2.0, 3.0
ENOUGH = 3.0
FRESH = 4000
RULES = ("chosen", "5", "p")
SPLITS, LEAST_ROWS = 3, 300
# What tables may flag at a nominal 2.5 %: the median between these, none above.
TABLES, WORST_TABLE = (1.8, 3.2), 5.0


def asked(rules: str, p: int) -> int | str:
    return "auto" if rules == "chosen" else p if rules == "p" else int(rules)


def flagged(model: ASPCA, rows: Floats) -> float:
    return 100.0 * float((model.predict(rows) == -1).mean())


def one_draw(law: str, n: int, p: int, rules: str, level: float, seed: int, peers: bool) -> dict[str, float]:
    """Per cent of fresh rows flagged by each kind of limit."""
    train = draw(law, n, p, np.random.default_rng([seed, n, p]))
    fresh = draw(law, FRESH, p, np.random.default_rng([seed, n, p, 1]))
    params = {"n_components": asked(rules, p), "alpha": 0.0, "level": level}
    ours = ASPCA(**params).fit(train)
    size = ours.model_.space.effective_sample_size
    found = {"auto": flagged(ours, fresh), "worth": size, "told": float(bool(ours.model_.warnings))}
    if peers:
        found["moments"] = flagged(ASPCA(**params).fit_moments(Moments.from_array(train)), fresh)
        found["quantile"] = flagged(ASPCA(**params, limit="quantile").fit(train), fresh)
        kept = np.arange(n) % 5 > 0
        split = ASPCA(**params, limit="conformal").fit(train[kept]).calibrate(train[~kept])
        found["split"] = flagged(split, fresh)
        covariance = np.linalg.pinv(np.cov(train.T, bias=True), hermitian=True)
        off = fresh - train.mean(axis=0)
        found["chi2"] = 100.0 * float(((off @ covariance * off).sum(axis=1) > chi2.ppf(level, p)).mean())
    return found


def cell_of(draws: Sequence[dict[str, float]], name: str) -> float:
    return float(np.mean([one[name] for one in draws])) if name in draws[0] else float("nan")


def law_rows(law: str, sizes: Sequence[tuple[int, int]], many: int, peers: bool) -> tuple[list[Row], list[list[float]]]:
    """The lines of one law, and for each of its figures the ratio to the level and rows per feature."""
    lines: list[Row] = []
    ratios: list[list[float]] = []
    for n, p in sizes:
        draws_here = max(2, many if n < 1000 else many // 4 if n < 10_000 else many // 10)
        for rules in RULES:
            for level in LEVELS:
                draws = [one_draw(law, n, p, rules, level, seed, peers) for seed in range(draws_here)]
                nominal = 100.0 * (1.0 - level)
                auto, worth = cell_of(draws, "auto"), cell_of(draws, "worth") / p
                told = cell_of(draws, "told") >= 0.5
                factor = WORST if worth >= ENOUGH else FEW
                figure: Cell = Goal(auto, nominal / factor, nominal * factor)
                # What is told not to be known may be anything but an alarm for every row.
                if worth < ENOUGH and told:
                    figure = Goal(auto, most=50.0)
                cells: dict[str, Cell] = {"n x p, rules": f"{n} x {p}, {rules}", "nominal": nominal, "auto": figure}
                cells |= (
                    {name: cell_of(draws, name) for name in ("moments", "quantile", "split", "chi2")} if peers else {}
                )
                lines.append(cells | {"worth / p": worth, "told": told, "draws": draws_here})
                ratios.append([auto / nominal, worth])
    return lines, ratios


def table_rows() -> list[Row]:
    from real_tables.catalogue import catalogue

    lines: list[Row] = []
    for table in catalogue():
        rows = table.frame.to_numpy(dtype=np.float64)
        if len(rows) < LEAST_ROWS:
            continue
        shares: dict[str, list[float]] = {}
        for seed in range(SPLITS):
            order = np.random.default_rng(seed).permutation(len(rows))
            train, fresh = rows[order[: 2 * len(rows) // 3]], rows[order[2 * len(rows) // 3 :]]
            models = {
                "auto": ASPCA(alpha=0.0).fit(train),
                "moments": ASPCA(alpha=0.0).fit_moments(Moments.from_array(train)),
                "quantile": ASPCA(alpha=0.0, limit="quantile").fit(train),
            }
            for name, model in models.items():
                shares.setdefault(name, []).append(flagged(model, fresh))
        means = {name: float(np.mean(values)) for name, values in shares.items()}
        lines.append({"table": table.name, "rows": len(rows), "columns": rows.shape[1], **means})
        lines[-1] = {**lines[-1], "auto": Goal(means["auto"], most=WORST_TABLE)}
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", nargs="+", default=LAWS, choices=LAWS, metavar="LAW")
    parser.add_argument("--n", type=int, nargs="+", default=[60, 100, 1000, 10_000])
    parser.add_argument("--p", type=int, nargs="+", default=[10, 40, 100])
    parser.add_argument("--draws", type=int, default=20, help="for n below 1,000; fewer for more rows")
    parser.add_argument("--alone", action="store_true", help="without the other limits beside it")
    parser.add_argument("--tables", action="store_true", help="tables of public packages instead")
    add_json(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with Report(options.json) as report:
        if options.tables:
            lines = table_rows()
            report.table("Fresh rows flagged, per cent, at a nominal 2.5 %", lines, digits=1)
            for name in ("auto", "moments", "quantile"):
                figures = [value.value if isinstance(value := line[name], Goal) else float(value) for line in lines]
                middle, worst = float(np.nanmedian(figures)), float(np.nanmax(figures))
                if name == "auto":
                    report.goal("auto, median", Goal(middle, *TABLES), digits=1)
                    report.goal("auto, worst", Goal(worst, most=WORST_TABLE), digits=1)
                else:
                    report.say(f"{name}: median {middle:.1f}, worst {worst:.1f}")
            return
        everything: list[list[float]] = []
        for law in options.laws:
            sizes = [(n, p) for n in options.n for p in options.p]
            lines, ratios = law_rows(law, sizes, options.draws, peers=not options.alone)
            everything += ratios
            report.table(
                f"{law}: fresh rows flagged, per cent", lines, digits={"auto": 2, "nominal": 1, "worth / p": 1}
            )
        known = np.array([ratio for ratio, worth in everything if worth >= ENOUGH])
        if known.size:
            off = np.exp(np.abs(np.log(np.maximum(known, 1e-3))))
            report.goal(
                "median factor between flagged and nominal, n >= 3 p", Goal(float(np.median(off)), most=TYPICAL)
            )
            report.goal("worst factor, n >= 3 p", Goal(float(off.max()), most=WORST))


if __name__ == "__main__":
    main()
