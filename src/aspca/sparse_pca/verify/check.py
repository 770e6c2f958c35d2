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
import numpy.typing as npt

from aspca.sparse_pca.verify.claims import Claims, Floats, Verification, probe_vector, seal, sentences
from aspca.sparse_pca.verify.form import check_form

_ORTHONORMAL = 1e-12
_EPS = float(np.finfo(np.float64).eps)


def check(A: npt.ArrayLike, claims: Claims) -> Verification:
    """Every claim, recomputed. Never raises: what is false, or is not even a claim, is refused in sentences."""
    matrix = _matrix(A)
    if isinstance(matrix, str):
        return Verification((matrix,))
    problems = check_form(claims)
    if problems:
        return Verification(tuple(problems))
    p = claims.sequence.shape[0]
    if matrix.shape != (p, p):
        return Verification((f"The matrix has shape {matrix.shape}, the vectors need ({p}, {p}).",))
    # What overflows is not finite, and so no comparison holds for it.
    with np.errstate(all="ignore"):
        problems = _problems(matrix, claims)
    if claims.witness.seal != seal(claims):
        problems.append("The seal does not match: the result or its witness was altered after it was made.")
    return Verification(tuple(problems))


def _matrix(A: npt.ArrayLike) -> Floats | str:
    """A as finite float64, or a sentence."""
    # Not by isinstance, which asks an object what it is.
    if issubclass(type(A), np.ma.MaskedArray):
        return "The matrix is a masked array, which hides entries; pass a plain array."
    try:
        raw = np.asarray(A)
    # Anything may be handed over, and its conversion may raise anything.
    except Exception:
        return "The matrix cannot be made an array of numbers."
    if raw.dtype.kind not in "biuf" or raw.ndim != 2:
        return f"The matrix must hold real numbers in two dimensions, not {raw.dtype} in {raw.ndim}."
    with np.errstate(all="ignore"):
        matrix = raw.astype(np.float64)
    return matrix if np.isfinite(matrix).all() else "The matrix holds values that are not finite."


def _problems(A: Floats, claims: Claims) -> list[str]:
    # Powers of two scale exactly, and keep norms of huge or tiny matrices in range.
    largest = max(float(np.abs(A).max(initial=0.0)), claims.alpha)
    shift = -int(np.frexp(largest)[1])
    A = np.ldexp(A, shift)
    if not float(np.abs(A - A.T).max(initial=0.0)) <= 1e-8 * float(np.abs(A).max(initial=0.0)):
        return ["The matrix is not symmetric."]
    A = 0.5 * (A + A.T)
    # Two ways of summing the same data agree far better than this; a single changed entry does not.
    slack = 1e-11 * np.abs(A).sum(axis=1).max(initial=0.0)
    off = np.abs(A @ probe_vector(len(A)) - np.ldexp(claims.witness.fingerprint, shift)).max(initial=0.0)
    problems = [] if off <= slack else ["This is not the matrix that the certificate speaks of."]
    return problems + _orthonormal(claims) or _bounds(A, claims, shift)


def _orthonormal(claims: Claims) -> list[str]:
    problems = []
    kept = claims.sequence[:, -claims.n_components :]
    for name in ("sequence", "rotation", "loadings"):
        matrix = getattr(claims, name)
        off = float(np.abs(matrix.T @ matrix - np.eye(matrix.shape[1])).max(initial=0.0))
        if not off <= _ORTHONORMAL:
            problems.append(f"The columns of `{name}` are orthonormal only to {off:.1e}.")
    if not claims.rotated and not np.array_equal(claims.rotation, np.eye(claims.n_components)):
        problems.append("The rotation is not the identity, though nothing is said to be rotated.")
    off = float(np.abs(kept @ claims.rotation - claims.loadings).max(initial=0.0))
    if not off <= _ORTHONORMAL:
        problems.append(f"`loadings` differ from the rotated sequence by {off:.1e}.")
    before, after = float(np.abs(kept).sum()), float(np.abs(claims.loadings).sum())
    if not after <= before * (1 + 1e-12):
        problems.append(f"The rotation raised the l1 norm from {before:.12g} to {after:.12g}.")
    return problems


