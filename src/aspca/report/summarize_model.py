"""The model of a summary: what each rule says and who breaks it, what was excluded, how choices were made, what is
proven."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspca.findings.explanation import Explanation
from aspca.findings.reasons import show_range
from aspca.findings.words import describe_given
from aspca.identities.identity import Identity, write_number, write_share
from aspca.linalg.arrays import round_for_ranking
from aspca.model.model import Model
from aspca.report.collect import Evidence
from aspca.report.names import Naming, cut, make_anchors, round_to, shorten_rule
from aspca.report.summarize_rows import blame_columns
from aspca.report.summary import (
    Certificates,
    Choice,
    Choices,
    Column,
    Excluded,
    ExcludedCell,
    Flagged,
    Rule,
    Step,
    Term,
)
from aspca.rules.rule import AnyRule
from aspca.rules.table import RuleTable
from aspca.rules.wording import counted, shorten_number
from aspca.settings import BY_NAME
from aspca.sparse_pca.defaults import bound_little_variance

_SETTINGS = ("n_components", "alpha", "scaling", "score", "robust", "contamination", "limit", "level")


def summarize_rules(evidence: Evidence, why: Explanation, naming: Naming) -> tuple[Rule, ...]:
    """The rules, by number; those of `why` have short names."""
    given = [k for k, rule in enumerate(why.rules) if rule.given]
    standings = dict(zip(given, describe_given(why.model), strict=False))
    return tuple(_summarize_rule(evidence, why, naming, k, standings.get(k, "")) for k in range(len(why.rules)))


def _summarize_rule(evidence: Evidence, why: Explanation, naming: Naming, k: int, standing: str) -> Rule:
    rule, table = why.rules[k], why.model.table
    place = k - why.model.n_identities
    probability = 0.0 if place < 0 else float(table.chances[place])
    turned = not rule.left_side_up
    low, high = evidence.statistics.broken[k].tolist()[:: -1 if turned else 1]
    breaking = np.flatnonzero(why.broken[:, k])
    sizes = round_for_ranking(np.abs(why.judgement.deviations[breaking, k]))
    # Which categories a column has is nothing to measure.
    of_categories = all(rule.origins[int(j)].kind == "level" for j in rule.shown_terms)

    def measure(deviation: float) -> str:
        return rule.off_by(deviation).removesuffix(" too high").removesuffix(" too low")

    return Rule(
        number=k,
        text=cut(str(rule), 2000),
        short=cut(shorten_rule(rule), 2000),
        kind=rule.kind,
        origin="given" if rule.given else "found",
        exact=rule.exact,
        spread=measure(rule.spread) if rule.has_spread else "",
        limit="" if rule.limit is None or of_categories else measure(rule.limit),
        chance=_explain_chance(rule, probability),
        chance_probability=probability,
        widening=None if rule.widening is None or not np.isfinite(rule.widening) else float(rule.widening),
        low=low,
        high=high,
        terms=tuple(
            Term(naming.number[origin.column], origin.name, factor, loading)
            for origin, (factor, loading) in zip(rule.origins, _find_factors(rule, table, place), strict=True)
        ),
        histogram=evidence.statistics.histogram(k, turned=turned),
        rows=tuple(evidence.shown.rows[breaking[np.argsort(-sizes, kind="stable")]][:50].tolist()),
        standing=standing,
    )


def _find_factors(rule: AnyRule, table: RuleTable, place: int) -> list[tuple[float, float]]:
    """The coefficient and the loading of each feature, positive on the left side of the sentence; of an identity, which
    need not be linear, one for the column on the left and minus one for the others."""
    if isinstance(rule, Identity):
        return [(1.0, 1.0) if k == 0 else (-1.0, -1.0) for k in range(len(rule.columns))]
    side = 1.0 if rule.left_side_up == (rule.equation.unit > 0.0) else -1.0
    loadings = table.loadings[np.flatnonzero(table.loadings[:, place]), place]
    return [(side * float(a), side * float(b)) for a, b in zip(rule.equation.coefficients, loadings, strict=True)]


def _explain_chance(rule: AnyRule, probability: float) -> str:
    if rule.given:
        return "It was given, so chance had no part in it."
    if isinstance(rule, Identity):
        counted_rows = f"Counted: {write_share(rule.n_kept, rule.n_broken)} satisfy it."
        return f"{counted_rows} It accuses no row, since {rule.exceptions}." if rule.exceptions else counted_rows
    if rule.kind != "relation":
        return "It is about one column by itself, so chance had no part in it."
    wider = ""
    if rule.widening is not None and np.isfinite(rule.widening):
        wider = f" On other rows it is about {rule.widening:.2f} times as wide."
    # Nobody can imagine smaller probabilities.
    likely = (
        f"at most {shorten_number(probability, probability)}"
        if probability >= 1e-12
        else "less than one in a million million"
    )
    return f"Chance: {likely}.{wider}"


def summarize_columns(
    evidence: Evidence, why: Explanation, naming: Naming, rules: Sequence[Rule]
) -> tuple[Column, ...]:
    """The columns of the table."""
    blame, space, shown = blame_columns(why, naming), why.model.space, evidence.shown.rows
    scores = np.minimum(why.scores, 1e150)
    total = float(scores.sum())
    shares = scores @ blame / total if total > 0.0 else np.zeros(len(naming.roles))
    anchors = make_anchors(list(naming.roles))
    usual: dict[str, str] = {}
    for feature, mean, deviation in zip(space.features, space.mean, space.deviations, strict=True):
        if feature.kind == "number":
            usual.setdefault(feature.column, show_range(float(mean), float(deviation)))
    return tuple(
        Column(
            number=number,
            name=naming.called[name],
            anchor=anchors[number],
            role=role,
            usual=usual.get(naming.called[name], ""),
            rules=tuple(rule.number for rule in rules if number in rule.columns),
            blame=round_to(shares[number], 4),
            # A row is put down to a column from a fifth of its score on.
            rows=tuple(shown[blame[:, number] >= 0.2][:50].tolist()),
        )
        for number, (name, role) in enumerate(naming.roles.items())
    )


def summarize_excluded(model: Model, naming: Naming, *, elsewhere: bool) -> Excluded:
    """What relations were not learned from, of another table than the one judged or of this."""
    excluded = model.excluded
    if excluded is None:
        return Excluded(False, elsewhere, 0, (), ())
    shown, features = excluded.shown, model.space.features
    fields = (shown.rows, shown.columns, shown.values, shown.expected)
    cells = tuple(
        # What was expected, in as many digits as anyone would.
        ExcludedCell(
            row, naming.number[features[column].column], naming.value(now), naming.value(round_to(expected, 6))
        )
        for row, column, now, expected in zip(*(field[:100].tolist() for field in fields), strict=True)
    )
    repeated = [
        f"{write_number(value)} stands {times:,} times in {features[column].column}, and looks like a word for missing."
        for column, value, times in excluded.repeated
    ]
    return Excluded(True, elsewhere, int(excluded.cells.sum()), cells, () if naming.private else tuple(repeated))


def summarize_choices(evidence: Evidence) -> Choices:
    """How the number of rules, the penalty and the limit were chosen, and what others would give."""
    model = evidence.model
    space = model.space.plain
    variances: tuple[float, ...] = ()
    little, directions = 0.0, 0
    # Of more columns they are left out: nobody reads so many marks.
    if space.known_covariance is not None and space.n_features <= 512 and space.typical > 0.0:
        values = np.maximum(np.linalg.eigvalsh(space.known_covariance), 0.0) / space.typical
        variances = tuple(round_to(value, 4) for value in values)
        little = bound_little_variance(space.known_covariance) / space.typical
        directions = int((values <= little).sum())
    sensitivity: tuple[Flagged, ...] = ()
    if evidence.limit:
        # From the tenth to a thousand times the limit in use.
        edges, counts = evidence.statistics.count_above()
        inside = (edges >= 0.1 * evidence.limit * 0.999) & (edges <= 1000.0 * evidence.limit * 1.001)
        pairs = zip(edges[inside], counts[inside], strict=True)
        sensitivity = tuple(Flagged(round_to(edge, 4), int(count)) for edge, count in pairs)
    settings = _summarize_settings(model, directions)
    return Choices(settings, variances, round_to(little, 4), directions, len(model.rules), sensitivity)


def _summarize_settings(model: Model, directions: int) -> tuple[Choice, ...]:
    asked = {name: getattr(model.settings, name) for name in _SETTINGS}
    texts = {
        name: write_number(value) if isinstance(value, float) else "none" if value is None else str(value)
        for name, value in asked.items()
    }
    came_to, meanings = dict(texts), {name: BY_NAME[name].meaning for name in _SETTINGS}
    many, found = counted(directions, "direction"), counted(len(model.table), "rule")
    if directions:
        among = f"{many} in which rows vary little; {found} found among them that chance does not explain."
        came_to["n_components"] = f"{len(model.table)}: {among}"
    total = model.thresholds.total
    if total is not None:
        came_to["limit"] = f"{total.value:.4g} ({total.name})"
        meanings["limit"] += f" It assumes: {total.assumes}"
    # It is told where that needs no solving for the components.
    components = model.components
    known = components.covariance is not None and components.settings.max_features is None
    came_to["alpha"] = f"{components.alpha:.4g}" if components.solved is not None or known else "not computed"
    if model.evidence is not None:
        came_to["alpha"] += "; it shapes the components only, not the rules that judge"
    return tuple(Choice(name, texts[name], came_to[name], meanings[name]) for name in _SETTINGS)


def summarize_certificates(model: Model) -> Certificates:
    """What is proven of the components, where they were solved; of readable rules what is not."""
    says = []
    if model.evidence is not None:
        says.append(
            "The rules that judge are the shortest that a search found among the directions of little variance. That "
            "none is shorter is not proven. Their spreads and limits are measured on rows, and the parts of a row's "
            "score add up to it exactly."
        )
    if model.components.solved is None:
        says.append(
            "The paper's components, which carry certificates, do not judge rows here and were not solved; "
            "aspca report --certificates solves and checks them."
        )
        return Certificates(tuple(says), (), "")
    subspace = model.subspace
    says.append(
        "A certificate belongs to a step of the sequence behind the components. It holds a bound below every vector "
        "there is, and what the vector taken attains: where the two meet, no better one exists."
    )
    steps = tuple(
        Step(number, float(step.lower), float(step.upper), float(step.gap), step.status)
        for number, step in enumerate(subspace.certificates)
    )
    known = model.space.plain.known_covariance
    verified = "" if known is None else str(subspace.verify(known))
    return Certificates(tuple(says), steps, verified)
