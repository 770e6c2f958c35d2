"""What the fields of a model file must be to each other: ordered, orthonormal, of no negative variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from aspca.escaping import quoted
from aspca.identities import Identities
from aspca.identities.formula import Factor
from aspca.linalg.arrays import Floats
from aspca.model.columns import Conditional, Scales
from aspca.model.evidence import Evidence, RowLaw, Steady
from aspca.model.outliers import Excluded
from aspca.model.tails import Tail
from aspca.model.thresholds import Limit
from aspca.model_file.codec import Requirement
from aspca.model_file.contents import Contents
from aspca.preparation import CATEGORIES, ColumnPlan, Preparation
from aspca.rules.equations import RuleError
from aspca.rules.table import RuleTable
from aspca.rules.user_rules import stack_loadings
from aspca.settings import AUTO, COMPONENT_SCORES
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.subspace import SparseSubspace

# Ten times what the verifier asks of a result.
_ORTHONORMAL = 1e-11
# Sums of many rows err by less.
_ROUNDING = 1e-9
# Where squares have underflowed, digits are lost and nothing can be compared.
_VANISHED = 1e-290
_ORDER = "a list in another order"


def _ascending(values: Any, *, strictly: bool = True) -> bool:
    return bool((np.diff(values) > 0).all() if strictly else (np.diff(values) >= 0).all())


def _distinct(values: Any) -> bool:
    return len(set(values)) == len(values)


def _check_preparation(found: Preparation) -> Iterator[Requirement]:
    yield _distinct([plan.name for plan in found.columns]), "columns", "a list without a column twice", "one with"


def _check_plan(plan: ColumnPlan) -> Iterator[Requirement]:
    some = bool(plan.levels) == (plan.kind in CATEGORIES)
    yield some, "levels", "a list of categories for one-hot and codes, else empty", ""
    yield _distinct(plan.levels), "levels", "a list without a category twice", "one with"
    yield _distinct(plan.lifts), "lifts", "a list without a lift twice", "one with"
    yield not plan.lifts or plan.kind == "number", "lifts", "an empty list for what is no number", ""


def _check_certificate(found: Certificate) -> Iterator[Requirement]:
    size = max(abs(found.lower), abs(found.upper))
    right = not math.isfinite(size) or found.lower <= found.upper + 1e-6 * size
    yield right, "lower", "no more than the upper bound", ""


def _check_subspace(found: SparseSubspace) -> Iterator[Requirement]:
    (p, d), steps = found.loadings.shape, found.sequence.shape[1]
    yield found.n_components == d, "n_components", f"{d}, the number of loadings", ""
    expected = p if found.variant in ("F", "FG") else d
    yield steps == expected, "sequence", f"of {expected} columns", f"of {steps}"
    for name in ("loadings", "sequence", "rotation"):
        matrix = getattr(found, name)
        off = np.abs(matrix.T @ matrix - np.eye(matrix.shape[1])).max(initial=0.0)
        yield off <= _ORTHONORMAL, name, f"orthonormal to {_ORTHONORMAL:g}", f"orthonormal to {off:.1e} only"
    off = np.abs(found.kept @ found.rotation - found.loadings).max(initial=0.0)
    yield off <= _ORTHONORMAL, "loadings", "the rotated sequence", f"off the rotated sequence by {off:.1e}"


def _check_rules(rules: RuleTable) -> Iterator[Requirement]:
    """Of unit length, and of deviations that have variances, as far as rounding lets them."""
    p, covariance = len(rules.loadings), rules.covariance
    yield len(rules) <= p, "loadings", f"of at most {p} columns", f"of {len(rules)}"
    lengths = np.linalg.norm(rules.loadings, axis=0)
    yield (np.abs(lengths - 1.0) <= _ORTHONORMAL).all(), "loadings", "of columns of length one", "of others"
    squares = np.diag(covariance)
    # Where every rule holds exactly there is nothing but rounding to compare.
    least = -_ROUNDING * np.abs(covariance).max(initial=0.0) - rules.unresolved.max(initial=0.0)
    yield (squares >= least).all(), "covariance", "without negative variances", "a matrix with one"
    roots = np.sqrt(np.maximum(squares, 0.0))
    # Roots first: products of squares near 1e-240 are nothing.
    most = np.outer(roots, roots) - 2.0 * least
    yield (np.abs(covariance) <= most).all(), "covariance", "of correlations up to 1", "one with a larger one"


def _check_factor(factor: Factor) -> Iterator[Requirement]:
    yield factor.exponent != 0.0, "exponent", "a number other than 0", ""
    yield abs(factor.sign) == 1.0, "sign", "1 or -1", ""


def _check_identities(found: Identities) -> Iterator[Requirement]:
    if found.quantiles is not None:
        ordered = (np.diff(found.quantiles, axis=1) >= 0.0) | np.isnan(found.quantiles[:, 1:])
        yield ordered.all(), "quantiles", "of ascending numbers", "of others"
        yield found.quantiles.shape[1] >= 2, "quantiles", "of lists of at least 2", "of others"
    yield len(found.determined) <= len(found), "determined", f"a list of 0 to {len(found)}", ""
    yield _distinct(found.determined), "determined", "of different columns", "of some twice"
    used = {j for one in found for j in one.columns}
    yield used.issuperset(found.determined), "determined", "of columns that identities speak of", "of others"


def _check_limit(limit: Limit) -> Iterator[Requirement]:
    right = (limit.level is None) == (limit.name == "fixed")
    yield right, "level", "null for a number that was given, and only there", ""


def _check_scales(scales: Scales) -> Iterator[Requirement]:
    yield _ascending(scales.columns), "columns", "ascending", _ORDER
    yield np.isin(scales.sides, (-1.0, 0.0, 1.0)).all(), "sides", "a list of -1, 0 and 1", "a list with another number"


def _check_conditional(found: Conditional) -> Iterator[Requirement]:
    own = np.diag(found.coefficients)
    yield (own == 1.0).all(), "coefficients", "of 1 for each feature itself", "of another number"
    yield (found.low <= found.high).all(), "low", "no more than high", "above it"


def _check_steady(steady: Steady) -> Iterator[Requirement]:
    yield _ascending(steady.columns), "columns", "ascending", _ORDER


def _check_tail(tail: Tail) -> Iterator[Requirement]:
    yield _ascending(tail.knots), "knots", "ascending", _ORDER
    top = int(tail.log_p.argmax())
    falls = _ascending(tail.log_p[: top + 1], strictly=False) and _ascending(-tail.log_p[top:], strictly=False)
    yield falls, "log_p", "falling to both sides of its largest", _ORDER


def _check_law(law: RowLaw) -> Iterator[Requirement]:
    yield _ascending(law.knots), "knots", "ascending", _ORDER
    yield _ascending(-law.log_p, strictly=False), "log_p", "descending", _ORDER
    yield law.error >= law.unusual, "error", "no less than unusual", ""


def _check_evidence(found: Evidence) -> Iterator[Requirement]:
    same = all(np.array_equal(view.scales.columns, found.columns) for view in found.views)
    yield same, "views", "of the same columns", "of others"
    most = len(found.views) - 1
    yield (found.chosen <= most).all(), "chosen", f"a list of numbers up to {most}", "one with a larger one"
    pairs = zip(found.ranges, found.conditionals, strict=True)
    right = all(given is None or itself is not None for itself, given in pairs)
    yield right, "conditionals", "null where ranges are null", "not"
    yield found.law is not None, "law", "an object", ""


def _check_excluded(excluded: Excluded) -> Iterator[Requirement]:
    many = np.bincount(excluded.shown.columns, minlength=len(excluded.cells))
    yield (many <= excluded.cells).all(), "shown", "of no more cells than there are", "of more"


def _check_contents(found: Contents) -> Iterator[Requirement]:
    numbered = all(plan.name == f"x{j}" for j, plan in enumerate(found.preparation.columns))
    allowed = 'of columns x0, x1 and so on where naming is "none"'
    yield found.naming != "none" or numbered, "preparation", allowed, "of other names"
    right = (found.gaps is None) == (found.preparation.missing == "error")
    yield right, "gaps", "an object where values may be missing, null where they may not", ""
    yield from _check_settings(found)
    yield from _check_space(found)
    yield from _check_components(found)
    yield from _check_judging(found)
    yield from _check_relations(found)
    if found.private:
        excluded = found.excluded
        yield found.identities.quantiles is None, "identities.quantiles", "null in a private file", "a list"
        yield excluded is None or not excluded.shown.rows.size, "excluded.shown", "empty in a private file", "not"
        yield excluded is None or not excluded.repeated, "excluded.repeated", "empty in a private file", "not"
        yield not found.reading, "reading", "empty in a private file", ""


def _check_settings(found: Contents) -> Iterator[Requirement]:
    settings, components, p = found.settings, found.components, len(found.preparation.features)
    of_components = settings.score in COMPONENT_SCORES
    d = components if isinstance(components, int) else components.n_components
    yield d <= p, "components", f"at most {p}", ""
    yield settings.n_components in ("auto", d), "settings.n_components", f'"auto" or {d}', ""
    right = settings.max_features is None or settings.variant != "G"
    yield right, "settings.max_features", 'null where variant is "G"', ""
    yield not settings.rules or not of_components, "settings.rules", "empty, as the score has no readable rules", ""
    yield settings.lift is None or of_components, "settings.lift", "null, as the score is not of components", ""
    right = settings.lift is not None or not found.preparation.lifted
    yield right, "preparation", "without lifts, which were not asked for", "with some"


def _check_space(found: Contents) -> Iterator[Requirement]:
    """Means between extremes, variances as large as these allow, and a scatter without negative directions."""
    space, scatter, private = found.space, found.scatter, found.private
    right = found.settings.scaling != "none" or (space.scale == 1.0).all()
    yield right, "space.scale", 'a list of ones, as scaling is "none"', "a list of other numbers"
    allowed = "null in a private file, and a list in any other"
    yield (space.extremes is None) == private, "space.extremes", allowed, ""
    yield scatter is None or not private, "scatter", "null in a private file", "a matrix"
    yield space.known_covariance is None or private, "space.known_covariance", "null in a not private file", "a matrix"
    if space.known_covariance is not None:
        same = np.array_equal(np.diag(space.known_covariance), space.variances)
        yield same, "space.known_covariance", "of the variances given", "of others"
        yield from _check_correlations("space.known_covariance", space.known_covariance)
    if space.extremes is None:
        return
    minimum, maximum = space.extremes
    yield (minimum <= maximum).all(), "space.extremes", "minima below maxima", "others"
    # Where values were missing, mean and scatter speak of those too, which no extreme bounds.
    bounded = found.gaps is None
    slack = _ROUNDING * np.maximum(np.abs(minimum), np.abs(maximum))
    between = (minimum - slack <= space.mean) & (space.mean <= maximum + slack)
    yield not bounded or between.all(), "space.centre", "between the extremes", "a list with an entry outside of them"
    if scatter is None:
        return
    squares = np.diag(scatter)
    yield (squares >= 0.0).all(), "scatter", "without negative variances", "a matrix with one"
    with np.errstate(over="ignore"):
        deviations = np.sqrt(squares / space.weight)
        farthest = np.maximum(maximum - space.mean, space.mean - minimum)
        scaled = (np.maximum(deviations, farthest) / space.scale) ** 2
    yield np.isfinite(deviations).all(), "space.weight", "in proportion to the scatter", ""
    widest = (0.5 * maximum - 0.5 * minimum) * (1.0 + _ROUNDING) + 1e-150
    right = not bounded or (deviations <= widest).all()
    yield right, "scatter", "of variances that the extremes allow", "wider"
    found_scale = "a list with an entry far too small"
    yield np.isfinite(scaled).all(), "space.scale", "in proportion to the scatter", found_scale
    yield from _check_correlations("scatter", scatter)


def _check_correlations(name: str, matrix: Floats) -> Iterator[Requirement]:
    """Beside variances of zero nothing but zeros, and a factorisation of the rest."""
    roots = np.sqrt(np.diag(matrix))
    alive = roots > np.sqrt(_VANISHED)
    divisor = np.where(alive, roots, 1.0)
    correlations = matrix / divisor[:, None] / divisor
    empty = (np.abs(matrix[~alive]) <= 1e-140 * (1.0 + roots)).all()
    yield empty, name, "zero beside a variance of zero", "a matrix that is not"
    correlations[~alive] = correlations[:, ~alive] = 0.0
    allowed = "a matrix without negative directions"
    yield (np.abs(correlations) <= 1.0 + _ROUNDING).all(), name, allowed, "a matrix with a correlation above 1"
    # A factorisation exists just if no eigenvalue lies below what is added.
    correlations[np.diag_indices_from(correlations)] = 1.0 + _ROUNDING * len(correlations)
    try:
        np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        yield False, name, allowed, "a matrix with one"


def _check_components(found: Contents) -> Iterator[Requirement]:
    settings, components = found.settings, found.components
    if isinstance(components, int):
        known = found.scatter is not None or found.space.known_covariance is not None
        yield settings.judges_by_evidence, "components", "with the loadings, which judge", "without"
        yield known, "components", "with the loadings, as there are no moments", "without"
        return
    for name in ("variant", "rounding", "tol"):
        same = getattr(components, name) == getattr(settings, name)
        yield same, f"components.{name}", "that of the settings", ""
    # A cap on the features may raise it.
    free = settings.alpha == "auto" or settings.max_features is not None
    yield free or components.alpha == settings.alpha, "components.alpha", "the settings' alpha", ""


def _check_relations(found: Contents) -> Iterator[Requirement]:
    """Identities as their sentences say, and the first rules those that were given, judged from where they hold."""
    expected = len(found.preparation.features) if len(found.identities) else 0
    yield len(found.resolutions) == expected, "resolutions", f"a list of {expected}", ""
    right = all(one.formula.left.coefficient == 1.0 for one in found.identities)
    yield right, "identities", "of formulas with 1 times factors at the left", "of others"
    sentences = tuple(one.text for one in found.whole_identities)
    yield found.sentences == sentences, "sentences", "those of the numbers of identities", "others"
    try:
        many = len(found.written_rules)
    except RuleError as error:
        yield False, "settings.rules", "rules that can be read", f"one that cannot ({error})"
        return
    yield len(found.holds) == many, "holds", f"a list of {many}", ""
    yield many <= len(found.rules), "settings.rules", "of no more rules than there are", "of more"
    shift = found.space.shift
    yield shift is None or any(found.holds), "space.shift", "null where no rule that was given holds", "a list"
    table, space = found.table, found.seen
    loadings = stack_loadings(table.given, space)
    off = np.abs(table.loadings[:, :many] - loadings).max(initial=0.0)
    yield off <= _ORTHONORMAL, "rules.loadings", "those of the rules given first", f"off them by {off:.1e}"
    for k, rule in enumerate(table.given):
        near = np.sqrt(table.variances[k]) + np.abs(loadings[:, k]) @ space.rounding
        right = not rule.holds or abs(rule.off(space)) / rule.loading(space)[1] <= near
        allowed = "seen from a point within the spread of the rules that hold"
        yield right, "space.shift", allowed, f"off {quoted(rule.text)}"
    right = bool(many) or not table.loadings[list(found.identities.determined)].any()
    yield right, "identities", "of columns that have no part in the other rules", "of others"


def _check_judging(found: Contents) -> Iterator[Requirement]:
    settings, evidence, thresholds = found.settings, found.evidence, found.thresholds
    judged, asked, total = settings.judges_by_evidence, settings.total[0], thresholds.total
    right = (evidence is not None) == judged
    yield right, "evidence", "there where tail models judge, and null where not", ""
    free = evidence is None or not set(found.identities.determined) & set(evidence.columns.tolist())
    yield free, "evidence.views", "of features that no identity determines", "of others"
    allowed = "a number where tail models judge, and null where not"
    yield (thresholds.error is not None) == judged, "thresholds.error", allowed, ""
    needed = f"there, as the limit {asked!r} needs no rows"
    yield total is not None or settings.needs_rows, "thresholds.total", needed, ""
    if total is not None:
        words = (
            ("held-out", "gaussian", "pearson") if asked == AUTO else (asked if isinstance(asked, str) else "fixed",)
        )
        yield total.name in words, "thresholds.total.name", f"one of {', '.join(words)}", ""
        right = isinstance(asked, str) or total.value >= asked
        yield right, "thresholds.total.value", f"at least {asked!r}, as the settings ask for", ""
    calibration = thresholds.calibration
    expected = asked == "conformal" and total is not None and not found.private
    allowed = 'a list where the limit is "conformal", calibrated and not private, and null where it is not'
    yield (calibration is not None) == expected, "thresholds.calibration", allowed, ""
    right = calibration is None or _ascending(calibration, strictly=False)
    yield right, "thresholds.calibration", "ascending", _ORDER


CHECKS: dict[type, Callable[[Any], Iterator[Requirement]]] = {
    Contents: _check_contents,
    Preparation: _check_preparation,
    ColumnPlan: _check_plan,
    SparseSubspace: _check_subspace,
    Certificate: _check_certificate,
    RuleTable: _check_rules,
    Identities: _check_identities,
    Factor: _check_factor,
    Limit: _check_limit,
    Evidence: _check_evidence,
    Scales: _check_scales,
    Conditional: _check_conditional,
    Steady: _check_steady,
    Tail: _check_tail,
    RowLaw: _check_law,
    Excluded: _check_excluded,
}
