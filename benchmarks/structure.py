"""How far one `aspca detect x.csv` walks through the code: modules visited, switches between modules, upward calls.

    python benchmarks/structure.py [SRC]

A switch is a call from a function of one module to a function of another; an upward call is one from a room to a room
that stands above it in the layers of pyproject.toml. SRC is the folder that holds the package (default: src).
"""

from __future__ import annotations

import sys
import tempfile
import threading
import tomllib
from collections import Counter
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]


def write_table(path: Path) -> None:
    """A ledger of 2,000 rows with an identity, a relation and three wrong cells."""
    import numpy as np

    rng = np.random.default_rng(0)
    net = rng.gamma(2.0, 100.0, 2000).round(2)
    tax = (0.19 * net).round(2)
    total = (net + tax).round(2)
    weight = (0.3 * net + rng.normal(0.0, 1.0, 2000)).round(3)
    total[[7, 500, 1900]] *= 10
    rows = zip(net, tax, total, weight, rng.normal(5.0, 1.0, 2000).round(2), strict=True)
    lines = ["net,tax,total,weight,other", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_layers(root: Path) -> dict[str, int]:
    """The height of each room, 0 at the top."""
    tools = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layers = next(one["layers"] for one in tools["importlinter"]["contracts"] if one["type"] == "layers")
    return {name.strip().removeprefix("aspca."): k for k, layer in enumerate(layers) for name in layer.split("|")}


def main() -> None:
    source = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "src").resolve()
    sys.path.insert(0, str(source))
    package, heights = source / "aspca", read_layers(source.parent)
    modules: dict[str, str | None] = {}
    visited: set[str] = set()
    switches: Counter[tuple[str, str]] = Counter()

    def module_of(frame: FrameType) -> str | None:
        name = frame.f_code.co_filename
        if name not in modules:
            inside = name.startswith(str(package))
            modules[name] = str(Path(name).relative_to(package).with_suffix("")) if inside else None
        return modules[name]

    def watch(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or (here := module_of(frame)) is None or frame.f_code.co_name == "<module>":
            return
        visited.add(here)
        caller = frame.f_back
        while caller is not None and module_of(caller) is None:
            caller = caller.f_back
        if caller is not None and (there := module_of(caller)) != here and there is not None:
            switches[there, here] += 1

    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder) / "x.csv")
        from aspca.cli.main import main as command

        threading.setprofile(watch)
        sys.setprofile(watch)
        sys.argv = ["aspca", "detect", str(Path(folder) / "x.csv")]
        try:
            command()
        except SystemExit:
            pass
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
    room = {name: name.split("/")[0] for name in visited}
    upward = sum(
        times
        for (caller, called), times in switches.items()
        if heights.get(room.get(called, ""), 0) < heights.get(room.get(caller, ""), 0)
    )
    print(f"{len(visited)} modules visited, {sum(switches.values()):,} switches between modules, {upward} upward calls")


if __name__ == "__main__":
    main()
