"""A reproduction for people: tables of the paper's numbers beside ours, what differs and why, and the sum of it."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from aspca.escaping import for_terminal
from aspca.paper.published import Comparison
from aspca.paper.results import Figure, Listing, Reproduction, Section, Table, format_cell

_DIFFERS = "bold red"


def show_reproduction(out: Console, reproduction: Reproduction) -> None:
    """Section by section, then what differs, then the counts."""
    for section in reproduction.sections:
        _show_section(out, section)
    _show_deviations(out, reproduction)
    _show_counts(out, reproduction)


def _show_section(out: Console, section: Section) -> None:
    out.rule(section.title, align="left", characters="=")
    out.print(section.description)
    for part in section.parts:
        if isinstance(part, Figure):
            continue
        out.print()
        _show_table(out, part) if isinstance(part, Table) else _show_listing(out, part)
        for note in part.notes:
            out.print(_indented(note))
    out.print()


def _show_table(out: Console, table: Table) -> None:
    sources = ", ".join(dict.fromkeys(one.source for one in table.comparisons))
    out.print(Text(f"{table.title} ({sources})", style="bold"))
    out.print(_side_by_side(table) if table.is_grid else _one_below_the_other(table))


def _side_by_side(table: Table) -> Grid:
    """A row for each row of the paper's table: paper, ours for each column."""
    grid = _grid()
    grid.add_column("")
    for column in table.columns:
        grid.add_column(f"{column}: paper", justify="right")
        grid.add_column("ours", justify="right")
    placed = {(one.row, one.column): one for one in table.comparisons}
    for row in table.rows:
        cells: list[Text] = [Text(row)]
        for column in table.columns:
            one = placed[row, column]
            cells += [Text(one.paper_text), _ours(one, table.digits(column))]
        grid.add_row(*cells)
    return grid


def _one_below_the_other(table: Table) -> Grid:
    """A row for each number, with the difference where some are numbers."""
    words = any(isinstance(one.paper, str) for one in table.comparisons)
    differences = any(one.difference is not None for one in table.comparisons)
    grid = _grid()
    for name in ("", "", "paper", "ours", *(["difference"] if differences else [])):
        grid.add_column(name, justify="right" if name and not words else "left")
    for one in table.comparisons:
        cells = [Text(one.row), Text(one.column), Text(one.paper_text), _ours(one, table.digits(one.column))]
        if differences:
            cells.append(Text(one.difference_text(one.digits)))
        grid.add_row(*cells)
    return grid


def _ours(one: Comparison, digits: int) -> Text:
    text = one.ours_text(digits)
    return Text(text) if one.agrees else Text(f"{text} !", style=_DIFFERS)


def _show_listing(out: Console, listing: Listing) -> None:
    out.print(Text(listing.title, style="bold"))
    grid = _grid()
    for name in listing.header:
        grid.add_column(name)
    for row in listing.rows:
        grid.add_row(*(Text(for_terminal(format_cell(cell))) for cell in row))
    out.print(grid)


def _show_deviations(out: Console, reproduction: Reproduction) -> None:
    if not reproduction.deviations:
        return
    out.rule("What differs (marked ! above), and why", align="left", characters="=")
    for reason, several in reproduction.deviations.items():
        for one in several:
            pair = f"paper {one.paper_text}, ours {one.ours_text(one.digits)}"
            out.print(Text(f"{one.key}: {pair} (allowed: {one.tolerance})"))
        out.print(_indented(reason or "No cause is known."))
        out.print()


def _show_counts(out: Console, reproduction: Reproduction) -> None:
    out.rule("Summary", align="left", characters="=")
    grid = _grid()
    for name in ("", "published", "agree", "to the last digit", "differ"):
        grid.add_column(name, justify="right" if name else "left")
    for section in reproduction.sections:
        grid.add_row(section.title, *map(str, section.counts.values()))
    out.print(grid)


def _grid() -> Grid:
    return Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _indented(sentence: str) -> Padding:
    return Padding(for_terminal(sentence), (0, 0, 0, 2))
