"""What holds for every table: units, offsets, order and repetition of rows do not matter, and the score splits exactly.

Components are compared where the model's own certificates leave one answer only, and scores with them; see `sure`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca import ASPCA, Moments
from checks import detector, spe

MANY = settings(max_examples=40, deadline=None, derandomize=True)
SOME = settings(MANY, max_examples=20)
SEEDS = st.integers(0, 2**32 - 1)
compared: Counter[str] = Counter()


pytestmark = pytest.mark.usefixtures("one_thread")


@st.composite
def tables(draw):
    """Rows with rules in them, sometimes whole numbers, few rows, an exact dependence or a constant column."""
    p = draw(st.integers(1, 6))
    n = draw(st.sampled_from([2, 3, 5, 12, 40, 150]))
    rng = np.random.default_rng(draw(SEEDS))
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))
    for _ in range(draw(st.integers(0, 2))):
        target, *others = rng.permutation(p)[:3]
        noise = draw(st.sampled_from([0.0, 0.02]))
        X[:, target] = X[:, others].sum(axis=1) + noise * rng.normal(size=n)
    kind = draw(st.sampled_from(["real", "real", "whole", "skewed"]))
    if kind == "whole":
        X = np.round(3 * X)
    elif kind == "skewed":
        X = np.sign(X) * np.abs(X) ** 3
    return X


@st.composite
def settings_of(draw, p: int):
    return {
        "n_components": draw(st.integers(1, p)),
        "alpha": draw(st.sampled_from([0.0, 1e-3, 0.01, 0.1, 10.0])),
        "variant": draw(st.sampled_from(["F", "B", "FG", "BG"])),
        "scaling": draw(st.sampled_from(["maxabs", "standard", "none"])),
    }


def sure(model: ASPCA) -> bool:
    """Whether rounding cannot choose: each step attains the optimum with nothing beside it.

    A step's neighbour is probed by the objective itself: no tie flagged, a closed gap, and values that keep apart.
    """
    values = [proof.upper for proof in model.subspace_.certificates]
    size = max(float(np.abs(model.covariance_).max()), model.alpha_)
    apart = np.diff(values, append=np.inf) > 1e-4 * size
    exact = [proof.gap <= 1e-9 and not proof.tie for proof in model.subspace_.certificates]
    # What a longer sequence would have taken next must be apart too.
    d, p = model.n_components_, model.n_features_in_
    if model.variant in ("B", "BG") and d < p:
        return False if not all(exact) else bool(apart.all()) and _next_is_apart(model, size)
    return bool(apart.all()) and all(exact)


def _next_is_apart(model: ASPCA, size: float) -> bool:
    more = detector(n_components=model.n_components_ + 1, alpha=model.alpha_, variant="B", scaling=model.scaling)
    proofs = more.fit_moments(model.moments_).certificates_
    return proofs[-1].primal - proofs[-2].upper > 1e-4 * size


def same_subspace(name: str, one: ASPCA, other: ASPCA, rows: np.ndarray, moved: np.ndarray) -> None:
    """The first steps' values agree always; scores of `rows` and of the same rows `moved` wherever that is certain."""
    mine, theirs = one.subspace_.certificates[0], other.subspace_.certificates[0]
    size = max(float(np.abs(one.covariance_).max()), one.alpha_)
    assert abs(mine.primal - theirs.primal) <= 1e-6 * size
    assert abs(mine.lower - theirs.lower) <= 1e-6 * size
    compared[f"{name}: values"] += 1
    if sure(one):
        assert np.abs(spe(one, rows) - spe(other, moved)).max() <= 1e-9 * max(1.0, spe(one, rows).max())
        projectors = [model.components_.T @ model.components_ for model in (one, other)]
        assert np.abs(projectors[0] - projectors[1]).max() <= 1e-9
        compared[f"{name}: scores"] += 1


# ---- the score


