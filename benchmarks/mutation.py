"""How many small faults, planted one at a time, do the tests of a room notice?

    python benchmarks/mutation.py verify [model moments model_file] [--sample 60] [--seed 0] [--only check.py:120]

Each mutant changes one place of one file: a comparison (`<` for `<=`), an operator (`+` for `-`), `and` for `or`, a
`not` or a minus left out, a number plus one, True for False, `min` for `max`, `any` for `all`. It is killed if a test
of the room fails or does not end; what survives is printed. Texts, annotations and what is raised are left alone.
Places where nobody could notice stand in EQUIVALENT with the reason, and are counted as survivors all the same.

A mutant lives in the memory of a forked process only: no file is ever changed. Tests that start an interpreter of their
own do not see it. Needs fork, so not Windows.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from library.report import Report, Row, add_json

HERE = Path(__file__).resolve().parent.parent
SOURCE = HERE / "src"
# The tests of the verifier, without those of real data, which take minutes; of another room, those of its folder.
VERIFY = ("every_check", "written_down", "refusals", "forgery", "alterations")
ROOMS = ("verify", *sorted(path.name for path in (HERE / "tests" / "unit").iterdir() if path.is_dir()))
FOLDERS = {"verify": "sparse_pca/verify"}
# Of a place that cannot be noticed: the room's file, what it says, and why the change is none.
EQUIVALENT = {
    (
        "verify/check.py",
        "abs(float(np.vdot(factor, factor)) - 1.0) <= 1e-12  ->  abs(float(np.vdot(factor, factor)) - 1.0) < 1e-12",
    ): "float64 near 1 differ from it by multiples of 2**-53, of which 1e-12 is none",
    ("moments/steps.py", "64  ->  65"): "what fits the first values is tried on all of them",
}
# A test that hangs has noticed.
SECONDS = 300
# pytest would rather load hypothesis itself, to rewrite its asserts: a second and a half for each mutant.
TOLD = ("pytest", "hypothesis", "hypothesis.strategies", "hypothesis.extra.numpy")
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}


class Mutant:
    """One changed place: the module's file, the line, what it was, and the text with the change."""

    def __init__(self, path: Path, line: int, told: str, source: str) -> None:
        self.path, self.line, self.told, self.source = path, line, told, source

    @property
    def module(self) -> str:
        return ".".join(self.path.relative_to(SOURCE).with_suffix("").parts)

    @property
    def file(self) -> str:
        return self.path.relative_to(SOURCE / "aspca").as_posix()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.told}"


def mutants(path: Path) -> Iterator[Mutant]:
    """All of a file, in the order of its text."""
    tree = ast.parse(path.read_text())
    nodes = list(_judged(tree))
    for number, node in enumerate(nodes):
        for change in range(_changes(node)):
            twin = copy.deepcopy(tree)
            changed = list(_judged(twin))[number]
            before = ast.unparse(changed)
            _change(changed, change)
            yield Mutant(path, node.lineno, f"{before}  ->  {ast.unparse(changed)}", ast.unparse(twin))


