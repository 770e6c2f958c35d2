"""What ASPCA's defaults bear: anomalies among the training rows, and few rows. Beside the dense peers, in one run.

    python benchmarks/robustness.py                                # both parts
    python benchmarks/robustness.py --part rows --p 10 --seeds 20
    python benchmarks/robustness.py --json result.json

**Anomalies in the training rows.** Data of `library.planted`; a share of the 2000 training rows has one feature
changed: *inside*, its value taken from another row, as in the test rows; or *gross*, ten standard deviations off. Test
rows are never touched. AUC; *rules*, the share of the planted rules among the directions; *top 1*, how often the moved
feature has the largest contribution, over the anomalies that are found. *Trimmed*: scored, the tenth of the training
rows that scores highest left out, fitted again; two rounds.

**Few rows.** Tables of n rows and p features: *planted* rules; *noise*, independent Gaussian columns; *successive*, the
same with each value 0.9 times the one before plus noise. No rule holds in the last two. Every rule is then measured
on 20,000 new rows, which gives two truths:
    empty   it says nothing: on new rows it has over 0.3 of the variance that its terms would have if unrelated (0.3
            is what the automatic number of rules allows)
    wide    on new rows its spread is over twice the promised one: what `Rule.looks_like_chance` claims to tell
A rule of one term is empty by that measure, unless its feature varies less on new rows. Two calls: *expected*,
`looks_like_chance` after the fit, from moments alone; *measured*, after `check_rules` with as many new rows as were
fitted. Pairs of figures are expected / measured; a dash: no such rule in any table. *Other*: rules that are none of the
planted ones. *Others called*: of rules that are not wide, those called chance. *Flagged*: share of the new rows that
are flagged, with the default level of 97.5 %.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from library.labelled import Floats, Ints
from library.measures import detected, matched, top_one
from library.planted import Planted, planted
from library.report import Cell, Report, Row, add_json
from library.rivals import QUICK, Fitted, Rival, Spectrum, ours
from sklearn.metrics import roc_auc_score

from aspca import ASPCA
from aspca.rules.rule import Rule

SHARES = (0.0, 0.002, 0.01, 0.05, 0.1)
GROSS = 10.0
TRIMMED, ROUNDS = 0.1, 2
RATIOS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
NEW_ROWS = 20_000
# Above this share of its unrelated terms' variance a rule says nothing; above this widening it is wide.
EMPTY, WIDE = 0.3, 2.0
# How much of a value the next one keeps.
KEPT = 0.9
PEERS = ("z-scores", "PCA residual", "Mahalanobis 1e-04", "minor components", "varimax")

# ---- anomalies in the training rows


def spoilt(data: Planted, kind: str, share: float, seed: int) -> Planted:
    """The same data with this share of the training rows changed; the rules' directions in the new deviations."""
    rng = np.random.default_rng([seed, data.train.shape[1], 1])
    train, deviations = data.train.copy(), data.train.std(axis=0)
    rows = rng.choice(len(train), size=round(share * len(train)), replace=False)
    # The features moved in the test rows, in the same shares.
    moved: Ints = rng.choice(data.changed[data.changed >= 0], size=rows.size)
    if kind == "inside":
        train[rows, moved] = data.train[rng.permutation(len(train))[: rows.size], moved]
    else:
        train[rows, moved] += GROSS * deviations[moved] * rng.choice((-1.0, 1.0), size=rows.size)
    directions = data.directions * (train.std(axis=0) / deviations)[:, None]
    return replace(data, train=train, directions=_unit(directions))


def trimmed(fit: Rival) -> Rival:
    """Fitted again, in rounds, to the rows that scored low; each round scores all rows."""

    def refit(train: Floats) -> Fitted:
        fitted = fit(train)
        kept = train
        for _ in range(ROUNDS):
            scores = fitted.score(train)
            kept = train[scores <= np.quantile(scores, 1.0 - TRIMMED)]
            fitted = fit(kept)
        if fitted.directions is None:
            return fitted
        # Vectors are compared in the deviations of all training rows.
        units = (Spectrum.of(train).scale / Spectrum.of(kept).scale)[:, None]
        return replace(fitted, directions=_unit(fitted.directions * units))

    return refit


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=0))


