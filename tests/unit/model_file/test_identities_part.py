"""What a file says about identities: kept exactly, private where asked, and refused in one sentence where altered."""

from __future__ import annotations

import copy
import importlib.util
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from aspca import ASPCA
from aspca.estimators.stored import load, save
from aspca.model_file.errors import ModelFileError

sys.path.insert(0, str(Path(__file__).parent))
from identity_tables import NAMES, Case, cases, repairs

from running.stored_numbers import numbers


def beside(name: str) -> ModuleType:
    """Another file of this folder, whose checks are needed here as well."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"test_{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


mutations, round_trip, schema = beside("mutations"), beside("round_trip"), beside("schema")
OF_OTHER_PARTS = ("not_orthonormal", "negative_variance", "huge", "rules_of_another_length")
OF_ANY_PART = [one for one in mutations.ALTERATIONS if one.__name__ not in OF_OTHER_PARTS]
KINDS = ("exact", "standard", "errors", "gaps", "categories", "given")
OPTIONS: list[dict[str, bool]] = [{}, {"private": True}, {"moments": False}, {"private": True, "moments": False}]
Write = Callable[..., Path]


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> Case:
    return cases()[request.param]


def content_of(model: ASPCA, folder: Path, **options: bool) -> dict[str, Any]:
    save(model, folder / "whole.json", **options)
    found: dict[str, Any] = json.loads((folder / "whole.json").read_text())
    return found


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for entry in value for text in texts(entry)]
    return [value] if isinstance(value, str) else []


# ---- kept


def test_the_tables_have_what_they_are_for(case: Case) -> None:
    model = case.model.model_
    assert {identity.equation for identity in model.identities} == set(case.equations)
    assert model.n_identities == len(case.equations)
    assert len(model.relations) >= 1
    assert len(repairs(case.model, case.wrong)) >= 20
    # A rule of the user's may speak of a column that is determined.
    assert not model.table.loadings[model.determined].any()


def assert_nearly_same_use(one: ASPCA, other: ASPCA, rows: pd.DataFrame) -> None:
    """As `assert_same_use`, but for last digits of rows with gaps: -0.0, which a file does not keep, moves them."""
    np.testing.assert_allclose(one.score_samples(rows), other.score_samples(rows), rtol=1e-12)
    assert np.array_equal(one.predict(rows), other.predict(rows))
    facts = [[list(round_trip.rule_facts(rule)) for rule in each.rules_] for each in (one, other)]
    assert facts[0] == facts[1]
    why, same = one.explain(rows), other.explain(rows)
    assert [why.text(row) for row in rows.index] == [same.text(row) for row in rows.index]
    assert np.array_equal(why.broken, same.broken)
    assert round_trip.parameters(one) == round_trip.parameters(other)
    assert one.model_.thresholds.total == other.model_.thresholds.total
    assert np.array_equal(one.model_.gaps.missing, other.model_.gaps.missing)


@pytest.mark.filterwarnings("ignore::aspca.TiedSubspaceWarning")
@pytest.mark.parametrize("moments", [True, False])
def test_a_loaded_model_judges_tells_and_repairs_as_the_saved_one(case: Case, moments: bool) -> None:
    options = {"moments": moments}
    loaded = round_trip.saved_and_loaded(case.model, **options)
    for rows in (case.rows[:40], case.wrong):
        if case.model.model_.allows_gaps:
            assert_nearly_same_use(loaded, case.model, rows)
        elif options.get("moments", True):
            round_trip.assert_same_model(loaded, case.model, rows)
        else:
            round_trip.assert_same_use(loaded, case.model, rows)
        assert repairs(loaded, rows) == repairs(case.model, rows)
    mine, saved = loaded.model_.identities, case.model.model_.identities
    assert round_trip.bits(mine.quantiles) == round_trip.bits(saved.quantiles)
    assert (mine.n_sample, mine.unsearched, mine.determined) == (saved.n_sample, saved.unsearched, saved.determined)


@pytest.mark.parametrize("moments", [True, False])
def test_a_private_model_judges_as_the_saved_one_and_repairs_rightly(case: Case, moments: bool) -> None:
    loaded = round_trip.saved_and_loaded(case.model, private=True, moments=moments)
    for rows in (case.rows, case.wrong):
        # A private file tells quantiles of columns in coarse steps.
        rtol = 0.15
        np.testing.assert_allclose(loaded.score_samples(rows), case.model.score_samples(rows), rtol=rtol, atol=0.1)
        assert np.array_equal(loaded.predict(rows), case.model.predict(rows))
        why, same = loaded.explain(rows), case.model.explain(rows)
        assert np.array_equal(why.broken, same.broken)
        np.testing.assert_allclose(why.rule_contributions, same.rule_contributions, rtol=rtol, atol=0.1)
        assert why.repairs.keys() == same.repairs.keys()
    facts = [[list(round_trip.rule_facts(rule)) for rule in one.rules_] for one in (loaded, case.model)]
    assert facts[0] == facts[1]
    # Without quantiles more cells may be as likely, but each repair is one: as few cells, and no identity violated.
    identities, values = loaded.model_.identities, why.values
    for row, repair in why.repairs.items():
        assert len(repair.cells) == len(same.repairs[row].cells)
        for cells, found in [(repair.cells, repair.values), *repair.ties] if repair.cells else []:
            made = values[row : row + 1].copy()
            made[0, list(cells)] = found
            multiples = identities.multiples(made)[:, identities.accusing]
            assert not (np.abs(np.nan_to_num(multiples, nan=0.0)) > 1.0).any()
        alone = not repair.ties and not same.repairs[row].ties and repair.cells == same.repairs[row].cells
        if alone:
            assert repair.values == same.repairs[row].values


@pytest.mark.parametrize("kind", ["exact", "gaps", "categories"])
def test_rows_that_an_identity_says_nothing_about(kind: str) -> None:
    """0 / 0 is anything, and a condition may not hold: nothing is missing, and the row has its sentence."""
    model, rows = cases()[kind].model, cases()[kind].rows.dropna()[:40].reset_index(drop=True)
    if kind == "categories":
        rows = rows[rows["kind"] != "a"].reset_index(drop=True)
    else:
        rows.loc[:, [NAMES[0], "b", "total"]] = 0.0
    loaded = round_trip.saved_and_loaded(model)
    why, same = loaded.explain(rows), model.explain(rows)
    silent = np.column_stack([identity.residual(same.values) for identity in model.model_.identities])
    assert np.isnan(silent).any(axis=1).all()
    assert not np.isnan(same.values).any()
    told = [why.text(row) for row in range(len(rows))]
    assert told == [same.text(row) for row in range(len(rows))]
    assert not any("missing" in text for text in told)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_second_file_is_the_first(case: Case, options: dict[str, bool], tmp_path: Path) -> None:
    save(case.model, tmp_path / "one.json", **options)
    save(load(tmp_path / "one.json"), tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize("options", OPTIONS)
def test_files_follow_the_schema(case: Case, options: dict[str, bool], tmp_path: Path) -> None:
    content = content_of(case.model, tmp_path, **options)
    assert len(content["identities"]["identities"]) == len(case.equations)
    Draft202012Validator(schema.SCHEMA).validate(content)


def test_paper_scores_and_moments_have_none(tmp_path: Path) -> None:
    rows = cases()["exact"].rows
    nothing = {"identities": [], "resolutions": [], "quantiles": None, "sample": 0, "unsearched": [], "determined": []}
    moments = cases()["exact"].model.moments_
    for model in (ASPCA(score="spe").fit(rows), ASPCA().fit_moments(moments, feature_names=list(NAMES))):
        assert content_of(model, tmp_path)["identities"] == nothing
        assert load(tmp_path / "whole.json").model_.n_identities == 0


def test_a_model_with_identities_is_read_and_scored_without_scikit_learn(tmp_path: Path) -> None:
    exact = cases()["exact"]
    save(exact.model, tmp_path / "model.json")
    code = (
        "import sys, json, numpy as np; from aspca.model_file.model_file import read_model; "
        "model = read_model(sys.argv[1]); print(model.score(np.array(json.loads(sys.argv[2])))[0].hex()); "
        "assert not {'sklearn', 'pandas'} & set(sys.modules)"
    )
    row = exact.wrong.to_numpy()[:1]
    command = [sys.executable, "-c", code, str(tmp_path / "model.json"), json.dumps(row.tolist())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float.fromhex(done.stdout) == pytest.approx(-exact.model.score_samples(exact.wrong[:1])[0], rel=1e-12)


# ---- private


@pytest.mark.parametrize("moments", [True, False])
@pytest.mark.parametrize("kind", ["standard", "errors", "gaps", "categories"])
def test_a_private_file_holds_no_quantiles_and_no_cell(kind: str, moments: bool, tmp_path: Path) -> None:
    case = cases()[kind]
    options = {"moments": moments}
    whole = content_of(case.model, tmp_path, **options)
    content = content_of(case.model, tmp_path, private=True, **options)
    cells = case.rows.select_dtypes("number").to_numpy().ravel()
    cells = set(cells[np.isfinite(cells)].tolist())
    # Columns that are whole numbers by chance could be counts: here none is.
    cells -= {cell for cell in cells if float(cell).is_integer()}
    assert len(cells) > 500
    assert content["identities"]["quantiles"] is None
    assert whole["identities"]["quantiles"] is not None
    kept = numbers(content["identities"])
    assert not kept & cells
    assert not kept & {abs(cell) for cell in cells}
    assert len(numbers(whole["identities"]) & cells) > 50
    told = "\n".join(texts(content["identities"]))
    # Shares of rows may have three digits as some percentage has.
    assert not any(repr(cell) in told for cell in cells if len(repr(cell)) > 5)
    if case.model.scaling == "standard":
        # Largest distances from the mean are the scales else.
        # The tails of columns are told in steps too coarse for any of them, which may be equal by chance.
        assert not numbers({name: part for name, part in content.items() if name != "evidence"}) & cells
    # What it left out stays out.
    again = content_of(load(tmp_path / "whole.json"), tmp_path)
    assert again["identities"] == content["identities"]


def test_private_repairs_do_not_quote_what_the_model_learned(tmp_path: Path) -> None:
    """A model without quantiles offers cells that a model with them may rule out, and never fewer."""
    exact = cases()["exact"]
    save(exact.model, tmp_path / "model.json", private=True)
    private = load(tmp_path / "model.json")
    assert private.model_.identities.quantiles is None
    told, known = private.explain(exact.wrong).repairs, exact.model.explain(exact.wrong).repairs
    more = sum(len(told[row].ties) > len(known[row].ties) for row in known)
    assert more > 0
    assert all(not np.isnan(value) for repair in told.values() for value in repair.values)


# ---- refused


def altered(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(content)
    holder = found["identities"]
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return found


def refusal(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load(path)
    mutations.assert_one_sentence(str(caught.value), path)
    return str(caught.value)


AT = "identities.identities"
LEFT = ("identities", 0, "left", "factors", 0)
TERM = ("identities", 1, "terms", 0, "factors", 0)
TEXT = "text is another, but must be the sentence of its numbers"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("identities", 2, "text"), "total = b (exactly, all rows)", f"{AT}[2].{TEXT}"),
        (("identities", 2, "text"), "", f"{AT}[2].{TEXT}"),
        (("identities", 2, "text"), None, f"{AT}[2].text is null, but must be a text of at most 20000 characters"),
        (("identities", 2, "text"), "x" * 20_001, f"{AT}[2].text is"),
        ((*LEFT, 0), 10, f"{AT}[0].left.factors[0][0] is 10, but must be a whole number from 0 to 9"),
        ((*LEFT, 0), -1, f"{AT}[0].left.factors[0][0] is -1, but must be a whole number from 0 to 9"),
        ((*LEFT, 0), 4.0, f"{AT}[0].left.factors[0][0] is 4.0, but must be a whole number from 0 to 9"),
        ((*LEFT, 0), 1, f"{AT}[0].{TEXT}"),
        ((*TERM, 0), 10, f"{AT}[1].terms[0].factors[0][0] is 10, but must be a whole number from 0 to 9"),
        ((*TERM, 1), "sin", f"{AT}[1].terms[0].factors[0][1] is 'sin', but must be one of x, log, log1p, exp"),
        ((*TERM, 1), "exp", f"{AT}[1].{TEXT}"),
        ((*TERM, 1), None, f"{AT}[1].terms[0].factors[0][1] is null, but must be one of x, log, log1p, exp"),
        ((*TERM, 2), 0, f"{AT}[1].terms[0].factors[0][2] is 0, but must be a number other than 0"),
        ((*TERM, 2), -0.0, f"{AT}[1].terms[0].factors[0][2] is 0, but must be a number other than 0"),
        ((*TERM, 2), "NaN", f"{AT}[1].terms[0].factors[0][2] is 'NaN', but must be a number from -1e+06 to 1e+06"),
        ((*TERM, 2), "Infinity", f"{AT}[1].terms[0].factors[0][2] is 'Infinity', but must be a number from -1e+06"),
        ((*TERM, 2), None, f"{AT}[1].terms[0].factors[0][2] is null, but must be a number from -1e+06 to 1e+06"),
        ((*TERM, 2), 1e7, f"{AT}[1].terms[0].factors[0][2] is 10000000.0, but must be a number from -1e+06 to 1e+06"),
        ((*TERM, 2), 2.0, f"{AT}[1].{TEXT}"),
        ((*TERM, 3), -1.0, f"{AT}[1].{TEXT}"),
        ((*TERM, 3), 0.5, f"{AT}[1].terms[0].factors[0][3] is another number, but must be 1 or -1"),
        ((*TERM, 3), 2, f"{AT}[1].terms[0].factors[0][3] is 2, but must be a number from -1 to 1"),
        (TERM, [5, "log", 1.0], f"{AT}[1].terms[0].factors[0] is a list of 3, but must be a list of 4"),
        (("identities", 0, "left", "coefficient"), 2.0, f"{AT}[0].left is another, but must be one times"),
        (("identities", 0, "left", "factors"), [], f"{AT}[0].left.factors is a list of 0, but must be a list of 1 to"),
        (("identities", 0, "left"), None, f"{AT}[0].left is null, but must be an object"),
        (("identities", 0, "terms", 0, "coefficient"), 1.0000001, f"{AT}[0].{TEXT}"),
        (("identities", 0, "terms", 0, "coefficient"), "NaN", f"{AT}[0].terms[0].coefficient is 'NaN', but must be"),
        (("identities", 0, "terms", 0, "coefficient"), 1e301, f"{AT}[0].terms[0].coefficient is 1e+301, but must be"),
        (("identities", 0, "terms"), [], f"{AT}[0].{TEXT}"),
        (("identities", 0, "terms"), None, f"{AT}[0].terms is null, but must be a list of 0 to 1000"),
        (("identities", 0, "constant"), 1e-300, f"{AT}[0].{TEXT}"),
        (("identities", 0, "constant"), 1e301, f"{AT}[0].constant is 1e+301, but must be a number from -1e+300"),
        (("identities", 0, "condition"), [8, 1.0, False], f"{AT}[0].{TEXT}"),
        (("identities", 0, "condition"), [10, 1.0, False], f"{AT}[0].condition[0] is 10, but must be a whole number"),
        (("identities", 0, "condition"), [8, "a", False], f"{AT}[0].condition[1] is 'a', but must be a number"),
        (("identities", 0, "condition"), [8, 1.0, 0], f"{AT}[0].condition[2] is 0, but must be true or false"),
        (("identities", 0, "condition"), [8, 1.0], f"{AT}[0].condition is a list of 2, but must be a list of 3"),
        (("identities", 0, "tier"), 4, f"{AT}[0].tier is 4, but must be a whole number from 0 to 3"),
        (("identities", 0, "tier"), -1, f"{AT}[0].tier is -1, but must be a whole number from 0 to 3"),
        (("identities", 0, "tier"), 1, f"{AT}[0].{TEXT}"),
        (("identities", 0, "tier"), True, f"{AT}[0].tier is true, but must be a whole number from 0 to 3"),
        (("identities", 0, "kept"), -1, f"{AT}[0].kept is -1, but must be a whole number from 0"),
        (("identities", 0, "broken"), 2**53 + 1, f"{AT}[0].broken is 9007199254740993, but must be a whole number"),
        (("identities", 0, "broken"), 1, f"{AT}[0].{TEXT}"),
        (("identities", 0, "exceptions"), None, f"{AT}[0].exceptions is null, but must be a text"),
        (("identities", 0, "written"), 3, f"{AT}[0].written is 3, but must be a text"),
        (("identities", 0, "written"), "sq = x^2", f"{AT}[0].{TEXT}"),
        (("identities", 0, "strict"), 1, f"{AT}[0].strict is 1, but must be true or false"),
        (("identities", 0), [], f"{AT}[0] is a list of 0, but must be an object"),
        (("identities",), None, f"{AT} is null, but must be a list of 0 to 10000"),
        (("resolutions",), [], "identities.resolutions is a list of 0, but must be a list of 10"),
        (("resolutions", 3), [3, 5], "identities.resolutions[3] is a list of 2, but must be a list of 4"),
        (("resolutions", 3, 0), 17, "identities.resolutions[3][0] is 17, but must be a whole number from -6 to 16"),
        (("resolutions", 3, 0), -7, "identities.resolutions[3][0] is -7, but must be a whole number from -6 to 16"),
        (("resolutions", 3, 1), 0, "identities.resolutions[3][1] is 0, but must be a whole number from 1 to 17"),
        (("resolutions", 3, 1), 18, "identities.resolutions[3][1] is 18, but must be a whole number from 1 to 17"),
        (("resolutions", 3, 2), 1, "identities.resolutions[3][2] is 1, but must be true or false"),
        (("resolutions", 3, 3), None, "identities.resolutions[3][3] is null, but must be true or false"),
        (("quantiles",), [], "identities.quantiles is a list of 0, but must be a list of 10"),
        (
            ("quantiles", 3),
            [1.0, 2.0],
            "identities.quantiles is of several lengths, but must be of lists of one length",
        ),
        (("quantiles", 3, 0), 1e9, "identities.quantiles is of others, but must be of ascending numbers"),
        (("quantiles", 3, 0), None, "identities.quantiles is of others, but must be of ascending numbers"),
        (("quantiles", 3, 64), 1e151, "identities.quantiles[3][64] is 1e+151, but must be a number from -1e+150"),
        (("quantiles", 3, 64), "NaN", "identities.quantiles[3][64] is 'NaN', but must be a number from -1e+150"),
        (("sample",), -1, "identities.sample is -1, but must be a whole number from 0"),
        (("determined",), None, "identities.determined is null, but must be a list"),
        (("determined",), [10], "identities.determined[0] is 10, but must be a whole number from 0 to 9"),
        (("determined",), [2.0], "identities.determined[0] is 2.0, but must be a whole number from 0 to 9"),
        (("determined",), [4, 4], "identities.determined is of some twice, but must be of different columns"),
        (("determined",), [8], "identities.determined is of others, but must be of columns that identities speak of"),
        (("determined",), [2, 4, 6, 7, 0], "identities.determined is a list of 5, but must be a list of 0 to 4"),
        (("unsearched",), None, "identities.unsearched is null, but must be a list"),
        (("unsearched",), [3], "identities.unsearched[0] is 3, but must be a text"),
        (("unsearched",), ["\ud800"], "identities.unsearched[0] is"),
    ],
)
def test_one_wrong_field(path: Any, value: Any, expected: str, write: Write, tmp_path: Path) -> None:
    content = content_of(cases()["exact"].model, tmp_path)
    assert [one["text"].partition(" =")[0] for one in content["identities"]["identities"]][:3] == ["sq", "lw", "total"]
    wrong = altered(content, path, value)
    assert f"the field {expected}" in refusal(write(wrong))
    # What a schema cannot say: that texts belong to numbers and are Unicode, how many features there are, and 4.0 is 4.
    unsayable = ("sentence of its", "ascending", "one length", "a list of 10", "is 10,", "is 4.0,", "is 2.0,")
    unsayable += ("unsearched[0] is", "speak of", "a list of 5")
    sayable = not any(words in expected for words in unsayable) or value == [3]
    assert Draft202012Validator(schema.SCHEMA).is_valid(wrong) != sayable


@pytest.mark.parametrize("value", [b"NaN", b"-Infinity", b"1e999"])
def test_an_exponent_that_is_no_number(value: bytes, write: Write, tmp_path: Path) -> None:
    path = write(content_of(cases()["exact"].model, tmp_path))
    data, factor = path.read_bytes(), b'[5,"log",1.0,1.0]'
    assert data.count(factor) == 1
    path.write_bytes(data.replace(factor, factor.replace(b"1.0,1.0", value + b",1.0")))
    refusal(path)


def test_fields_that_are_missing_or_unknown(write: Write, tmp_path: Path) -> None:
    content = content_of(cases()["exact"].model, tmp_path)
    places = {
        "identities": content["identities"],
        "identities.identities[0]": content["identities"]["identities"][0],
        "identities.identities[0].left": content["identities"]["identities"][0]["left"],
        "identities.identities[0].terms[0]": content["identities"]["identities"][0]["terms"][0],
    }
    for where, holder in places.items():
        for key, value in list(holder.items()):
            del holder[key]
            assert f"the field {where}.{key} is missing, but must be there" in refusal(write(content))
            holder[key] = value
        holder["extra"] = 1
        assert f"the key 'extra' in the field {where} is not known" in refusal(write(content))
        del holder["extra"]
    load(write(content))


def test_quantiles_in_a_private_file(write: Write, tmp_path: Path) -> None:
    model = cases()["exact"].model
    quantiles = content_of(model, tmp_path)["identities"]["quantiles"]
    content = altered(content_of(model, tmp_path, private=True), ("quantiles",), quantiles)
    assert "identities.quantiles is a list, but must be null in a private file" in refusal(write(content))


def test_identities_of_columns_that_relations_speak_of(write: Write, tmp_path: Path) -> None:
    content = content_of(cases()["exact"].model, tmp_path)
    one = content["identities"]["identities"][0]
    one["left"]["factors"][0][0], one["text"] = NAMES.index("free"), "free = x^2 (exactly, all rows)"
    expected = "identities.determined is of others, but must be of columns that identities speak of"
    assert expected in refusal(write(content))
    # "free" for the square, which nothing determines then.
    content["identities"]["determined"] = [
        NAMES.index("free" if NAMES[j] == "sq" else NAMES[j]) for j in content["identities"]["determined"]
    ]
    expected = "evidence.views is of others, but must be of features that no identity determines"
    assert expected in refusal(write(content))


def test_a_text_of_categories_is_that_of_its_numbers(write: Write, tmp_path: Path) -> None:
    """One of the categories: each counts one, their sum is one, in all rows."""
    content = content_of(cases()["categories"].model, tmp_path)
    number = next(k for k, one in enumerate(content["identities"]["identities"]) if one["text"].startswith("kind is"))
    at = ("identities", number)
    for path, value in (
        (("constant",), 2.0),
        (("terms", 0, "coefficient"), 3.0),
        (("terms", 0, "factors", 0, 2), 2.0),
        (("condition",), [3, 1.0, False]),
    ):
        assert f"{AT}[{number}].{TEXT}" in refusal(write(altered(content, (*at, *path), value)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("quantiles",), [[]] * len(NAMES)),
        (("quantiles",), [[0.0]] * len(NAMES)),
        (("quantiles",), [[None] * 5] * len(NAMES)),
        (("quantiles",), [[1.0, None, None]] * len(NAMES)),
        (("quantiles",), [[-1e150, 1e150]] * len(NAMES)),
        (("resolutions",), [[16, 17, True, False]] * len(NAMES)),
        (("resolutions",), [[-6, 1, False, True]] * len(NAMES)),
        (("resolutions",), [[16, 1, False, False]] * len(NAMES)),
        (("identities", 0, "kept"), 2**53),
        (("identities", 0, "kept"), 0),
        (("identities", 0, "strict"), False),
        (("identities", 0, "exceptions"), "x\n\u2028</script>"),
        (("identities", 0, "terms", 0, "coefficient"), 1e-320),
        (("identities", 0, "terms", 0, "coefficient"), 0.0),
        (("identities", 0, "terms", 0, "coefficient"), 1e300),
        (("identities",), []),
        (("sample",), 0),
    ],
)
def test_what_may_just_about_be_there_is_refused_or_harmless(
    path: Any, value: Any, write: Write, tmp_path: Path
) -> None:
    case = cases()["exact"]
    content = altered(content_of(case.model, tmp_path), path, value)
    judge(write(content), case.wrong)


def judge(path: Path, rows: pd.DataFrame) -> bool:
    """Whether a file is refused, in a sentence; else its scores are finite, and its sentences sentences."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = load(path)
        except ModelFileError as error:
            mutations.assert_one_sentence(str(error), path)
            return True
        assert np.isfinite(model.score_samples(rows)).all()
        why = model.explain(rows)
        assert all(why.text(row).isprintable() for row in range(len(rows)))
        assert np.isfinite(why.feature_contributions).all()
        assert len(model.rules_) == model.model_.n_identities + len(model.model_.table)
        assert all(str(rule).isprintable() for rule in model.rules_)
    return False


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("kind", ["errors", "gaps", "categories", "given"])
def test_altered_parts_are_refused_or_harmless(kind: str, private: bool, write: Write, tmp_path: Path) -> None:
    case = cases()[kind]
    original = content_of(case.model, tmp_path, private=private)
    original.pop("checksum")
    # Quantiles are most of the numbers, and one alteration of them is like another: few are enough.
    small = copy.deepcopy(original["identities"])
    small["quantiles"] = None if private else [row[::16] for row in small["quantiles"]]
    refused = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        part = {"identities": copy.deepcopy(small)}
        mutations.pick(rng, OF_ANY_PART)(part, rng)
        content = {key: value for key, value in original.items() if key != "identities"} | part
        refused += judge(write(content), case.wrong)
    assert refused >= 75
