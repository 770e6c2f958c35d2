"""The content of a file as a model: everything is checked before anything is built."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aspca.linalg.arrays import LARGEST_VALUE, Floats, frozen
from aspca.model.model import Model
from aspca.model.outliers import Excluded, ExcludedCells, Repeated
from aspca.model_file.consistency import check_covariance, check_given, check_moments, check_rules
from aspca.model_file.encode import FORMAT, VERSION, packed_size, unpacked
from aspca.model_file.errors import ModelFileError
from aspca.model_file.evidence import evidence_of
from aspca.model_file.fields import Field
from aspca.model_file.identities import identities_of
from aspca.model_file.json_text import check_sum
from aspca.model_file.model_parts import (
    LARGEST,
    LARGEST_MATRIX,
    components_of,
    features_of,
    n_components_of,
    settings_of,
    solved_of,
    thresholds_of,
)
from aspca.model_file.preprocessing import preprocessing_of
from aspca.moments import Moments
from aspca.moments.blocks import CONTINUOUS
from aspca.moments.space import ScaledSpace, peaks_of
from aspca.preparation import Preparation
from aspca.preparation.cell_format import (
    COLUMN_KINDS,
    DATE_ORDERS,
    DECIMALS,
    THOUSANDS,
    CellFormat,
    ColumnFormat,
    is_encoding,
)
from aspca.rules.equation_text import RuleError
from aspca.rules.given import GivenRule, given_rules, is_linear
from aspca.rules.table import RuleTable
from aspca.settings import Settings

_FIELDS = (
    "format",
    "version",
    "package",
    "private",
    "preprocessing",
    "features",
    "settings",
    "training",
    "subspace",
    "rules",
    "identities",
    "thresholds",
    "excluded",
    "evidence",
    "widenings",
    "reading",
    "cell_format",
    "checksum",
)
_TRAINING = (
    "rows",
    "weight",
    "centre",
    "residual",
    "scale",
    "variances",
    "largest",
    "peaks",
    "nonnegative",
    "decimals",
    "minimum",
    "maximum",
    "scatter",
    "covariance",
)
_RULES = ("loadings", "covariance", "unresolved", "sparsest", "chances", "holds", "kept", "shift")
_RELEASE = re.compile(r"[0-9][0-9A-Za-z.+]{0,39}")
_VALUE = float(LARGEST_VALUE)
# A column's deviation is no smaller than the root of the smallest normal float64, or it counts as constant.
SMALLEST_SCALE, LARGEST_SCALE = 1e-154, 4.0 * _VALUE
_MOST_NUMBERS = 1000
# In the scaled space, where values are about one.
LARGEST_SHIFT = 1e6
LONGEST_REMARK = 4000
# No file has more columns, and no unit or name of an encoding more letters.
_MOST_COLUMNS, _LONGEST_WORD = 1_000_000, 200


@dataclass(frozen=True)
class Contents:
    """A file read: its model, where the features' names come from (see `encode`), and the version that wrote it."""

    model: Model
    naming: str
    package: str


