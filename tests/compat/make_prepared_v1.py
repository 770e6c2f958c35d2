"""Makes the stored models of format version 1 whose columns were prepared, and what they say about a few rows.

Run by hand while the format was new: ``python tests/compat/make_prepared_v1.py``. From the first release on these files
are not to be made again: what is tested is that *old* files load.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aspca import ASPCA, Preprocessor
from aspca.estimators.stored import save

FOLDER = Path(__file__).parent / "prepared-v1"
KIND = "kind]\n\u2028"
LOGS = {"price": "log", "cost": "log", "area": "sqrt"}


def table(n: int = 200) -> pd.DataFrame:
    """cost = 1.2 * price, an area, a fee per kind, a size, truth values, and two dates three days apart."""
    rng = np.random.default_rng(2015)
    kind = rng.choice(["red", "</script>", "\x00\U0001f600"], n, p=[0.5, 0.3, 0.2])
    made = pd.DataFrame({"price": rng.lognormal(size=n), KIND: kind, "size": rng.choice(["2", "10", "9"], n)})
    made["cost"] = 1.2 * made.price * np.exp(0.01 * rng.normal(size=n))
    made["area"] = rng.gamma(3.0, size=n)
    made["fee"] = np.select([kind == "red", kind == "</script>"], [5.0, 2.0], 0.0) + 0.05 * rng.normal(size=n)
    made["ok"] = rng.random(n) < 0.5
    made["ordered"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    made["sent"] = made.ordered + pd.to_timedelta((3 + 0.1 * rng.normal(size=n)).round(2), unit="D").round("s")
    return made


def rows(gaps: bool) -> pd.DataFrame:
    """Some that break a rule each, one with a category never seen; with gaps, some of these."""
    found = table()[:8].copy()
    found.loc[0, "cost"] *= 3
    found.loc[1, "fee"] += 2
    found.loc[2, "sent"] += pd.Timedelta(days=40)
    found.loc[3, KIND] = "violet"
    if gaps:
        found.loc[[4, 5], "price"] = np.nan
        found.loc[6, "fee"] = np.nan
    return found


def models() -> Iterator[tuple[str, ASPCA, dict[str, bool], bool]]:
    one_hot = Preprocessor(categorical={KIND: "one-hot", "size": "codes"}, transforms=LOGS)
    whole = table()
    yield "prepared", ASPCA(preprocessor=one_hot).fit(whole), {}, False
    yield "prepared-private", ASPCA(preprocessor=one_hot).fit(whole), {"private": True, "moments": False}, False
    gapped = whole.mask(np.random.default_rng(3).random(whole.shape) < 0.05)
    allowed = Preprocessor(categorical={KIND: "one-hot", "size": "codes"}, transforms=LOGS, missing="allow")
    yield "gaps", ASPCA(preprocessor=allowed, score="standardized").fit(gapped), {}, True
    yield "gaps-all", ASPCA(preprocessor=allowed, rotation="all", alarm="any").fit(gapped), {"private": True}, True


def expected(model: ASPCA, judged: pd.DataFrame) -> dict[str, Any]:
    why = model.explain(judged)
    return {
        "scores": (-model.score_samples(judged)).tolist(),
        "predictions": model.predict(judged).tolist(),
        "shares": why.share_of_rules.tolist(),
        "threshold": model.threshold_,
        "rules": [str(rule) for rule in model.rules_],
        "texts": [why.text(i) for i in range(len(judged))],
        "features": why.to_frame().feature.tolist(),
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, model, options, gaps in models():
        save(model, FOLDER / f"{name}.model.json", **options)
        text = json.dumps({"gaps": gaps, **expected(model, rows(gaps))}, indent=1, allow_nan=False)
        (FOLDER / f"{name}.expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
