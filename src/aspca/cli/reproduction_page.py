"""A reproduction for people: tables of the paper's numbers beside ours, what differs and why, and the sum of it."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from aspca.escaping import for_terminal
from aspca.paper.published import Comparison, Listing, Reproduction, Table, format_cell


def show_reproduction(out: Console, reproduction: Reproduction) -> None:
    """Section by section, then what differs, then the counts."""
    for section in reproduction.sections:
        out.rule(section.title, align="left", characters="=")
        out.print(section.description)
        for part in section.parts:
            if isinstance(part, Table | Listing):
                out.print()
                out.print(Text(_title(part), style="bold"))
                out.print(_grid_of(part))
                for note in part.notes:
                    out.print(_indented(note))
        out.print()
    if reproduction.deviations:
        _show_deviations(out, reproduction)
    out.rule("Summary", align="left", characters="=")
    grid = _grid("", "published", "agree", "to the last digit", "differ", numbers=True)
    for section in reproduction.sections:
        grid.add_row(section.title, *map(str, section.counts.values()))
    out.print(grid)


def _title(part: Table | Listing) -> str:
    if isinstance(part, Listing):
        return part.title
    return f"{part.title} ({', '.join(dict.fromkeys(one.source for one in part.comparisons))})"


def _grid_of(part: Table | Listing) -> Grid:
    if isinstance(part, Table):
        return _side_by_side(part) if part.is_grid else _one_below_the_other(part)
    grid = _grid(*part.header)
    for row in part.rows:
        grid.add_row(*(Text(for_terminal(format_cell(cell))) for cell in row))
    return grid


def _side_by_side(table: Table) -> Grid:
    """A row for each row of the paper's table: paper, ours for each column."""
    grid = _grid("", *(title for column in table.columns for title in (f"{column}: paper", "ours")), numbers=True)
    placed = {(one.row, one.column): one for one in table.comparisons}
    for row in table.rows:
        pairs = [(placed[row, column], table.digits(column)) for column in table.columns]
        grid.add_row(Text(row), *(cell for one, digits in pairs for cell in (Text(one.paper_text), _ours(one, digits))))
    return grid


def _one_below_the_other(table: Table) -> Grid:
    """A row for each number, with the difference where some are numbers."""
    words = any(isinstance(one.paper, str) for one in table.comparisons)
    differences = any(one.difference is not None for one in table.comparisons)
    grid = _grid("", "", "paper", "ours", *(["difference"] if differences else []), numbers=not words)
    for one in table.comparisons:
        difference = [Text(one.difference_text(one.digits))] if differences else []
        ours = _ours(one, table.digits(one.column))
        grid.add_row(Text(one.row), Text(one.column), Text(one.paper_text), ours, *difference)
    return grid


def _ours(one: Comparison, digits: int) -> Text:
    text = one.ours_text(digits)
    return Text(text) if one.agrees else Text(f"{text} !", style="bold red")


def _show_deviations(out: Console, reproduction: Reproduction) -> None:
    out.rule("What differs (marked ! above), and why", align="left", characters="=")
    for reason, several in reproduction.deviations.items():
        for one in several:
            pair = f"paper {one.paper_text}, ours {one.ours_text(one.digits)}"
            out.print(Text(f"{one.key}: {pair} (allowed: {one.tolerance})"))
        out.print(_indented(reason or "No cause is known."))
        out.print()


def _grid(*titles: str, numbers: bool = False) -> Grid:
    """A table; titles without a word are of words, the others of numbers where there are some."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in titles:
        grid.add_column(title, justify="right" if title and numbers else "left")
    return grid


def _indented(sentence: str) -> Padding:
    return Padding(for_terminal(sentence), (0, 0, 0, 2))