def check_header(content: object, file: str) -> dict[str, Any]:
    """The content of a model file of the version that is read, its checksum right."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(
            f'{file}: the field format must be "{FORMAT}", but is not, so this is no model file; give the path of a '
            "file written by aspca.save."
        )
    version = Field(file, "version", content.get("version")).integer(1)
    if version < VERSION:
        raise ModelFileError(
            f"{file}: the file was written in format {version} by an earlier development version, but must be of "
            f"format {VERSION}; fit the model again with this version."
        )
    if version > VERSION:
        package = content.get("package")
        known = isinstance(package, str) and _RELEASE.fullmatch(package)
        raise ModelFileError(
            f"{file}: the field version is {version}, but must be {VERSION} for this aspca; "
            f"install {f'aspca {package}, which wrote it, or a later one' if known else 'a newer aspca'}."
        )
    Field(file, "", content).members(*_FIELDS)
    check_sum(content, file)
    return content


def contents_of(top: Field) -> Contents:
    """The model of a checked header's content."""
    at = top.members(*_FIELDS)
    package = at["package"].text(100)
    private = at["private"].flag()
    names, naming = features_of(at["features"])
    preparation, gaps = preprocessing_of(at["preprocessing"], names)
    at["features"].require(names == preparation.names, "the features that preprocessing makes", "of other names")
    if naming == "none":
        columns = [plan.name for plan in preparation.columns]
        expected = all(name == f"x{j}" for j, name in enumerate(columns))
        at["features"].require(expected, 'x0, x1 and so on where naming is "none"', "of other names")
    p = len(names)
    d = n_components_of(at["subspace"], p)
    settings = settings_of(at["settings"], d)
    _check_lifts(at["preprocessing"], preparation, settings.lift)
    solved = solved_of(at["subspace"], settings, p, d)
    space, moments = _training(at["training"], settings, preparation, private, estimated=gaps is not None)
    components = components_of(at["subspace"], settings, space, d, solved)
    rules = at["rules"].members(*_RULES)
    identities = identities_of(at["identities"], preparation.features, private)
    given, kept, space = _given(at["settings"], rules, settings, space, {one.written for one in identities})
    table = _rules(rules, p, given)
    m = len(table)
    check_given(rules["loadings"], table, space)
    evidence = evidence_of(at["evidence"], p, m, identities.determined)
    judged = settings.judges_by_evidence
    at["evidence"].require((evidence is not None) == judged, "there where tail models judge, and null where not")
    thresholds = thresholds_of(at["thresholds"], settings, m, private)
    widenings = None if at["widenings"].absent else at["widenings"].extended(m, 0.0, math.inf)
    model = Model(
        settings,
        preparation,
        space,
        components,
        table,
        thresholds,
        moments,
        widenings,
        gaps,
        _excluded(at["excluded"], p, private),
        kept,
        tuple(entry.text(LONGEST_REMARK) for entry in at["reading"].items(0, _MOST_NUMBERS)),
        _cell_format(at["cell_format"]),
        identities,
        evidence,
    )
    used = table.loadings[list(identities.determined)]
    at["identities"].require(
        bool(given) or not used.any(),
        "of columns that have no part in the other rules",
        "of others",
    )
    return Contents(model, naming, package)


def _check_lifts(at: Field, preparation: Preparation, lift: str | None) -> None:
    at.require(lift is not None or not preparation.lifted, "without lifts, which were not asked for", "with some")


def _cell_format(at: Field) -> CellFormat:
    part = at.members("decimal", "thousands", "missing", "encoding", "columns")
    columns = []
    for column in part["columns"].items(0, _MOST_COLUMNS):
        name, kind, unit, order = column.items(4, 4)
        columns.append(
            ColumnFormat(name.text(), kind.word(COLUMN_KINDS), unit.text(_LONGEST_WORD), order.word(("", *DATE_ORDERS)))
        )
    encoding = None if part["encoding"].absent else part["encoding"].text(_LONGEST_WORD)
    part["encoding"].require(encoding is None or is_encoding(encoding), "a text encoding that Python knows, or null")
    return CellFormat(
        None if part["decimal"].absent else part["decimal"].word(DECIMALS),
        None if part["thousands"].absent else part["thousands"].word(THOUSANDS),
        tuple(word.text(LONGEST_REMARK) for word in part["missing"].items(0, _MOST_NUMBERS)),
        encoding,
        tuple(columns),
    )


def _training(
    at: Field, settings: Settings, preparation: Preparation, private: bool, estimated: bool
) -> tuple[ScaledSpace, Moments | None]:
    part = at.members(*_TRAINING)
    p = len(preparation.names)
    rows = part["rows"].integer(2)
    weight = float(part["weight"].number(math.ulp(0.0), LARGEST))
    centre, residual = (part[name].vector(p, -_VALUE, _VALUE) for name in ("centre", "residual"))
    scale = part["scale"].vector(p, SMALLEST_SCALE, LARGEST_SCALE)
    if settings.scaling == "none":
        part["scale"].require((scale == 1.0).all(), 'a list of ones, as scaling is "none"', "a list of other numbers")
    for name in ("minimum", "maximum"):
        part[name].require(part[name].absent == private, "null in a private file, and a list in any other")
    for name, wrong in (("scatter", private), ("covariance", not private)):
        part[name].require(part[name].absent or not wrong, f"null in a {'' if private else 'not '}private file")
    part["peaks"].require(part["peaks"].absent != private, "a list in a private file, and null in any other")
    extremes = (
        None if private else (part["minimum"].vector(p, -_VALUE, _VALUE), part["maximum"].vector(p, -_VALUE, _VALUE))
    )
    scatter = _symmetric(part["scatter"], p)
    covariance = _symmetric(part["covariance"], p)
    check_moments(part, weight, centre + residual, scale, extremes, scatter, estimated)
    variances = part["variances"].vector(p, 0.0, LARGEST)
    largest = part["largest"].vector(p, 0.0, 2.0 * _VALUE)
    nonnegative = np.array([entry.flag() for entry in part["nonnegative"].items(p)])
    decimals = np.array([entry.integer(0, CONTINUOUS) for entry in part["decimals"].items(p)], dtype=np.intp)
    if scatter is not None and extremes is not None:
        moments = Moments(weight, rows, centre, residual, scatter, extremes[0], extremes[1], decimals)
        return ScaledSpace.scaled(moments, scale, preparation.features), moments
    if covariance is not None:
        check_covariance(part["covariance"], covariance, variances)
    space = ScaledSpace(
        preparation.features,
        frozen(centre),
        frozen(residual),
        frozen(scale),
        frozen(variances),
        covariance,
        rows,
        weight,
        largest,
        nonnegative,
        decimals,
        part["peaks"].vector(p, 0.0, LARGEST)
        if extremes is None
        else peaks_of(centre + residual, *extremes, scale, variances),
        extremes=extremes,
    )
    return space, None


