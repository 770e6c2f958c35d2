"""What ASPCA's defaults bear: anomalies among the training rows, and few rows. Beside the dense peers, in one run.

    python benchmarks/robustness.py                                # both parts
    python benchmarks/robustness.py --part rows --p 10 --seeds 20
    python benchmarks/robustness.py --json result.json

**Anomalies in the training rows.** Data of `planted.py`; a share of the 2000 training rows has one feature changed:
*inside*, its value taken from another row, as in the test rows; or *gross*, ten standard deviations off. Test rows are
never touched. AUC, top 1 and rules as in `interpretation.py` (rules: of ASPCA the canonical ones, of peers the
directions). *Trimmed*: scored, the tenth of the training rows that scores highest left out, fitted again; two rounds.

**Few rows.** Tables of n rows and p features: *planted* rules; *noise*, independent Gaussian columns; *successive*, the
same with each value 0.9 times the one before plus noise. No rule holds in the last two. Every rule is then measured
on 20,000 new rows, which gives two truths:
    empty   it says nothing: on new rows it has over 0.3 of the variance that its terms would have if unrelated (0.3
            is what the automatic number of rules allows)
    wide    on new rows its spread is over twice the promised one: what `Rule.looks_like_chance` claims to tell
A rule of one term is empty by that measure, unless its feature varies less on new rows. Two calls: *expected*,
`looks_like_chance` after the fit, from moments alone; *measured*, after `check_rules` with as many new rows as were
fitted (for canonical rules, which `check_rules` leaves as they are, the same measure is taken here). Pairs of figures
are expected / measured; a dash: no such rule in any table. *Other*: rules that are none of the planted ones; of
`rules_` most are combinations of those, since orthogonality forbids the rest. *Others called*: of rules that are not
wide, those called chance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from interpretation import DENSE, Figures, Fit, figures, matched, mean_of, ours, peer
from planted import Floats, Ints, Planted, planted
from rivals import RIVALS, Fitted, Spectrum

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
PEERS = ("z-scores", "varimax", *DENSE)

# ---- anomalies in the training rows


@dataclass(frozen=True)
class Spoilt:
    """One method on one spoilt table."""

    kind: str
    share: float
    figures: Figures


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


def trimmed(fit: Fit) -> Fit:
    """Fitted again, in rounds, to the rows that scored low; each round scores all rows."""

    def refit(data: Planted) -> tuple[Fitted, Floats | None]:
        fitted, canonical = fit(data)
        kept = data.train
        for _ in range(ROUNDS):
            scores = fitted.score(data.train)
            kept = data.train[scores <= np.quantile(scores, 1.0 - TRIMMED)]
            fitted, canonical = fit(replace(data, train=kept))
        # Vectors are compared in the deviations of all training rows.
        units = (Spectrum.of(data.train).scale / Spectrum.of(kept).scale)[:, None]
        directions = None if fitted.directions is None else _unit(fitted.directions * units)
        return replace(fitted, directions=directions), None if canonical is None else canonical * units

    return refit


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=0))


def contamination(options: argparse.Namespace) -> list[Spoilt]:
    methods: dict[str, Fit] = {"ASPCA": ours({}), "ASPCA standard": ours({"scaling": "standard"})}
    methods["ASPCA trimmed"] = trimmed(ours({}))
    methods["Mahalanobis 1e-04 trimmed"] = trimmed(peer(RIVALS["Mahalanobis 1e-04"]))
    methods |= {name: peer(RIVALS[name]) for name in PEERS}
    everything: list[Spoilt] = []
    for p in options.p:
        for noise in options.noise:
            for kind in ("inside", "gross"):
                rows = []
                for seed in range(options.seeds):
                    clean = planted(p, noise, seed)
                    for share in SHARES:
                        data = spoilt(clean, kind, share, seed)
                        for name, fit in methods.items():
                            rows.append(Spoilt(kind, share, figures(name, fit, data, noise, seed)))
                print(f"\np = {p}, noise {noise:g}, {kind} anomalies among the training rows, {options.seeds} seeds")
                contamination_table(rows, list(methods))
                everything += rows
    return everything


def contamination_table(rows: Sequence[Spoilt], methods: Sequence[str]) -> None:
    width = max(map(len, methods))
    shares = "".join(f"{f'{100 * share:g} %':>6}" for share in SHARES)
    print(f"{'':<{width}} | {'AUC':<30} | {'top 1':<30} | {'rules':<30} | d")
    print(f"{'':<{width}} |" + " |".join([shares] * 4))
    for method in methods:
        print(f"{method:<{width}} |" + " |".join(contamination_cells(rows, method)))


def contamination_cells(rows: Sequence[Spoilt], method: str) -> list[str]:
    """AUC, top 1, rules found and number of directions, each over all shares."""
    found = "canonical" if method.startswith("ASPCA") else "rules"
    cells = []
    for name, digits in (("auc", 3), ("top", 2), (found, 2), ("n_components", 1)):
        line = ""
        for share in SHARES:
            mean = mean_of([row.figures for row in rows if row.figures.method == method and row.share == share], name)
            line += f"{'-' if mean is None else f'{mean:.{digits}f}':>6}"
        cells.append(line)
    return cells


# ---- few rows


@dataclass(frozen=True)
class Seen:
    """One rule of one table: what it is, and what it is called. See the module's text.

    Attributes
    ----------
    canonical, planted : bool
        One of `canonical_rules_` (otherwise of `rules_`); one of the planted rules.
    terms : int
    share : float
        Variance on new rows over that of unrelated terms.
    widening, expected, measured : float
        On 20,000 new rows; from moments; on as many new rows as were fitted.
    """

    canonical: bool
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
    """One table: its rules, and the share of the planted ones among ASPCA's `rules_` and canonical rules."""

    kind: str
    p: int
    noise: float
    ratio: float
    n: int
    seed: int
    found: tuple[float, float]
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
    model = ASPCA().fit(train)
    scale = Spectrum.of(train).scale
    seen, found = [], []
    for rules in (model.rules_, model.canonical_rules_):
        vectors = np.zeros((p, len(rules)))
        for k, rule in enumerate(rules):
            index = _index(rule)
            vectors[index, k] = rule.coefficients * scale[index]
            spread = _spread(rule, new)
            seen.append(
                Seen(
                    canonical=rule.canonical,
                    planted=directions.size > 0 and matched(directions, vectors[:, [k]])[0] > 0.0,
                    terms=len(index),
                    share=spread**2 / float(rule.coefficients**2 @ new[:, index].var(axis=0)),
                    widening=spread / rule.spread,
                    expected=float("nan") if rule.widening is None else rule.widening,
                    measured=_spread(rule, held_out) / rule.spread,
                )
            )
        found.append(matched(directions, vectors)[0] if directions.size else float("nan"))
    checked = [rule.widening for rule in model.check_rules(held_out)]
    own = [rule.measured for rule in seen if not rule.canonical]
    if not np.allclose(np.array(checked, dtype=float), own, rtol=1e-6):
        raise AssertionError("check_rules and this script do not measure the same.")
    return Table(kind, p, noise, ratio, n, seed, (found[0], found[1]), tuple(seen))


