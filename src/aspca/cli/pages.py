"""Results as tables for people: plain text that reads well at 80 columns, and uses more where there is more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table as Grid
from rich.text import Text

from aspca.cli.heads import Heads, Rows, Titles, make_heads
from aspca.escaping import for_terminal, name_text
from aspca.findings.changes import moment_text
from aspca.findings.values import Value, value_text
from aspca.pipeline.result_folder import category_folder, main_cause
from aspca.rules.wording import group_by_kind

if TYPE_CHECKING:
    from rich.console import Console

    from aspca.findings.changes import Change
    from aspca.findings.finding import Finding
    from aspca.findings.incidents import Incident
    from aspca.model.model import Model
    from aspca.pipeline.models import Comparison
    from aspca.pipeline.outcome import Outcome
    from aspca.pipeline.result import Detection
    from aspca.rules.rule import AnyRule

# From this width on there is room for what the features would have to be, of either of the two most to blame.
_WIDE = 110
# The least width of a column that is cut.
_LEAST = 12


def text(words: object) -> Text:
    """Other people's words: never markup, never control characters."""
    return Text(for_terminal(words))


def show_table(console: Console, titles: Titles, rows: Rows, *, header: bool = True) -> None:
    """A table without lines; each title with its justification, `left` being what may wrap."""
    table = Grid(box=None, padding=(0, 0, 0, 2), header_style="dim", show_header=header)
    for title, justify in titles:
        wraps = justify == "left"
        table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=not wraps, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else text(cell) for cell in row))
    if rows or header:
        console.print(table)


def show_cut(console: Console, titles: Titles, rows: Rows, cut: int) -> None:
    """A table whose column `cut` gets the room that the others leave, each cell on one line, ended by dots if need be.

    If they leave too little, the last column is cut as well, so that numbers and names stay whole: rich would rather
    squeeze them.
    """
    made = [[text(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, [title, *(row[k].plain for row in made)])) for k, (title, _) in enumerate(titles)]
    last = len(titles) - 1
    if titles[last][1] == "left":
        # One that wraps takes no more from the one that is cut.
        widths[last] = min(widths[last], 40)
    fixed = sum(width for k, width in enumerate(widths) if k not in (cut, last)) + 2 * len(titles)
    widths[last] = min(widths[last], max(console.width - fixed - _LEAST, _LEAST))
    for row in made:
        row[cut].truncate(max(console.width - fixed - widths[last], _LEAST), overflow="ellipsis")
        if titles[last][1] == "none":
            row[last].truncate(widths[last], overflow="ellipsis")
    show_table(console, titles, made)


def show_lines(console: Console, words: Sequence[object]) -> None:
    """Lines of text below a title, indented."""
    show_table(console, [("", "left")], [[each] for each in words], header=False)


def show_rules(
    console: Console, rules: Sequence[AnyRule], chosen: Collection[int] | None = None, more: str = ""
) -> None:
    """The rules by number, relations first, then ranges and constants.

    `chosen` are the rules to show, if not all; `more` says where the others are.
    """
    for heading, numbers in group_by_kind([rule.kind for rule in rules]):
        console.print(heading)
        rows = [
            [number, rules[number], Text("may be chance" if rules[number].looks_like_chance else "", style="yellow")]
            for number in numbers
            if chosen is None or number in chosen
        ]
        show_table(console, [("", "right"), ("", "left"), ("", "left")], rows, header=False)
    if chosen is not None and len(chosen) < len(rules):
        console.print(text(f"  ... and {len(rules) - len(chosen)} more{more}."))


def show_findings(console: Console, outcome: Outcome, more: str, by: str | None = None) -> None:
    """The worst anomalies: errors, those that break rules, a line for each rule, then those that keep theirs.

    `more` says where the others are, `by` is a column that the page's title tells already.
    """
    console.print(outcome.headline)
    _show_changes(console, outcome.events)
    if outcome.n_unread:
        _show_bad_cells(console, outcome, more)
    findings = [finding for finding in outcome.apart if not finding.bad_cells]
    if outcome.changes and findings:
        console.print(outcome.headline_beyond)
    errors = [finding for finding in findings if finding.verdict == "error"]
    others = [finding for finding in findings if finding.verdict != "error"]
    if errors:
        console.print("Errors, the surest first")
        _show_errors(console, errors, by)
    if others and outcome.graded:
        console.print(f"Unusual rows{', the most unusual first' if len(others) > 1 else ''}")
    breaking = [finding for finding in others if finding.breaks_a_rule]
    keeping = [finding for finding in others if not finding.breaks_a_rule]
    if breaking:
        _show_breaks(console, breaking, by)
    if keeping:
        if outcome.rules:
            verb = "keeps its rules, but stands out" if len(keeping) == 1 else "keep their rules, but stand out"
            console.print(f"  {len(keeping)} {verb}")
        heads = make_heads(keeping, console.width >= _WIDE, by)
        _show_below(console, heads, [("what stands out", "left")], [[_why(finding)] for finding in keeping])
    rest = outcome.n_beyond - outcome.n_unread - len(findings)
    if rest > 0 and more:
        console.print(f"  ... and {rest:,} more{more}.")


