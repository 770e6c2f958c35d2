"""Makes the stored models of format version 1, and what they say about a few rows.

Run by hand while the format was new: ``python tests/compat/make_v1.py``. From the first release on these files are not
to be made again: what is tested is that *old* files load.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aspca import ASPCA, Moments
from aspca.estimators.stored import save

FOLDER = Path(__file__).parent / "v1"
HOSTILE = ["a", "b]\n\u2028", '"c\\', "</script><b>", "\x00\U0001f600\u202e", "; DROP TABLE x"]


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """240 rows with a near copy, an exact double, an exact sum at a large offset and a constant, and rows to judge."""
    rng = np.random.default_rng(2015)
    a, b = rng.normal(size=(2, 240))
    columns = [a, b, a + 0.05 * rng.normal(size=240), np.full(240, 3.0), 2.0 * a, 1e6 + a + b]
    table = pd.DataFrame(np.column_stack(columns), columns=HOSTILE)
    rows = table[:12].copy()
    for number in range(1, 7):
        rows.iloc[number, number - 1] += 2.0
    return table, rows


def models(table: pd.DataFrame) -> Iterator[tuple[str, ASPCA, dict[str, bool]]]:
    for score, variant in (("spe", "BG"), ("standardized", "FG"), ("whitened", "G"), ("spe", "F"), ("whitened", "B")):
        yield f"{score}-{variant}", ASPCA(n_components=4, score=score, variant=variant, alarm="any").fit(table), {}
    conformal = ASPCA(n_components=4, score="standardized", limit="conformal", rule_limit="conformal", level=0.9)
    conformal.fit(table[:120]).calibrate(table[120:])
    conformal.check_rules(table[120:])
    yield "conformal", conformal, {}
    yield "conformal-private", conformal, {"private": True}
    yield "conformal-small", conformal, {"private": True, "moments": False}
    quantile = ASPCA(n_components=3, alpha=0, scaling="standard", contamination=0.05, rule_limit="quantile")
    yield "quantile", quantile.fit(table, sample_weight=np.arange(240) % 3), {}
    fixed = ASPCA(scaling="none", rounding="dominant", limit=0.5, rule_limit=0.25, time_budget=60.0, alarm="rule")
    yield "fixed-by-hand", fixed.fit_moments(Moments.from_array(table), feature_names=table.columns), {}
    few = ASPCA(n_components=2, limit="conformal", max_features=2).fit(table.to_numpy())
    yield "infinite-limit", few.calibrate(table.to_numpy()[:3]), {}


def expected(model: ASPCA, rows: Any) -> dict[str, Any]:
    why = model.explain(rows)
    limit = model.threshold_
    return {
        "rows": np.asarray(rows).tolist(),
        "parameters": model.get_params(),
        "scores": (-model.score_samples(rows)).tolist(),
        "transform": model.transform(rows).tolist(),
        "predictions": model.predict(rows).tolist(),
        "threshold": limit if np.isfinite(limit) else "Infinity",
        "rule_limits": [value if np.isfinite(value) else "Infinity" for value in model.rule_limits_.tolist()],
        "rules": [str(rule) for rule in model.rules_],
        "canonical_rules": [str(rule) for rule in model.canonical_rules_],
        "t2": model.t2(rows).tolist(),
        "texts": [why.text(i) for i in range(len(rows))],
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    table, rows = tables()
    for name, model, options in models(table):
        save(model, FOLDER / f"{name}.model.json", **options)
        judged = rows if hasattr(model, "feature_names_in_") else rows.to_numpy()
        text = json.dumps(expected(model, judged), indent=1, allow_nan=False)
        (FOLDER / f"{name}.expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
