"""How a model was made, as a report tells it: what was excluded, chosen and proven, and how to get it again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExcludedCell:
    """A cell that relations were not learned from: what stands there, and what the others of its row let expect."""

    row: int
    column: int
    now: str
    expected: str


@dataclass(frozen=True)
class Excluded:
    """What relations were not learned from.

    Attributes
    ----------
    looked : bool
        Whether anything was looked for.
    elsewhere : bool
        Whether these are rows of another table, which rules were learned from, and not of the one judged.
    cells : int
        How many cells.
    first_cells : tuple of ExcludedCell
    remarks : tuple of str
    """

    looked: bool
    elsewhere: bool
    cells: int
    first_cells: tuple[ExcludedCell, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """A setting: what was asked for, what it came to, and how that was decided."""

    name: str
    asked: str
    value: str
    why: str


@dataclass(frozen=True)
class Flagged:
    """How many rows would be flagged at another limit."""

    limit: float
    rows: int


@dataclass(frozen=True)
class Choices:
    """How the choices were made.

    Attributes
    ----------
    settings : tuple of Choice
    variances : tuple of float
        Of all directions, least first, in units of a typical column's; empty where the model does not hold them.
    little : float
        Up to where a variance counts as little.
    directions : int
        How many directions are below it.
    rules : int
        How many rules were found among them that are more than chance.
    sensitivity : tuple of Flagged
    """

    settings: tuple[Choice, ...]
    variances: tuple[float, ...]
    little: float
    directions: int
    rules: int
    sensitivity: tuple[Flagged, ...]


@dataclass(frozen=True)
class Step:
    """The certificate of one step: bounds below and above the optimum, their relative gap, and how the solve ended."""

    number: int
    lower: float
    upper: float
    gap: float
    status: str


@dataclass(frozen=True)
class Certificates:
    """What is proven, and what is not.

    Attributes
    ----------
    says : tuple of str
    steps : tuple of Step
        Of the components, where these were solved.
    verified : str
        What the verifier says of them.
    """

    says: tuple[str, ...]
    steps: tuple[Step, ...]
    verified: str


@dataclass(frozen=True)
class Input:
    """What was read: a name without its folder, what it was for, and the SHA-256 of its bytes, if it is a file."""

    name: str
    purpose: str
    sha256: str | None


@dataclass(frozen=True)
class Reproduce:
    """How to get the same again."""

    version: str
    command: str
    inputs: tuple[Input, ...]
