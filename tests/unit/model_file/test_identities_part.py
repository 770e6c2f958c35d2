"""What a file says about identities: kept exactly, private where asked, and refused in one sentence where altered."""

from __future__ import annotations

import copy
import importlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.estimators.stored import load, save
from aspca.model_file.json_text import ModelFileError, show

sys.path.insert(0, str(Path(__file__).parent))
from identity_tables import NAMES, Case, cases, repairs

from running.stored_numbers import numbers

# Files of this folder, whose checks are needed here as well.
mutations, round_trip, refusals = map(importlib.import_module, ("test_mutations", "test_round_trip", "test_refusals"))
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


@pytest.mark.parametrize("options", OPTIONS)
def test_a_second_file_is_the_first(case: Case, options: dict[str, bool], tmp_path: Path) -> None:
    save(case.model, tmp_path / "one.json", **options)
    save(load(tmp_path / "one.json"), tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_paper_scores_and_moments_have_none(tmp_path: Path) -> None:
    rows = cases()["exact"].rows
    nothing = {"identities": [], "quantiles": None, "n_sample": 0, "unsearched": [], "determined": []}
    moments = cases()["exact"].model.moments_
    for model in (ASPCA(score="spe").fit(rows), ASPCA().fit_moments(moments, feature_names=list(NAMES))):
        assert content_of(model, tmp_path)["identities"] == nothing
        assert load(tmp_path / "whole.json").model_.n_identities == 0


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


# ---- refused


def refusal(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load(path)
    mutations.assert_one_sentence(str(caught.value), path)
    return str(caught.value)


FACTOR = "identities.identities.1.formula.terms.0.factors.0"
FORMULA = "identities.identities.0.formula"
OTHERS = "sentences is others, but must be those of the numbers of identities"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("sentences.2", "total = b (exactly, all rows)", OTHERS),
        ("sentences", [], OTHERS),
        ("sentences.2", None, "~ a text"),
        (f"{FORMULA}.left.factors.0.column", 10, "~ a whole number from 0 to 9"),
        (f"{FORMULA}.left.factors.0.column", 4.0, "~ a whole number from 0 to 9"),
        (f"{FORMULA}.left.factors.0.column", 1, "must be of columns that identities speak of"),
        (f"{FACTOR}.function", "sin", "~ one of x, log, log1p, exp"),
        (f"{FACTOR}.function", "exp", OTHERS),
        (f"{FACTOR}.exponent", 0, "~ a number other than 0"),
        (f"{FACTOR}.exponent", -0.0, "~ a number other than 0"),
        (f"{FACTOR}.exponent", "NaN", "~ a number from -1e+06 to 1e+06"),
        (f"{FACTOR}.exponent", "Infinity", "~ a number from -1e+06 to 1e+06"),
        (f"{FACTOR}.exponent", None, "~ a number from -1e+06 to 1e+06"),
        (f"{FACTOR}.exponent", 2.0, OTHERS),
        (f"{FACTOR}.sign", -1.0, OTHERS),
        (f"{FACTOR}.sign", 0.5, "~ 1 or -1"),
        (f"{FACTOR}.sign", 2, "~ a number from -1 to 1"),
        (f"{FORMULA}.left.coefficient", 2.0, "identities is of others, but must be of formulas with 1 times factors"),
        (f"{FORMULA}.left.factors", [], "~ a list of 1 to 1000"),
        (f"{FORMULA}.left", None, "~ an object"),
        (f"{FORMULA}.terms.0.coefficient", 1.0000001, OTHERS),
        (f"{FORMULA}.terms.0.coefficient", 1e301, "~ a number from -1e+300"),
        (f"{FORMULA}.terms", [], OTHERS),
        (f"{FORMULA}.constant", 1e-300, OTHERS),
        (f"{FORMULA}.condition", {"column": 8, "value": 1.0, "negated": False}, OTHERS),
        (f"{FORMULA}.condition", {"column": 10, "value": 1.0, "negated": False}, "column is 10, but must be a whole"),
        (f"{FORMULA}.condition", {"column": 8, "value": "a", "negated": False}, "value is 'a', but must be a number"),
        (f"{FORMULA}.condition", {"column": 8, "value": 1.0}, "the field {name}.negated is missing"),
        ("identities.identities.0.tier", 4, "~ a whole number from 0 to 3"),
        ("identities.identities.0.tier", 1, OTHERS),
        ("identities.identities.0.n_kept", -1, "~ a whole number from 0"),
        ("identities.identities.0.n_broken", 2**53 + 1, "~ a whole number from 0"),
        ("identities.identities.0.n_broken", 1, OTHERS),
        ("identities.identities.0.exceptions", None, "~ a text"),
        ("identities.identities.0.written", 3, "~ a text"),
        ("identities.identities.0.written", "sq = x^2", OTHERS),
        ("identities.identities.0.strict", 1, "~ true or false"),
        ("identities.identities.0", [], "~ an object"),
        ("resolutions", [], "~ a list of 10"),
        ("resolutions.3.decimals", 17, "~ a whole number from -6 to 16"),
        ("resolutions.3.significant", 0, "~ a whole number from 1 to 17"),
        ("identities.quantiles", [], "~ a list of 10"),
        ("identities.quantiles.3", [1.0, 2.0], "~ a list of 65"),
        ("identities.quantiles.3.0", 1e9, "identities.quantiles is of others, but must be of ascending numbers"),
        ("identities.quantiles.3.0", "NaN", "identities.quantiles is of others, but must be of ascending numbers"),
        ("identities.quantiles.3.64", 1e151, "~ a number from -1e+150"),
        ("identities.n_sample", -1, "~ a whole number from 0"),
        ("identities.determined", [10], "determined[0] is 10, but must be a whole number from 0 to 9"),
        ("identities.determined", [4, 4], "determined is of some twice, but must be of different columns"),
        ("identities.determined", [8], "determined is of others, but must be of columns that identities speak of"),
        ("identities.determined", [2, 4, 6, 7, 0], "~ a list of 0 to 4"),
        ("identities.unsearched", ["\ud800"], "unsearched[0] is"),
    ],
)
def test_one_wrong_field(path: str, value: Any, expected: str, write: Write, tmp_path: Path) -> None:
    content = content_of(cases()["exact"].model, tmp_path)
    assert [text.partition(" =")[0] for text in content["sentences"]][:3] == ["sq", "lw", "total"]
    name = refusals.changed(content, path, value)
    expected = expected.replace("~", f"the field {name} is {show(value)}, but must be").replace("{name}", name)
    assert expected in refusal(write(content))


