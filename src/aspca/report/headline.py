"""What was found, in three sentences: how many, of which kind, and the worst."""

from __future__ import annotations

from collections.abc import Sequence

from aspca.judging.row_text import amount
from aspca.report.evidence import Evidence
from aspca.report.gathering import FAR
from aspca.report.listing import is_weak, span_text
from aspca.report.short_names import cut
from aspca.report.summary import Anomaly, Change, Group, Incident, Rule
from aspca.rules.sentence import count_verdicts, counted

_LONGEST = 700
# Of the rules that are broken, those that most rows break.
_RULES = 3
# And no more than fit in so many signs.
_ROOM = 160
# So many times the limit are no measure of anything.
_COUNTLESS = 1e6
# An event is told from so many rows on, and its rule from this share of its score on.
_EVENT, _MOSTLY = 5, 0.5


def headline_of(
    evidence: Evidence,
    title: str,
    rules: Sequence[Rule],
    anomalies: Sequence[Anomaly],
    groups: Sequence[Group],
    changes: Sequence[Change],
    incidents: Sequence[Incident],
    *,
    private: bool,
) -> tuple[str, str, str]:
    """The three sentences."""
    told = (
        _how_many(evidence, title, rules),
        _of_which_kind(evidence, rules, groups, changes) + _the_longest(evidence, rules, incidents, private=private),
        _the_worst(anomalies, rules, private=private),
    )
    first, second, third = (cut(sentence, _LONGEST) for sentence in told)
    return first, second, third


def _how_many(evidence: Evidence, title: str, rules: Sequence[Rule]) -> str:
    n, found = evidence.gathering.seen, evidence.n_anomalies
    learned = counted(evidence.model.space.n_rows, "row")
    by = f"by {counted(len(rules), 'rule')} learned from {learned}"
    if not rules:
        by = f"by how far out they are: no relation holds between the columns of the {learned} learned from"
    if n == 1:
        verdict = "an anomaly" if found else "no anomaly"
        if evidence.graded:
            verdict = "an error" if evidence.gathering.far else "unusual" if found else "normal"
        return f"The only row of {title} is {verdict}, {by}."
    if found in (0, n) and not (evidence.graded and found):
        if evidence.graded:
            return f"No errors and no unusual rows among {n:,} rows of {title}, {by}."
        return f"{'All' if found else 'None of the'} {n:,} rows of {title} are anomalies, {by}."
    if evidence.graded:
        verdicts = count_verdicts(evidence.gathering.far, found)
        return f"{verdicts} among {n:,} rows of {title}, {by}."
    are = "is an anomaly" if found == 1 else "are anomalies"
    return f"{found:,} of {n:,} rows of {title} {are} ({100 * found / n:.2g} %), {by}.{_how_far(evidence)}"


def _how_far(evidence: Evidence) -> str:
    """How many are no matter of chance; empty where that is seen anyway."""
    found, far = evidence.n_anomalies, evidence.gathering.far
    if found == 1 or evidence.limit is None:
        return ""
    many = "All" if far == found else f"{far:,}" if far else "None"
    return f" {many} of them {'is' if far < 2 else 'are'} at least {FAR:g} times the limit."


def _of_which_kind(
    evidence: Evidence, rules: Sequence[Rule], groups: Sequence[Group], changes: Sequence[Change]
) -> str:
    found, changed = evidence.n_anomalies, evidence.n_anomalies - evidence.n_beyond
    if not found:
        return "Every row keeps each rule within its limit, and no score is above the limit for all of them."
    if found == evidence.gathering.seen > 1:
        return (
            "Where every row is one, the table is not like the rows that the rules were learned from: compare the two "
            "before looking at single rows."
        )
    if 2 * changed > found and changes:
        more = f" There are {len(changes):,} such changes." if len(changes) > 1 else ""
        return f"{changed:,} of them are rows of a lasting change. {changes[0].text}{more}"
    if found == 1:
        return f"What is wrong with it: {groups[0].text.removesuffix('.')}."
    return " ".join(_by_rule(rules, found, evidence.gathering.keeping))