def _bounds(A: Floats, claims: Claims, shift: int) -> list[str]:
    C = -A if claims.forward else A
    alpha = float(np.ldexp(claims.alpha, shift))
    floor = 1e-9 * float(np.trace(A)) / len(A)
    proved = _LowerBounds(C, alpha, claims, shift)
    problems: list[str] = []
    for step, v in enumerate(claims.sequence.T):
        found = proved.next(step, v)
        if isinstance(found, str):
            return [*problems, found]
        lowest, rounding = found
        lower, upper, primal = map(float, np.ldexp(claims.bounds[step, :3], shift))
        gap, sdp_gap = map(float, claims.bounds[step, 3:])
        value = float(v @ C @ v) + alpha * float(np.abs(v).sum()) ** 2
        claimed = {
            "upper": (upper, value, rounding),
            "lower": (lower, lowest, 2.0 * rounding),
            "gap": (gap, _relative(upper - lower, upper, alpha, floor), 1e-9),
            "sdp_gap": (sdp_gap, _relative(primal - lower, primal, alpha, floor), 1e-9),
        }
        for name, (is_, should, slack) in claimed.items():
            if not abs(is_ - should) <= slack:
                # In the units of the matrix, as they were claimed.
                back = 0 if name in ("gap", "sdp_gap") else -shift
                problems.append(
                    f"Step {step}: `{name}` is {np.ldexp(is_, back):.12g}, recomputed {np.ldexp(should, back):.12g}."
                )
        if not lower <= lowest:
            problems.append(
                f"Step {step}: the lower bound {np.ldexp(lower, -shift):.12g} is above what the witness proves, "
                f"{np.ldexp(lowest, -shift):.12g}."
            )
        problems += _primal(step, C, alpha, claims, primal, upper, rounding, shift)
        # Rounding cannot be asked to do better; without a penalty, eigenvalues that agree to 1e-10 count as one.
        unresolved = 2.0 * rounding + (1e-10 * float(np.linalg.norm(C)) if alpha == 0.0 else 0.0)
        problems += _status(step, claims, (lower, upper, primal), (alpha, floor), unresolved, shift)
    return problems


class _LowerBounds:
    """What the witness proves, step by step: multipliers as they come into force, and the vectors of each block."""

    def __init__(self, C: Floats, alpha: float, claims: Claims, shift: int) -> None:
        self._C, self._alpha, self._shift = C, alpha, shift
        self._blocks = claims.witness.blocks
        self._waiting = sorted(claims.witness.multipliers, key=lambda m: m.since)
        self._multipliers: dict[int, Floats] = {}
        # By block, where it is known: the smallest eigenvalue, and the scale of its rounding error.
        self._values: dict[int, tuple[float, float]] = {}
        self._found: list[list[Floats]] = [[] for _ in self._blocks]
        self._home = np.empty(len(C), dtype=np.intp)
        across = C.copy()
        for index, block in enumerate(self._blocks):
            self._home[block] = index
            across[np.ix_(block, block)] = 0.0
        self._excess = float(np.linalg.norm(np.maximum(np.abs(across) - alpha, 0.0)))

    def next(self, step: int, v: Floats) -> tuple[float, float] | str:
        """The bound below the step's value and the scale of its rounding, or a sentence; v joins those of its block."""
        while self._waiting and self._waiting[0].since <= step:
            multiplier = self._waiting.pop(0)
            packed = np.ldexp(multiplier.packed, self._shift)
            if not (np.abs(packed) <= self._alpha).all():
                return f"The multiplier of block {multiplier.block} from step {step} leaves the box."
            size = self._blocks[multiplier.block].size
            self._multipliers[multiplier.block] = _unpacked(packed, self._alpha, size)
            self._values.pop(multiplier.block, None)
        touched = np.unique(self._home[v != 0])
        if touched.size != 1:
            return f"Component {step} spans {touched.size} blocks of the witness."
        lowest, rounding = np.inf, 0.0
        for index, block in enumerate(self._blocks):
            if len(self._found[index]) == block.size:
                continue
            if index not in self._multipliers:
                return f"Step {step} has no multiplier for block {index}."
            if index not in self._values:
                inside = self._C[np.ix_(block, block)]
                self._values[index] = _smallest(inside, self._multipliers[index], self._found[index])
            lowest, rounding = min(lowest, self._values[index][0]), max(rounding, self._values[index][1])
        home = int(touched[0])
        self._found[home].append(v[self._blocks[home]])
        self._values.pop(home, None)
        return lowest - self._excess, rounding