def _index(rule: Rule) -> list[int]:
    return [int(name[1:]) for name in rule.features]


def _spread(rule: Rule, rows: Floats) -> float:
    """Of rows around the rule: a shift counts as spread."""
    off = (rows[:, _index(rule)] - rule.means) @ rule.coefficients
    return float(np.sqrt((off**2).mean()))


def few_rows(options: argparse.Namespace) -> list[Table]:
    everything = []
    for kind, noises in (("planted", options.noise), ("noise", [0.0]), ("successive", [0.0])):
        for p in options.p:
            for noise in noises:
                tables = [table_of(kind, p, noise, ratio, seed) for ratio in RATIOS for seed in range(options.seeds)]
                words = f"planted rules, noise {noise:g}" if kind == "planted" else f"{kind}: no rule holds"
                print(f"\np = {p}, {words}, {options.seeds} seeds")
                rows_table(tables)
                everything += tables
    return everything


def rows_table(tables: Sequence[Table]) -> None:
    """A line per number of rows, for `rules_` and for the canonical ones; counts are per table."""
    counts = ("n/p", "rules", "found", "other", "empty", "wide", "1 term")
    shares = ("planted called", "empty passed", "wide passed", "others called")
    print(f"{'':<9}" + "".join(f"{title:>7}" for title in counts) + "".join(f" |{title:>15}" for title in shares))
    for canonical in (False, True):
        for ratio in RATIOS:
            these = [table for table in tables if table.ratio == ratio]
            rules = [rule for table in these for rule in table.rules if rule.canonical == canonical]
            found = float(np.mean([table.found[canonical] for table in these]))
            line = f"{'canonical' if canonical else 'rules_':<9}{ratio:>7g}{len(rules) / len(these):>7.1f}"
            line += f"{'-' if np.isnan(found) else f'{found:.2f}':>7}"
            for counted in (
                [not rule.planted for rule in rules],
                [rule.empty for rule in rules],
                [rule.wide for rule in rules],
                [rule.terms == 1 for rule in rules],
            ):
                line += f"{sum(counted) / len(these):>7.1f}"
            for cell in (
                called([rule for rule in rules if rule.planted]),
                called([rule for rule in rules if rule.empty], passed=True),
                called([rule for rule in rules if rule.wide], passed=True),
                called([rule for rule in rules if not rule.wide]),
            ):
                line += f" |{cell:>15}"
            print(line)


def called(rules: Sequence[Seen], passed: bool = False) -> str:
    """Share of these rules that are called chance (or are not, `passed`): expected / measured."""
    if not rules:
        return "-"
    calls = np.array([[rule.expected > WIDE, rule.measured > WIDE] for rule in rules])
    expected, measured = (~calls if passed else calls).mean(axis=0)
    return f"{expected:.2f} / {measured:.2f}"


# ---- both


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=("anomalies", "rows", "both"), default="both")
    parser.add_argument("--p", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.05])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="every single figure, as JSON")
    options = parser.parse_args(arguments)
    anomalies = contamination(options) if options.part != "rows" else []
    rows = few_rows(options) if options.part != "anomalies" else []
    if options.json:
        everything = {"anomalies": [asdict(row) for row in anomalies], "rows": [asdict(table) for table in rows]}
        options.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
