"""A fitted estimator in a notebook: scikit-learn's own diagram, and its rules below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aspca.findings.rendering import rules_html

if TYPE_CHECKING:
    from aspca.model.model import Model


class ShownWithRules:
    """To be mixed in before scikit-learn's base, whose diagram it leaves as it is."""

    model_: Model

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]  # scikit-learn's
        return diagram + self._rules()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]  # scikit-learn's
        if "text/html" in bundle:
            bundle["text/html"] += self._rules()
        return bundle

    def _rules(self) -> str:
        return f"<div>{rules_html(self.model_.rules)}</div>" if hasattr(self, "model_") else ""
