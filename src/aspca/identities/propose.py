"""Proposals of identities, from many small draws of rows.

With one row in ten wrong, 28 % of the draws of 12 rows are clean, and in a clean draw an identity leaves nothing but
rounding. Pairs of lifted columns (x, log x, x^2, 1/x) by their correlation; triples in closed form; longer ones as
vectors of the null space, in units of rounding, with random pivots for short circuits; products by hashing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aspca.identities.candidate import LIFTS, Candidate, transform
from aspca.identities.formula import Factor
from aspca.identities.resolution import Sample
from aspca.linalg.arrays import Bools, Floats, Ints

# Rows per draw, and draws, in which pairs are looked for.
_PAIR_DRAWS = ((12, 14), (30, 8), (120, 4))
# Columns of fewer values have no curve.
_CURVED = 5
# Rows per draw for products: a few wrong rows must be missed, and rare values met.
_PRODUCT_DRAWS = (15, 15, 15, 15, 40, 40, 40, 100, 100)
# Of triples, so many are proposed for each column.
_PER_COLUMN = 4
# Relative precision of a column that is taken as exact in a null space.
EXACT = 1e-8
# Random pivot orders per null space: each gives other circuits, short ones come up in most.
_ORDERS = 12
# The longest linear identity, in columns: people do not read longer ones, and chance forbids most.
TERMS = 12


@dataclass(frozen=True, eq=False)
class Lifted:
    """Lifted columns of a sample: values and what rounding does to them (n, q), function and column of each (q,)."""

    values: Floats
    rounding: Floats
    functions: npt.NDArray[np.str_]
    origins: Ints

    @classmethod
    def of(cls, sample: Sample, columns: Ints, *, curves: bool = True) -> Lifted:
        """Of these columns; curves only of those with more than a few values, logarithms of positive ones."""
        found = []
        for j in columns.tolist():
            values, steps = sample.X[:, j], sample.cells.steps[:, j]
            known = values[~np.isnan(values)]
            curved = curves and np.unique(known[:400]).size > _CURVED
            positive = curved and (known > 0.0).mean() > 0.5
            counts = sample.resolutions[j].decimals <= 0 or bool((known == 0.0).any())
            shifted = curved and counts and (known >= 0.0).mean() > 0.9
            for name, use in (
                ("x", True),
                ("log", positive),
                ("square", curved),
                ("inverse", positive),
                ("log1p", shifted),
            ):
                if use:
                    found.append((transform(name, values), _rounding(name, values, steps), name, j))
        values_, rounding, functions, origins = zip(*found, strict=True)
        return cls(
            np.column_stack(values_), np.column_stack(rounding), np.array(functions), np.array(origins, dtype=np.intp)
        )

    def places(self, function: str, without: set[int]) -> Ints:
        """Where columns lifted by a function are, without some columns."""
        chosen = (self.functions == function) & ~np.isin(self.origins, list(without))
        return np.flatnonzero(chosen)

    def candidate(self, places: Ints) -> Candidate:
        """The relation of some lifted columns, plain ones first; of logarithms alone, as a product."""
        ordered = sorted(places.tolist(), key=lambda k: (self.functions[k] != "x", k))
        product = all(self.functions[k] == "log" for k in ordered)
        functions = tuple("x" if product else str(self.functions[k]) for k in ordered)
        return Candidate.unfitted(tuple(int(self.origins[k]) for k in ordered), functions, product=product)


def _rounding(function: str, values: Floats, steps: Floats) -> Floats:
    name, exponent = LIFTS[function]
    with np.errstate(all="ignore"):
        moved = Factor(0, name, exponent).spread(values[:, None], steps[:, None])
    return np.nan_to_num(moved, nan=0.0, posinf=0.0)


def propose_pairs(lifted: Lifted, rng: np.random.Generator) -> dict[tuple[int, int], tuple[float, Ints]]:
    """Pairs of lifted columns that are collinear, up to rounding, in at least one draw: misfit and rows of the best."""
    L, n = lifted.values, len(lifted.values)
    middle = _medians(L)
    unit = _medians(np.abs(L - middle))
    unit = np.where(unit > 0.0, unit, _largest(L - middle))
    scaled, noise = (L - middle) / unit, np.square(lifted.rounding / unit) / 3.0
    known = np.isfinite(scaled)
    scaled = np.where(known, scaled, 0.0)
    plain, logs = lifted.functions == "x", lifted.functions == "log"
    allowed = (lifted.origins[:, None] != lifted.origins) & (plain[:, None] | (logs[:, None] & logs))
    best: dict[tuple[int, int], tuple[float, Ints]] = {}
    for many, times in _PAIR_DRAWS:
        for _ in range(times):
            rows = rng.choice(n, min(many, n), replace=False)
            W, V = known[rows].astype(np.float64), scaled[rows]
            N = np.maximum(W.T @ W, 1.0)
            S = V.T @ W / N
            variance = np.square(V).T @ W / N - S**2
            rounding = (noise[rows] * W).sum(axis=0) / np.maximum(W.sum(axis=0), 1.0)
            with np.errstate(all="ignore"):
                misfit = 1.0 - (V.T @ V / N - S * S.T) ** 2 / (variance * variance.T)
                limit = np.minimum(4.0 * (rounding[:, None] / variance + rounding / variance.T), 2e-3) + 1e-9
                hit = allowed & (misfit <= limit) & (N >= 8.0) & (variance > 1e-12) & (variance.T > 1e-12)
            for i, j in np.argwhere(hit).tolist():
                if misfit[i, j] < best.get((i, j), (np.inf,))[0]:
                    best[i, j] = float(misfit[i, j]), rows
    return best


def _medians(values: Floats) -> Floats:
    """Of the finite values of each column (q,); zero where there are none."""
    return np.array([np.median(one) if (one := column[np.isfinite(column)]).size else 0.0 for column in values.T])


def _largest(values: Floats) -> Floats:
    """The largest size of each column (q,), above zero."""
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0)
    return np.asarray(np.maximum(sizes.max(axis=0, initial=0.0), 1e-300))


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows of a sample without gaps in some lifted columns (q,): centred, of unit length, with rounding's part (q,)."""

    places: Ints
    rows: Ints
    Z: Floats
    rounding: Floats