def _unpacked(packed: Floats, alpha: float, m: int) -> Floats:
    """The multiplier U (m, m)."""
    U = np.zeros((m, m))
    U[np.triu_indices(m, 1)] = packed
    U = U + U.T
    np.fill_diagonal(U, alpha)
    return U


def _smallest(C: Floats, U: Floats, found: list[Floats]) -> tuple[float, float]:
    """Smallest eigenvalue of C + U on the complement of the found vectors, and the scale of its rounding error."""
    M = C + U
    m = len(M)
    # The two may cancel: what rounds is the size of each; nothing of U is larger than its diagonal.
    rounding = 16.0 * m * _EPS * (float(np.linalg.norm(C)) + float(U.max()) * m)
    if found:
        V = np.column_stack(found)
        # Complement by a full QR: exact to rounding, and independent of how the solver made its basis.
        rest = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
        M = rest.T @ M @ rest
    return float(np.linalg.eigvalsh(0.5 * (M + M.T))[0]), rounding


def _relative(difference: float, value: float, alpha: float, floor: float) -> float:
    size = max(abs(value), alpha, floor)
    return max(difference, 0.0) / size if size > 0 else 0.0


def _status(
    step: int, claims: Claims, values: tuple[float, ...], sizes: tuple[float, float], unresolved: float, shift: int
) -> list[str]:
    """Whether the step is rank one and ended as it says: both follow from the bounds, but for rounding."""
    lower, upper, primal = values

    def closed(value: float) -> set[bool]:
        allowed = claims.tol * max(abs(value), *sizes)
        return {value - lower <= allowed} | {value - lower <= allowed + unresolved}

    problems = []
    attained = bool(claims.rank_one[step])
    if attained not in closed(upper):
        word = "called" if attained else "not called"
        apart = np.ldexp(upper - lower, -shift)
        problems.append(f"Step {step}: {word} rank one with a distance of {apart:.1e} at tol {claims.tol:.1e}.")
    may = {said for solved in closed(primal) for said in sentences(attained=attained, solved=solved)}
    if claims.statuses[step] not in may:
        problems.append(f"Step {step}: its status is not what its bounds say, which is: {' | '.join(sorted(may))}.")
    return problems


def _primal(
    step: int, C: Floats, alpha: float, claims: Claims, primal: float, upper: float, rounding: float, shift: int
) -> list[str]:
    """The best feasible X: the vector's own where no factor is stored."""
    factor = claims.witness.factors[step]
    said = f"{np.ldexp(primal, -shift):.12g}"
    if factor is None:
        return [] if primal == upper else [f"Step {step}: `primal` {said} has no factor to prove it."]
    if not primal <= upper:
        return [f"Step {step}: `primal` {said} is worse than the vector's own {np.ldexp(upper, -shift):.12g}."]
    if not abs(float(np.vdot(factor, factor)) - 1.0) <= 1e-12:
        return [f"Step {step}: the factor of X does not have trace one."]
    earlier = claims.sequence[:, :step]
    if not float(np.abs(earlier.T @ factor).max(initial=0.0)) <= 1e-11:
        return [f"Step {step}: X is not orthogonal to the earlier components."]
    X = factor @ factor.T
    value = float(np.vdot(C, X)) + alpha * float(np.abs(X).sum())
    if not abs(value - primal) <= rounding:
        return [f"Step {step}: `primal` is {said}, recomputed {np.ldexp(value, -shift):.12g}."]
    return []
