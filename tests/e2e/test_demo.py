"""`aspca demo` as a person runs it."""

from __future__ import annotations

import subprocess
import sys


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "aspca", *arguments],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8", "PATH": ""},
    )


def test_demo_prints_four_rules_and_explains_fifteen_anomalies() -> None:
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "4 rules that normal rows obey" in done.stdout
    assert "A = B" in done.stdout
    assert "2 D = A + B + 2 C" in done.stdout
    assert "recomputed from the data: verified" in done.stdout
    broken = [line.split() for line in done.stdout.splitlines() if line[:5].strip().isdigit() and "%" in line]
    assert [int(words[0]) for words in broken] == list(range(500, 515))
    assert "15 of 15 planted anomalies are explained by the rule they break." in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_wrong_usage_is_exit_code_2_and_no_traceback() -> None:
    done = run("nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "nonsense" in done.stderr