def _judged(node: ast.AST) -> Iterator[ast.expr | ast.AugAssign]:
    """Expressions that compute something: no annotation, no docstring, no text of an error."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise):
                continue
            if isinstance(child, ast.expr | ast.AugAssign) and _changes(child):
                yield child
            yield from _judged(child)


def _changes(node: ast.AST) -> int:
    """In how many ways a node can be changed."""
    if isinstance(node, ast.Compare):
        return len(node.ops)
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        # Types are joined by | as well.
        return int(type(node.op) in SWAPS)
    if isinstance(node, ast.UnaryOp):
        return int(isinstance(node.op, ast.Not | ast.USub | ast.Invert))
    if isinstance(node, ast.Constant):
        return int(isinstance(node.value, bool | int | float))
    if isinstance(node, ast.Call):
        return int(_called(node.func) in NAMES)
    return 0


def _change(node: ast.AST, change: int) -> None:
    if isinstance(node, ast.Compare):
        node.ops[change] = SWAPS[type(node.ops[change])]()  # type: ignore[assignment]
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.UnaryOp):
        # Left out: plus changes nothing, and twice not is a truth value.
        inner = node.operand
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), inner)
        else:
            node.op = ast.UAdd()
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            node.func.id = NAMES[node.func.id]
        elif isinstance(node.func, ast.Attribute):
            node.func.attr = NAMES[node.func.attr]


def _called(function: ast.expr) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


class Planted(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports one module with a fault in it, and leaves the others to those who import them else."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self.mutant.module:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self.mutant.path))

    def get_filename(self, name: str) -> str:
        return str(self.mutant.path)

    def get_data(self, path: str) -> bytes:
        return self.mutant.source.encode()

    def path_stats(self, path: str) -> dict[str, float]:
        raise OSError("never from a cache")


def tests_of(room: str) -> list[Path]:
    """The test files of a room, the shortest first: a mutant ends at the first that fails."""
    if room == "verify":
        return [HERE / "tests" / "certificates" / f"test_{name}.py" for name in VERIFY]
    return sorted((HERE / "tests" / "unit" / room).rglob("test_*.py"), key=lambda path: path.stat().st_size)


def killed(mutant: Mutant, tests: list[Path]) -> bool:
    """Whether a test fails, or does not end, with the mutant in place: first those that speak of its module."""
    near = [test for test in tests if mutant.module in test.read_text()]
    return any(fails(mutant, [test]) for test in [*near, *(test for test in tests if test not in near)])


def fails(mutant: Mutant | None, tests: list[Path], timeout: float = SECONDS) -> bool:
    """Whether a test of these fails, or does not end, with the mutant in place; None: with nothing changed."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(HERE)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        code = 1
        try:
            import pytest

            if mutant is not None:
                sys.meta_path.insert(0, Planted(mutant))
            code = int(pytest.main([*OPTIONS, *map(str, tests)]))
        finally:
            os._exit(code)
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", choices=ROOMS)
    parser.add_argument("--sample", type=int, default=None, help="so many mutants of each room, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only mutants whose place contains this text")
    add_json(parser)
    options = parser.parse_args()
    # Loaded once, here: each forked process starts with them.
    for name in ("numpy", "pandas", "scipy.linalg", "scipy.stats", "scipy.optimize", "sklearn.base", *TOLD):
        importlib.import_module(name)
    if any(name == "aspca" or name.startswith("aspca.") for name in sys.modules):
        sys.exit("aspca is loaded already, so that no fault could be planted.")
    lines: list[Row] = []
    with Report(options.json) as report:
        for room in options.rooms:
            found = [
                m for path in sorted((SOURCE / "aspca" / FOLDERS.get(room, room)).rglob("*.py")) for m in mutants(path)
            ]
            found = [m for m in found if options.only in str(m)]
            many = len(found)
            if options.sample is not None and options.sample < many:
                found = sorted(random.Random(options.seed).sample(found, options.sample), key=str)  # noqa: S311
            tests = tests_of(room)
            # Or each process looks for garbage in all that was loaded here, twice.
            gc.freeze()
            if fails(None, tests):
                sys.exit(f"The tests of {room} fail as they are.")
            survivors = []
            for number, mutant in enumerate(found, 1):
                if not killed(mutant, tests):
                    survivors.append(mutant)
                    print(f"{room} {number} of {len(found)} survived: {mutant}", file=sys.stderr, flush=True)
                elif number % 20 == 0:
                    print(f"{room} {number} of {len(found)} tried", file=sys.stderr, flush=True)
            dead = len(found) - len(survivors)
            known = [mutant for mutant in survivors if (mutant.file, mutant.told) in EQUIVALENT]
            lines.append(
                {
                    "room": room,
                    "mutants": many,
                    "tried": len(found),
                    "killed": dead,
                    "share": f"{100.0 * dead / max(len(found), 1):.1f} %",
                    "cannot be noticed": len(known),
                }
            )
            for mutant in survivors:
                reason = EQUIVALENT.get((mutant.file, mutant.told))
                report.say(f"Survived: {mutant}" + (f" (cannot be noticed: {reason})" if reason else ""))
        report.table("Mutants", lines)


if __name__ == "__main__":
    main()