class Drawer:
    """Draws rows in which columns have no gaps, and each a few values that are not its usual one."""

    def __init__(self, lifted: Lifted, rng: np.random.Generator) -> None:
        self._lifted, self._rng = lifted, rng
        self._known = np.isfinite(lifted.values)
        self._usual = lifted.values == _most_common(lifted.values)

    def draws(self, family: Ints, many: int, times: int, broken: Bools) -> Iterator[Draw]:
        """Of rows that violate no identity found so far (n,), `times` draws of `many` rows."""
        known = self._known[:, family] & ~broken[:, None]
        many = min(many, int(0.8 * known.any(axis=1).sum()))
        if family.size < 3 or many < 12:
            return
        for _ in range(times):
            columns, rows = self._whole_rows(known, self._usual[:, family], many)
            if many > 15 and rows.size < 1.2 * columns.size + 10:
                # Null vectors need more rows than columns.
                fewer = min(max(2, int((rows.size - 10) / 1.2)), columns.size)
                columns = np.sort(self._rng.choice(columns, fewer, replace=False))
            places = family[columns]
            values = self._lifted.values[np.ix_(rows, places)]
            Z = values - values.mean(axis=0)
            lengths = np.linalg.norm(Z, axis=0)
            good = lengths > 1e-9 * np.abs(values).max(axis=0)
            if good.sum() >= 3 and rows.size >= 12:
                places, lengths = places[good], lengths[good]
                squares = np.square(self._lifted.rounding[np.ix_(rows, places)]).sum(axis=0)
                yield Draw(places, rows, Z[:, good] / lengths, np.sqrt(squares / 3.0) / lengths)

    def _whole_rows(self, known: Bools, usual: Bools, many: int) -> tuple[Ints, Ints]:
        """The columns of a row drawn by lot, fewer where too few rows have them all, and `many` rows that have them."""
        rng = self._rng
        columns = np.flatnonzero(known[rng.choice(np.flatnonzero(known.any(axis=1)))])
        rng.shuffle(columns)
        columns = columns[: max(2, len(known) // 2)]
        while columns.size > 2 and known[:, columns].all(axis=1).sum() < many:
            rarest = int(np.argmin(known[:, columns].sum(axis=0)))
            columns = np.delete(columns, -1 if rng.random() < 0.5 else rarest)
        rows = np.flatnonzero(known[:, columns].all(axis=1))
        drawn = rng.choice(rows, min(many, rows.size), replace=False)
        if many > 20:
            rare = columns[usual[np.ix_(drawn, columns)].sum(axis=0) > drawn.size - 4]
            more = [off for c in rare.tolist() if (off := rows[~usual[rows, c]]).size]
            extra = [rng.choice(off, min(4, off.size), replace=False) for off in more]
            drawn = np.unique(np.concatenate([drawn, *extra]))
        return np.sort(columns), drawn


def _most_common(values: Floats) -> Floats:
    """The most common value of each column (q,)."""
    common = np.full(values.shape[1], np.nan)
    for k, column in enumerate(values.T):
        found, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        if found.size:
            common[k] = found[np.argmax(counts)]
    return common


def propose_triples(draw: Draw) -> Iterator[Ints]:
    """Places of three lifted columns of which two explain the third, but for rounding."""
    noise = np.square(draw.rounding)
    G = np.clip(draw.Z.T @ draw.Z, -1.0, 1.0)
    area = 1.0 - G**2
    area[area < 1e-7] = np.inf
    upper = np.triu(np.ones(G.shape, dtype=np.bool_), 1)
    pairwise = noise[:, None] + noise
    for i in range(len(G)):
        b = G[i]
        explained = (np.square(b)[:, None] - 2.0 * np.outer(b, b) * G + np.square(b)) / area
        alone = np.square(b) > 1.0 - 1e-9
        alone[i] = True
        usable = upper & ~alone[:, None] & ~alone
        allowed = np.minimum(6.0 * (pairwise + noise[i]), 1e-3) + 1e-9
        ratio = np.where(usable & (1.0 - explained <= allowed), (1.0 - explained) / allowed, np.inf).ravel()
        for best in np.argpartition(ratio, min(_PER_COLUMN, ratio.size - 1))[:_PER_COLUMN].tolist():
            if np.isfinite(ratio[best]):
                yield draw.places[[i, *divmod(best, len(G))]]


def propose_circuits(draw: Draw, sigma: Floats, known: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Places of lifted columns that are linearly dependent, as few as can be, from the null space of a draw.

    `sigma` (q,) is the part of each column that counts as nothing; `known` dependencies are known already.
    """
    q = draw.Z.shape[1]
    values, V = np.linalg.svd(draw.Z / sigma, full_matrices=False)[1:]
    null = V[values < 3.0]
    if len(null) <= known or len(null) > 0.7 * q:
        return
    null = null / sigma
    # Of columns decades apart the least has small terms, which only exact sums tell from none.
    least = 1e-7 if (sigma <= EXACT).all() else 1e-5
    for _ in range(_ORDERS):
        E = _eliminated(null.copy(), rng.permutation(q))
        for vector in E:
            size = np.abs(vector)
            noise = 3.0 * np.sqrt(np.square(size * sigma).sum())
            support = np.flatnonzero(size > np.maximum(least * size.max(), noise))
            if 2 <= support.size <= TERMS:
                yield draw.places[support]


def _eliminated(E: Floats, order: Ints) -> Floats:
    """The reduced echelon form of vectors (k, q), pivots sought in this order of columns; those that found one."""
    row = 0
    for c in order.tolist():
        k = row + int(np.argmax(np.abs(E[row:, c])))
        if np.abs(E[k, c]) < 1e-6 * np.abs(E[k]).max():
            continue
        E[[row, k]] = E[[k, row]]
        E[row] /= E[row, c]
        others = np.arange(len(E)) != row
        E[others] -= np.outer(E[others, c], E[row])
        row += 1
        if row == len(E):
            break
    return E[:row]


def propose_products(X: Floats, rng: np.random.Generator) -> Iterator[tuple[int, int, int]]:
    """Columns z = x * y of rows (n, p), by hashing: random sums over a few rows of all products, in one product of
    matrices; any signs, zeros and 0/1 columns."""
    for many in _PRODUCT_DRAWS:
        rows = rng.choice(len(X), min(many, len(X)), replace=False)
        some = X[rows]
        columns = np.flatnonzero(np.isfinite(some).all(axis=0) & (np.ptp(some, axis=0) > 0.0))
        if columns.size < 2:
            continue
        V, weights = some[:, columns], rng.uniform(1.0, 2.0, len(rows))
        i, j = np.triu_indices(columns.size)
        products, single = ((V * weights[:, None]).T @ V)[i, j], V.T @ weights
        size = (np.abs(V) * weights[:, None]).sum(axis=0)
        order = np.argsort(products)
        ordered = products[order]
        low = np.searchsorted(ordered, single - 1e-9 * size)
        high = np.searchsorted(ordered, single + 1e-9 * size)
        for z in np.flatnonzero((high > low) & (size > 0.0)).tolist():
            for k in order[low[z] : min(high[z], low[z] + 20)].tolist():
                square = i[k] == j[k]
                if z not in (i[k], j[k]) and not (square and np.ptp(np.abs(V[:, i[k]])) in (0.0, 1.0)):
                    yield int(columns[z]), int(columns[i[k]]), int(columns[j[k]])