def contamination(report: Report, options: argparse.Namespace) -> None:
    methods: dict[str, Rival] = {"ASPCA": ours(), "ASPCA standard": ours(scaling="standard")}
    methods["ASPCA trimmed"] = trimmed(ours())
    methods["Mahalanobis 1e-04 trimmed"] = trimmed(QUICK["Mahalanobis 1e-04"])
    methods |= {name: QUICK[name] for name in PEERS}
    for p in options.p:
        for noise in options.noise:
            for kind in ("inside", "gross"):
                lines = [contaminated(name, fit, p, noise, kind, options.seeds) for name, fit in methods.items()]
                report.table(
                    f"p = {p}, noise {noise:g}, {kind} anomalies among the training rows, {options.seeds} seeds", lines
                )


def contaminated(name: str, fit: Rival, p: int, noise: float, kind: str, seeds: int) -> Row:
    """One method, over all shares."""
    cells: dict[str, Cell] = {"": name}
    figures = {
        share: np.array([_figures(fit, p, noise, kind, share, seed) for seed in range(seeds)]) for share in SHARES
    }
    for k, title in enumerate(("AUC", "top 1", "rules")):
        for share, values in figures.items():
            known = values[:, k][~np.isnan(values[:, k])]
            cells[f"{title} {100 * share:g} %"] = float(known.mean()) if known.size else None
    return cells


def _figures(fit: Rival, p: int, noise: float, kind: str, share: float, seed: int) -> tuple[float, float, float]:
    data = spoilt(planted(p, noise, seed), kind, share, seed)
    fitted = fit(data.train)
    scores = fitted.score(data.test)
    found = detected(scores, data.anomalous)
    parts = np.abs(fitted.contributions(data.test[found])) if found.any() else np.zeros((0, p))
    rules = float("nan") if fitted.directions is None else matched(data.directions, fitted.directions)[0]
    return float(roc_auc_score(data.labels, scores)), top_one(parts, data.changed[found]), rules


# ---- few rows


@dataclass(frozen=True)
class Seen:
    """One rule of one table: what it is, and what it is called. See the module's text.

    Attributes
    ----------
    planted : bool
        One of the planted rules.
    terms : int
    share : float
        Variance on new rows over that of unrelated terms.
    widening, expected, measured : float
        On 20,000 new rows; from moments; on as many new rows as were fitted.
    """

    planted: bool
    terms: int
    share: float
    widening: float
    expected: float
    measured: float

    @property
    def empty(self) -> bool:
        return self.share > EMPTY

    @property
    def wide(self) -> bool:
        return self.widening > WIDE


@dataclass(frozen=True)
class Table:
    """One table: its rules, the share of the planted ones among them, and the share of new rows that are flagged."""

    found: float
    flagged: float
    rules: tuple[Seen, ...]


def noise_rows(n: int, p: int, kept: float, rng: np.random.Generator) -> Floats:
    """Independent columns of unit variance; each value is `kept` times the one before plus noise."""
    rows = rng.normal(size=(n, p))
    for i in range(1, n if kept else 0):
        rows[i] = kept * rows[i - 1] + np.sqrt(1.0 - kept**2) * rows[i]
    return rows


