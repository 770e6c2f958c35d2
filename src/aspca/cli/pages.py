"""Results as tables for people: plain text that reads well at 80 columns, and uses more where there is more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table as Grid
from rich.text import Text

from aspca.cli.heads import Heads
from aspca.escaping import for_terminal, name_text
from aspca.findings.change_text import moment_text
from aspca.findings.original_values import value_text
from aspca.findings.proposals import Value
from aspca.pipeline.result_folder import category_folder, main_cause
from aspca.rules.headings import told_apart

if TYPE_CHECKING:
    from rich.console import Console

    from aspca.findings.breaks import Break
    from aspca.findings.change_text import Change
    from aspca.findings.incidents import Incident
    from aspca.model.model import Model
    from aspca.pipeline.explain_rows import Reason
    from aspca.pipeline.keys import Evaluation
    from aspca.pipeline.models import Comparison
    from aspca.pipeline.outcome import Finding, Outcome
    from aspca.pipeline.result import Detection
    from aspca.rules.rule import AnyRule

# From this width on there is room for what the features would have to be.
_WIDE = 110
# A column that wraps takes this much at most from the one that is cut, which has this much at least.
_WRAPPED, _LEAST = 40, 12
# Of more rules than this a few are shown, and those that are broken; the others are left to `aspca rules`.
_RULES, _FEW = 25, 10
# Names of columns are cut here, and at twice that where there is room.
_NAME = 20
# Of the rules that a row breaks, those below this share of the score are left to the files.
_TELLING = 0.1
# Of changes, the longest, and so many rules that changed at once.
_EVENTS, _CHANGES = 10, 3
# Where there is room, what the columns most to blame would have to be, either of so many.
_COLUMNS_TOLD = 2


def text(words: object, style: str = "") -> Text:
    """Other people's words: never markup, never control characters."""
    return Text(for_terminal(words), style=style)


def grid(*titles: tuple[str, str]) -> Grid:
    """A table without lines; each title with its justification, `left` being what may wrap."""
    table = Grid(box=None, padding=(0, 0, 0, 2), header_style="dim")
    for title, justify in titles:
        wraps = justify == "left"
        table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=not wraps, overflow="fold")
    return table


def show_cut(console: Console, titles: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]], cut: int) -> None:
    """A table whose column `cut` gets the room that the others leave, each cell on one line, ended by dots if need be.

    If they leave too little, the last column is cut as well, so that numbers and names stay whole: rich would rather
    squeeze them.
    """
    made = [[text(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, [title, *(row[k].plain for row in made)])) for k, (title, _) in enumerate(titles)]
    last = len(titles) - 1
    if titles[last][1] == "left":
        widths[last] = min(widths[last], _WRAPPED)
    fixed = sum(width for k, width in enumerate(widths) if k not in (cut, last)) + 2 * len(titles)
    widths[last] = min(widths[last], max(console.width - fixed - _LEAST, _LEAST))
    room = max(console.width - fixed - widths[last], _LEAST)
    table = grid(*titles)
    for row in made:
        row[cut].truncate(room, overflow="ellipsis")
        if titles[last][1] == "none":
            row[last].truncate(widths[last], overflow="ellipsis")
        table.add_row(*row)
    console.print(table)


def show_lines(console: Console, words: Sequence[object]) -> None:
    """Lines of text below a title, indented."""
    if words:
        table = grid(("", "left"))
        table.show_header = False
        for each in words:
            table.add_row(text(each))
        console.print(table)


def show_rules(
    console: Console,
    rules: Sequence[AnyRule],
    chosen: Collection[int] | None = None,
    more: str = "",
) -> None:
    """The rules by number, relations first, then ranges and constants.

    `chosen` are the rules to show, if not all; `more` says where the others are.
    """
    for heading, numbers in told_apart(rules):
        console.print(heading)
        table = grid(("", "right"), ("", "left"), ("", "left"))
        table.show_header = False
        for number in numbers:
            if chosen is None or number in chosen:
                doubt = Text("may be chance" if rules[number].looks_like_chance else "", style="yellow")
                table.add_row(str(number), text(rules[number]), doubt)
        if table.row_count:
            console.print(table)
    if chosen is not None and len(chosen) < len(rules):
        console.print(text(f"  ... and {len(rules) - len(chosen)} more{more}."))


