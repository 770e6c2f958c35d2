"""What tables of scores say of anomalies is what explanations say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, Preprocessor
from aspca.findings.explanation import Explanation
from aspca.findings.reasons import select_rules
from aspca.findings.short_reasons import ShortReasons

N = 400


def plain_rows() -> np.ndarray:
    """Relations of two and of four columns, a column of whole numbers, and one that is on its own (n, 7)."""
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, N))
    count = np.floor(rng.gamma(3.0, 20.0, size=N))
    rows = [a, b, a + b + 0.05 * rng.normal(size=N), c, 2 * c + 0.01 * rng.normal(size=N), count, 3 * count]
    return np.column_stack(rows)


def spoiled(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rng = np.random.default_rng(4)
    places = rng.integers(N, size=60), rng.integers(rows.shape[1], size=60)
    rows[places] += rng.choice([-1.0, 1.0, 30.0, -500.0], size=60)
    return rows


def table_rows() -> pd.DataFrame:
    """Columns of all kinds: a logarithm, dates, categories, codes, truth values."""
    rng = np.random.default_rng(5)
    price, amount = np.exp(rng.normal(size=(2, N)))
    days = rng.integers(0, 1000, size=N)
    sent = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")
    kind = rng.choice(["red", "green", "blue"], size=N)
    return pd.DataFrame(
        {
            "price": price,
            "total": price * amount * np.exp(0.01 * rng.normal(size=N)),
            "amount": amount,
            "sent": sent,
            "paid": sent + pd.to_timedelta(14, unit="D"),
            "kind": kind,
            "is red": np.where(kind == "red", 1.0, 0.0),
        }
    )


def prepared_model() -> tuple[ASPCA, Any]:
    table = table_rows()
    how = Preprocessor(transforms=dict.fromkeys(["price", "total", "amount"], "log"))
    model = ASPCA(preprocessor=how).fit(table)
    bad = table.copy()
    bad.loc[5, "total"] *= 3.0
    bad.loc[6, "paid"] += pd.Timedelta(days=9)
    bad.loc[7, "is red"] = 1.0 - bad.loc[7, "is red"]
    bad.loc[8, ["total", "paid"]] = [1e9, pd.Timestamp("1990-01-01")]
    return model, bad


def gapped_model() -> tuple[ASPCA, Any]:
    rows = pd.DataFrame(plain_rows(), columns=list("abcdefg"))
    model = ASPCA(preprocessor=Preprocessor(missing="allow")).fit(rows)
    bad = pd.DataFrame(spoiled(rows.to_numpy()), columns=list("abcdefg"))
    bad = bad.mask(np.random.default_rng(6).random(bad.shape) < 0.1)
    return model, bad


def given(kind: str) -> Explanation:
    """Rows explained, of which some are anomalies."""
    if kind in ("prepared", "gaps"):
        model, bad = prepared_model() if kind == "prepared" else gapped_model()
        return model.explain(bad)
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "paper": {"score": "spe"},
        "no rules": {},
    }
    rows = np.random.default_rng(0).normal(size=(N, 4)) if kind == "no rules" else plain_rows()
    return ASPCA(**options[kind]).fit(rows).explain(spoiled(rows))


KINDS = ("plain", "paper", "no rules", "prepared", "gaps")


@pytest.fixture(scope="module", params=KINDS)
def why(request: pytest.FixtureRequest) -> Explanation:
    return given(request.param)


def expected(why: Explanation, row: int) -> tuple[str | None, Any]:
    """The slow, obvious twin: one row, by what the explanation says of it."""
    broken = "; ".join(str(rule) for rule in why[row].broken) or None
    if row in why.repairs:
        # The wrong cells; a list where others are as likely.
        repair, origins = why.repairs[row], why.original.features
        options = [(repair.cells, repair.values), *repair.ties] if repair.cells else []
        mended = [
            {origins[j].column: origins[j].original(value) for j, value in zip(cells, values, strict=True)}
            for cells, values in options
            if all(origins[j].kind != "level" for j in cells)
        ]
        return broken, (mended if len(mended) > 1 else mended[0]) if mended else None
    told, _ = select_rules(why, row)
    if not told:
        return broken, None
    needed = why.needed_at(row, told[0])
    shown = [why.original.features[j].column for j in why.shown_features(told[0]).tolist()]
    return broken, {column: needed[column] for column in shown if needed[column] is not None} or None


def test_the_same_as_the_explanation(why: Explanation) -> None:
    broken, proposed = ShortReasons(why.model).of(why.values, why.judgement)
    found = [(one, None if other is None else json.loads(other)) for one, other in zip(broken, proposed, strict=True)]
    assert found == [expected(why, row) for row in range(len(why))]
    # Both happen.
    assert any(why.anomalies)
    if why.rules:
        assert any(one is not None for one in broken)
        assert any(other is not None for other in proposed)


def test_values_are_those_of_the_lines(why: Explanation) -> None:
    """What explanations.csv lists for the first rule of an anomaly."""
    lines = why.lines()
    cells: dict[tuple[Any, str], list[Any]] = {}
    rules: dict[Any, int] = {}
    mended = {why.index[row] for row in why.repairs}
    for row, rule, column, needed in zip(lines["row"], lines["rule"], lines["feature"], lines["needed"], strict=True):
        # Wrong cells are those of all identities that a row violates.
        if rules.setdefault(row, int(rule)) == rule or row in mended:
            cells.setdefault((row, column), []).append(needed)
    _, proposed = ShortReasons(why.model).of(why.values, why.judgement)
    for row, text in enumerate(proposed):
        found = json.loads(text or "{}")
        for option in found if isinstance(found, list) else [found]:
            for column, value in option.items():
                assert value in cells[why.index[row], column]
