"""Data with planted rules: sparse, integer, overlapping, the only sparsest ones of their span, hidden in mixed units.

In latent units every rule is a sum of two to four features with small integer coefficients, such as `x7 = x1 + x3` or
`2 x4 = x2 + x9`. Free features are Gaussian, partly driven by common factors; the others follow from the rules. Noise
of the same share of each feature's standard deviation is added to *all* features (`uneven` makes the shares differ),
then each gets a unit (over many decades) and an offset. So in standardised units every rule has the same variance,
noise^2, and PCA finds their span but no rule in it.

An anomaly takes one feature's value from another row: its marginal distribution does not change, but the rules with
that feature break. For each broken rule a feature of that rule alone is moved, where it has one; otherwise one of the
fewest rules, and all rules with that feature count as broken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from library.labelled import Bools, Floats, Ints, Labelled, move_features

# How many features a rule has, and how often.
_SIZES, _SIZE_SHARES = (2, 3, 4), (0.25, 0.45, 0.3)
# Coefficients, drawn evenly from these.
_COEFFICIENTS = (1, 1, 1, 2, 3)
# Rules share features: they use only this share of the free ones, and an earlier rule's result as often as this.
_POOL, _CHAINED = 0.6, 0.2
# Every term of a rule must matter: its standardised coefficient is at least this share of the rule's largest.
_LEAST_TERM = 0.15
# Units and offsets: powers of ten.
_DECADES = 4.0
# After so many corrections of a draw, a new one.
_PATIENCE = 60
# Arithmetic modulo this prime is exact, and its products fit int64.
_PRIME = 2**31 - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Planted(Labelled):
    """Training rows, test rows and the truth about them; `labels` are 1 where a rule is broken.

    Attributes
    ----------
    rules : ndarray of shape (m, p)
        Integers, in latent units.
    directions : ndarray of shape (p, m)
        The rules in units of the training rows' standard deviations, columns of unit length.
    broken : ndarray of shape (n_test, m)
        The rules with the feature that was moved.
    """

    rules: Ints
    directions: Floats
    broken: Bools


def planted(
    p: int,
    noise: float,
    seed: int,
    *,
    n: int = 2000,
    n_normal: int = 1000,
    n_anomalies: int = 500,
    common: float = 0.3,
    uneven: float = 0.0,
) -> Planted:
    """Data of p features and about p / 3 rules, all drawn from `seed`.

    Parameters
    ----------
    p, seed : int
        Features, at least 6; and what everything is drawn from.
    noise : float
        Standard deviation of the noise, as a share of a feature's own.
    n, n_normal, n_anomalies : int
        Training rows; normal and anomalous test rows.
    common : float in [0, 1)
        Share of a free feature's variance that comes from p / 10 common factors. Near one, the free features are nearly
        dependent too, and the gap between rules and the rest closes.
    uneven : float
        Decades, up and down, over which the noise differs between features: then rules differ in tightness too.
    """
    results, free, rules, covariance, state = _drawn(p, seed, common)
    rng = np.random.default_rng([seed, p])
    rng.bit_generator.state = state
    noises = noise * 10.0 ** rng.uniform(-uneven, uneven, size=p)
    deviation = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance[np.ix_(free, free)])

    def rows(count: int) -> Floats:
        latent = np.zeros((count, p))
        latent[:, free] = rng.normal(size=(count, free.size)) @ root.T
        for rule, result in zip(rules, results, strict=True):
            latent[:, result] = -(latent @ np.where(np.arange(p) == result, 0, rule)) / rule[result]
        return latent / deviation + noises * rng.normal(size=latent.shape)

    train, test, donors = rows(n), rows(n_normal + n_anomalies), rows(n_anomalies)
    labels, changed = move_features(test, donors, _moved_features(rules, n_anomalies, rng))
    unit = 10.0 ** rng.uniform(-_DECADES, _DECADES, size=p)
    offset = unit * rng.normal(size=p) * 10.0 ** rng.uniform(0.0, 2.0, size=p)
    directions = (rules * deviation * train.std(axis=0)).T
    return Planted(
        rules=rules,
        directions=directions / np.linalg.norm(directions, axis=0),
        train=offset + unit * train,
        test=offset + unit * test,
        labels=labels,
        changed=changed,
        broken=(rules[:, changed] != 0).T & (labels == 1)[:, None],
    )


# ---- rules


@cache
def _drawn(p: int, seed: int, common: float) -> tuple[Ints, Ints, Ints, Floats, Any]:
    """Results, free features, rules and latent covariance, and the generator's state after them.

    Kept, since they do not depend on the noise, and at p = 200 looking for twins takes half a minute.
    """
    rng = np.random.default_rng([seed, p])
    m = max(2, round(p / 3))
    order = rng.permutation(p)
    results, free = np.sort(order[:m]), order[m:]
    rules, covariance = _identifiable_rules(results, free, common, rng)
    return results, free, rules, covariance, rng.bit_generator.state


def _identifiable_rules(results: Ints, free: Ints, common: float, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Rules (m, p), rule k for feature results[k], none of which has a twin; and the latent covariance (p, p)."""
    m, p = results.size, results.size + free.size
    pool = free[: max(3, round(_POOL * free.size))]
    factors = rng.normal(size=(free.size, max(1, p // 10)))
    factors *= np.sqrt(common) / np.linalg.norm(factors, axis=1, keepdims=True)
    of_free = factors @ factors.T + (1.0 - common) * np.eye(free.size)
    rules = np.zeros((m, p), dtype=np.int64)
    bad, tries = set(range(m)), 0
    while bad:
        tries += 1
        # The last rule of a twin is drawn again; if that does not help, an earlier one is to blame.
        for k in sorted(bad) if tries % _PATIENCE else range(m):
            rules[k] = _one_rule(p, int(results[k]), pool, results[:k], rng)
        covariance = _covariance(rules, results, free, of_free)
        terms = np.abs(rules) * np.sqrt(np.diag(covariance))
        faint = (np.where(rules != 0, terms, np.inf).min(axis=1) < _LEAST_TERM * terms.max(axis=1)).nonzero()[0]
        bad = set(faint.tolist()) or {max(made_of) for made_of in twins(rules, results, rng)}
    return rules, covariance


def _one_rule(p: int, result: int, pool: Ints, earlier: Ints, rng: np.random.Generator) -> Ints:
    others: set[int] = set()
    size = int(rng.choice(_SIZES, p=_SIZE_SHARES))
    while len(others) < size - 1:
        source = earlier if earlier.size and rng.random() < _CHAINED else pool
        others.add(int(rng.choice(source)))
    rule = np.zeros(p, dtype=np.int64)
    rule[[result, *sorted(others)]] = rng.choice(_COEFFICIENTS, size=size) * rng.choice((-1, 1), size=size)
    return np.asarray(rule // np.gcd.reduce(rule))


def _covariance(rules: Ints, results: Ints, free: Ints, of_free: Floats) -> Floats:
    """Covariance (p, p) of the latent features without noise."""
    expressed = np.zeros((rules.shape[1], free.size))
    expressed[free] = np.eye(free.size)
    for rule, result in zip(rules, results, strict=True):
        expressed[result] = -(rule @ expressed) / rule[result]
    return np.asarray(expressed @ of_free @ expressed.T)


def _moved_features(rules: Ints, count: int, rng: np.random.Generator) -> Ints:
    """For rules in turn, a feature that as few other rules have as possible."""
    shared_by = (rules != 0).sum(axis=0)
    moved = np.zeros(count, dtype=np.int64)
    for row in range(count):
        own = np.flatnonzero(rules[row % rules.shape[0]])
        moved[row] = rng.choice(own[shared_by[own] == shared_by[own].min()])
    return moved


# ---- identifiability


def twins(rules: Ints, results: Ints, rng: np.random.Generator) -> list[list[int]]:
    """Every sparse vector of the span that competes with a rule: the numbers of the rules it is made of.

    A vector of the span that is no rule competes if it has no more features than the largest rule it is made of. If
    none does, the rules are the only sparsest basis (the greedy basis of a matroid). It is enough to look at vectors of
    minimal support: others have more features than the minimal ones they are made of.

    No twin is missed: a set of features carries a vector of the span if and only if their values are linearly dependent
    over all rows that obey the rules. Rows drawn modulo a prime show every dependence; one they show by chance costs a
    needless new draw.
    """
    m = len(rules)
    largest = int((rules != 0).sum(axis=1).max())
    planted_supports = {tuple(np.flatnonzero(rule).tolist()) for rule in rules}
    found: list[tuple[int, ...]] = []
    competing: list[list[int]] = []
    for size in range(1, largest + 1):
        rows = _exact_rows(rules, results, size, rng)
        minimal = [s for s in _dependent(rows) if not any(set(small) < set(s) for small in found)]
        found += minimal
        for support in minimal:
            made_of = _made_of(rules, support)
            if support not in planted_supports and size <= (rules[made_of] != 0).sum(axis=1).max():
                competing.append(made_of)
    if not planted_supports <= set(found):
        # A rule whose support holds a smaller one is not minimal: what is smaller has been found, and is made of it.
        hidden = [k for k in range(m) if tuple(np.flatnonzero(rules[k]).tolist()) not in set(found)]
        competing += [[k] for k in hidden]
    return competing


def _exact_rows(rules: Ints, results: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Random rows (count, p) that obey all rules modulo the prime."""
    rows = rng.integers(_PRIME, size=(count, rules.shape[1]))
    for rule, result in zip(rules, results, strict=True):
        rows[:, result] = 0
        total = sum(int(rule[j]) * rows[:, j] % _PRIME for j in np.flatnonzero(rule))
        rows[:, result] = total % _PRIME * pow(-int(rule[result]), -1, _PRIME) % _PRIME
    return rows


def _dependent(rows: Ints) -> Iterator[tuple[int, ...]]:
    """All sets of as many columns as there are rows (one to four) whose determinant is zero modulo the prime."""
    size, p = rows.shape
    if size == 1:
        yield from ((int(j),) for j in np.flatnonzero(rows[0] == 0))
        return
    first, second = np.triu_indices(p, 1)
    minors = {
        (a, b): (rows[a, first] * rows[b, second] - rows[b, first] * rows[a, second]) % _PRIME
        for a, b in combinations(range(size), 2)
    }
    if size == 2:
        yield from zip(first[minors[0, 1] == 0].tolist(), second[minors[0, 1] == 0].tolist(), strict=True)
        return
    # Laplace's expansion along the rows of the left columns; the left columns end where the right ones begin.
    for end in range(size - 3, p - 2):
        right = np.flatnonzero(first > end)
        if size == 3:
            left = np.array([end])
            terms = ((1, 0, (1, 2)), (-1, 1, (0, 2)), (1, 2, (0, 1)))
            total = sum(sign * (rows[a, end] * minors[b][right] % _PRIME) for sign, a, b in terms)
            zero = (np.asarray(total) % _PRIME)[None, :] == 0
        else:
            left = np.flatnonzero(second == end)
            determinant = np.zeros((left.size, right.size), dtype=np.int64)
            for (a, b), minor in minors.items():
                c, d = sorted({0, 1, 2, 3} - {a, b})
                sign = 1 if (a + b) % 2 else -1
                determinant += sign * (minor[left, None] * minors[c, d][right] % _PRIME)
            zero = determinant % _PRIME == 0
        for i, k in zip(*np.nonzero(zero), strict=True):
            head = (end,) if size == 3 else (int(first[left[i]]), end)
            yield (*head, int(first[right[k]]), int(second[right[k]]))


def _made_of(rules: Ints, support: tuple[int, ...]) -> list[int]:
    """The rules in the one combination of them that lives on a minimal support."""
    outside = np.delete(rules, list(support), axis=1).astype(np.float64)
    # The combination vanishes outside: the lowest left singular vector.
    weights = np.linalg.svd(outside)[0][:, -1]
    return [int(k) for k in np.flatnonzero(np.abs(weights) > 1e-8 * np.abs(weights).max())]