def table_of(kind: str, p: int, noise: float, ratio: float, seed: int) -> Table:
    """A table of ratio * p rows, fitted with the defaults, its rules measured on new rows."""
    n = round(ratio * p)
    if kind == "planted":
        data = planted(p, noise, seed, n=n, n_normal=n + NEW_ROWS, n_anomalies=1)
        train, directions = data.train, data.directions
        held_out, new = np.split(data.test[:-1], [n])
    else:
        rng = np.random.default_rng([seed, p, n])
        directions = np.zeros((p, 0))
        train = noise_rows(n, p, KEPT if kind == "successive" else 0.0, rng)
        # Of successive rows, those held out are a stretch far from the one fitted; all new rows together are the law.
        held_out = noise_rows(n, p, KEPT if kind == "successive" else 0.0, rng)
        new = noise_rows(NEW_ROWS, p, 0.0, rng)
    with warnings.catch_warnings():
        # That rows are few is what is asked here.
        warnings.simplefilter("ignore")
        model = ASPCA().fit(train)
    checked = model.model_.checked(held_out)
    scale = Spectrum.of(train).scale
    seen = []
    vectors = model.model_.table.loadings * (scale / model.scale_)[:, None]
    for k, (rule, again) in enumerate(zip(model.rules_, checked.rules, strict=True)):
        index = [int(name[1:]) for name in rule.features]
        spread = _spread(rule, index, new)
        seen.append(
            Seen(
                planted=directions.size > 0 and matched(directions, vectors[:, [k]])[0] > 0.0,
                terms=len(index),
                share=spread**2 / float(rule.coefficients**2 @ new[:, index].var(axis=0)),
                widening=spread / rule.spread,
                expected=float("nan") if rule.widening is None else rule.widening,
                measured=float("nan") if again.widening is None else again.widening,
            )
        )
    found = matched(directions, vectors)[0] if directions.size and vectors.size else float("nan")
    return Table(found, float((model.predict(new) == -1).mean()), tuple(seen))


def _spread(rule: Rule, index: list[int], rows: Floats) -> float:
    """Of rows around the rule: a shift counts as spread."""
    off = (rows[:, index] - rule.means) @ rule.coefficients
    return float(np.sqrt((off**2).mean()))


def few_rows(report: Report, options: argparse.Namespace) -> None:
    for kind, noises in (("planted", options.noise), ("noise", [0.0]), ("successive", [0.0])):
        for p in options.p:
            for noise in noises:
                words = f"planted rules, noise {noise:g}" if kind == "planted" else f"{kind}: no rule holds"
                lines = [
                    rows_line(ratio, [table_of(kind, p, noise, ratio, seed) for seed in range(options.seeds)])
                    for ratio in RATIOS
                ]
                report.table(f"p = {p}, {words}, {options.seeds} seeds", lines, digits=2)


def rows_line(ratio: float, tables: Sequence[Table]) -> Row:
    """Counts are per table."""
    rules = [rule for table in tables for rule in table.rules]

    def count(chosen: Sequence[Seen]) -> float:
        return len(chosen) / len(tables)

    wide = [rule for rule in rules if rule.wide]
    return {
        "n/p": f"{ratio:g}",
        "rules": count(rules),
        "found": float(np.mean([table.found for table in tables])),
        "other": count([rule for rule in rules if not rule.planted]),
        "empty": count([rule for rule in rules if rule.empty]),
        "wide": count(wide),
        "1 term": count([rule for rule in rules if rule.terms == 1]),
        "planted called": called([rule for rule in rules if rule.planted]),
        "empty passed": called([rule for rule in rules if rule.empty], passed=True),
        "wide passed": called(wide, passed=True),
        "others called": called([rule for rule in rules if not rule.wide]),
        "flagged, %": 100.0 * float(np.mean([table.flagged for table in tables])),
    }


def called(rules: Sequence[Seen], passed: bool = False) -> str:
    """Share of these rules that are called chance (or are not, `passed`): expected / measured."""
    if not rules:
        return "-"
    calls = np.array([[rule.expected > WIDE, rule.measured > WIDE] for rule in rules])
    expected, measured = (~calls if passed else calls).mean(axis=0)
    return f"{expected:.2f} / {measured:.2f}"


# ---- both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("anomalies", "rows", "both"), default="both")
    parser.add_argument("--p", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.05])
    parser.add_argument("--seeds", type=int, default=3)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        if options.part != "rows":
            contamination(report, options)
        if options.part != "anomalies":
            few_rows(report, options)


if __name__ == "__main__":
    main()
