"""What a model file must not be: each is refused by name, field, what is allowed and what to do."""

from __future__ import annotations

import copy
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aspca.model_file.json_text
from aspca import ASPCA, Moments
from aspca.estimators.stored import load, save
from aspca.model_file.errors import ModelFileError
from aspca.model_file.json_text import canonical, checksum, sealed

SCALES, GIVEN = (("evidence", "views", 0, name) for name in ("scales", "conditional"))
TAIL, LAW, STEADY = ("evidence", "ranges", 0), ("evidence", "law"), ("evidence", "steady")


def refusal(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("version",), 7, "field version is 7, but must be 6 for this aspca"),
        (("version",), "1", "field version is '1', but must be a whole number"),
        (("preprocessing",), {"steps": []}, "the key 'steps' in the field preprocessing is not known"),
        (("settings", "tol"), 0.011, "settings.tol is 0.011, but must be a number above 0 and at most 0.01"),
        (("settings", "variant"), "H", "settings.variant is 'H', but must be one of F, B, FG, BG, G"),
        (("settings", "rotation"), "none", "settings.rotation is 'none', but must be one of levels, all"),
        (("settings", "n_components"), 3, 'settings.n_components is 3, but must be "auto" or 4'),
        (("training", "rows"), 150.0, "training.rows is 150.0, but must be a whole number"),
        (("training", "rows"), True, "training.rows is true, but must be a whole number"),
        (("training", "rows"), -(10**20) + 1, "training.rows is -99999999999999999999, but must be"),
        (("training", "rows"), -(10**20), "training.rows is a huge integer, but must be"),
        (("training", "scale", 2), 0.0, r"training.scale[2] is 0.0, but must be a number from 1e-154"),
        (("training", "scale", 2), None, r"training.scale[2] is null, but must be a number"),
        (("training", "scale", 2), 10**300, "training.scale is a list with a huge integer"),
        (("training", "centre"), [0.0] * 5, "training.centre is a list of 5, but must be a list of 6"),
        (("training", "minimum", 0), 1e9, "training.minimum is a list with an entry above it, but must be below the"),
        (
            ("training", "centre", 0),
            1e9,
            "training.centre is a list with an entry outside of them, but must be between",
        ),
        (("training", "scatter", 0), -1.0, "training.scatter is a matrix with one, but must be without negative"),
        (("training", "scatter", 0), 1e300, "training.scatter is wider, but must be of variances that minimum"),
        (("training", "scatter", 1), 1e300, "training.scatter is a matrix with a correlation above 1"),
        (
            ("training", "scatter", 3),
            0.5,
            "training.scatter is a matrix that is not, but must be zero beside a variance",
        ),
        (("subspace", "loadings", 0, "index", 0), 6, "is a list with the entry 6, but must be a list of ascending"),
        (("subspace", "loadings", 0, "value", 0), 0.0, "is a list of"),
        (("subspace", "rotation"), [{"index": [0], "value": [1.0]}] * 4, "rotation is orthonormal to 1.0e+00 only"),
        (
            ("subspace", "rotation", 0, "value", 0),
            1.5,
            "rotation[0].value[0] is 1.5, but must be a number from -1 to 1",
        ),
        (("subspace", "certificates", 0, "gap"), -1.0, "gap is -1.0, but must be a number from 0 to inf"),
        (("subspace", "certificates", 0, "lower"), 1e9, "lower is 1000000000.0, but must be no more than the upper"),
        (("rules",), {}, "the field rules.loadings is missing"),
        (("rules", "loadings"), [{"index": [0], "value": [1.0]}] * 7, "rules.loadings is a list of 7, but must be a"),
        (
            ("rules", "loadings", 0, "value", 0),
            0.5,
            "is of others, but must be of columns of length one",
        ),
        (("rules", "covariance", 0), -1.0, "rules.covariance is a matrix with one, but must be without negative"),
        (("rules", "covariance", 1), 1e9, "rules.covariance is one with a larger one, but must be of correlations"),
        (("rules", "unresolved", 0), -1.0, "rules.unresolved[0] is -1.0, but must be a number from 0"),
        (("rules", "chances"), None, "rules.chances is null, but must be a list of"),
        (("rules", "sparsest", 0), 1, "rules.sparsest[0] is 1, but must be true or false"),
        (("training", "variances", 0), -1.0, "training.variances[0] is -1.0, but must be a number from 0"),
        (("training", "largest", 0), -1.0, "training.largest[0] is -1.0, but must be a number from 0"),
        (("training", "nonnegative", 0), 0, "training.nonnegative[0] is 0, but must be true or false"),
        (("training", "decimals", 0), 17, "training.decimals[0] is 17, but must be a whole number from 0 to 16"),
        (("training", "decimals", 0), 1.0, "training.decimals[0] is 1.0, but must be a whole number"),
        (("training", "covariance"), [1.0] * 21, "training.covariance is a list of 21, but must be null in a not priv"),
        (("settings", "score"), "spe", "must be there where tail models judge, and null where not"),
        (("thresholds", "error"), None, "thresholds.error is null, but must be a number where tail models judge"),
        (("thresholds", "error"), -1.0, "thresholds.error is -1.0, but must be a number from 0 to inf"),
        (("thresholds", "error"), "NaN", "thresholds.error is 'NaN', but must be a number from 0 to inf"),
        (("thresholds", "rules", 0), -1.0, "thresholds.rules[0] is -1.0, but must be a number from 0 to inf"),
        (("evidence",), None, "evidence is null, but must be there where tail models judge, and null where not"),
        (("evidence",), {}, "the field evidence.views is missing, but must be there"),
        (("evidence", "more"), 1, "the key 'more' in the field evidence is not known"),
        (("evidence", "views"), [], "evidence.views is a list of 0, but must be a list of 1 to 2"),
        (("evidence", "views", 0), None, "evidence.views[0] is null, but must be an object"),
        (("evidence", "chosen", 1), 1, "evidence.chosen[1] is 1, but must be a whole number from 0 to 0"),
        (("evidence", "chosen"), [0], "evidence.chosen is a list of 1, but must be a list of 3"),
        ((*SCALES, "columns"), [0, 1, 6], "scales.columns[2] is 6, but must be a whole number from 0 to 5"),
        ((*SCALES, "columns"), [1, 0, 2], "scales.columns is a list in another order, but must be ascending"),
        ((*SCALES, "columns"), [0, 1, 1], "scales.columns is a list in another order, but must be ascending"),
        ((*SCALES, "columns"), [0, 1, 4], "evidence.views is of others, but must be of features that no identity det"),
        ((*SCALES, "sides", 0), 0.5, "scales.sides is a list with another number, but must be a list of -1, 0 and 1"),
        ((*SCALES, "sides", 0), 2.0, "scales.sides[0] is 2.0, but must be a number from -1 to 1"),
        ((*SCALES, "origins", 0), 1e151, "scales.origins[0] is 1e+151, but must be a number from -4e+150 to 4e+150"),
        ((*SCALES, "reaches", 0), 0.0, "scales.reaches[0] is 0.0, but must be a number from"),
        ((*SCALES, "floors"), [0.0], "scales.floors is a list of 1, but must be a list of 3"),
        ((*SCALES, "middles", 2), 1e151, "scales.middles[2] is 1e+151, but must be a number from -1e+150 to 1e+150"),
        ((*SCALES, "units", 1), -1.0, "scales.units[1] is -1.0, but must be a number from"),
        ((*SCALES, "units", 1), 0.0, "scales.units[1] is 0.0, but must be a number from"),
        ((*GIVEN, "mean", 1), None, "conditional.mean[1] is null, but must be a number from"),
        ((*GIVEN, "coefficients", 0), 2.0, "conditional.coefficients is of another number, but must be of 1 for each"),
        ((*GIVEN, "coefficients", 1), 1e31, "conditional.coefficients[1] is 1e+31, but must be a number from -1e+30"),
        ((*GIVEN, "low", 0), 1e8, "conditional.low is above it, but must be no more than high"),
        ((*GIVEN, "high", 0), 1e10, "conditional.high[0] is 10000000000.0, but must be a number from"),
        (("evidence", "ranges"), [None] * 4, "evidence.ranges is a list of 4, but must be a list of 3"),
        (("evidence", "ranges", 1), None, "evidence.conditionals[1] is an object of 5 fields, but must be null where"),
        (("evidence", "distance"), None, "evidence.distance is null, but must be an object"),
        (("evidence", "distance", "mean"), [0.0], "distance.mean is a list of 1, but must be a list of 3"),
        (("evidence", "distance", "root"), [1.0] * 8, "distance.root is a list of 8, but must be a list of 9"),
        (("evidence", "distance", "root", 3), -1e31, "distance.root[3] is -1e+31, but must be a number from -1e+30 to"),
        ((*TAIL, "middle"), 1e151, "ranges[0].middle is 1e+151, but must be a number from -4e+150 to 4e+150"),
        ((*TAIL, "unit"), 0, "ranges[0].unit is 0, but must be a number from"),
        ((*TAIL, "knots", 0), 1e9, "ranges[0].knots[0] is 1000000000.0, but must be a number from -600 to 1200"),
        ((*TAIL, "knots", 0), 0.0, "ranges[0].knots is a list in another order, but must be ascending"),
        ((*TAIL, "knots"), [], "ranges[0].knots is a list of 0, but must be a list of 1 to 1000"),
        ((*TAIL, "log_p", 0), 0.1, "ranges[0].log_p[0] is 0.1, but must be a number from -1e+06 to 0"),
        ((*TAIL, "log_p", 0), 0.0, "ranges[0].log_p is a list in another order, but must be falling to both sides"),
        ((*TAIL, "log_p", -1), 0.0, "ranges[0].log_p is a list in another order, but must be falling to both sides"),
        ((*TAIL, "log_p"), [0.0], "ranges[0].log_p is a list of 1, but must be a list of"),
        ((*TAIL, "slopes"), [1.0], "ranges[0].slopes is a list of 1, but must be a list of 2"),
        ((*TAIL, "slopes", 1), -1.0, "ranges[0].slopes[1] is -1.0, but must be a number from 0 to 1e+09"),
        ((*STEADY, "columns"), [6], "steady.columns[0] is 6, but must be a whole number from 0 to 5"),
        ((*STEADY, "columns"), [1, 0], "steady.columns is a list in another order, but must be ascending"),
        ((*STEADY, "values"), [1.0] * 3, "steady.values is a list of 3, but must be a list of"),
        ((*STEADY, "log_p"), [0.0] * 3, "steady.log_p is a list of 3, but must be a list of"),
        (("evidence", "caps", 0), 0.1, "evidence.caps[0] is 0.1, but must be a number from -inf to 0"),
        (("evidence", "caps", 0), "Infinity", "evidence.caps[0] is 'Infinity', but must be a number from -inf to 0"),
        (("evidence", "relations"), [], "evidence.relations is a list of 0, but must be a list of 2"),
        (("evidence", "relations", 0), None, "evidence.relations[0] is null, but must be an object"),
        (("evidence", "relation_caps"), [], "evidence.relation_caps is a list of 0, but must be a list of 4"),
        ((*LAW, "knots", 0), -1.0, "law.knots[0] is -1.0, but must be a number from 0 to 1200"),
        ((*LAW, "log_p", 0), -1e3, "law.log_p is a list in another order, but must be descending"),
        ((*LAW, "unusual"), -1.0, "law.unusual is -1.0, but must be a number from 0"),
        ((*LAW, "error"), 0.0, "law.error is 0.0, but must be a number from"),
        ((*LAW, "rows"), 0, "law.rows is 0, but must be a whole number from 1"),
        (("excluded",), {}, "the field excluded.cells is missing, but must be there"),
        (("excluded", "rows"), 1, "the key 'rows' in the field excluded is not known"),
        (("excluded", "cells"), [0] * 5, "excluded.cells is a list of 5, but must be a list of 6"),
        (("excluded", "cells", 0), -1, "excluded.cells[0] is -1, but must be a whole number from 0"),
        (("excluded", "cells", 0), 1.0, "excluded.cells[0] is 1.0, but must be a whole number from 0"),
        (("excluded", "shown"), [[1, 0, 2.0]], "excluded.shown[0] is a list of 3, but must be a list of 4"),
        (("excluded", "shown"), [[-1, 0, 2.0, 1.0]], "excluded.shown[0][0] is -1, but must be a whole number from 0"),
        (
            ("excluded", "shown"),
            [[1, 6, 2.0, 1.0]],
            "excluded.shown[0][1] is 6, but must be a whole number from 0 to 5",
        ),
        (("excluded", "shown"), [[1, 0, None, 1.0]], "excluded.shown[0][2] is null, but must be a number from"),
        (("excluded", "shown"), [[1, 0, 2.0, "NaN"]], "excluded.shown[0][3] is 'NaN', but must be a number from"),
        (
            ("excluded", "shown"),
            [[1, 0, 2.0, 1.0]],
            "excluded.shown is of more, but must be of no more cells than there",
        ),
        (("excluded", "repeated"), [[0, 2.0]], "excluded.repeated[0] is a list of 2, but must be a list of 3"),
        (
            ("excluded", "repeated"),
            [[6, 2.0, 2]],
            "excluded.repeated[0][0] is 6, but must be a whole number from 0 to 5",
        ),
        (("excluded", "repeated"), [[0, None, 2]], "excluded.repeated[0][1] is null, but must be a number from"),
        (("excluded", "repeated"), [[0, 2.0, 1]], "excluded.repeated[0][2] is 1, but must be a whole number from 2"),
        (("thresholds", "total"), None, "thresholds.calibration is a list of 50, but must be a list where"),
        (("thresholds", "rules"), None, "thresholds.rules is null, but must be a list"),
        (("thresholds", "total", "value"), "NaN", "thresholds.total.value is 'NaN', but must be a number from 0"),
        (("thresholds", "total", "level"), 1.0, "thresholds.total.level is 1.0, but must be a number from"),
        (("thresholds", "calibration", 0), 1e9, "thresholds.calibration is a list in another order"),
        (("features", "names", 0), "\ud800", "must be a text without lone surrogates"),
        (("features", "names", 1), "a", "features.names is one with, but must be a list without a name twice"),
        (("cell_format",), None, "cell_format is null, but must be an object"),
        (("private",), True, "training.minimum is a list of 6, but must be null in a private file"),
    ],
)
def test_one_wrong_field(
    path: tuple[Any, ...], value: Any, expected: str, content: dict[str, Any], write: Callable[..., Path]
) -> None:
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    assert expected in refusal(write(content))


