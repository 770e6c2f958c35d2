"""Check a sparse subspace from the matrix, its vectors and its witness alone.

Nothing here is shared with the code that solved the problem: only numpy, and these facts.

* Any symmetric U with |U_ij| <= alpha gives a lower bound on every feasible value: for X psd, tr X = 1, X V = 0,
  <C, X> + alpha ||X||_1 >= <C + U, X> >= the smallest eigenvalue of C + U on the complement of V.
* If C + U is block diagonal that eigenvalue is the smallest over the blocks. Across blocks U = -C is in the box
  where |C_ij| <= alpha; what exceeds it is charged to the bound.
* Any feasible X, and any unit v orthogonal to V as X = vv', gives an upper bound.
"""

from __future__ import annotations

import numpy as np

from aspca.verify.claims import Claims, Floats, Ints, Multiplier, probe_vector, seal
from aspca.verify.report import Verification

_ORTHONORMAL = 1e-12
_EPS = float(np.finfo(np.float64).eps)


def check(A: Floats, claims: Claims) -> Verification:
    """Every claim, recomputed; never raises for a claim that is merely false."""
    A = np.asarray(A, dtype=np.float64)
    problems = _shapes(A, claims)
    if problems:
        return Verification(tuple(problems))
    # Powers of two scale exactly, and keep norms of huge or tiny matrices in range.
    largest = max(float(np.abs(A).max(initial=0.0)), claims.alpha)
    unit = 2.0 ** -float(np.clip(np.frexp(largest)[1], -1000, 1000)) if largest > 0 else 1.0
    if float(np.abs(A - A.T).max(initial=0.0)) * unit > 1e-8:
        return Verification(("The matrix is not symmetric.",))
    A = 0.5 * A + 0.5 * A.T
    problems += _same_matrix(A * unit, claims.witness.fingerprint * unit)
    problems += _orthonormal(claims)
    problems += _partition(A.shape[0], claims.witness.blocks)
    if not problems:
        problems += _bounds(A * unit, claims, unit)
    if claims.witness.seal != seal(claims):
        problems.append("The seal does not match: the result or its witness was altered after it was made.")
    return Verification(tuple(problems))


def _shapes(A: Floats, claims: Claims) -> list[str]:
    p = claims.sequence.shape[0] if claims.sequence.ndim == 2 else -1
    if A.shape != (p, p):
        return [f"The matrix has shape {A.shape}, the vectors need ({p}, {p})."]
    if not np.isfinite(A).all():
        return ["The matrix holds values that are not finite."]
    d, steps = claims.n_components, claims.sequence.shape[1]
    wanted = {
        "sequence": (claims.sequence.shape[1], p if claims.forward else d),
        "rotation": (claims.rotation.shape, (d, d)),
        "loadings": (claims.loadings.shape, (p, d)),
        "bounds": (claims.bounds.shape, (steps, 5)),
        "rank_one": (len(claims.rank_one), steps),
        "factors": (len(claims.witness.factors), steps),
        "fingerprint": (claims.witness.fingerprint.shape, (p,)),
    }
    if not np.isfinite(claims.bounds).all():
        return ["A bound is not a finite number."]
    return [f"`{name}` has size {is_}, not {should}." for name, (is_, should) in wanted.items() if is_ != should]


def _same_matrix(A: Floats, fingerprint: Floats) -> list[str]:
    # Two ways of summing the same data agree far better than this; a single changed entry does not.
    slack = 1e-11 * np.abs(A).sum(axis=1).max(initial=0.0)
    if not np.abs(A @ probe_vector(A.shape[0]) - fingerprint).max(initial=0.0) <= slack:
        return ["This is not the matrix that the certificate speaks of."]
    return []


def _orthonormal(claims: Claims) -> list[str]:
    problems = []
    kept = claims.sequence[:, -claims.n_components :]
    for name, matrix in (
        ("sequence", claims.sequence),
        ("rotation", claims.rotation),
        ("loadings", claims.loadings),
    ):
        off = float(np.abs(matrix.T @ matrix - np.eye(matrix.shape[1])).max(initial=0.0))
        if not off <= _ORTHONORMAL:
            problems.append(f"The columns of `{name}` are orthonormal only to {off:.1e}.")
    off = float(np.abs(kept @ claims.rotation - claims.loadings).max(initial=0.0))
    if not off <= _ORTHONORMAL:
        problems.append(f"`loadings` differ from the rotated sequence by {off:.1e}.")
    before, after = float(np.abs(kept).sum()), float(np.abs(claims.loadings).sum())
    if not after <= before * (1 + 1e-12):
        problems.append(f"The rotation raised the l1 norm from {before:.12g} to {after:.12g}.")
    return problems


def _partition(p: int, blocks: tuple[Ints, ...]) -> list[str]:
    members = np.concatenate([np.asarray(block).ravel() for block in blocks]) if blocks else np.zeros(0)
    if members.size != p or not np.array_equal(np.sort(members), np.arange(p)):
        return ["The witness's blocks do not divide the features."]
    return []


