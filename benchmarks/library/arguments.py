"""Parameters of ASPCA on a command line."""

from __future__ import annotations

import argparse
import ast
from typing import Any


def parameters(text: str) -> dict[str, Any]:
    """From ``name=value,name=value``; what is no Python literal is a string."""
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, given, value = part.partition("=")
        if not given:
            raise argparse.ArgumentTypeError(f"{part!r} is not name=value; write e.g. score=spe,alpha=0.01.")
        try:
            found[name.strip()] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name.strip()] = value.strip()
    return found


def words(given: dict[str, Any]) -> str:
    """The same parameters as text."""
    return ",".join(f"{name}={value}" for name, value in given.items())


def add_ours(parser: argparse.ArgumentParser) -> None:
    """More lines of ours, each with parameters of its own."""
    parser.add_argument(
        "--ours", action="append", type=parameters, default=[], metavar="NAME=VALUE,...", help="one more line of ours"
    )
