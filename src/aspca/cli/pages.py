"""Results as tables for people: plain text that reads well at 80 columns, and uses more where there is more."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from aspca.harmless import for_terminal
from aspca.judging.original import value_text
from aspca.judging.proposals import Value

if TYPE_CHECKING:
    from rich.console import Console

    from aspca.jobs.comparison import Comparison
    from aspca.jobs.detection import Detection
    from aspca.jobs.explaining import Reason
    from aspca.jobs.findings import Break, Finding
    from aspca.jobs.labels import Evaluation
    from aspca.judging.incidents import Incident
    from aspca.rules.rule import Rule

# From this width on there is room for what the features would have to be.
_WIDE = 110
# A column that wraps takes this much at most from the one that is cut, which has this much at least.
_WRAPPED, _LEAST = 40, 12
# More rules than this are left to `aspca rules`.
_RULES = 25
# Names of rows are cut here, and at twice that where there is room.
_NAME = 20
# Of the rules that a row breaks, those below this share of the score are left to the files.
_TELLING = 0.1
# Where there is room, what the columns most to blame would have to be, either of so many.
_COLUMNS_TOLD = 2


def text(words: object, style: str = "") -> Text:
    """Other people's words: never markup, never control characters."""
    return Text(for_terminal(words), style=style)


def grid(*titles: tuple[str, str]) -> Table:
    """A table without lines; each title with its justification, `left` being what may wrap."""
    table = Table(box=None, padding=(0, 0, 0, 2), header_style="dim")
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
    rules: Sequence[Rule],
    chosen: Collection[int] | None = None,
    more: str = "",
) -> None:
    """The rules by number.

    `chosen` are the rules to show, if not all; `more` says where the others are.
    """
    console.print(f"{count(len(rules), 'rule')} that normal rows obey")
    table = grid(("", "right"), ("", "left"), ("", "left"))
    table.show_header = False
    for number, rule in enumerate(rules):
        if chosen is None or number in chosen:
            doubt = Text("may be chance" if rule.looks_like_chance else "", style="yellow")
            table.add_row(str(number), text(rule), doubt)
    console.print(table)
    if chosen is not None and len(chosen) < len(rules):
        console.print(text(f"  ... and {len(rules) - len(chosen)} more{more}."))


def show_findings(console: Console, findings: Sequence[Finding], total: int, limit: float, more: str) -> None:
    """The worst anomalies, one line per rule that each breaks; `more` says where the others are."""
    if not total:
        console.print(f"No anomalies (no score above {limit:.3g})")
        return
    shown = "" if total <= len(findings) or not findings else f", the worst {len(findings)} of them"
    console.print(f"{count(total, 'anomaly', 'anomalies')} (score above {limit:.3g}){shown}")
    if findings:
        _show_breaks(console, findings)
    if total > len(findings) and more:
        console.print(f"  ... and {total - len(findings):,} more{more}.")


def _show_breaks(console: Console, findings: Sequence[Finding]) -> None:
    named = any(finding.name is not None for finding in findings)
    wide = console.width >= _WIDE
    # Rules were listed in full before, by number: here each has one line.
    titles = [("name", "none") if named else ("row", "right"), ("score", "right"), ("x limit", "right")]
    titles += [("rule", "right"), ("it breaks", "none")]
    titles += [("off by", "none"), ("share", "right"), ("would hold with", "left")] if wide else []
    titles += [] if wide else [("would hold with", "none")]
    rows: list[list[object]] = []
    for finding in findings:
        name = text(finding.name if named else finding.row)
        name.truncate(2 * _NAME if wide else _NAME, overflow="ellipsis")
        told = [one for n, one in enumerate(finding.breaks) if n == 0 or one.share >= _TELLING]
        for k, one in enumerate(told):
            head: list[object] = [name, _short(finding.score), _times(finding)] if k == 0 else [""] * 3
            head += [one.rule, one.text if one.broken else f"(strained) {one.text}"]
            rows.append([*head, *([one.off, f"{100 * one.share:.0f} %"] if wide else []), _cure(one, wide)])
    show_cut(console, titles, rows, 4)


def show_detection(console: Console, found: Detection, folder: str | None, most: int, title: str | None) -> None:
    """All that `aspca detect` tells about a table, or about one category of it, whose name is then the title."""
    model = found.model
    if title is not None:
        console.print(text(f"== {title}"))
    console.print(f"{count(model.space.n_rows, 'row')} learned from, {count(len(model.names), 'feature')}")
    # Of many rules the first ones, and those that are broken below.
    broken = {one.rule for finding in found.findings for one in finding.breaks}
    chosen = broken | set(range(len(model.rules) if len(model.rules) <= _RULES else _RULES))
    told = "" if folder is None else f": aspca rules {folder}/model.json"
    show_rules(console, model.rules, chosen=chosen, more=told)
    console.print()
    more = "" if folder is None else f" in {folder}/explanations.csv"
    show_findings(console, found.findings, found.n_anomalies, model.alarms.the_total(), more)
    if found.incidents:
        console.print()
        show_incidents(console, found.incidents, model.rules, most)
    if found.evaluation is not None:
        console.print()
        show_evaluation(console, found.evaluation)
    if title is not None:
        console.print()