@pytest.mark.parametrize("value", [b"NaN", b"-Infinity", b"1e999"])
def test_an_exponent_that_is_no_number(value: bytes, write: Write, tmp_path: Path) -> None:
    path = write(content_of(cases()["exact"].model, tmp_path))
    data, factor = path.read_bytes(), b'{"column":5,"exponent":1.0,"function":"log","sign":1.0}'
    assert data.count(factor) == 1
    path.write_bytes(data.replace(factor, factor.replace(b"1.0,", value + b",", 1)))
    refusal(path)


def test_identities_of_columns_that_relations_speak_of(write: Write, tmp_path: Path) -> None:
    content = content_of(cases()["exact"].model, tmp_path)
    one = content["identities"]["identities"][0]
    one["formula"]["left"]["factors"][0]["column"] = NAMES.index("free")
    content["sentences"][0] = "free = x^2 (exactly, all rows)"
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
    number = next(k for k, text in enumerate(content["sentences"]) if text.startswith("kind is"))
    for path, value in (
        ("constant", 2.0),
        ("terms.0.coefficient", 3.0),
        ("terms.0.factors.0.exponent", 2.0),
        ("condition", {"column": 3, "value": 1.0, "negated": False}),
    ):
        altered = copy.deepcopy(content)
        refusals.changed(altered, f"identities.identities.{number}.formula.{path}", value)
        assert OTHERS in refusal(write(altered))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("identities.quantiles", [[]] * len(NAMES)),
        ("identities.quantiles", [[0.0]] * len(NAMES)),
        ("identities.quantiles", [["NaN"] * 5] * len(NAMES)),
        ("identities.quantiles", [[1.0, "NaN", "NaN"]] * len(NAMES)),
        ("identities.quantiles", [[-1e150, 1e150]] * len(NAMES)),
        ("resolutions", [{"decimals": 16, "significant": 17, "single": True, "coarse": False}] * len(NAMES)),
        ("resolutions", [{"decimals": -6, "significant": 1, "single": False, "coarse": True}] * len(NAMES)),
        ("identities.identities.0.n_kept", 2**53),
        ("identities.identities.0.n_kept", 0),
        ("identities.identities.0.strict", False),
        ("identities.identities.0.exceptions", "x\n\u2028</script>"),
        ("identities.identities.0.formula.terms.0.coefficient", 1e-320),
        ("identities.identities.0.formula.terms.0.coefficient", 0.0),
        ("identities.identities.0.formula.terms.0.coefficient", 1e300),
        ("identities.identities", []),
        ("identities.n_sample", 0),
    ],
)
def test_what_may_just_about_be_there_is_refused_or_harmless(
    path: str, value: Any, write: Write, tmp_path: Path
) -> None:
    case = cases()["exact"]
    content = content_of(case.model, tmp_path)
    refusals.changed(content, path, value)
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


@pytest.mark.parametrize("kind", ["gaps", "categories"])
def test_altered_preparations_are_refused_or_harmless(kind: str, write: Write, tmp_path: Path) -> None:
    original = content_of(cases()[kind].model, tmp_path)
    # Without gaps there are no numbers in it.
    alterations = [one for one in OF_ANY_PART if kind == "gaps" or one.__name__ not in ("extreme", "nudged")]
    refused = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        part = {name: copy.deepcopy(original[name]) for name in ("preparation", "gaps", "cell_format")}
        mutations.pick(rng, alterations)(part, rng)
        content = {key: value for key, value in original.items() if key not in ("preparation", "gaps", "cell_format")}
        path = write(content | part)
        try:
            plan = load(path).model_.preparation
        except ModelFileError as error:
            mutations.assert_one_sentence(str(error), path)
            refused += 1
            continue
        cells = [list(one.levels[:2]) * 2 if one.categorical else np.full(4, 0.5) for one in plan.columns]
        shortest = min(map(len, cells))
        assert np.isfinite(plan.encode([one[:shortest] for one in cells])).all()
    assert refused >= 90
