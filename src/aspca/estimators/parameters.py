"""A constructor parameter that scikit-learn must not take for a method."""

from __future__ import annotations


class ParameterOnly:
    """A constructor parameter that is no attribute.

    scikit-learn takes an attribute named `score` for a method. The parameter is read through `get_params`.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, instance: object, value: object) -> None:
        vars(instance)[self.name] = value

    def __get__(self, instance: object, owner: type | None = None) -> object:
        raise AttributeError(f"{self.name!r} is a parameter, not a method: read it with get_params().")