def show_evaluation(console: Console, found: Evaluation) -> None:
    """How the anomalies agree with labels."""
    precision = "" if found.precision is None else f", precision {found.precision:.3f}"
    console.print(f"Against the labels: AUC {found.auc:.4f}{precision}, recall {found.recall:.3f}")
    console.print(text(f"  ({found.meaning})"))
    table = grid(("", "none"), ("flagged", "right"), ("not", "right"))
    table.add_row("anomalies", str(found.hits), str(found.misses))
    table.add_row("normal rows", str(found.false_alarms), str(found.passed))
    console.print(table)


def show_incidents(console: Console, incidents: Sequence[Incident], rules: Sequence[Rule], most: int) -> None:
    """Runs of anomalies, in time order; the longest ones if there are many."""
    shown = f", the {most} of most rows" if 0 < most < len(incidents) else ""
    console.print(f"{count(len(incidents), 'incident')}{shown}")
    if not most:
        return
    longest = sorted(incidents, key=lambda one: -one.rows.size)[:most]
    titles = [("from", "none"), ("to", "none"), ("rows", "right"), ("rule", "right"), ("mostly broken", "none")]
    rows = []
    for one in (incident for incident in incidents if incident in longest):
        top = int(one.shares.argmax())
        rows.append([one.first, one.last, one.rows.size, top, rules[top], f"{100 * one.shares[top]:.0f} %"])
    show_cut(console, [*titles, ("share", "right")], rows, 4)


def show_comparison(console: Console, found: Comparison) -> None:
    """What happened to the rules from one model to the other."""
    for title, names in (("only in the first", found.features_lost), ("only in the second", found.features_gained)):
        if names:
            console.print(text(f"Features {title}: {', '.join(names)}"))
    console.print(f"{count(len(found.stayed), 'rule')} stayed")
    show_lines(console, [pair.after for pair in found.stayed])
    console.print(f"{count(len(found.moved), 'rule')} moved")
    for pair in found.moved:
        show_lines(console, [pair.before, f"-> {pair.after}: {', '.join(pair.changes)}"])
    for title, rules in (("lost", found.lost), ("gained", found.gained)):
        console.print(f"{count(len(rules), 'rule')} {title}")
        show_lines(console, rules)


def count(number: int, one: str, many: str | None = None) -> str:
    """As in ``1 rule`` and ``3 rules``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _times(finding: Finding) -> str:
    return "" if finding.times is None else _short(finding.times)


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"


def _cure(broken: Break, wide: bool) -> str:
    """What the columns of a rule would have to be: the one most to blame, or either of two where there is room."""
    told = [(name, pair) for name, pair in broken.needed.items() if pair[1] is not None]
    parts = []
    for name, (value, wanted) in told[: _COLUMNS_TOLD if wide else 1]:
        column = text(name)
        column.truncate(2 * _NAME if wide else _NAME, overflow="ellipsis")
        parts.append(f"{column} {value_text(_as_exact(wanted, value))} (not {value_text(value)})")
    return " or ".join(parts)


def _as_exact(wanted: Value, value: Value) -> Value:
    """What is wanted to as many decimals as four digits of the larger have: 0 beside 1.119, not -0.0001392."""
    if not isinstance(wanted, float) or not isinstance(value, float):
        return wanted
    size = max(abs(wanted), abs(value))
    return round(wanted, 3 - math.floor(math.log10(size))) + 0.0 if size > 0 else wanted


def _cell(value: Value) -> Text:
    return Text(f"{value:.5g}") if isinstance(value, float) else text("" if value is None else value_text(value))


def show_reason(console: Console, reason: Reason) -> None:
    """Why one row scores what it scores: in words, by rule and by feature; parts below a hundredth are left out."""
    console.print(text(reason.text))
    least = 0.01 * reason.score
    table = grid(("rule", "right"), ("", "left"), ("part", "right"), ("share", "right"), ("", "none"))
    for one in reason.rules:
        if one.contribution >= least:
            cells = [f"{one.contribution:.3g}", f"{100 * one.share:.0f} %", "broken" if one.broken else ""]
            table.add_row(str(one.rule), text(one.text), *cells)
    console.print(table)
    table = grid(("feature", "left"), ("part", "right"), ("is", "right"), ("nearest normal", "right"))
    for part in reason.features:
        if part.contribution >= least:
            table.add_row(text(part.feature), f"{part.contribution:.3g}", _cell(part.value), _cell(part.repaired))
    console.print(table)
