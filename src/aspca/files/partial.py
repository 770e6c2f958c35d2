"""A model that its file left something out of: it scores and explains the same, and says what it can no longer do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from aspca.judging.alarms import Floors
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats, frozen
from aspca.moments import Moments
from aspca.rules.rule import Rule, rules_of

_NO_MOMENTS = (
    "This model was saved with moments=False, so it does not hold the covariance of its features, which partial_fit, "
    "t2, canonical rules and verify need: save it with moments=True where it was fitted, or fit again."
)
_NO_EXTREMES = (
    "This model was saved with private=True, so it does not hold the smallest and largest values of its features, "
    "which fitting it further needs: save it without private=True where it was fitted, or fit again."
)


@dataclass(frozen=True, eq=False)
class Missing:
    """Stands where an array would: whatever uses it raises the sentence that says why it is not there."""

    sentence: str

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError(self.sentence)

    __add__ = __sub__ = __mul__ = __truediv__ = __matmul__ = __getitem__ = __len__ = __iter__ = __array__

    def __eq__(self, other: object) -> bool:
        raise ValueError(self.sentence)

    __hash__ = None  # type: ignore[assignment]  # Python's own way to say: not hashable

    def __getattr__(self, name: str) -> Any:
        # What has underscores is how Python and numpy ask for abilities, copying among them.
        raise AttributeError(name) if name.startswith("__") else ValueError(self.sentence)


def no_moments() -> Floats:
    """In place of a scatter or covariance that was left out."""
    return cast(Floats, Missing(_NO_MOMENTS))


def no_extremes() -> Floats:
    """In place of minima or maxima that were left out."""
    return cast(Floats, Missing(_NO_EXTREMES))


def is_missing(array: Floats) -> bool:
    """Whether a file left this array out."""
    return isinstance(array, Missing)


class PartialMoments(Moments):
    """Moments without their scatter, or their extremes, or both; what needs them, `merge` first of all, says so."""

    def __post_init__(self) -> None:
        for name in ("centre", "residual", "scatter", "minimum", "maximum"):
            if not is_missing(getattr(self, name)):
                object.__setattr__(self, name, frozen(getattr(self, name)))


@dataclass(frozen=True)
class RuleFacts:
    """What the rules say about the training rows, kept where the covariance is not.

    Attributes
    ----------
    variances : ndarray of shape (p,)
        Of the scaled columns.
    projected : ndarray of shape (d, d)
        Covariance of the projections.
    unresolved : ndarray of shape (d,)
        Per rule, the variance that rounding of the covariance alone may show.
    spreads : ndarray of shape (d,)
        `Rule.spread` of each rule.
    exact : ndarray of shape (d,)
        `Rule.exact` of each rule.
    widenings : ndarray of shape (d,)
        `Rule.widening` of each rule, as expected from the number of rows.
    """

    variances: Floats
    projected: Floats
    unresolved: Floats
    spreads: Floats
    exact: Bools
    widenings: Floats


@dataclass(frozen=True, eq=False)
class PartialModel(Model):
    """A `Model` without its covariance, or of `PartialMoments`; what was computed from the missing parts is kept.

    Attributes
    ----------
    kept_floors : Floors or None
        Where the extremes are missing.
    facts : RuleFacts or None
        Where the covariance is missing.
    """

    kept_floors: Floors | None = None
    facts: RuleFacts | None = None

    @cached_property
    def floors(self) -> Floors:
        return super().floors if self.kept_floors is None else self.kept_floors

    @cached_property
    def projected(self) -> Floats:
        return super().projected if self.facts is None else self.facts.projected

    @cached_property
    def unresolved(self) -> Floats:
        return super().unresolved if self.facts is None else self.facts.unresolved

    @property
    def variances(self) -> Floats:
        return super().variances if self.facts is None else self.facts.variances

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        if self.facts is None:
            return super().rules
        limits = self._deviation_limits()
        return tuple(
            self._rule(i, self.facts, None if limits is None else limits[i]) for i in range(self.loadings.shape[1])
        )

    def _rule(self, i: int, facts: RuleFacts, limit: float | None) -> Rule:
        """Rule i from its own features alone, with the numbers kept of the covariance."""
        used = np.flatnonzero(self.loadings[:, i])
        (alone,) = rules_of(
            self.loadings[used, i : i + 1],
            self.moments.mean[used],
            self.scale[used],
            np.diag(facts.variances[used]),
            tuple(self.names[j] for j in used),
            limits=[limit],
            certificate=self._certificate,
            origins=tuple(self.origins[j] for j in used) if self.origins else (),
        )
        widenings = facts.widenings if self.widenings is None else self.widenings
        return replace(alone, spread=float(facts.spreads[i]), exact=bool(facts.exact[i]), widening=float(widenings[i]))


def facts_of(model: Model) -> RuleFacts:
    """What to keep of a model whose covariance is left out."""
    if isinstance(model, PartialModel) and model.facts is not None:
        return model.facts
    expected = replace(model, widenings=None).rules
    return RuleFacts(
        variances=np.array(np.diag(model.covariance)),
        projected=model.projected,
        unresolved=model.unresolved,
        spreads=np.array([rule.spread for rule in expected]),
        exact=np.array([rule.exact for rule in expected]),
        widenings=np.array([rule.widening for rule in expected], dtype=np.float64),
    )