def _show_bad_cells(console: Console, outcome: Outcome, more: str) -> None:
    """The cells that are not what their columns hold, a line each."""
    console.print(f"{count(outcome.n_unread, 'row')} with cells that are not what their columns hold")
    rows = [finding for finding in outcome.findings if finding.bad_cells]
    for finding in rows:
        called = "" if finding.name is None else f" ({finding.name})"
        for cell in finding.bad_cells:
            console.print(text(f"  {cell}{called}"))
    if outcome.n_unread > len(rows) and more:
        console.print(f"  ... and {outcome.n_unread - len(rows):,} more{more}.")


def _show_changes(console: Console, events: Sequence[Sequence[Change]]) -> None:
    """What changed for long, in time order, a line for each of three rules; of many events the ten longest."""
    if not events:
        return
    longest = sorted(events, key=lambda event: -event[0].n_rows)[:10]
    rows: list[list[object]] = []
    for event in (event for event in events if event in longest):
        rows += [["" if change.rule is None else change.rule, change.text] for change in event[:3]]
        if len(event) > 3:
            rows.append(["", f"... and {len(event) - 3} more at once."])
    show_table(console, [("rule", "right"), ("what changed", "left")], rows)
    if len(events) > len(longest):
        console.print(f"  ... and {len(events) - len(longest):,} shorter changes.")


def _show_breaks(console: Console, findings: Sequence[Finding], by: str | None) -> None:
    wide = console.width >= _WIDE
    heads = make_heads(findings, wide, by)
    # Rules were listed in full before, by number: here each has one line.
    titles = [*heads.titles, ("rule", "right"), ("it breaks", "none")]
    cut = len(titles) - 1
    titles += [("off by", "none"), ("share", "right"), ("would hold with", "left")] if wide else []
    titles += [] if wide else [("would hold with", "none")]
    rows: list[list[object]] = []
    for finding, head in zip(findings, heads.rows, strict=True):
        for k, broken in enumerate(finding.breaks):
            # The others are left to the files.
            if k > 0 and broken.share < 0.1:
                continue
            measured = [broken.off, f"{100 * broken.share:.0f} %"] if wide else []
            # Its spread was told above.
            rule = broken.text if wide else broken.text.rpartition(" (")[0] or broken.text
            needed = [(name, pair) for name, pair in broken.needed.items() if pair[1] is not None]
            cure = " or ".join(_cure({name: pair}, wide) for name, pair in needed[: 2 if wide else 1])
            rows.append([*(head if k == 0 else [""] * len(head)), broken.rule, rule, *measured, cure])
    show_cut(console, titles, rows, cut)
    _show_keys(console, heads)


def _show_errors(console: Console, findings: Sequence[Finding], by: str | None) -> None:
    """Rows that are errors: how sure that is, which cell is wrong, what it should be, and why."""
    wide = console.width >= _WIDE
    rows = []
    for finding in findings:
        options = [repair for repair in (finding.repair, *finding.ties) if repair][: 2 if wide else 1]
        cures = " or ".join(_cure(repair, wide) for repair in options) or "unknown"
        broken = [one for one in finding.breaks if one.broken]
        why = broken[0].text.rpartition(" (")[0] if broken else _why(finding)
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        rows.append((finding.confidence, f"{'about ' if finding.approximate else ''}{cures}", f"{why}{more}"))
    heads = make_heads(findings, wide, by, measured=False)
    _show_below(console, heads, [("error", "none"), ("should be", "left"), ("why", "left")], rows)


def _show_below(console: Console, heads: Heads, titles: Titles, rows: Rows) -> None:
    """A table of anomalies, and their key columns where there was no room for them."""
    joined = [[*head, *row] for head, row in zip(heads.rows, rows, strict=True)]
    show_table(console, [*heads.titles, *titles], joined)
    _show_keys(console, heads)


def _show_keys(console: Console, heads: Heads) -> None:
    if heads.keys is not None:
        show_table(console, *heads.keys)