def _the_longest(evidence: Evidence, rules: Sequence[Rule], incidents: Sequence[Incident], *, private: bool) -> str:
    """The event of most rows, where there is one that is more than a few rows near each other."""
    dense = [one for one in incidents if 2 * one.rows > one.stop - one.start and one.kind == "anomalies"]
    most = max(dense, key=lambda one: one.rows, default=None)
    if most is None or not _EVENT <= most.rows < evidence.n_anomalies:
        return ""
    span = span_text(most.first, most.last)
    if private:
        span = " to ".join(f"row {evidence.course.at(place)[0]}" for place in (most.start, most.stop))
    mostly = f", mostly by {rules[most.rule].short}" if most.rule is not None and most.share >= _MOSTLY else ""
    return f" {most.rows:,} anomalies follow each other, {span}{mostly}."


def _by_rule(rules: Sequence[Rule], found: int, keeping: int) -> list[str]:
    """Which rules are broken most, and how many keep all of them."""
    told = sorted((rule for rule in rules if rule.low + rule.high), key=lambda rule: -(rule.low + rule.high))
    sentences = []
    if told and keeping < found:
        most = [f"{rule.short} in {counted(rule.low + rule.high, 'row')}" for rule in told[:_RULES]]
        while len(most) > 1 and sum(map(len, most)) > _ROOM:
            most.pop()
        rest = len(told) - len(most)
        more = f", and {rest:,} more rule{'s' * (rest != 1)}" if rest else ""
        which = f"All {found:,}" if found > keeping == 0 else f"{found - keeping:,} of them"
        sentences.append(f"{which} break{'s' * (found - keeping == 1)} a rule: {', '.join(most)}{more}.")
    if keeping == found:
        sentences.append("None of them breaks a rule by itself, but all stand out.")
    elif keeping:
        verbs = ("breaks", "stands") if keeping == 1 else ("break", "stand")
        sentences.append(f"{keeping:,} {verbs[0]} no rule by itself, but {verbs[1]} out.")
    return sentences


def _the_worst(anomalies: Sequence[Anomaly], rules: Sequence[Rule], *, private: bool) -> str:
    if not anomalies:
        return "There is nothing to look at first; the rules below say what was checked."
    worst = anomalies[0]
    called = f"row {worst.row}" + ("" if worst.name is None else f" ({worst.name})")
    beyond = "" if worst.times is None else f", {_times(worst.times)} times the limit"
    if worst.p_value is not None:
        beyond = f", an error ({worst.confidence})" if worst.verdict == "error" else ", an unusual one"
    if worst.breaks and worst.breaks[0].broken:
        first = worst.breaks[0]
        if not private and first.needed and first.needed[0].needed is not None:
            return f"The worst is {called}{beyond}: {worst.reason}."
        return f"The worst is {called}{beyond}. It breaks {rules[first.rule].short}: {first.off}."
    return f"The worst is {called}{beyond}. {worst.reason[:1].upper()}{worst.reason[1:]}."


def _times(value: float) -> str:
    return amount(value) if value < _COUNTLESS else "more than a million"


def expected_of(evidence: Evidence) -> str:
    """How many rows are flagged where nothing is wrong, as a sentence; empty where nothing was promised."""
    many, seen = _by_chance(evidence), evidence.gathering.seen
    if many < 1.0:
        return ""
    called = "unusual" if evidence.graded else "flagged all the same, just above the limit"
    return (
        f"Where nothing is wrong, about {many:,.0f} of {seen:,} rows are {called}: "
        f"the level is {100 * evidence.model.settings.total[1]:g} %."
    )


def weaker_of(evidence: Evidence, anomalies: Sequence[Anomaly]) -> str:
    """What is said before the first anomaly near the limit; empty where all are near it, or none."""
    near = [is_weak(one) for one in anomalies if one.beyond and not one.sampled]
    if all(near) or not any(near):
        return ""
    told, many = f"From here on less than {FAR:g} times the limit", _by_chance(evidence)
    if evidence.graded:
        told = "From here on no errors, but unusual rows"
    # In a change a row has its place by what is off beside it.
    within = ", but for rows that stand within a lasting change" if False in near[near.index(True) :] else ""
    called = "unusual" if evidence.graded else "flagged"
    chance = f" About {many:,.0f} rows are {called} where nothing is wrong: most of them are among these."
    return f"{told}{within}.{chance if many >= 1.0 else ''}"


def _by_chance(evidence: Evidence) -> float:
    """How many rows are flagged where nothing is wrong; zero where nothing was promised."""
    limit, level = evidence.model.settings.total
    promised = isinstance(limit, str) and evidence.n_anomalies > 0
    return (1.0 - level) * evidence.gathering.seen if promised else 0.0
