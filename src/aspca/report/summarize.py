"""From evidence to a report: everything that it says, as plain values, and the sentences that sum it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aspca.findings.words import amount
from aspca.report.collect import Evidence, Provenance
from aspca.report.names import SENTENCE, Naming, cut, rename_columns
from aspca.report.summarize_events import summarize_changes, summarize_course, summarize_groups, summarize_incidents
from aspca.report.summarize_model import (
    summarize_certificates,
    summarize_choices,
    summarize_columns,
    summarize_excluded,
    summarize_rules,
)
from aspca.report.summarize_rows import summarize_anomalies
from aspca.report.summary import FAR, FORMAT, Counts, Input, Report, Reproduce
from aspca.rules.wording import count_verdicts, counted

# So many times the limit are no measure of anything.
COUNTLESS = 1e6


def summarize(
    evidence: Evidence, provenance: Provenance, remarks: Sequence[str] = (), *, private: bool = False
) -> Report:
    """What a report says; `remarks` are sentences about what was decided without being asked.

    Where it is `private` no value of a row is shown: no cells, names or times.
    """
    naming, shown, model = Naming(evidence.columns, private), evidence.shown, evidence.model
    model = rename_columns(model, naming.called)
    why = replace(shown.explanation, model=model)
    groups, homes = summarize_groups(evidence, why)
    rules = summarize_rules(evidence, why, naming)
    anomalies = summarize_anomalies(evidence, why, naming, homes)
    report = Report(
        format=FORMAT,
        title=cut(provenance.title),
        category=None if provenance.category is None else cut(provenance.category),
        private=private,
        headline=(),
        expected="",
        weaker="",
        left_out="",
        counts=Counts(
            rows=evidence.statistics.seen,
            learned=model.space.n_rows,
            columns=len(evidence.columns),
            features=len(model.names),
            rules=len(model.rules),
            anomalies=evidence.n_anomalies,
            beyond=evidence.n_beyond,
            partly=evidence.n_partly,
            far=evidence.statistics.far,
            shown=len(anomalies),
            sampled=sum(anomaly.sampled for anomaly in anomalies),
        ),
        # A remark may quote a cell.
        remarks=() if private else tuple(cut(remark, SENTENCE) for remark in remarks),
        # What labels say is what stands in the table.
        evaluation=evidence.evaluation.partition(" (")[0] if private else evidence.evaluation,
        columns=summarize_columns(evidence, why, naming, rules),
        rules=rules,
        anomalies=anomalies,
        groups=groups,
        course=summarize_course(evidence, naming),
        changes=summarize_changes(evidence, naming),
        incidents=summarize_incidents(evidence, private=private),
        excluded=summarize_excluded(model, naming, elsewhere=provenance.learned_elsewhere),
        choices=summarize_choices(evidence),
        certificates=summarize_certificates(model),
        reproduce=Reproduce(provenance.version, provenance.command, tuple(Input(*one) for one in provenance.inputs)),
    )
    which = _say_which(evidence, report) + _say_longest_event(evidence, report)
    return replace(
        report,
        headline=tuple(cut(say, SENTENCE) for say in (_say_how_many(evidence, report), which, _say_worst(report))),
        expected=_say_expected(evidence, report),
        weaker=_say_weaker(evidence, report),
        left_out=_say_left_out(report.counts),
    )


# ---- what was found, in three sentences


def _say_how_many(evidence: Evidence, report: Report) -> str:
    n, found, far, title = report.counts.rows, report.counts.anomalies, report.counts.far, report.title
    learned = counted(report.counts.learned, "row")
    by = f"by {counted(len(report.rules), 'rule')} learned from {learned}"
    if not report.rules:
        by = f"by how far out they are: no relation holds between the columns of the {learned} learned from"
    if n == 1:
        verdict = "an anomaly" if found else "no anomaly"
        if evidence.graded:
            verdict = "an error" if far else "unusual" if found else "normal"
        return f"The only row of {title} is {verdict}, {by}."
    if evidence.graded:
        verdicts = count_verdicts(far, found) if found else "No errors and no unusual rows"
        return f"{verdicts} among {n:,} rows of {title}, {by}."
    if found in (0, n):
        return f"{'All' if found else 'None of the'} {n:,} rows of {title} are anomalies, {by}."
    are = "is an anomaly" if found == 1 else "are anomalies"
    how_far = ""
    if found > 1 and evidence.limit is not None:
        # How many are no matter of chance.
        many = "All" if far == found else f"{far:,}" if far else "None"
        how_far = f" {many} of them {'is' if far < 2 else 'are'} at least {FAR:g} times the limit."
    return f"{found:,} of {n:,} rows of {title} {are} ({100 * found / n:.2g} %), {by}.{how_far}"


def _say_which(evidence: Evidence, report: Report) -> str:
    found, changed, changes = report.counts.anomalies, report.counts.anomalies - report.counts.beyond, report.changes
    if not found:
        return "Every row keeps each rule within its limit, and no score is above the limit for all of them."
    if found == report.counts.rows > 1:
        return (
            "Where every row is one, the table is not like the rows that the rules were learned from: compare the two "
            "before looking at single rows."
        )
    if 2 * changed > found and changes:
        more = f" There are {len(changes):,} such changes." if len(changes) > 1 else ""
        return f"{changed:,} of them are rows of a lasting change. {changes[0].text}{more}"
    if found == 1:
        return f"What is wrong with it: {report.groups[0].text.removesuffix('.')}."
    # Which rules are broken most, and how many rows keep all of them.
    keeping = evidence.statistics.keeping
    broken = sorted((rule for rule in report.rules if rule.n_broken), key=lambda rule: -rule.n_broken)
    sentences = []
    if broken and keeping < found:
        # Three of them, and no more than fit on about two lines.
        most = [f"{rule.short} in {counted(rule.n_broken, 'row')}" for rule in broken[:3]]
        while len(most) > 1 and sum(map(len, most)) > 160:
            most.pop()
        rest = len(broken) - len(most)
        more = f", and {rest:,} more rule{'s' * (rest != 1)}" if rest else ""
        which = f"All {found:,}" if keeping == 0 else f"{found - keeping:,} of them"
        sentences.append(f"{which} break{'s' * (found - keeping == 1)} a rule: {', '.join(most)}{more}.")
    if keeping == found:
        sentences.append("None of them breaks a rule by itself, but all stand out.")
    elif keeping:
        verbs = ("breaks", "stands") if keeping == 1 else ("break", "stand")
        sentences.append(f"{keeping:,} {verbs[0]} no rule by itself, but {verbs[1]} out.")
    return " ".join(sentences)


def _say_longest_event(evidence: Evidence, report: Report) -> str:
    """The event of most rows, where there is one that is more than a few rows near each other."""
    dense = [one for one in report.incidents if 2 * one.rows > one.stop - one.start and one.kind == "anomalies"]
    most = max(dense, key=lambda one: one.rows, default=None)
    if most is None or not 5 <= most.rows < report.counts.anomalies:
        return ""
    span = write_span(most.first, most.last)
    if report.private:
        span = " to ".join(f"row {evidence.course.at(place)[0]}" for place in (most.start, most.stop))
    mostly = f", mostly by {report.rules[most.rule].short}" if most.rule is not None and most.share >= 0.5 else ""
    return f" {most.rows:,} anomalies follow each other, {span}{mostly}."


def write_span(first: str, last: str) -> str:
    """From one time to another, a day that is the same written once."""
    day, _, time = last.partition(" ")
    return f"{first} to {time if time and first.startswith(f'{day} ') else last}"


def _say_worst(report: Report) -> str:
    if not report.anomalies:
        return "There is nothing to look at first; the rules below say what was checked."
    worst = report.anomalies[0]
    called = f"row {worst.row}" + ("" if worst.name is None else f" ({worst.name})")
    beyond = ""
    if worst.p_value is not None:
        beyond = f", an error ({worst.confidence})" if worst.verdict == "error" else ", an unusual one"
    elif worst.times is not None:
        beyond = f", {amount(worst.times) if worst.times < COUNTLESS else 'more than a million'} times the limit"
    if worst.breaks and worst.breaks[0].broken:
        first = worst.breaks[0]
        if not report.private and first.needed and first.needed[0].needed is not None:
            return f"The worst is {called}{beyond}: {worst.reason}."
        return f"The worst is {called}{beyond}. It breaks {report.rules[first.rule].short}: {first.off}."
    return f"The worst is {called}{beyond}. {worst.reason[:1].upper()}{worst.reason[1:]}."


# ---- what chance makes of it, and what is not shown


def _count_by_chance(evidence: Evidence, report: Report) -> float:
    """How many rows are flagged where nothing is wrong; zero where nothing was promised."""
    limit, level = evidence.model.settings.total
    promised = isinstance(limit, str) and report.counts.anomalies > 0
    return (1.0 - level) * report.counts.rows if promised else 0.0


def _say_expected(evidence: Evidence, report: Report) -> str:
    many = _count_by_chance(evidence, report)
    if many < 1.0:
        return ""
    called = "unusual" if evidence.graded else "flagged all the same, just above the limit"
    return (
        f"Where nothing is wrong, about {many:,.0f} of {report.counts.rows:,} rows are {called}: "
        f"the level is {100 * evidence.model.settings.total[1]:g} %."
    )


def _say_weaker(evidence: Evidence, report: Report) -> str:
    """What is said before the first anomaly near the limit; empty where all are near it, or none."""
    near = [one.is_weak for one in report.anomalies if one.beyond and not one.sampled]
    if all(near) or not any(near):
        return ""
    what, called = f"less than {FAR:g} times the limit", "flagged"
    if evidence.graded:
        what, called = "no errors, but unusual rows", "unusual"
    # In a change a row has its place by what is off beside it.
    within = ", but for rows that stand within a lasting change" if False in near[near.index(True) :] else ""
    many = _count_by_chance(evidence, report)
    chance = f" About {many:,.0f} rows are {called} where nothing is wrong: most of them are among these."
    return f"From here on {what}{within}.{chance if many >= 1.0 else ''}"


def _say_left_out(counts: Counts) -> str:
    if counts.anomalies <= counts.shown:
        return ""
    return (
        f"Shown are the worst {counts.shown - counts.sampled:,} anomalies and {counts.sampled:,} of the others, taken "
        f"evenly; {counts.anomalies - counts.shown:,} more are in explanations.csv, which aspca detect writes."
    )