@MANY
@given(tables(), st.data())
def test_the_score_is_the_squared_length_of_what_the_rules_see(X, data) -> None:
    options = data.draw(settings_of(X.shape[1]))
    model = detector(**options).fit(X)
    assert model.subspace_.verify(model.covariance_)
    rng = np.random.default_rng(0)
    rows = np.vstack([X, rng.normal(size=(20, X.shape[1])) * 10.0])
    Y = ((rows - model.moments_.centre) - model.moments_.residual) / model.scale_
    length = np.square(Y).sum(axis=1)
    V = model.components_.T
    # The sum of squared projections, and what is left of y once the normal part y - VV'y is taken out.
    assert (np.abs(spe(model, rows) - np.square(Y @ V).sum(axis=1)) <= 1e-12 * length).all()
    normal = Y - Y @ V @ V.T
    assert (np.abs(spe(model, rows) - np.square(Y - normal).sum(axis=1)) <= 1e-12 * length).all()
    assert (np.abs(spe(model, rows) + np.square(normal).sum(axis=1) - length) <= 1e-12 * length).all()
    assert (np.abs(np.square(model.transform(rows)).sum(axis=1) - spe(model, rows)) <= 1e-12 * length).all()
    assert np.isfinite([model.threshold_, *model.decision_function(rows)]).all()


@MANY
@given(tables(), st.sampled_from(["F", "B"]), st.data())
def test_rotation_changes_no_score(X, variant, data) -> None:
    options = data.draw(settings_of(X.shape[1])) | {"variant": variant}
    plain = detector(**options).fit(X)
    rotated = detector(**options | {"variant": f"{variant}G"}).fit(X)
    rows = np.vstack([X, np.random.default_rng(1).normal(size=(20, X.shape[1])) * 10.0])
    Y = ((rows - plain.moments_.centre) - plain.moments_.residual) / plain.scale_
    assert (np.abs(spe(plain, rows) - spe(rotated, rows)) <= 1e-12 * np.square(Y).sum(axis=1)).all()
    # Below this a variance is the rounding of a covariance; what then holds is tested with exact rules.
    resolved = 1e-13 * float(np.trace(plain.covariance_))
    assert abs(plain.threshold_ - rotated.threshold_) <= 1e-9 * plain.threshold_ + resolved
    assert np.abs(rotated.components_).sum() <= np.abs(plain.components_).sum() * (1 + 1e-12)
    assert rotated.subspace_.sequence.tolist() == plain.subspace_.sequence.tolist()


# ---- rows


@SOME
@given(tables(), st.integers(2, 4), st.data())
def test_repeating_every_row_changes_nothing(X, times, data) -> None:
    options = data.draw(settings_of(X.shape[1]))
    one = detector(**options).fit(X)
    many = detector(**options).fit(np.repeat(X, times, axis=0))
    assert many.alpha_ == one.alpha_
    same_subspace("repetition", one, many, X, X)


@SOME
@given(tables(), SEEDS, st.data())
def test_the_order_of_rows_and_their_batches_do_not_matter(X, seed, data) -> None:
    options = data.draw(settings_of(X.shape[1]))
    rng = np.random.default_rng(seed)
    one = detector(**options).fit(X)
    shuffled = X[rng.permutation(len(X))]
    same_subspace("order", one, detector(**options).fit(shuffled), X, X)
    cuts = np.sort(rng.integers(0, len(X) + 1, size=2))
    parts = Moments.empty(X.shape[1])
    for part in np.split(shuffled, cuts):
        parts = parts.update(part)
    same_subspace("batches", one, detector(**options).fit_moments(parts), X, X)


@MANY
@given(tables(), st.sampled_from([0.05, 0.1, 0.3, 0.5]), SEEDS)
def test_no_more_than_the_asked_share_is_flagged_and_not_much_less(X, share, seed) -> None:
    weights = np.random.default_rng(seed).integers(0, 4, size=len(X)).astype(float)
    weights[:2] = 1.0
    model = detector(n_components=1, contamination=share).fit(X, sample_weight=weights)
    scores = spe(model, X)
    seen = weights > 0
    total = weights.sum()
    assert weights[scores > model.threshold_].sum() <= share * total * (1 + 1e-9)
    if model.threshold_ > 1e-25:  # above what rounding makes of an exact rule, where nobody need be flagged
        assert np.abs(scores[seen] - model.threshold_).min() <= 1e-11 * model.threshold_
        # No smaller score would do: were the rows at the threshold flagged too, it would be too many.
        assert weights[scores >= model.threshold_ * (1 - 1e-9)].sum() > share * total * (1 - 1e-9)
    assert (model.predict(X) == np.where(scores > model.threshold_, -1, 1)).all()


# ---- columns