def show_findings(console: Console, outcome: Outcome, more: str, by: str | None = None) -> None:
    """The worst anomalies: those that break rules, a line for each rule, then those that keep theirs.

    `more` says where the others are, `by` is a column that the page's title tells already.
    """
    console.print(outcome.headline)
    show_changes(console, outcome.events)
    show_bad_cells(console, outcome, more)
    findings = [finding for finding in outcome.apart if not finding.bad_cells]
    if outcome.changes and findings:
        console.print(outcome.headline_beyond)
    wrong = [finding for finding in findings if finding.verdict == "error"]
    if wrong:
        console.print("Errors, the surest first")
        _show_errors(console, wrong, by)
        findings = [finding for finding in findings if finding.verdict != "error"]
    if findings and outcome.graded:
        console.print(f"Unusual rows{', the most unusual first' if len(findings) > 1 else ''}")
    shown = len(wrong) + len(findings)
    breaking = [finding for finding in findings if finding.breaks_a_rule]
    keeping = [finding for finding in findings if not finding.breaks_a_rule]
    if breaking:
        _show_breaks(console, breaking, by)
    if keeping:
        if outcome.rules:
            verb = "keeps its rules, but stands out" if len(keeping) == 1 else "keep their rules, but stand out"
            console.print(f"  {len(keeping)} {verb}")
        _show_unusual(console, keeping, by)
    rest = outcome.n_beyond - outcome.n_unread - shown
    if rest > 0 and more:
        console.print(f"  ... and {rest:,} more{more}.")


def show_bad_cells(console: Console, outcome: Outcome, more: str) -> None:
    """The cells that are not what their columns hold, a line each."""
    if not outcome.n_unread:
        return
    console.print(f"{count(outcome.n_unread, 'row')} with cells that are not what their columns hold")
    rows = [finding for finding in outcome.findings if finding.bad_cells]
    for finding in rows:
        called = "" if finding.name is None else f" ({finding.name})"
        for cell in finding.bad_cells:
            console.print(text(f"  {cell}{called}"))
    if outcome.n_unread > len(rows) and more:
        console.print(f"  ... and {outcome.n_unread - len(rows):,} more{more}.")


def show_changes(console: Console, events: Sequence[Sequence[Change]]) -> None:
    """What changed for long, in time order, a line for each rule; of many events the longest."""
    if not events:
        return
    longest = sorted(events, key=lambda event: -event[0].n_rows)[:_EVENTS]
    table = grid(("rule", "right"), ("what changed", "left"))
    for event in (event for event in events if event in longest):
        for change in event[:_CHANGES]:
            table.add_row("" if change.rule is None else str(change.rule), text(change.text))
        if len(event) > _CHANGES:
            table.add_row("", f"... and {len(event) - _CHANGES} more at once.")
    console.print(table)
    if len(events) > len(longest):
        console.print(f"  ... and {len(events) - len(longest):,} shorter changes.")


def _show_breaks(console: Console, findings: Sequence[Finding], by: str | None) -> None:
    wide = console.width >= _WIDE
    heads = Heads(findings, wide, by)
    # Rules were listed in full before, by number: here each has one line.
    titles = [*heads.titles, ("rule", "right"), ("it breaks", "none")]
    cut = len(titles) - 1
    titles += [("off by", "none"), ("share", "right"), ("would hold with", "left")] if wide else []
    titles += [] if wide else [("would hold with", "none")]
    rows: list[list[object]] = []
    for finding in findings:
        told = [broken for k, broken in enumerate(finding.breaks) if k == 0 or broken.share >= _TELLING]
        for k, broken in enumerate(told):
            head = heads.of(finding) if k == 0 else [""] * (cut - 1)
            measured = [broken.off, f"{100 * broken.share:.0f} %"] if wide else []
            # Its spread was told above.
            rule = broken.text if wide else broken.text.rpartition(" (")[0] or broken.text
            rows.append([*head, broken.rule, rule, *measured, _cure(broken, wide)])
    show_cut(console, titles, rows, cut)
    _show_keys(console, heads)