def _why(finding: Finding) -> str:
    """What stands out in a row that breaks no rule."""
    if finding.unusual:
        return ", ".join(column.text for column in finding.unusual)
    most = ", ".join(f"{rule.text} ({100 * rule.share:.0f} %)" for rule in finding.breaks)
    return f"small deviations add up: {most}"


def _cure(cells: Mapping[str, tuple[Value, Value]], wide: bool) -> str:
    """What some cells should be together, and what they are."""
    told = []
    for name, (now, then) in cells.items():
        column = text(name)
        column.truncate(40 if wide else 20, overflow="ellipsis")
        told.append(f"{column} {value_text(then)} (not {value_text(now)})")
    return " and ".join(told)


def show_detection(console: Console, detection: Detection, most: int) -> None:
    """All that `aspca detect` tells."""
    for number, (category, outcome) in enumerate(detection.outcomes.items()):
        inside = "" if detection.by is None else f"/{category_folder(number)}"
        folder = None if detection.output is None else detection.output + inside
        if detection.by is not None:
            console.print(text(f"== {detection.by} = {category}"))
        _show_outcome(console, outcome, folder, most, detection.by)
        if detection.by is not None:
            console.print()


def _show_outcome(console: Console, outcome: Outcome, folder: str | None, most: int, by: str | None) -> None:
    model, rules = outcome.model, outcome.rules
    console.print(f"{count(model.space.n_rows, 'row')} learned from, {count(len(model.names), 'feature')}")
    # Of many rules the first ones, and those that are broken below; the others are left to `aspca rules`.
    broken = {rule.rule for finding in outcome.findings for rule in finding.breaks}
    chosen = broken | set(range(len(rules) if len(rules) <= 25 else 10))
    show_rules(console, rules, chosen, "" if folder is None else f": aspca rules {folder}/model.json")
    console.print()
    show_findings(console, outcome, "" if folder is None else f" in {folder}/explanations.csv", by)
    if outcome.incidents:
        console.print()
        show_incidents(console, outcome.incidents, model, most)
    if outcome.evaluation is not None:
        # How the anomalies agree with labels.
        labels = outcome.evaluation
        console.print(f"\n{labels.text}")
        console.print(text(f"  ({labels.meaning})"))
        counts = [["anomalies", labels.hits, labels.misses], ["normal rows", labels.false_alarms, labels.passed]]
        show_table(console, [("", "none"), ("flagged", "right"), ("not", "right")], counts)


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
    rows: list[list[object]] = []
    for incident in (incident for incident in incidents if incident in longest):
        rule, words, share = main_cause(incident, model)
        span = [moment_text(time) for time in (incident.first, incident.last)]
        words = f"change: {words}" if incident.changes else words
        rows.append([*span, incident.rows.size, "" if rule is None else rule, words, f"{100 * share:.0f} %"])
    titles = [("from", "none"), ("to", "none"), ("rows", "right"), ("rule", "right"), ("mostly", "none")]
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


def count(number: int, one: str) -> str:
    """As in ``1 rule`` and ``3 rules``."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def show_reason(console: Console, finding: Finding) -> None:
    """Why one row scores what it scores: in words, by rule and by feature; parts below a hundredth are left out."""
    console.print(text(finding.text))
    if len(finding.keys) > 1:
        # What the first sentence does not tell.
        keys = ", ".join(f"{name_text(name)} {value_text(cell)}" for name, cell in finding.keys.items())
        console.print(text(f"  row {finding.row}: {keys}"))
    least = 0.01 * finding.score
    rows = [
        [
            rule.rule,
            rule.text,
            f"{rule.contribution:.3g}",
            f"{100 * rule.share:.0f} %",
            "broken" if rule.broken else "",
        ]
        for rule in finding.rules
        if rule.contribution >= least
    ]
    if finding.residual >= least > 0.0:
        rows.append(
            ["", "what lies outside the rules", f"{finding.residual:.3g}", f"{100 * finding.outside:.0f} %", ""]
        )
    show_table(console, [("rule", "right"), ("", "left"), ("part", "right"), ("share", "right"), ("", "none")], rows)
    values, repaired = finding.values, finding.repaired
    cells = [
        [column, f"{part:.3g}", _cell_text(values[column]), _cell_text(repaired[column])]
        for column, part in finding.contributions.items()
        if part >= least
    ]
    show_table(console, [("feature", "left"), ("part", "right"), ("is", "right"), ("nearest normal", "right")], cells)


def _cell_text(value: Value) -> str:
    return "" if value is None else value_text(value)
