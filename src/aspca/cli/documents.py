"""Results as JSON: plain values, every number exact."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from aspca.findings.change_text import Change
    from aspca.findings.incidents import Incident
    from aspca.identities import Identity
    from aspca.model.model import Model
    from aspca.pipeline.models import Comparison, Pair
    from aspca.pipeline.outcome import Finding, Outcome
    from aspca.pipeline.result import Detection
    from aspca.rules.rule import AnyRule, Rule


def rule_document(rule: AnyRule, number: int | None = None) -> dict[str, Any]:
    """A rule: its text, and the exact numbers behind it."""
    numbered = {} if number is None else {"rule": number}
    if rule.kind == "identity":
        return {**numbered, **_identity_document(cast("Identity", rule))}
    rule = cast("Rule", rule)
    return {
        **numbered,
        "text": str(rule),
        "kind": rule.kind,
        "features": list(rule.features),
        "coefficients": rule.coefficients.tolist(),
        "centre": rule.centre,
        "spread": rule.spread,
        "limit": rule.limit,
        "exact": rule.exact,
        "sparsest": rule.sparsest,
        "widening": rule.widening,
        "looks_like_chance": rule.looks_like_chance,
        "given": rule.given,
        "standing": None
        if rule.standing is None
        else {name: getattr(rule.standing, name) for name in ("text", "holds", "offset", "kept")},
    }


def _identity_document(identity: Identity) -> dict[str, Any]:
    return {
        "text": str(identity),
        "kind": identity.kind,
        "equation": identity.equation,
        "features": list(identity.features),
        "determined": identity.features[0],
        "exact": identity.exact,
        "n_satisfied": identity.n_kept,
        "n_violated": identity.n_broken,
        "share": identity.share,
        "accuses": identity.accuses,
        "exceptions": identity.exceptions or None,
        "given": identity.given,
    }


def rules_document(model: Model) -> dict[str, Any]:
    """What a model says."""
    return {
        "features": list(model.names),
        "n_rows": model.space.n_rows,
        "alpha": model.subspace.alpha,
        "limit": None if model.thresholds.total is None else model.thresholds.total.value,
        "rules": [rule_document(rule, number) for number, rule in enumerate(model.rules)],
        "reading": list(model.reading),
        "identities": {"sampled_rows": model.identities.n_sample, "unsearched": list(model.identities.unsearched)},
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """An anomaly, the rules it breaks, and the columns that stand out."""
    breaks = [
        {**asdict(rule), "needed": {name: {"is": now, "needed": then} for name, (now, then) in rule.needed.items()}}
        for rule in finding.breaks
    ]
    return {**asdict(finding), "breaks": breaks}


def detection_document(detection: Detection) -> dict[str, Any]:
    """All that `aspca detect` tells."""
    documents = [
        {**({} if detection.by is None else {"category": category}), **_outcome(outcome, detection)}
        for category, outcome in detection.outcomes.items()
    ]
    return documents[0] if detection.by is None else {"by": detection.by, "categories": documents}


def _outcome(outcome: Outcome, detection: Detection) -> dict[str, Any]:
    evaluation, incidents = outcome.evaluation, outcome.incidents
    rules = rules_document(outcome.model)
    return {
        "source": detection.source,
        **rules,
        "n_rows": outcome.n_rows,
        "n_learned": rules["n_rows"],
        "n_anomalies": outcome.n_anomalies,
        "n_errors": outcome.n_errors,
        "n_partly": outcome.n_partly,
        "n_beyond": outcome.n_beyond,
        "n_unread": outcome.n_unread,
        "changes": [_change(change, number) for number, event in enumerate(outcome.events) for change in event],
        "anomalies": [finding_document(finding) for finding in outcome.findings],
        "evaluation": None
        if evaluation is None
        else {**asdict(evaluation), "precision": evaluation.precision, "recall": evaluation.recall},
        "incidents": None if incidents is None else [_incident(incident) for incident in incidents],
        "output": detection.output,
    }


def comparison_document(changes: Comparison) -> dict[str, Any]:
    """What happened to the rules from one model to the other."""
    return {
        "stayed": [_pair(pair) for pair in changes.stayed],
        "moved": [_pair(pair) for pair in changes.moved],
        "lost": [rule_document(rule) for rule in changes.lost],
        "gained": [rule_document(rule) for rule in changes.gained],
        "features_lost": list(changes.features_lost),
        "features_gained": list(changes.features_gained),
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {**vars(pair), "before": rule_document(pair.before), "after": rule_document(pair.after)}


def _change(change: Change, number: int) -> dict[str, Any]:
    """`number` is the same for what changed at once."""
    return {
        "change": number,
        **asdict(change),
        "since": str(change.since),
        "until": str(change.until),
        "n_rows": change.n_rows,
    }


def _incident(incident: Incident) -> dict[str, Any]:
    return {
        "first": str(incident.first),
        "last": str(incident.last),
        "kind": incident.kind,
        "rows": int(incident.rows.size),
        "shares": incident.shares.tolist(),
        "text": incident.text,
    }
