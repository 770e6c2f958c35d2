"""Results as JSON: plain values, every number exact."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aspca.jobs.comparison import Comparison, Pair
    from aspca.jobs.detection import Detection
    from aspca.jobs.findings import Finding
    from aspca.judging.incidents import Incident
    from aspca.judging.model import Model
    from aspca.rules.rule import Rule


def rule_document(rule: Rule, number: int | None = None) -> dict[str, Any]:
    """A rule: its text, and the exact numbers behind it."""
    return {
        **({} if number is None else {"rule": number}),
        "text": str(rule),
        "features": list(rule.features),
        "coefficients": rule.coefficients.tolist(),
        "centre": rule.centre,
        "spread": rule.spread,
        "limit": rule.limit,
        "exact": rule.exact,
        "widening": rule.widening,
        "looks_like_chance": rule.looks_like_chance,
    }


def rules_document(model: Model) -> dict[str, Any]:
    """What a model says."""
    return {
        "features": list(model.names),
        "n_rows": model.space.n_rows,
        "alpha": model.subspace.alpha,
        "limit": None if model.alarms.total is None else model.alarms.total.value,
        "rules": [rule_document(rule, number) for number, rule in enumerate(model.rules)],
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """An anomaly and the rules it breaks."""
    breaks = [
        {**asdict(one), "needed": {name: {"is": now, "needed": then} for name, (now, then) in one.needed.items()}}
        for one in finding.breaks
    ]
    return {**asdict(finding), "breaks": breaks}


def detection_document(found: Detection, source: str, folder: str | None) -> dict[str, Any]:
    """All that `aspca detect` tells."""
    evaluation = None
    if found.evaluation is not None:
        one = found.evaluation
        evaluation = {**asdict(one), "precision": one.precision, "recall": one.recall}
    incidents = None
    if found.incidents is not None:
        incidents = [_incident(one) for one in found.incidents]
    return {
        "source": source,
        "n_rows": found.n_rows,
        "n_anomalies": found.n_anomalies,
        "n_partly": found.n_partly,
        **rules_document(found.model),
        "anomalies": [finding_document(one) for one in found.findings],
        "evaluation": evaluation,
        "incidents": incidents,
        "output": folder,
    }


def comparison_document(found: Comparison) -> dict[str, Any]:
    """What happened to the rules from one model to the other."""
    return {
        "stayed": [_pair(pair) for pair in found.stayed],
        "moved": [_pair(pair) for pair in found.moved],
        "lost": [rule_document(rule) for rule in found.lost],
        "gained": [rule_document(rule) for rule in found.gained],
        "features_lost": list(found.features_lost),
        "features_gained": list(found.features_gained),
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "before": rule_document(pair.before),
        "after": rule_document(pair.after),
        "cosine": pair.cosine,
        "shift": pair.shift,
        "changes": list(pair.changes),
    }


def _incident(one: Incident) -> dict[str, Any]:
    return {
        "first": str(one.first),
        "last": str(one.last),
        "rows": int(one.rows.size),
        "shares": one.shares.tolist(),
        "text": one.text,
    }