def _bounds(A: Floats, claims: Claims, unit: float) -> list[str]:
    p = A.shape[0]
    C = -A if claims.forward else A
    alpha = claims.alpha * unit
    floor = 1e-9 * float(np.trace(A)) / p
    problems: list[str] = []
    blocks = claims.witness.blocks
    across = C.copy()
    for block in blocks:
        across[np.ix_(block, block)] = 0.0
    excess = float(np.linalg.norm(np.maximum(np.abs(across) - alpha, 0.0)))

    home = np.empty(p, dtype=np.intp)
    for index, block in enumerate(blocks):
        home[block] = index
    waiting = sorted(claims.witness.multipliers, key=lambda m: m.since)
    current: dict[int, Floats] = {}
    values: dict[int, tuple[float, float]] = {}
    found: dict[int, list[Floats]] = {index: [] for index in range(len(blocks))}

    for step in range(claims.sequence.shape[1]):
        while waiting and waiting[0].since <= step:
            multiplier = waiting.pop(0)
            problem = _open(multiplier, blocks, alpha, unit, current)
            if problem:
                return [*problems, problem]
            values.pop(multiplier.block, None)
        v = claims.sequence[:, step]
        touched = np.unique(home[v != 0])
        if touched.size != 1:
            return [*problems, f"Component {step} spans {touched.size} blocks of the witness."]
        lowest, rounding = np.inf, 0.0
        for index, block in enumerate(blocks):
            if len(found[index]) == block.size:
                continue
            if index not in current:
                return [*problems, f"Step {step} has no multiplier for block {index}."]
            if index not in values:
                values[index] = _smallest(C[np.ix_(block, block)], current[index], found[index])
            if values[index][0] < lowest:
                lowest = values[index][0]
            rounding = max(rounding, values[index][1])
        lowest -= excess
        lower, upper, primal, gap, sdp_gap = claims.bounds[step]
        lower, upper, primal = lower * unit, upper * unit, primal * unit
        value = float(v @ C @ v) + alpha * float(np.abs(v).sum()) ** 2
        claimed = {
            "upper": (upper, value, rounding),
            "lower": (lower, lowest, 2.0 * rounding),
            "gap": (gap, _relative(upper - lower, upper, alpha, floor), 1e-9 * (1.0 + abs(gap))),
            "sdp_gap": (
                sdp_gap,
                _relative(primal - lower, primal, alpha, floor),
                1e-9 * (1.0 + abs(sdp_gap)),
            ),
        }
        for name, (is_, should, slack) in claimed.items():
            if not abs(is_ - should) <= slack:
                problems.append(f"Step {step}: `{name}` is {is_:.12g}, recomputed {should:.12g}.")
        if not lower <= lowest:
            problems.append(
                f"Step {step}: the lower bound {lower:.12g} is above what the witness proves, {lowest:.12g}."
            )
        problems += _primal(step, C, alpha, claims, primal, upper, rounding)
        # Rounding cannot be asked to do better; without a penalty, eigenvalues that agree to 1e-10 count as one.
        allowed = claims.tol * max(abs(upper), alpha, floor) + 2.0 * rounding
        allowed += 1e-10 * float(np.linalg.norm(C)) if alpha == 0.0 else 0.0
        if claims.rank_one[step] and not upper - lower <= allowed:
            problems.append(f"Step {step}: called rank one with a gap of {gap:.1e}, above {claims.tol:.1e}.")
        index = int(touched[0])
        found[index].append(v[blocks[index]])
        values.pop(index, None)
    return problems


def _open(
    multiplier: Multiplier, blocks: tuple[Ints, ...], alpha: float, unit: float, current: dict[int, Floats]
) -> str:
    """Unpack a multiplier into `current`; a sentence if it is not feasible."""
    if not 0 <= multiplier.block < len(blocks):
        return f"A multiplier names block {multiplier.block}, which does not exist."
    m = blocks[multiplier.block].size
    packed = multiplier.packed * unit
    if packed.shape != (m * (m - 1) // 2,):
        return f"A multiplier of block {multiplier.block} has {packed.size} entries, not {m * (m - 1) // 2}."
    if not (np.abs(packed) <= alpha).all():
        return f"The multiplier of block {multiplier.block} from step {multiplier.since} leaves the box."
    U = np.zeros((m, m))
    U[np.triu_indices(m, 1)] = packed
    U = U + U.T
    np.fill_diagonal(U, alpha)
    current[multiplier.block] = U
    return ""


def _smallest(C: Floats, U: Floats, found: list[Floats]) -> tuple[float, float]:
    """Smallest eigenvalue of C + U on the complement of the found vectors, and the scale of its rounding error."""
    M = C + U
    m = M.shape[0]
    # The two may cancel: what rounds is the size of each.
    rounding = 16.0 * m * _EPS * (float(np.linalg.norm(C)) + float(np.abs(np.diag(U)).max()) * m)
    if found:
        V = np.column_stack(found)
        # Complement by a full QR: exact to rounding, and independent of how the solver made its basis.
        rest = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
        M = rest.T @ M @ rest
    return float(np.linalg.eigvalsh(0.5 * (M + M.T))[0]), rounding


def _relative(difference: float, value: float, alpha: float, floor: float) -> float:
    size = max(abs(value), alpha, floor)
    return max(difference, 0.0) / size if size > 0 else 0.0


def _primal(
    step: int, C: Floats, alpha: float, claims: Claims, primal: float, upper: float, rounding: float
) -> list[str]:
    """The best feasible X: the vector's own where no factor is stored."""
    factor = claims.witness.factors[step]
    if factor is None:
        return [] if primal == upper else [f"Step {step}: `primal` {primal:.12g} has no factor to prove it."]
    earlier = claims.sequence[:, :step]
    if factor.shape[0] != C.shape[0] or abs(float(np.vdot(factor, factor)) - 1.0) > 1e-12:
        return [f"Step {step}: the factor of X does not have trace one."]
    if float(np.abs(earlier.T @ factor).max(initial=0.0)) > 1e-11:
        return [f"Step {step}: X is not orthogonal to the earlier components."]
    X = factor @ factor.T
    value = float(np.vdot(C, X)) + alpha * float(np.abs(X).sum())
    if not abs(value - primal) <= rounding:
        return [f"Step {step}: `primal` is {primal:.12g}, recomputed {value:.12g}."]
    return []
