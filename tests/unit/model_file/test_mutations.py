"""Model files that someone altered, the checksum made right: each is refused in one sentence, or scores finitely.

The alterations are drawn from fixed seeds: wrong types, missing and unknown fields, extreme numbers, other lengths,
bases that are not orthonormal, negative variances, swapped parts, wrong names, nested junk.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, Preprocessor
from aspca.estimators.stored import load, save
from aspca.model_file.json_text import ModelFileError
from zoo import with_gaps

Parent = tuple[Any, Any]
N_FILES, N_CHUNKS = 600, 12
NUMBERS = (0, -1, 1, 2, 0.5, -0.0, 1e-320, 1e-300, 1e150, -1e150, 1e308, -1e308, 2**53 + 1, 10**25, -(10**400), 3.7)
JUNK = (None, True, "", "1.0", "Infinity", "-Infinity", "NaN", [], {}, [[]], {"index": [0]}, [None], "x" * 3000)


def places(value: Any) -> Iterator[Parent]:
    """Every place in a content, as its container and key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in list(pairs):
        yield value, key
        yield from places(entry)


def place(content: Any, rng: np.random.Generator, wanted: Callable[[Any], bool]) -> Parent:
    found = [(holder, key) for holder, key in places(content) if wanted(holder[key])]
    # By depth first: most places are single numbers of long lists.
    return found[int(rng.integers(len(found)))]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def pick(rng: np.random.Generator, options: Any) -> Any:
    return copy.deepcopy(options[int(rng.integers(len(options)))])


def other_type(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, lambda value: rng.random() < 0.5 or not is_number(value))
    holder[key] = pick(rng, JUNK + NUMBERS)


def missing(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, lambda value: True)
    del holder[key]


def extreme(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, is_number)
    holder[key] = pick(rng, NUMBERS)


def nudged(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, is_number)
    holder[key] = type(holder[key])(holder[key] * pick(rng, (-1.0, 0.0, 0.5, 1.0 + 1e-13, 1.0 + 1e-6, 2.0, 1e6, 1e-6)))


def shorter(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, is_list)
    holder[key] = holder[key][: int(rng.integers(len(holder[key])))]


def longer(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, is_list)
    holder[key] = holder[key] * pick(rng, (2, 3, 500))


def reordered(content: Any, rng: np.random.Generator) -> None:
    # Of entries that are all alike there is one order.
    holder, key = place(content, rng, lambda value: is_list(value) and any(entry != value[0] for entry in value))
    holder[key] = [holder[key][i] for i in rng.permutation(len(holder[key]))]


def swapped(content: Any, rng: np.random.Generator) -> None:
    one, other = place(content, rng, lambda value: not is_number(value)), place(content, rng, lambda value: True)
    one[0][one[1]], other[0][other[1]] = copy.deepcopy(other[0][other[1]]), copy.deepcopy(one[0][one[1]])


def unknown(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, lambda value: isinstance(value, dict))
    holder[key][pick(rng, ("extra", "", "__class__", "py/object", "index\n", "x" * 5000))] = pick(rng, JUNK)


def nested(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, lambda value: True)
    for _ in range(pick(rng, (1, 3, 60))):
        holder[key] = pick(rng, ([0], {"value": 0})) if rng.random() < 0.1 else [holder[key]]


def scaled(content: Any, rng: np.random.Generator, *path: str) -> None:
    """Some entry of a matrix, in whichever form it has, is another."""
    for key in path:
        content = content[key]
    row = content[pick(rng, (0, -1))]
    values = row["value"] if isinstance(row, dict) else row
    values[int(rng.integers(len(values)))] *= pick(rng, (0.5, -1.0, 1.0 + 1e-8, 1e-3, 2.0))


def not_orthonormal(content: Any, rng: np.random.Generator) -> None:
    if isinstance(content["components"], int):
        content["components"] = pick(rng, (0, 7, -1, 2.5, None, "4"))
        return
    for name in pick(rng, (("loadings",), ("sequence",), ("rotation",), ("loadings", "sequence"))):
        scaled(content, rng, "components", name)


def negative_variance(content: Any, rng: np.random.Generator) -> None:
    scatter = content["scatter"]
    if scatter is None:
        variances = content["space"]["variances"]
        variances[int(rng.integers(len(variances)))] = -1.0
    elif rng.random() < 0.5:
        scatter[int(rng.integers(len(scatter)))][0] *= -1.0
    else:
        # Larger correlations than there are, with every variance as it was.
        scatter[0][1] = -scatter[0][1] + pick(rng, (1.0, 50.0, -50.0))