def places_in(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every field below, and of lists the first and the last entry."""
    yield path, value
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from places_in(entry, (*path, key))
    elif isinstance(value, list):
        for k in sorted({0, len(value) - 1}) if value else ():
            yield from places_in(value[k], (*path, k))


def test_no_field_of_tail_models_and_excluded_cells_takes_anything(
    content: dict[str, Any], write: Callable[..., Path]
) -> None:
    content["excluded"] = {"cells": [1] * 6, "shown": [[7, 0, 5.0, 1.0]], "repeated": [[1, -999.0, 2]]}
    seen = 0
    for part in ("evidence", "excluded"):
        for path, old in list(places_in(content[part], (part,))):
            name = path[0] + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path[1:])
            for wrong in (None, True, "", "1.0", "NaN", [[]], {"index": [0]}, 10**25):
                if wrong is None and (path in ((part,), ("evidence", "ranges", 0)) or path[-2:-1] == ("conditionals",)):
                    continue
                changed = copy.deepcopy(content)
                holder = changed
                for key in path[:-1]:
                    holder = holder[key]
                holder[path[-1]] = wrong
                message = refusal(write(changed))
                # It names the field, the list that it is in, or what then is missing or wrong there.
                assert name in message or name.rpartition("[")[0] in message or isinstance(old, dict), (name, message)
                assert "must be" in message or "may stand" in message
                seen += 1
    assert seen > 500


def test_values_of_rows_in_a_private_file(fitted: ASPCA, write: Callable[..., Path], tmp_path: Path) -> None:
    save(fitted, tmp_path / "private.json", private=True)
    private = json.loads((tmp_path / "private.json").read_text())
    private["excluded"]["cells"][0] = 2
    for name, value in (("shown", [[7, 0, 5.0, 1.0]]), ("repeated", [[0, -999.0, 2]])):
        changed = copy.deepcopy(private)
        changed["excluded"][name] = value
        expected = f"excluded.{name} is a list of 1, but must be an empty list in a private file"
        assert expected in refusal(write(changed))


def test_tail_models_belong_to_scores_that_are_judged_by_them(
    content: dict[str, Any], table: pd.DataFrame, write: Callable[..., Path], tmp_path: Path
) -> None:
    save(ASPCA(n_components=2, score="standardized").fit(table), tmp_path / "components.json")
    other = json.loads((tmp_path / "components.json").read_text())
    assert other["evidence"] is other["thresholds"]["error"] is None
    other["thresholds"]["error"] = 1.0
    assert "thresholds.error is 1.0, but must be a number where tail models judge" in refusal(write(other))
    other["thresholds"]["error"], other["evidence"] = None, content["evidence"]
    assert "must be there where tail models judge, and null where not" in refusal(write(other))


@pytest.mark.parametrize("asked", ["auto", 3.0])
def test_thresholds_that_do_not_wait_for_rows_are_there(
    asked: str | float, content: dict[str, Any], write: Callable[..., Path]
) -> None:
    content["settings"]["limit"], content["thresholds"]["total"] = asked, None
    expected = f"thresholds.total is null, but must be there, as the limit {asked!r} needs no rows"
    assert expected in refusal(write(content))


def test_a_negative_direction_without_a_negative_variance(content: dict[str, Any], write: Callable[..., Path]) -> None:
    # Correlations of -0.9 among three features cannot be: their sum would vary by less than nothing.
    p = len(content["features"]["names"])
    scatter = np.zeros((p, p))
    scatter[np.triu_indices(p)] = content["training"]["scatter"]
    roots = np.sqrt(np.diag(scatter))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        scatter[i, j] = -0.9 * roots[i] * roots[j]
    content["training"]["scatter"] = scatter[np.triu_indices(p)].tolist()
    assert "must be a matrix without negative directions" in refusal(write(content))


def test_loadings_that_are_orthonormal_but_others(content: dict[str, Any], write: Callable[..., Path]) -> None:
    loadings = content["subspace"]["loadings"]
    loadings[0], loadings[1] = loadings[1], loadings[0]
    assert "subspace.loadings is off the rotated sequence by" in refusal(write(content))


def test_a_newer_version_says_what_to_install(content: dict[str, Any], write: Callable[..., Path]) -> None:
    # Whatever else is in it: the fields of versions to come are not known.
    newer = {"format": "aspca-model", "version": 7, "package": "2.4.0", "shape": [1, 2]}
    assert "install aspca 2.4.0, which wrote it, or a later one." in refusal(write(newer))
    assert "install a newer aspca." in refusal(write({**newer, "package": "2.4\n; rm -rf"}))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b'"version":6', b'"version":6,"version":6', "the key 'version' occurs twice"),
        (b'"tie":false', b'"tie":false,"tie":true', "the key 'tie' occurs twice"),
        (b'"preprocessing":null', b'"preprocessing":NaN', "the word NaN as a number"),
        (b'"preprocessing":null', b'"preprocessing":-Infinity', "the word -Infinity as a number"),
        (b'"preprocessing":null', b'"preprocessing":1e999', "field checksum must be the SHA-256 of the content"),
        (b'"preprocessing":null', b'"preprocessing":false', "field checksum must be the SHA-256 of the content"),
        (b'"preprocessing":null', b'"preprocessing":', "no JSON from line"),
        (b'"preprocessing":null', b'"preprocessing":"\xff"', "is not UTF-8 text"),
        (b'"preprocessing":null', b'"preprocessing":' + b"7" * 5000, "a number or a nesting beyond reason"),
        (b'"preprocessing":null', b'"preprocessing":' + b"[" * 100_000, "a number or a nesting beyond reason"),
        (b'"preprocessing":null,\n', b"", "the field preprocessing is missing"),
        (b'"preprocessing":null', b'"preprocessing":null,"pickle":"gASVAAAA"', "the key 'pickle' in the file is not"),
        (b'"format":"aspca-model"', b'"format":"onnx"', 'field format must be "aspca-model"'),
    ],
)
def test_altered_text(
    old: bytes, new: bytes, expected: str, content: dict[str, Any], write: Callable[..., Path]
) -> None:
    path = write(content)
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new, 1))
    assert expected in refusal(path)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"\x80\x04K\x01.", b"PK\x03\x04", b"\xef\xbb\xbf{}", b"{}garbage"]
)
def test_other_files(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(data)
    assert "; " in refusal(tmp_path / "model.json")


def test_every_truncation_is_seen(content: dict[str, Any], write: Callable[..., Path]) -> None:
    path = write(content)
    data = path.read_bytes()
    for end in range(0, len(data) - 2, 97):
        path.write_bytes(data[:end])
        refusal(path)


def test_every_changed_byte_is_seen(content: dict[str, Any], write: Callable[..., Path]) -> None:
    path = write(content)
    data = path.read_bytes()
    for position in range(0, len(data) - 1, 61):
        changed = bytes([data[position] ^ 1])
        if data[position : position + 1].isspace() or changed.isspace():
            continue
        path.write_bytes(data[:position] + changed + data[position + 1 :])
        # A seventeenth digit may change without changing the float64 it stands for.
        if not data[position : position + 1].isdigit() or not holds(path, content):
            refusal(path)


def holds(path: Path, content: dict[str, Any]) -> bool:
    """Whether a file is JSON (10 with its first digit changed is 00, which is none) and says the same as before."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except json.JSONDecodeError:
        return False
    return found == content


def test_layout_and_order_do_not_matter(
    content: dict[str, Any], fitted: ASPCA, table: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "pretty.json"
    path.write_text(json.dumps(dict(reversed(content.items())), indent=4, ensure_ascii=False), encoding="utf-8")
    assert np.array_equal(load(path).score_samples(table), fitted.score_samples(table))


def test_the_checksum_is_that_of_the_canonical_text() -> None:
    assert canonical({"b": [1.0, 0.1, -0.0, 1], "a": "é\n"}) == '{"a":"\\u00e9\\n","b":[1.0,0.1,-0.0,1]}'
    # By `printf '{"a":1.5}' | sha256sum`.
    assert checksum({"a": 1.5, "checksum": "any"}) == "3b1cb40b22933d83e9242f8ac724f114d812ddd49909917b365375c24b69a455"
    assert json.loads(sealed({"a": 1.5}))["checksum"] == checksum({"a": 1.5})


def test_a_file_that_is_too_large(content: dict[str, Any], write: Callable[..., Path], monkeypatch: Any) -> None:
    path = write(content)
    monkeypatch.setattr(aspca.model_file.json_text, "LARGEST_FILE", path.stat().st_size - 1)
    assert "the most that a model file may have; save the model with moments=False" in refusal(path)


def test_a_model_that_is_too_large_is_not_written(fitted: ASPCA, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(aspca.model_file.json_text, "LARGEST_FILE", 1000)
    with pytest.raises(ModelFileError, match="the most that a model file may have"):
        save(fitted, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_a_small_file_cannot_ask_for_much_memory(content: dict[str, Any], write: Callable[..., Path]) -> None:
    p = 20_000
    content["features"] = {"names": [f"x{j}" for j in range(p)], "naming": "none"}
    content["subspace"]["loadings"] = [{"index": [j], "value": [1.0]} for j in range(p)]
    content["settings"]["n_components"] = p
    path = write(content)
    tracemalloc.start()
    try:
        message = refusal(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "must be of at most 33554432 loadings" in message
    # The dense matrix would have 3.2 GB.
    assert peak < 100 * path.stat().st_size


def test_what_no_file_can_hold_is_not_saved(table: pd.DataFrame, tmp_path: Path) -> None:
    names = [*table.columns[:5], "half \ud800"]
    model = ASPCA(n_components=2).fit_moments(Moments.from_array(table), feature_names=names)
    with pytest.raises(ModelFileError, match=r"names\[5\] is .*this model cannot be saved"):
        save(model, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.json")
    assert "no regular file" in refusal(tmp_path)
    if hasattr(os, "mkfifo"):
        # Opening it would wait for ever.
        os.mkfifo(tmp_path / "pipe")
        assert "no regular file" in refusal(tmp_path / "pipe")
