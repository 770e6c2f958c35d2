"""Values of options as they are: typer has pydantic look at each, and to load that takes longer than to score a file.

What is of the kind that an option asks for needs no look: a text, or a default. Of anything else typer judges as ever.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A command of typer's whose options take values that need no conversion without one."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same of the command that holds the others."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


def _plain(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        # Versions of typer that convert otherwise have neither, and do without pydantic.
        kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        if kind is not None and getattr(parameter, "_runtime_param", parameter) is None:
            parameter._runtime_param = _AsItIs(kind)
    return parameters


class _AsItIs:
    """Takes values of a kind, one or several, as they are."""

    def __init__(self, kind: Any) -> None:
        self._several = kind == list[str]
        self._kind = str if self._several else kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """What becomes of the value of a parameter."""
        if value is None:
            return () if self._several else None
        if self._several and isinstance(value, list | tuple) and all(map(self._fits, value)):
            return [*value]
        if not self._several and self._fits(value):
            return value
        # Typer makes its own when there is none.
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)

    def _fits(self, value: object) -> bool:
        """Whether a value is of the kind; text that is no UTF-8 is not for us to judge."""
        if type(value) is not self._kind:
            return False
        return not isinstance(value, str) or not any("\ud800" <= sign <= "\udfff" for sign in value)
