"""The command `aspca`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from aspca import __version__
from aspca.cli.demo import demo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 fine, 2 wrong usage)."""
    parser = argparse.ArgumentParser(prog="aspca", description="Anomaly detection that says why.")
    parser.add_argument("--version", action="version", version=f"aspca {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("demo", help="fit the paper's synthetic data and explain its fifteen anomalies")
    parser.parse_args(arguments)
    try:
        demo(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; Python must not try to flush what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
