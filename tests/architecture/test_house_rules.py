"""The house rules are tests: layers, types, style, small files, a light import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "aspca"


def run(*command: str) -> str:
    """Output of a command run in the project's root; the test fails with it if the command does."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_imports_only_point_downwards() -> None:
    run("-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())")


def test_types() -> None:
    run("-m", "mypy")


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=" ".join)
def test_style(command: tuple[str, ...]) -> None:
    run("-m", "ruff", *command, ".")


def test_files_stay_small() -> None:
    long = {str(f.relative_to(ROOT)): n for f in SOURCE.rglob("*.py") if (n := len(f.read_text().splitlines())) > 400}
    assert not long


def test_no_rooms_without_a_name() -> None:
    assert not [f for f in SOURCE.rglob("*") if f.stem in {"utils", "util", "core", "misc", "helpers", "common"}]


def loaded_by(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    return set(json.loads(run("-c", code)))


def test_importing_aspca_is_light() -> None:
    modules = loaded_by("import aspca")
    assert not modules & {"numpy", "scipy", "sklearn", "pandas"}


def test_scoring_path_needs_numpy_only() -> None:
    modules = loaded_by("import aspca.model.projector")
    assert "numpy" in modules
    assert not modules & {"scipy", "sklearn", "pandas"}


def test_verifier_shares_nothing_with_the_solver() -> None:
    modules = loaded_by("import aspca.sparse_pca.verify.check")
    assert {m for m in modules if m.startswith("aspca.")} <= {
        "aspca.sparse_pca",
        "aspca.sparse_pca.verify",
        "aspca.sparse_pca.verify.check",
        "aspca.sparse_pca.verify.claims",
        "aspca.sparse_pca.verify.form",
    }


def test_every_public_name_loads() -> None:
    run("-c", "import aspca; [getattr(aspca, name) for name in aspca.__all__]")


def test_no_property_fails_for_a_slow_machine() -> None:
    assert settings.default.deadline is None
