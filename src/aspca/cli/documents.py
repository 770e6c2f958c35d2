"""Results as JSON: plain values, every number exact."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from aspca.findings.finding import Finding
    from aspca.identities import Identity
    from aspca.model.model import Model
    from aspca.pipeline.models import Comparison
    from aspca.pipeline.outcome import Outcome
    from aspca.pipeline.result import Detection
    from aspca.rules.rule import AnyRule, Rule

_STANDING = ("text", "holds", "offset", "kept")


def _take(source: object, *names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def rule_document(rule: AnyRule) -> dict[str, Any]:
    """A rule: its text, and the exact numbers behind it."""
    if rule.kind == "identity":
        identity = cast("Identity", rule)
        return {
            "text": str(identity),
            **_take(identity, "kind", "equation", "features"),
            "determined": identity.features[0],
            "exact": identity.exact,
            "n_satisfied": identity.n_kept,
            "n_violated": identity.n_broken,
            **_take(identity, "share", "accuses"),
            "exceptions": identity.exceptions or None,
            "given": identity.given,
        }
    rule = cast("Rule", rule)
    return {
        "text": str(rule),
        **_take(rule, "kind", "features"),
        "coefficients": rule.coefficients.tolist(),
        **_take(rule, "centre", "spread", "limit", "exact", "sparsest", "widening", "looks_like_chance", "given"),
        "standing": None if rule.standing is None else _take(rule.standing, *_STANDING),
    }


def rules_document(model: Model) -> dict[str, Any]:
    """What a model says."""
    return {
        "features": list(model.names),
        "n_rows": model.space.n_rows,
        "alpha": model.subspace.alpha,
        "limit": None if model.thresholds.total is None else model.thresholds.total.value,
        "rules": [{"rule": number, **rule_document(rule)} for number, rule in enumerate(model.rules)],
        "reading": list(model.reading),
        "identities": {"sampled_rows": model.identities.n_sample, "unsearched": model.identities.unsearched},
    }


def explained_document(finding: Finding) -> dict[str, Any]:
    """A row as `aspca explain` tells it: its score by rule and by column."""
    of_rules = ("rule", "text", "contribution", "share", "deviation", "broken")
    values, repaired = finding.values, finding.repaired
    return {
        **_take(finding, "row", "name", "keys", "text", "score"),
        "limit": finding.explanation.threshold,
        "outside": finding.residual,
        "share_of_rules": float(finding.explanation.share_of_rules[finding.position]),
        "rules": [_take(rule, *of_rules) for rule in finding.rules],
        "features": [
            {"feature": name, "contribution": part, "value": values[name], "repaired": repaired[name]}
            for name, part in finding.contributions.items()
        ],
    }


def detection_document(detection: Detection) -> dict[str, Any]:
    """All that `aspca detect` tells."""
    documents = [
        {**({} if detection.by is None else {"category": category}), **_outcome_document(outcome, detection)}
        for category, outcome in detection.outcomes.items()
    ]
    return documents[0] if detection.by is None else {"by": detection.by, "categories": documents}


def _outcome_document(outcome: Outcome, detection: Detection) -> dict[str, Any]:
    evaluation = outcome.evaluation
    rules = rules_document(outcome.model)
    # What changed at once has the same number.
    changes = [
        {
            "change": number,
            **asdict(change),
            "since": str(change.since),
            "until": str(change.until),
            "n_rows": change.n_rows,
        }
        for number, event in enumerate(outcome.events)
        for change in event
    ]
    incidents = [
        {
            "first": str(incident.first),
            "last": str(incident.last),
            "kind": incident.kind,
            "rows": int(incident.rows.size),
            "shares": incident.shares.tolist(),
            "text": incident.text,
        }
        for incident in outcome.incidents or ()
    ]
    return {
        "source": detection.source,
        **rules,
        "n_rows": outcome.n_rows,
        "n_learned": rules["n_rows"],
        **_take(outcome, "n_anomalies", "n_errors", "n_partly", "n_beyond", "n_unread"),
        "changes": changes,
        "anomalies": [finding.to_dict() for finding in outcome.findings],
        "evaluation": None if evaluation is None else asdict(evaluation) | _take(evaluation, "precision", "recall"),
        "incidents": None if outcome.incidents is None else incidents,
        "output": detection.output,
    }


def comparison_document(changes: Comparison) -> dict[str, Any]:
    """What happened to the rules from one model to the other."""
    stayed, moved = (
        [{**vars(pair), "before": rule_document(pair.before), "after": rule_document(pair.after)} for pair in pairs]
        for pairs in (changes.stayed, changes.moved)
    )
    lost, gained = ([rule_document(rule) for rule in rules] for rules in (changes.lost, changes.gained))
    columns = _take(changes, "features_lost", "features_gained")
    return {"stayed": stayed, "moved": moved, "lost": lost, "gained": gained, **columns}
