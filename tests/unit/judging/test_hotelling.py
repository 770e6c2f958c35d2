"""T2 against the plain formula, its false alarms against the F distribution, and what happens without variance."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.stats import chi2, t

from aspca.judging import projector as scoring
from aspca.judging.hotelling import hotelling
from aspca.judging.projector import Projector


def rules(p: int, d: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0][:, :d]


def rows(n: int, p: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    return X - X.mean(axis=0)


def twin(V: np.ndarray, S: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """z'P (PSP)^+ P z, P the projector on what is orthogonal to the rules."""
    P = np.eye(len(V)) - V @ V.T
    return np.einsum("ij,jk,ik->i", Z, P @ np.linalg.pinv(P @ S @ P, rcond=1e-9, hermitian=True) @ P, Z)


@pytest.mark.parametrize("d", [0, 1, 3, 5])
def test_scores_follow_the_formula(d: int) -> None:
    V, Z = rules(6, d), rows(200, 6)
    S = Z.T @ Z / 200
    model = hotelling(V, S, 200)
    assert model.rank == 6 - d
    assert model.score(Z) == pytest.approx(twin(V, S, Z), rel=1e-9)
    # Its mean over the training rows is the rank; the rules and T2 never look in the same direction.
    assert model.score(Z).mean() == pytest.approx(6 - d, rel=1e-10)
    assert V.T @ model.directions == pytest.approx(0.0, abs=1e-12)
    assert model.score(Z @ V @ V.T).max(initial=0.0) <= 1e-20
    # Only the span of the rules matters.
    other = V @ rules(d, d, seed=5) if d else V
    assert hotelling(other, S, 200).score(Z) == pytest.approx(model.score(Z), rel=1e-9)


def test_units_do_not_matter_where_there_are_no_rules() -> None:
    Z = rows(300, 4)
    S = Z.T @ Z / 300
    units = np.array([1e-3, 1.0, 50.0, 7.0])
    mine = hotelling(np.zeros((4, 0)), S, 300).score(Z)
    assert hotelling(np.zeros((4, 0)), S * np.outer(units, units), 300).score(Z * units) == pytest.approx(
        mine, rel=1e-7
    )


