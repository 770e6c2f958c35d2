"""What a model file must not be: each is refused by name, field, what is allowed and what to do."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aspca.model_file.json_text
from aspca import ASPCA, Moments
from aspca.cli.main import main
from aspca.estimators.stored import load, save
from aspca.model_file.json_text import ModelFileError, compute_checksum, seal, show, to_canonical
from aspca.model_file.model_file import VERSION


def refusal(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


SHOWN = {"rows": [7], "columns": [0], "values": [5.0], "expected": [1.0]}
# "~": what the field is, and "but must be".
ROWS: list[tuple[str, Any, str]] = [
    ("preparation.steps", {}, "the key 'steps' in the field preparation is not known"),
    ("preparation.columns.0.kind", "ln", "~ one of number, boolean, date"),
    ("preparation.columns.0.levels", ["a"], "must be a list of categories for one-hot and codes, else empty"),
    ("preparation.columns.0.lifts", ["log"], "space.centre is a list of 6, but must be a list of 7"),
    ("preparation.columns.0.lifts", ["log", "log"], "lifts is one with, but must be a list without a lift twice"),
    ("preparation.columns.0.lifts", ["cube"], "lifts[0] is 'cube', but must be one of log, square"),
    ("preparation.columns.1.name", "a", "Two columns would both make a feature called"),
    ("preparation.columns.0.name", "\ud800", "must be a text without lone surrogates"),
    ("preparation.columns.0.name", "log(]", "sentences is others, but must be those"),
    ("preparation.missing", "allow", "gaps is null, but must be an object where values may be missing"),
    ("preparation.chosen", [6], "preparation is refused (tuple index out of range), but must be one that can be built"),
    (
        "gaps",
        {"missing": [0] * 6, "iterations": 1, "converged": True, "left_out": 0},
        "~ an object where values may be",
    ),
    ("settings.tol", 0.011, "~ a number above 0 and at most 0.01"),
    ("settings.variant", "H", "~ one of F, B, FG, BG, G"),
    ("settings.variant", "F", "components.variant is 'BG', but must be that of the settings"),
    ("settings.rotation", "none", "~ one of levels, all"),
    ("settings.n_components", 3, '~ "auto" or 4'),
    ("settings.alpha", 0.5, "must be the settings' alpha"),
    ("settings.score", "spe", "must be there where tail models judge, and null where not"),
    ("settings.lift", "auto", "~ null, as the score is not of components"),
    ("settings.limit", 3.0, "thresholds.total.name is 'conformal', but must be one of fixed"),
    ("settings.rules", ["zzz = 1"], "settings.rules is one that cannot"),
    ("space.n_rows", 150.0, "~ a whole number from 2"),
    ("space.n_rows", True, "~ a whole number from 2"),
    ("space.n_rows", 1, "~ a whole number from 2"),
    ("space.n_rows", -(10**20) + 1, "~ a whole number from 2"),
    ("space.n_rows", -(10**20), "~ a whole number from 2"),
    ("space.scale.2", 0.0, "~ a number from 1e-154"),
    ("space.scale.2", None, "~ a number from 1e-154"),
    ("space.scale.2", 10**300, "~ a number from 1e-154"),
    ("space.scale.0", 1e-154, "space.scale is a list with an entry far too small, but must be in proportion"),
    ("space.weight", 5e-324, "~ in proportion to the scatter"),
    ("space.centre", [0.0] * 5, "~ a list of 6"),
    ("space.centre.0", 1e9, "space.centre is a list with an entry outside of them, but must be between the extremes"),
    ("space.extremes.0.0", 1e9, "space.extremes is others, but must be minima below maxima"),
    ("space.extremes", None, "~ null in a private file, and a list in any other"),
    ("space.known_covariance", [[1.0] * k for k in range(6, 0, -1)], "is a matrix, but must be null in a not private"),
    ("space.variances.0", -1.0, "~ a number from 0"),
    ("space.largest.0", -1.0, "~ a number from 0"),
    ("space.nonnegative.0", 0, "~ true or false"),
    ("space.decimals.0", 17, "~ a whole number from 0 to 16"),
    ("space.decimals.0", 1.0, "~ a whole number"),
    ("space.shift", [0.0] * 6, "space.shift is a list, but must be null where no rule that was given holds"),
    ("scatter.0.0", -1.0, "scatter is a matrix with one, but must be without negative variances"),
    ("scatter.0.0", 1e300, "scatter is wider, but must be of variances that the extremes allow"),
    ("scatter.0.1", 1e300, "scatter is a matrix with a correlation above 1"),
    ("scatter.0.3", 0.5, "scatter is a matrix that is not, but must be zero beside a variance"),
    ("scatter.0.3", "NaN", "~ a number from"),
    ("scatter.2", [1.0, 1.0], "~ a list of 4"),
    ("components.loadings.0.value.0", 1.5, "~ a number from -1 to 1"),
    ("components.rotation", [{"index": [0], "value": [1.0]}] * 4, "rotation is orthonormal to 1.0e+00 only"),
    (
        "components.rotation.0",
        {"index": [4], "value": [1.0]},
        "rotation[0].index[0] is 4, but must be a whole number from 0 to 3",
    ),
    (
        "components.rotation",
        [{"index": [1, 0], "value": [1.0, 0.0]}] * 4,
        "index is a list in another order, but must be asc",
    ),
    (
        "components.rotation",
        [{"index": [1]}] * 4,
        "rotation[0] is an object of 1 fields, but must be an object of index",
    ),
    ("components.certificates.0.gap", -1.0, "~ a number from 0 to inf"),
    ("components.certificates.0.lower", 1e9, "~ no more than the upper bound"),
    ("components.n_components", 3, "~ 4, the number of loadings"),
    ("rules", {}, "the field rules.loadings is missing"),
    ("rules.loadings", [[1.0] * 7] * 6, "rules.covariance is a list of 2, but must be a list of 7"),
    ("rules.loadings", [{"index": [0], "value": [0.5]}] * 2, "is of others, but must be of columns of length one"),
    ("rules.covariance", [[-1.0, 0.0], [0.0]], "is a matrix with one, but must be without negative"),
    ("rules.covariance", [[1.0, 2.0], [1.0]], "is one with a larger one, but must be of correlations up to 1"),
    ("evidence.caps", [[0.0, 0.0], [0.0]], "~ a list of 3"),
    (
        "rules.loadings",
        [[1.0] * k for k in range(6, 0, -1)],
        "rules.covariance is a list of 2, but must be a list of 6",
    ),
    ("rules.unresolved.0", -1.0, "~ a number from 0"),
    ("rules.sparsest.0", 1, "~ true or false"),
    ("holds", [True], "~ a list of 0"),
    ("sentences", ["a = b (exactly, all rows)"], "sentences is others, but must be those of the numbers of identities"),
    ("thresholds.error", None, "~ a number where tail models judge"),
    ("thresholds.error", -1.0, "~ a number from 0 to inf"),
    ("thresholds.error", "NaN", "~ a number from 0 to inf"),
    ("thresholds.error", "-Infinity", "~ a number from 0 to inf"),
    ("thresholds.rules.0", -1.0, "~ a number from 0 to inf"),
    ("thresholds.rules", None, "~ a list of 2"),
    ("thresholds.total", None, "thresholds.calibration is a list of 50, but must be a list where"),
    ("thresholds.total.value", "NaN", "~ a number from 0"),
    ("thresholds.total.level", 1.0, "~ a number from"),
    ("thresholds.total.level", None, "~ null for a number that was given, and only there"),
    ("thresholds.calibration.0", 1e9, "thresholds.calibration is a list in another order, but must be ascending"),
    ("thresholds.calibration", [], "~ a list of 1 to"),
    ("evidence", None, "~ there where tail models judge, and null where not"),
    ("evidence.more", 1, "the key 'more' in the field evidence is not known"),
    ("evidence.views", [], "~ a list of 1 to 2"),
    ("evidence.views.0", None, "~ an object"),
    ("evidence.chosen.1", 1, "evidence.chosen is one with a larger one, but must be a list of numbers up to 0"),
    ("evidence.chosen", [0], "~ a list of 3"),
    ("evidence.views.0.scales.columns", [0, 1, 6], "columns[2] is 6, but must be a whole number from 0 to 5"),
    ("evidence.views.0.scales.columns", [0, 1, 1], "columns is a list in another order, but must be ascending"),
    (
        "evidence.views.0.scales.columns",
        [0, 1, 4],
        "evidence.views is of others, but must be of features that no ident",
    ),
    ("evidence.views.0.scales.sides.0", 0.5, "sides is a list with another number, but must be a list of -1, 0 and 1"),
    ("evidence.views.0.scales.origins.0", 1e151, "~ a number from -4e+150 to 4e+150"),
    ("evidence.views.0.scales.units.1", 0.0, "~ a number from"),
    ("evidence.views.0.conditional.coefficients.0.0", 2.0, "is of another number, but must be of 1 for each feature"),
    ("evidence.views.0.conditional.coefficients.0.1", 1e31, "~ a number from -1e+30"),
    ("evidence.views.0.conditional.low.0", 1e8, "low is above it, but must be no more than high"),
    ("evidence.ranges.1", None, "evidence.conditionals is not, but must be null where ranges are null"),
    ("evidence.distance.root", [[1.0]], "~ a list of 3"),
    ("evidence.ranges.0.unit", 0, "~ a number from"),
    ("evidence.ranges.0.knots.0", 1e9, "~ a number from -600 to 1200"),
    ("evidence.ranges.0.knots.0", 0.0, "knots is a list in another order, but must be ascending"),
    ("evidence.ranges.0.knots", [], "~ a list of 1 to 1000"),
    ("evidence.ranges.0.log_p.0", 0.0, "log_p is a list in another order, but must be falling to both sides"),
    ("evidence.ranges.0.slopes", [1.0], "~ a list of 2"),
    ("evidence.caps.0.0", 0.1, "~ a number from -inf to 0"),
    ("evidence.caps.0.0", "Infinity", "~ a number from -inf to 0"),
    ("evidence.relations", [], "~ a list of 2"),
    ("evidence.law.log_p.0", -1e3, "log_p is a list in another order, but must be descending"),
    ("evidence.law.error", 0.0, "~ no less than unusual"),
    ("evidence.law.n_rows", 0, "~ a whole number from 1"),
    ("excluded.cells.0", -1, "~ a whole number from 0"),
    ("excluded.shown", {**SHOWN, "columns": [6]}, "shown.columns[0] is 6, but must be a whole number from 0 to 5"),
    ("excluded.shown", {**SHOWN, "rows": [1, 2]}, "shown.columns is a list of 1, but must be a list of 2"),
    ("excluded.shown", SHOWN, "excluded.shown is of more, but must be of no more cells than there"),
    (
        "excluded.repeated",
        [{"column": 6, "value": 2.0, "times": 2}],
        "repeated[0].column is 6, but must be a whole numb",
    ),
    (
        "excluded.repeated",
        [{"column": 0, "value": 2.0, "times": 1}],
        "repeated[0].times is 1, but must be a whole number",
    ),
    ("cell_format", None, "~ an object"),
    ("cell_format.encoding", "no such", "~ a text encoding that Python knows, or null"),
    ("naming", "none", "preparation is of other names, but must be of columns x0, x1 and so on"),
    ("private", True, "space.extremes is a list of 2, but must be null in a private file"),
]


def changed(content: Any, path: str, value: Any) -> str:
    """Change a field of a content; its name, as sentences have it."""
    *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in keys:
        content = content[key]
    content[last] = value
    return re.sub(r"\.(\d+)", r"[\1]", path)


@pytest.mark.parametrize(("path", "value", "expected"), ROWS)
def test_one_wrong_field(
    path: str, value: Any, expected: str, content: dict[str, Any], write: Callable[..., Path]
) -> None:
    name = changed(content, path, value)
    assert expected.replace("~", f"the field {name} is {show(value)}, but must be") in refusal(write(content))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("excluded.shown", SHOWN),
        ("excluded.repeated", [{"column": 0, "value": -999.0, "times": 2}]),
        ("identities.quantiles", [[1.0, 2.0]] * 6),
        ("reading", ["The decimal sign is a comma."]),
        ("scatter", [[1.0] * k for k in range(6, 0, -1)]),
    ],
)
def test_values_of_rows_in_a_private_file(
    path: str, value: Any, fitted: ASPCA, write: Callable[..., Path], tmp_path: Path
) -> None:
    save(fitted, tmp_path / "private.json", private=True)
    private = json.loads((tmp_path / "private.json").read_text())
    private["excluded"]["cells"][0] = 2
    name = changed(private, path, value)
    message = refusal(write(private))
    assert f"the field {name} is " in message
    assert "in a private file; " in message


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
    scatter = content["scatter"]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        scatter[i][j - i] = -0.9 * np.sqrt(scatter[i][0] * scatter[j][0])
    assert "must be a matrix without negative directions" in refusal(write(content))


def test_loadings_that_are_orthonormal_but_others(content: dict[str, Any], write: Callable[..., Path]) -> None:
    loadings = content["components"]["loadings"]
    loadings[0], loadings[1] = loadings[1], loadings[0]
    assert "components.loadings is off the rotated sequence by" in refusal(write(content))


@pytest.mark.parametrize("number", range(1, VERSION))
def test_earlier_formats_which_no_release_wrote(
    number: int, content: dict[str, Any], write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for held in (content, {"format": "aspca-model", "weights": []}):
        path = write({**held, "version": number})
        said = (
            f"the file was written in format {number} by an earlier development version, but must be of format "
            f"{VERSION}; fit the model again with this version."
        )
        assert refusal(path) == said
        assert main(["rules", str(path)]) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert " ".join(told.err.split()).endswith(f"{path}: {said}")


def test_a_newer_version_says_what_to_install(content: dict[str, Any], write: Callable[..., Path]) -> None:
    # Whatever else is in it: the fields of versions to come are not known.
    newer = {"format": "aspca-model", "version": VERSION + 1, "package": "2.4.0", "shape": [1, 2]}
    assert "install aspca 2.4.0, which wrote it, or a later one." in refusal(write(newer))
    assert "install a newer aspca." in refusal(write({**newer, "package": "2.4\n; rm -rf"}))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b'"version":7', b'"version":7,"version":7', "the key 'version' occurs twice"),
        (b'"version":7', b'"version":"7"', "the field version must be a whole number"),
        (b'"tie":false', b'"tie":false,"tie":true', "the key 'tie' occurs twice"),
        (b'"gaps":null', b'"gaps":NaN', "the word NaN as a number"),
        (b'"gaps":null', b'"gaps":-Infinity', "the word -Infinity as a number"),
        (b'"gaps":null', b'"gaps":1e999', "field checksum must be the SHA-256 of the content"),
        (b'"gaps":null', b'"gaps":false', "field checksum must be the SHA-256 of the content"),
        (b'"gaps":null', b'"gaps":', "no JSON from line"),
        (b'"gaps":null', b'"gaps":"\xff"', "is not UTF-8 text"),
        (b'"gaps":null', b'"gaps":' + b"7" * 5000, "a number or a nesting beyond reason"),
        (b'"gaps":null', b'"gaps":' + b"[" * 100_000, "a number or a nesting beyond reason"),
        (b'"gaps":null,\n', b"", "field checksum must be the SHA-256 of the content"),
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
    assert to_canonical({"b": [1.0, 0.1, -0.0, 1], "a": "é\n"}) == '{"a":"\\u00e9\\n","b":[1.0,0.1,-0.0,1]}'
    # By `printf '{"a":1.5}' | sha256sum`.
    assert (
        compute_checksum({"a": 1.5, "checksum": "any"})
        == "3b1cb40b22933d83e9242f8ac724f114d812ddd49909917b365375c24b69a455"
    )
    assert json.loads(seal({"a": 1.5}))["checksum"] == compute_checksum({"a": 1.5})


def test_a_file_that_is_too_large(content: dict[str, Any], write: Callable[..., Path], monkeypatch: Any) -> None:
    path = write(content)
    monkeypatch.setattr(aspca.model_file.json_text, "LARGEST_FILE", path.stat().st_size - 1)
    assert "the most that a model file may have; save the model with moments=False" in refusal(path)


def test_a_model_that_is_too_large_is_not_written(fitted: ASPCA, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(aspca.model_file.json_text, "LARGEST_FILE", 1000)
    with pytest.raises(ModelFileError, match="the most that a model file may have"):
        save(fitted, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_missing_and_unknown_fields(content: dict[str, Any], write: Callable[..., Path]) -> None:
    for holder, name in ((content, ""), (content["evidence"]["law"], "evidence.law.")):
        for key in [key for key in holder if key not in ("format", "version", "checksum")]:
            value = holder.pop(key)
            assert f"the field {name}{key} is missing, but must be there" in refusal(write(content))
            holder[key] = value
    content["pickle"] = "gASVAAAA"
    assert "the key 'pickle' in the file is not known" in refusal(write(content))


def test_a_small_file_cannot_ask_for_much_memory(content: dict[str, Any], write: Callable[..., Path]) -> None:
    p = 20_000
    names = [f"x{j}" for j in range(p)]
    content["preparation"]["columns"] = [{"name": name, "kind": "number", "levels": [], "lifts": []} for name in names]
    for name in ("centre", "residual", "scale", "variances", "largest", "peaks"):
        content["space"][name] = [1.0] * p
    content["space"] |= {"extremes": [[1.0] * p] * 2, "nonnegative": [True] * p, "decimals": [0] * p}
    content["components"] = p
    content["settings"]["n_components"] = p
    content["scatter"] = [{"index": [j], "value": [1.0]} for j in range(p)]
    path = write(content)
    tracemalloc.start()
    try:
        message = refusal(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "must be of at most 33554432 entries" in message
    # The dense matrix would have 3.2 GB.
    assert peak < 100 * path.stat().st_size


def test_what_no_file_can_hold_is_not_saved(table: pd.DataFrame, tmp_path: Path) -> None:
    names = [*table.columns[:5], "half \ud800"]
    model = ASPCA(n_components=2).fit_moments(Moments.from_array(table), feature_names=names)
    with pytest.raises(ModelFileError, match=r"columns\[5\].name is .*this model cannot be saved"):
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