def _show_errors(console: Console, findings: Sequence[Finding], by: str | None) -> None:
    """Rows that are errors: how sure that is, which cell is wrong, what it should be, and why."""
    wide = console.width >= _WIDE
    heads = Heads(findings, wide, by, measured=False)
    table = grid(*heads.titles, ("error", "none"), ("should be", "left"), ("why", "left"))
    for finding in findings:
        options = [repair for repair in (finding.repair, *finding.ties) if repair][: _COLUMNS_TOLD if wide else 1]
        cures = [" and ".join(_cell_cure(name, pair, wide) for name, pair in repair.items()) for repair in options]
        broken = [one for one in finding.breaks if one.broken]
        equation = broken[0].text.rpartition(" (")[0] if broken else _why(finding)
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        about = "about " if finding.approximate else ""
        told = finding.confidence, about + (" or ".join(cures) or "unknown"), f"{equation}{more}"
        table.add_row(*map(text, (*heads.of(finding), *told)))
    console.print(table)
    _show_keys(console, heads)


def _show_unusual(console: Console, findings: Sequence[Finding], by: str | None) -> None:
    heads = Heads(findings, console.width >= _WIDE, by)
    table = grid(*heads.titles, ("what stands out", "left"))
    for finding in findings:
        table.add_row(*map(text, heads.of(finding)), text(_why(finding)))
    console.print(table)
    _show_keys(console, heads)


def _show_keys(console: Console, heads: Heads) -> None:
    """The key columns of the rows above, where there was no room for them."""
    if heads.complete:
        return
    titles, rows = heads.keys()
    table = grid(*titles)
    for row in rows:
        table.add_row(*map(text, row))
    console.print(table)


def _why(finding: Finding) -> str:
    """What stands out in a row that breaks no rule."""
    if finding.unusual:
        return ", ".join(column.text for column in finding.unusual)
    most = ", ".join(f"{rule.text} ({100 * rule.share:.0f} %)" for rule in finding.breaks)
    return f"small deviations add up: {most}"


def show_detection(console: Console, detection: Detection, most: int) -> None:
    """All that `aspca detect` tells."""
    for number, (category, outcome) in enumerate(detection.outcomes.items()):
        if detection.by is not None:
            console.print(text(f"== {detection.by} = {category}"))
        inside = "" if detection.by is None else f"/{category_folder(number)}"
        folder = None if detection.output is None else detection.output + inside
        _show_outcome(console, outcome, folder, most, detection.by)
        if detection.by is not None:
            console.print()


def _show_outcome(console: Console, outcome: Outcome, folder: str | None, most: int, by: str | None) -> None:
    model, rules = outcome.model, outcome.rules
    console.print(f"{count(model.space.n_rows, 'row')} learned from, {count(len(model.names), 'feature')}")
    # Of many rules the first ones, and those that are broken below.
    broken = {rule.rule for finding in outcome.findings for rule in finding.breaks}
    chosen = broken | set(range(len(rules) if len(rules) <= _RULES else _FEW))
    told = "" if folder is None else f": aspca rules {folder}/model.json"
    show_rules(console, rules, chosen=chosen, more=told)
    console.print()
    show_findings(console, outcome, "" if folder is None else f" in {folder}/explanations.csv", by)
    if outcome.incidents:
        console.print()
        show_incidents(console, outcome.incidents, model, most)
    if outcome.evaluation is not None:
        console.print()
        show_evaluation(console, outcome.evaluation)


def show_evaluation(console: Console, evaluation: Evaluation) -> None:
    """How the anomalies agree with labels."""
    console.print(evaluation.text)
    console.print(text(f"  ({evaluation.meaning})"))
    table = grid(("", "none"), ("flagged", "right"), ("not", "right"))
    table.add_row("anomalies", str(evaluation.hits), str(evaluation.misses))
    table.add_row("normal rows", str(evaluation.false_alarms), str(evaluation.passed))
    console.print(table)