@SOME
@given(tables(), SEEDS, st.data())
def test_offsets_of_columns_do_not_matter(X, seed, data) -> None:
    options = data.draw(settings_of(X.shape[1]))
    # Multiples of 2**-20 below 2**10, moved by whole numbers: X + shift is exact, so are differences.
    X = np.round(X * 2.0**20) / 2.0**20
    shift = np.random.default_rng(seed).integers(-(2**20), 2**20, size=X.shape[1]).astype(float)
    assert ((X + shift) - shift == X).all()
    one, moved = detector(**options).fit(X), detector(**options).fit(X + shift)
    same_subspace("offset", one, moved, X, X + shift)
    assert np.abs(moved.mean_ - one.mean_ - shift).max() <= 1e-9


@SOME
@given(tables(), SEEDS, st.sampled_from(["maxabs", "standard"]), st.data())
def test_units_that_are_powers_of_two_change_nothing_at_all(X, seed, scaling, data) -> None:
    options = data.draw(settings_of(X.shape[1])) | {"scaling": scaling}
    units = 2.0 ** (2 * np.random.default_rng(seed).integers(-40, 40, size=X.shape[1]))
    one, other = detector(**options).fit(X), detector(**options).fit(X * units)
    assert other.components_.tolist() == one.components_.tolist()
    assert spe(other, X * units).tolist() == spe(one, X).tolist()
    constant = np.ptp(X, axis=0) == 0
    # A constant column keeps its own unit (its scale is 1), so what rounding may do to it has that unit too.
    if not one.components_[:, constant].any():
        assert other.threshold_ == one.threshold_
    assert (other.scale_ == np.where(constant, 1.0, one.scale_ * units)).all()


@SOME
@given(tables(), SEEDS, st.sampled_from(["maxabs", "standard"]), st.data())
def test_other_units_change_no_component(X, seed, scaling, data) -> None:
    options = data.draw(settings_of(X.shape[1])) | {"scaling": scaling}
    units = np.exp(np.random.default_rng(seed).uniform(-9, 9, size=X.shape[1]))
    one, other = detector(**options).fit(X), detector(**options).fit(X * units)
    same_subspace("units", one, other, X, X * units)


@SOME
@given(tables(), SEEDS, st.data())
def test_the_signs_and_order_of_columns_do_not_matter(X, seed, data) -> None:
    options = data.draw(settings_of(X.shape[1]))
    rng = np.random.default_rng(seed)
    order, signs = rng.permutation(X.shape[1]), rng.choice([-1.0, 1.0], X.shape[1])
    one, other = detector(**options).fit(X), detector(**options).fit((X * signs)[:, order])
    mine, theirs = one.subspace_.certificates[0], other.subspace_.certificates[0]
    size = max(float(np.abs(one.covariance_).max()), one.alpha_)
    assert abs(mine.primal - theirs.primal) <= 1e-6 * size
    if sure(one):
        assert np.abs(spe(one, X) - spe(other, (X * signs)[:, order])).max() <= 1e-7 * max(1.0, spe(one, X).max())
        compared["columns: scores"] += 1


@SOME
@given(tables(), st.sampled_from(["B", "BG"]), st.floats(-1e6, 1e6), st.data())
def test_a_constant_column_is_one_more_rule(X, variant, value, data) -> None:
    p = X.shape[1]
    options = data.draw(settings_of(p)) | {"variant": variant}
    one = detector(**options).fit(X)
    wide = np.column_stack([X, np.full(len(X), value)])
    other = detector(**options | {"n_components": one.n_components_ + 1}).fit(wide)
    constant = np.ptp(X, axis=0) == 0
    if constant.any() or (one.alpha_ == 0.0 and np.linalg.matrix_rank(X - X.mean(axis=0)) < p):
        return  # other directions of no variance tie with it
    assert (np.eye(p + 1)[p] == other.components_).all(axis=1).sum() == 1
    assert (other.components_[:, p] != 0).sum() == 1
    if sure(one):
        assert np.abs(spe(one, X) - spe(other, wide)).max() <= 1e-9 * max(1.0, spe(one, X).max())
        # Its breaking adds its own square and nothing else.
        wide[:, p] += 0.5
        assert np.abs(spe(one, X) + 0.25 - spe(other, wide)).max() <= 1e-9 * max(1.0, spe(one, X).max())
        compared["constant: scores"] += 1


def test_enough_was_compared() -> None:
    """The certain cases are common: none of these tests is empty."""
    if not compared:
        pytest.skip("run with the tests above, which count what they compare")
    for name in ("repetition", "order", "batches", "offset", "units", "columns", "constant"):
        assert compared[f"{name}: scores"] >= 5, compared