def test_directions_without_variance_count_unless_told_otherwise() -> None:
    """A constant feature, an exact dependence, and fewer rows than features."""
    Z = rows(100, 6)
    Z[:, 2] = 0.0
    Z[:, 5] = Z[:, 0] - 3 * Z[:, 1]
    S, V = Z.T @ Z / 100, np.eye(6)[:, [3]]
    free, strict = hotelling(V, S, 100, still=False), hotelling(V, S, 100)
    assert (free.rank, strict.rank) == (3, 5)
    assert free.score(Z) == pytest.approx(twin(V, S, Z), rel=1e-8)
    # Rows that stay where all others were are as far out either way, but for rounding.
    assert strict.score(Z) == pytest.approx(free.score(Z), rel=1e-2)
    # Along such directions a row moves unseen by one, and by nothing but rounding unseen by the other.
    moved = Z + 1e3 * np.eye(6)[2] + 1e3 * np.array([-1.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    assert free.score(moved) == pytest.approx(free.score(Z), rel=1e-6)
    assert strict.score(Z + 1e-5 * np.eye(6)[2]).min() > strict.limit(1 - 1e-9).value
    few = rows(4, 9)
    narrow = hotelling(rules(9, 2), few.T @ few / 4, 4, still=False)
    assert narrow.rank == 3
    assert narrow.limit(0.99).value == np.inf


def test_nothing_left_to_look_at() -> None:
    Z = rows(50, 3)
    for V, S in ((np.eye(3), Z.T @ Z / 50), (np.eye(3)[:, :1], np.zeros((3, 3)))):
        model = hotelling(V, S, 50, still=False)
        assert model.rank == 0
        assert model.score(Z).tolist() == [0.0] * 50
        # Nobody lies above the limit.
        assert model.limit(0.99).value == 0.0
    # Where nothing varied at all there is no unit but one.
    still = hotelling(np.eye(3)[:, :1], np.zeros((3, 3)), 50)
    assert still.score(Z) == pytest.approx(np.square(Z[:, 1:]).sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("n", [12, 40, 400])
def test_false_alarms_on_new_gaussian_rows_are_what_was_asked(n: int) -> None:
    """Exact for every n: at 12 rows the limit is 3.4 times the chi-square's, which 18 % of new rows exceed."""
    rng = np.random.default_rng(n)
    V, mixing = rules(6, 2), np.eye(6) + 0.5 * np.random.default_rng(3).normal(size=(6, 6))
    rates, by_chi2 = [], []
    for _ in range(600):
        train = rng.normal(size=(n, 6)) @ mixing
        new = rng.normal(size=(300, 6)) @ mixing - train.mean(axis=0)
        model = hotelling(V, np.cov(train.T, bias=True), n)
        scores = model.score(new)
        rates.append((scores > model.limit(0.99).value).mean())
        by_chi2.append((scores > chi2.ppf(0.99, 4)).mean())
    error = np.std(rates, ddof=1) / np.sqrt(600)
    assert abs(np.mean(rates) - 0.01) <= 3 * error
    assert np.mean(by_chi2) >= 0.01 + 3 * error


@pytest.mark.parametrize("n", [3, 5, 30])
def test_in_one_direction_it_is_students_t(n: int) -> None:
    """(x - mean) / (s sqrt(1 + 1/n)) ~ t(n - 1) with s^2 a mean over n - 1; T2 divides by a mean over n."""
    model = hotelling(np.eye(3)[:, :2], np.eye(3), n)
    assert model.rank == 1
    for level in (0.5, 0.95, 0.99):
        assert model.limit(level).value == pytest.approx(
            t.ppf((1 + level) / 2, n - 1) ** 2 * (n + 1) / (n - 1), rel=1e-9
        )


def test_the_limit_becomes_the_chi_square() -> None:
    S, V = np.eye(5), np.eye(5)[:, :2]
    limits = [hotelling(V, S, n).limit(0.99).value for n in (5, 10, 100, 10**4, 10**6, 10**9, 10**13, np.inf)]
    assert limits == sorted(limits, reverse=True)
    exact = chi2.ppf(0.99, 3)
    assert limits[-1] == pytest.approx(exact, rel=1e-14)
    assert limits[-2] == pytest.approx(exact, rel=1e-9)
    assert limits[3] == pytest.approx(exact, rel=2e-3)
    limit = hotelling(V, S, 100).limit(0.99)
    assert (limit.name, limit.level) == ("hotelling", 0.99)
    assert limit.assumes.startswith("Rows are Gaussian")


def test_rows_as_they_come_need_a_projector_only() -> None:
    raw = 1e6 + np.array([1.0, 10.0, 100.0, 0.1]) * rows(500, 4)
    centre, scale = raw.mean(axis=0), raw.std(axis=0)
    Z = (raw - centre) / scale
    model = hotelling(rules(4, 1), Z.T @ Z / 500, 500)
    outside = Projector(centre, np.zeros(4), scale, model.directions)
    assert outside.score(raw) == pytest.approx(model.score(Z), rel=1e-9)


def test_blocks_do_not_matter_and_bound_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    Z = rows(20_000, 40)
    model = hotelling(rules(40, 10), Z.T @ Z / 20_000, 20_000)
    tracemalloc.start()
    whole = model.score(Z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= whole.nbytes + 2**20  # of 6.4 MB of rows
    monkeypatch.setattr(scoring, "_BLOCK_VALUES", 1000)
    assert model.score(Z) == pytest.approx(whole, rel=1e-12)
    assert not model.directions.flags.writeable


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"one row per feature, 3, got shape \(2, 1\)\."):
        hotelling(np.ones((2, 1)), np.eye(3), 10)
    for n in (1, float("nan")):
        with pytest.raises(ValueError, match=r"n_rows must be at least 2"):
            hotelling(np.zeros((3, 0)), np.eye(3), n)
    with pytest.raises(ValueError, match=r"level must be a number between 0 and 1"):
        hotelling(np.zeros((3, 0)), np.eye(3), 10).limit(1.5)