def rules_of_another_length(content: Any, rng: np.random.Generator) -> None:
    scaled(content, rng, "rules", "loadings")


def huge(content: Any, rng: np.random.Generator) -> None:
    columns = content["preparation"]["columns"]
    many = pick(rng, (7, 5000))
    content["preparation"]["columns"] = [{**columns[0], "name": f"x{j}"} for j in range(many)]
    if rng.random() < 0.5:
        content["rules"]["loadings"] = [{"index": [0], "value": [1.0]}] * many


def wrong_words(content: Any, rng: np.random.Generator) -> None:
    holder, key = place(content, rng, lambda value: isinstance(value, str))
    words = ("", "auto", "none", "F", "BG", "G", "spe", "complete", "standardized", "maxabs", "fixed", "conformal")
    holder[key] = pick(rng, (*words, "gaussian", "quantile", "rule", "given", "\ud800", "\u202e", "0" * 64))


ALTERATIONS = (
    *(other_type, missing, extreme, nudged, shorter, longer, reordered, swapped),
    *(unknown, nested, not_orthonormal, negative_variance, huge, wrong_words),
    rules_of_another_length,
)


@pytest.fixture(scope="module")
def originals(fitted: ASPCA, table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Files of several kinds, as contents."""
    folder = tmp_path_factory.mktemp("originals")
    quantile = ASPCA(n_components=2, variant="FG", score="standardized", contamination=0.1, scaling="none").fit(table)
    plain = ASPCA(variant="B").fit(table.to_numpy())
    assert plain.components_.shape[1] == 6
    # Nobody has asked for the components of the others.
    gapped = pd.DataFrame(with_gaps(table.to_numpy(), 0.05), columns=table.columns)
    gaps = ASPCA(n_components=3, preprocessor=Preprocessor(missing="allow")).fit(gapped)
    found = []
    for number, (model, options) in enumerate(
        [
            *((fitted, {}), (fitted, {"private": True}), (fitted, {"moments": False}), (quantile, {}), (plain, {})),
            *((gaps, {}), (gaps, {"private": True})),
        ]
    ):
        save(model, folder / f"{number}.json", **options)
        found.append(json.loads((folder / f"{number}.json").read_text()))
    return found


def assert_one_sentence(message: str, path: Path) -> None:
    assert message.startswith(f"{path}: ")
    rest = message.removeprefix(f"{path}: ")
    assert rest.endswith(".")
    assert ". " not in rest
    assert message.isprintable()
    assert len(rest) < 600
    # What is wrong, what is allowed, and what to do.
    assert "; " in rest
    assert "must" in rest or "may" in rest


def test_every_alteration_changes_something(originals: list[dict[str, Any]]) -> None:
    for alteration in ALTERATIONS:
        changed = 0
        for seed in range(8):
            found = copy.deepcopy(originals[0])
            alteration(found, np.random.default_rng(seed))
            changed += found != originals[0]
        # A zero that is halved, or equal parts that are swapped, stay what they were.
        assert changed >= 5, alteration.__name__


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_altered_files_are_refused_or_harmless(
    chunk: int, originals: list[dict[str, Any]], table: pd.DataFrame, write: Callable[..., Path]
) -> None:
    refused = 0
    seeds = range(chunk, N_FILES, N_CHUNKS)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        content = copy.deepcopy(originals[seed % len(originals)])
        content.pop("checksum")
        pick(rng, ALTERATIONS)(content, rng)
        path = write(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model = load(path)
        except ModelFileError as error:
            assert_one_sentence(str(error), path)
            refused += 1
            continue
        rows = table.to_numpy() if model._named_by_hand or model._names() is None else None
        values = with_gaps(table.to_numpy(), 0.1) if model.model_.allows_gaps else table.to_numpy()
        frame = pd.DataFrame(values) if rows is not None else pd.DataFrame(values, columns=model.feature_names_in_)
        scores = model.score_samples(frame.to_numpy() if rows is not None else frame)
        assert np.isfinite(scores).all()
        assert len([str(rule) for rule in model.rules_]) == model.model_.n_identities + len(model.model_.table)
    # An alteration is seldom harmless: a file that takes anything would pass the test above.
    assert refused >= 0.6 * len(seeds)