def _excluded(at: Field, p: int, private: bool) -> Excluded | None:
    if at.absent:
        return None
    part = at.members("cells", "shown", "repeated")
    shown = [tuple(entry.items(4)) for entry in part["shown"].items(0, _MOST_NUMBERS)]
    repeated = [tuple(entry.items(3)) for entry in part["repeated"].items(0, 2 * p)]
    for name in ("shown", "repeated"):
        # Values of rows.
        part[name].require(not private or not len(part[name]), "an empty list in a private file")
    cells = np.array([entry.integer(0) for entry in part["cells"].items(p)], dtype=np.intp)
    excluded = Excluded(
        cells,
        ExcludedCells(
            np.array([row.integer(0) for row, _, _, _ in shown], dtype=np.intp),
            np.array([column.integer(0, p - 1) for _, column, _, _ in shown], dtype=np.intp),
            np.array([value.number(-LARGEST, LARGEST) for _, _, value, _ in shown]),
            np.array([expected.number(-LARGEST, LARGEST) for _, _, _, expected in shown]),
        ),
        tuple(
            Repeated(column.integer(0, p - 1), value.number(-LARGEST, LARGEST), times.integer(2))
            for column, value, times in repeated
        ),
    )
    many = np.bincount(excluded.shown.columns, minlength=p)
    part["shown"].require((many <= cells).all(), "of no more cells than there are", "of more")
    return excluded


def _symmetric(at: Field, p: int) -> Floats | None:
    return None if at.absent else unpacked(at.vector(packed_size(p), -LARGEST, LARGEST), p)


def _given(
    asked: Field, part: dict[str, Field], settings: Settings, space: ScaledSpace, exact: set[str | None]
) -> tuple[tuple[GivenRule, ...], Floats | None, ScaledSpace]:
    """The rules that were given, the share of rows that keep each, and the space as they are judged from."""
    try:
        # What is not linear, and no identity either, few rows satisfy: nothing is judged by it.
        texts = [text for text in settings.rules if text not in exact and is_linear(text, space.features)]
        given = given_rules(texts, space.features)
    except RuleError as error:
        raise asked.refused("with rules that can be read", f"with one that cannot ({error})") from None
    asked.require(len(texts) <= len(part["loadings"]), "with no more rules than there are", "with more")
    holds = [entry.flag() for entry in part["holds"].items(len(given))]
    kept = None if part["kept"].absent else part["kept"].vector(len(given), 0.0, 1.0)
    part["shift"].require(part["shift"].absent or any(holds), "null where no rule that was given holds", "a list")
    if not part["shift"].absent:
        space = space.moved(part["shift"].vector(space.n_features, -LARGEST_SHIFT, LARGEST_SHIFT))
    return tuple(replace(rule, holds=flag) for rule, flag in zip(given, holds, strict=True)), kept, space


def _rules(part: dict[str, Field], p: int, given: tuple[GivenRule, ...]) -> RuleTable:
    m = len(part["loadings"])
    part["loadings"].require(len(given) <= m <= p, f"a list of {len(given)} to {p}")
    part["loadings"].require(p * m <= LARGEST_MATRIX, f"of at most {LARGEST_MATRIX} loadings")
    loadings = part["loadings"].sparse_columns(p, m, 1.0 + 1e-9)
    covariance = unpacked(part["covariance"].vector(packed_size(m), -LARGEST, LARGEST), m)
    unresolved = part["unresolved"].vector(m, 0.0, LARGEST)
    check_rules(part, loadings, covariance, unresolved)
    return RuleTable(
        frozen(loadings),
        frozen(covariance),
        frozen(unresolved),
        np.array([entry.flag() for entry in part["sparsest"].items(m)], dtype=np.bool_),
        frozen(part["chances"].vector(m, 0.0, 1.0)),
        given,
    )
