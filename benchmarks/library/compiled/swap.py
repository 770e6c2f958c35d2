"""The compiled kernels in the place of the solver's own, for as long as a `with` lasts.

What takes a problem or a state apart stays in Python: this is what a compiled core behind the same modules would give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.sparse_pca import active_set as active_set_module
from aspca.sparse_pca import admm as admm_module
from aspca.sparse_pca import component as component_module
from aspca.sparse_pca import incumbent as incumbent_module
from aspca.sparse_pca import interior_point as interior_point_module
from aspca.sparse_pca.active_set import Candidate
from aspca.sparse_pca.admm import Iterate
from aspca.sparse_pca.problem import ComponentProblem
from library.compiled import active_set, admm, bounds, interior_point

# Above, LAPACK does nearly all of the work, and the first-order method works on a thin block of vectors.
_LARGEST = 50


def _fortran_free(V: Floats) -> Floats:
    # Each layout would be compiled anew.
    return np.ascontiguousarray(V)


def _active_set(problem: ComponentProblem, start: Floats) -> Candidate | None:
    C, V = problem.C, _fortran_free(problem.V)
    found, v, value = active_set.active_set(C, problem.alpha, V, np.ascontiguousarray(start))
    return Candidate(v, value) if found else None


def _stationarity(problem: ComponentProblem, v: Floats, value: float) -> Floats:
    return active_set.stationarity(problem.C, problem.alpha, _fortran_free(problem.V), v, value)


def _feasible_near(problem: ComponentProblem, start: Floats) -> Floats | None:
    found, v = active_set.feasible_near(_fortran_free(problem.V), np.ascontiguousarray(start))
    return v if found else None


def _reweighted(problem: ComponentProblem, f: Floats, rounds: int) -> Floats | None:
    floors = np.geomspace(1e-2, 1e-9, rounds)
    found, v = active_set.reweighted(
        problem.C, problem.alpha, _fortran_free(problem.V), np.ascontiguousarray(f), floors
    )
    return v if found else None


def _repair(problem: ComponentProblem, v: Floats, b: Floats, U: Floats) -> Floats:
    return bounds.repair(problem.alpha, v, b, U)


def _dual(self: ComponentProblem, U: Floats) -> tuple[float, float]:
    return bounds.dual(self.C, self.N, self.V.shape[1] == 0, self.rounding, U)


def _primal(self: ComponentProblem, factor: Floats) -> float:
    return bounds.primal(self.C, self.alpha, factor)


def _admm_step(self: Iterate) -> bool:
    if self.iterations >= self.limit:
        return False
    self.iterations += 1
    problem = self.problem
    box = problem.alpha / self.rho
    whole = problem.V.shape[1] == 0
    self.factor = admm.step(
        problem.N, whole, self._scaled_C, self._scaled_U, self.Z, self._previous, box, admm_module._RELAXATION
    )
    self.Z, self._previous = self._previous, self.Z
    return True


def _admm_balance(self: Iterate) -> None:
    primal, dual = admm.residuals(self.factor, self.Z, self._previous, self._scaled_U)
    factor = float(np.sqrt(primal / max(dual, 1e-300)))
    if factor > 2 or factor < 0.5:
        unit = self.problem.alpha * self.problem.p
        rho = min(max(self.rho * min(max(factor, 0.25), 4.0), 0.01 * unit), 10 * unit)
        self._scaled_U *= self.rho / rho
        self._scaled_C *= self.rho / rho
        self.rho = rho


def _newton_step(self: Any) -> None:
    found = interior_point.step(
        self.N, self.Y, self.S, self.t, self.u, self.a, self.b, self.memory.K.T, interior_point_module._FAR
    )
    if not found[0]:
        raise np.linalg.LinAlgError("S is not positive definite any more")
    _, self.Y, self.S, self.t, self.u, self.a, self.b = found


def _up_to(largest: int, kernel: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel on small problems, the solver's own on others; both take the problem, or its holder, first."""

    def either(first: Any, *rest: Any) -> Any:
        problem = getattr(first, "problem", first)
        return (kernel if problem.p <= largest else own)(first, *rest)

    return either


Place = tuple[Any, str, Callable[..., Any]]

KERNELS: dict[str, list[Place]] = {
    "active set": [
        (incumbent_module, "active_set", _active_set),
        (incumbent_module, "stationarity", _stationarity),
        (active_set_module, "feasible_near", _feasible_near),
    ],
    "reweighted starts": [(component_module, "reweighted", _reweighted)],
    "repair": [(incumbent_module, "repair", _repair)],
    "bounds": [(ComponentProblem, "dual", _dual), (ComponentProblem, "primal", _primal)],
    "ADMM steps": [(Iterate, "step", _admm_step), (Iterate, "balance", _admm_balance)],
    "Newton steps": [(interior_point_module._Point, "step", _newton_step)],
}


@contextmanager
def swapped(names: Collection[str]) -> Iterator[None]:
    """Compiled kernels of these names inside the `with`."""
    places = [place for name in names for place in KERNELS[name]]
    before = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _ in places]
    for owner, attribute, kernel in places:
        # Newton's steps are for small blocks in any case.
        newton = owner is interior_point_module._Point
        setattr(owner, attribute, kernel if newton else _up_to(_LARGEST, kernel, getattr(owner, attribute)))
    try:
        yield
    finally:
        for owner, attribute, own in before:
            setattr(owner, attribute, own)
