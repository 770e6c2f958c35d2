"""What twenty small runs print and write, frozen: standard output and error, exit codes, JSON summaries, CSV findings.

A change of any word fails with a diff. Numbers may differ in the fourth digit, as another BLAS makes them. If a change
is meant, write the files again, and read the diff of git before it is committed:

    ASPCA_WRITE_GOLDEN=1 python -m pytest tests/golden/test_outputs.py
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca.cli.main import main

pytestmark = pytest.mark.promise

OUTPUTS = Path(__file__).parent / "outputs"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")


def ledger(seed: int = 0, n: int = 60) -> pd.DataFrame:
    """Invoices in cents: total = net + tax + fee in every row."""
    rng = np.random.default_rng(seed)
    net, tax, fee = rng.integers(1000, 9000, n), rng.integers(100, 900, n), rng.integers(10, 500, n)
    table = pd.DataFrame({"net": net, "tax": tax, "fee": fee, "total": net + tax + fee})
    return table / 100


def orders(n: int = 60) -> pd.DataFrame:
    """amount = quantity price and due = amount - rebate in every row."""
    rng = np.random.default_rng(4)
    quantity, price, rebate = rng.integers(1, 40, n), rng.integers(100, 900, n) / 100, rng.integers(0, 90, n) / 100
    amount = (quantity * price).round(2)
    due = (amount - rebate).round(2)
    return pd.DataFrame({"quantity": quantity, "price": price, "amount": amount, "rebate": rebate, "due": due})


def machines(seed: int = 0, n: int = 80) -> pd.DataFrame:
    """Two approximate relations: mem + free is about 100, watts are about 3 load."""
    rng = np.random.default_rng(seed)
    mem, load = rng.uniform(20, 80, (2, n))
    free, watts = 100 - mem + rng.normal(size=n), 3 * load + 2 * rng.normal(size=n)
    return pd.DataFrame({"mem": mem, "free": free, "load": load, "watts": watts}).round(2)


def set_cells(table: pd.DataFrame, column: str, cells: dict[int, float]) -> pd.DataFrame:
    table = table.copy()
    table.loc[list(cells), column] = list(cells.values())
    return table


def write_tables() -> None:
    """All tables, below the working folder."""
    wrong, n = set_cells(ledger(), "total", {17: 123.45, 41: 7.0}), 60
    odd = set_cells(machines(), "free", {25: 95.0})
    tables = {
        "ledger": wrong,
        "gaps": set_cells(set_cells(wrong, "tax", {3: np.nan, 30: np.nan}), "fee", {3: np.nan, 44: np.nan}),
        "texts": wrong.assign(name=[f"Name {i}" for i in range(n)], kind=["bolt", "nut", "gear"] * 20),
        "sites": pd.concat([odd.assign(site="east"), machines(1).assign(site="west")], ignore_index=True),
        "dates": wrong.assign(paid=pd.date_range("2026-01-01", periods=n).strftime("%Y-%m-%d")),
        "keys": wrong.assign(invoice=[f"A{1000 + i}" for i in range(n)]),
        "orders": set_cells(orders(), "price", {23: 99.0}),
        "machines": odd,
        "ordinary": machines(2),
        "next": set_cells(ledger(5, 12), "total", {4: 1.0}),
    }
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
    wrong.to_parquet("ledger.parquet")
    Path("empty.csv").touch()
    Path("broken.parquet").write_bytes(b"PAR1 is how it begins, and no more")


def detect_far_rows() -> None:
    """Columns without a relation, in a data frame: no row is an error, and some are far out."""
    rng = np.random.default_rng(3)
    show(aspca.detect(pd.DataFrame(rng.normal(size=(200, 3)).round(3), columns=["x", "y", "z"])))


def fit_estimator() -> None:
    model = aspca.ASPCA().fit(machines())
    rows = set_cells(machines(7, 4), "watts", {2: 10.0})
    print(*model.rules_, model.predict(rows), sep="\n")
    print(model.explain(rows).text(2))


def show(found: aspca.Detection) -> None:
    print(repr(found), found.text, *found.remarks, sep="\n")
    print(found.to_frame().to_csv(index=False), end="")


QUIET = "--no-output --quiet"
FIT = "aspca fit ledger.csv --model ledger.json --quiet"
# A step is a command, a file to show, or a function.
RUNS: dict[str, list[str | Callable[[], None]]] = {
    "wrong_total": ["aspca detect ledger.csv", "cat ledger.csv.aspca/explanations.csv"],
    "wrong_total_json": [f"aspca detect ledger.csv --json {QUIET} --fail-on-anomaly"],
    "gaps": ["aspca detect gaps.csv --no-output", f"aspca detect gaps.csv --csv {QUIET}"],
    "text_columns": ["aspca detect texts.csv --no-output", "aspca detect texts.csv --no-output --ignore-text"],
    "categories": ["aspca detect sites.csv --by site", "cat sites.csv.aspca/category-000/explanations.csv"],
    "dates": ["aspca detect dates.csv --time paid", "cat dates.csv.aspca/incidents.csv"],
    "key_column": [f"aspca detect keys.csv --id invoice --csv {QUIET}"],
    "exact_rules": ["aspca detect orders.csv --no-output"],
    "approximate_rule": ["aspca detect machines.csv --json", "cat machines.csv.aspca/excluded.csv"],
    "unusual_only": [detect_far_rows],
    "nothing_unusual": ["aspca detect ordinary.csv --no-output"],
    "estimator": [fit_estimator],
    "given_rule": ["aspca detect ledger.csv --no-output --rule 'total = net + tax + fee'"],
    "new_rows": [FIT, "aspca score next.csv --model ledger.json"],
    "explain_row": [FIT, "aspca explain next.csv --model ledger.json --row 4"],
    "rules": [
        FIT,
        "aspca rules ledger.json --json",
        "aspca rules ledger.json --markdown",
        "aspca rules ledger.json --csv",
    ],
    "compare": [
        "aspca fit machines.csv --model a.json --quiet",
        "aspca fit ordinary.csv --model b.json --quiet",
        "aspca compare a.json b.json",
    ],
    "bad_files": ["aspca detect broken.parquet", "aspca detect empty.csv", "aspca detect nowhere.csv"],
    "missing_column": [FIT, "aspca score machines.csv --model ledger.json", "aspca detect ledger.csv --id order"],
    "parquet": [f"aspca detect ledger.parquet --csv {QUIET}"],
    "report": [FIT, "aspca report ledger.json ledger.csv --format markdown"],
}


def transcribe(steps: list[str | Callable[[], None]]) -> str:
    """What each step prints and how it ends."""
    parts = []
    for step in steps:
        out, err, code = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if callable(step):
                step()
            elif step.startswith("cat "):
                print(Path(step[4:]).read_text(encoding="utf-8"), end="")
            else:
                code = main(shlex.split(step)[1:])
        name = step if isinstance(step, str) else step.__name__
        said = "".join(f"[stderr] {line}\n" for line in err.getvalue().splitlines())
        parts.append(f"$ {name}\n{out.getvalue()}{said}[exit {code}]\n")
    text = "".join(parts).replace(aspca.__version__, "VERSION")
    return NUMBER.sub(shorten, re.sub(r"\b[0-9a-f]{64}\b", "HASH", text))


def shorten(number: re.Match[str]) -> str:
    """Six digits of a number that has more."""
    text = number.group()
    return text if len(text) <= 7 or not set(".e") & set(text) else f"{float(text):#.6g}"


def agree(one: str, other: str) -> bool:
    """Whether two numbers are equal to about four digits, or to the last digit printed; whole ones exactly."""
    if one == other or not ("." in one + other or "e" in one + other):
        return one == other
    fraction = min(len(text.partition("e")[0].partition(".")[2]) for text in (one, other))
    last = 10.0**-fraction if "e" not in one + other else 0.0
    return abs(float(one) - float(other)) <= max(2e-4 * abs(float(one)), 1.01 * last, 1e-9)


def align(found: str, golden: str) -> str:
    """A line with the golden one's numbers where these agree."""
    ours, theirs = NUMBER.findall(found), NUMBER.findall(golden)
    words = [" ".join(NUMBER.sub("#", line).split()) for line in (found, golden)]
    same = words[0] == words[1] and all(map(agree, ours, theirs))
    return golden if same else found


@pytest.mark.parametrize("name", RUNS)
def test_outputs_are_frozen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_tables()
    found, file = transcribe(RUNS[name]), OUTPUTS / f"{name}.txt"
    if os.environ.get("ASPCA_WRITE_GOLDEN"):
        file.write_text(found, encoding="utf-8")
    golden, lines = file.read_text(encoding="utf-8").splitlines(), found.splitlines()
    if len(lines) == len(golden):
        lines = [align(*pair) for pair in zip(lines, golden, strict=True)]
    diff = "\n".join(difflib.unified_diff(golden, lines, f"outputs/{name}.txt", "this run", lineterm=""))
    assert not diff, f"The outputs changed:\n{diff}"


def test_every_frozen_output_is_compared() -> None:
    assert {file.stem for file in OUTPUTS.iterdir()} == set(RUNS)