def show_incidents(console: Console, incidents: Sequence[Incident], model: Model, most: int) -> None:
    """Runs of anomalies, in time order; the longest ones if there are many. Single ones were told before."""
    several = [incident for incident in incidents if incident.rows.size > 1]
    alone = len(incidents) - len(several)
    shown = f", of which {alone:,} {'is a single row' if alone == 1 else 'are single rows'}" if alone else ""
    shown += f"; the {most} of most rows" if 0 < most < len(several) else ""
    console.print(f"{count(len(incidents), 'incident')}{shown}")
    if not most or not several:
        return
    longest = sorted(several, key=lambda incident: -incident.rows.size)[:most]
    titles = [("from", "none"), ("to", "none"), ("rows", "right"), ("rule", "right"), ("mostly", "none")]
    rows: list[list[object]] = []
    for incident in (incident for incident in incidents if incident in longest):
        rule, words, share = main_cause(incident, model)
        number = "" if rule is None else rule
        span = [moment_text(time) for time in (incident.first, incident.last)]
        words = f"change: {words}" if incident.changes else words
        rows.append([*span, incident.rows.size, number, words, f"{100 * share:.0f} %"])
    show_cut(console, [*titles, ("share", "right")], rows, 4)


def show_comparison(console: Console, changes: Comparison) -> None:
    """What happened to the rules from one model to the other."""
    for title, names in (("only in the first", changes.features_lost), ("only in the second", changes.features_gained)):
        if names:
            console.print(text(f"Features {title}: {', '.join(names)}"))
    console.print(f"{count(len(changes.stayed), 'rule')} stayed")
    show_lines(console, [pair.after for pair in changes.stayed])
    console.print(f"{count(len(changes.moved), 'rule')} moved")
    for pair in changes.moved:
        show_lines(console, [pair.before, f"-> {pair.after}: {', '.join(pair.changes)}"])
    for title, rules in (("lost", changes.lost), ("gained", changes.gained)):
        console.print(f"{count(len(rules), 'rule')} {title}")
        show_lines(console, rules)


def count(number: int, one: str, many: str | None = None) -> str:
    """As in ``1 rule`` and ``3 rules``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _cure(broken: Break, wide: bool) -> str:
    """What the columns of a rule would have to be: the one most to blame, or either of two where there is room."""
    told = [(name, pair) for name, pair in broken.needed.items() if pair[1] is not None]
    return " or ".join(_cell_cure(name, pair, wide) for name, pair in told[: _COLUMNS_TOLD if wide else 1])


def _cell_cure(name: str, pair: tuple[Value, Value], wide: bool) -> str:
    """What a cell should be, and what it is."""
    column = text(name)
    column.truncate(2 * _NAME if wide else _NAME, overflow="ellipsis")
    return f"{column} {value_text(pair[1])} (not {value_text(pair[0])})"


def _cell(value: Value) -> Text:
    return text("" if value is None else value_text(value))


def _other_keys(reason: Reason) -> str:
    """The key columns that the first sentence does not tell."""
    return ", ".join(f"{name_text(name)} {value_text(cell)}" for name, cell in reason.keys.items())


def show_reason(console: Console, reason: Reason) -> None:
    """Why one row scores what it scores: in words, by rule and by feature; parts below a hundredth are left out."""
    console.print(text(reason.text))
    if len(reason.keys) > 1:
        console.print(text(f"  row {reason.row}: {_other_keys(reason)}"))
    least = 0.01 * reason.score
    table = grid(("rule", "right"), ("", "left"), ("part", "right"), ("share", "right"), ("", "none"))
    for rule in reason.rules:
        if rule.contribution >= least:
            cells = [f"{rule.contribution:.3g}", f"{100 * rule.share:.0f} %", "broken" if rule.broken else ""]
            table.add_row(str(rule.rule), text(rule.text), *cells)
    if reason.outside >= least > 0.0:
        share = f"{100 * reason.outside / reason.score:.0f} %"
        table.add_row("", "what lies outside the rules", f"{reason.outside:.3g}", share, "")
    console.print(table)
    table = grid(("feature", "left"), ("part", "right"), ("is", "right"), ("nearest normal", "right"))
    for column in reason.features:
        if column.contribution >= least:
            now, normal = _cell(column.value), _cell(column.repaired)
            table.add_row(text(column.feature), f"{column.contribution:.3g}", now, normal)
    console.print(table)
