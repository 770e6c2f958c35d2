"""Messy CSV files through `aspca detect` without options: are numbers and rows what they should be, or is it said?

    python benchmarks/messy.py                                   # 200 files of seed 0, for development
    python benchmarks/messy.py --seed 1                          # reserved for reports
    python benchmarks/messy.py --only "short row" CR --said      # some defects, with all that was said
    python benchmarks/messy.py --keep /tmp/messy --json out.json # keep the files, and every figure

`library.messy` writes the files and knows the truth. A file is, by the first that holds:

- *traceback*: anything but a result or a sentence
- *refused, no command* or *refused, command works*: what is to be pasted is run in a shell, and what that reads is
  compared as below (*may be* refused: nobody can know how the file is to be read)
- *misread*: a number, date or row differs from the truth, and no remark names the column and a cell, or the line
- *wrong row*: a row or line that is told beside a cell, or a finding, is another one
- *unsaid*: an unparsable cell, a column left out, a damaged row or a garbled name of which nothing is said
- *with a note* or *exact*: an answer, in which whatever differs from the truth is said, or nothing does
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
from library.messy import DEFECTS, MessyFile, messy_files
from library.report import Goal, Report, Row, add_json

import aspca
from aspca.cli.main import main as command
from aspca.engines.source import Column, ReadOptions, open_source
from aspca.harmless import quoted
from aspca.jobs.errors import JobError

VERDICTS = [
    "exact",
    "with a note",
    "refused, command works",
    "refused, no command",
    "unsaid",
    "wrong row",
    "misread",
    "traceback",
]
_TOLD = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") in row ([\d,]+)(?: \(line ([\d,]+)\))?""")
_BLANKS = re.compile(r"\s+")
# Every so many files are put through the real command as well.
_EACH = 10


@dataclass
class Trial:
    """What came of a file: problems by verdict, and all that was said."""

    file: MessyFile
    said: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    first_call: bool = True
    found: bool | None = None

    @property
    def verdict(self) -> str:
        worst = {kind for kind, _ in self.problems}
        calm = "refused, command works" if not self.first_call else "with a note" if self.noted else "exact"
        return next((kind for kind in reversed(VERDICTS) if kind in worst), calm)

    def tell(self, kind: str, what: str, said: bool = False) -> None:
        (self.noted.append(what) if said else self.problems.append((kind, what)))

    def names(self, name: str, *words: str) -> bool:
        """Whether one remark has this column and, if any are given, one of these cells."""
        shown = [quoted(word)[1:-1] for word in words]
        return any(
            (quoted(name) in one or repr(name) in one or f"[{name}]" in one)
            and (not words or any(word in one for word in shown))
            for one in self.said
        )

    def names_line(self, line: int, row: int, text: str) -> bool:
        pattern = rf"\blines?\b[^.;]*\b{line}\b|\brows?\b[^.;]*\b{row}\b"
        return any(
            re.search(pattern, one.replace(",", "")) or (len(text) > 5 and text[:20] in one) for one in self.said
        )


def trial(file: MessyFile) -> Trial:
    """One file, judged."""
    made = Trial(file)
    try:
        found = aspca.detect(str(file.path))
    except JobError:
        _pasted(made)
        return made
    except Exception:
        made.tell("traceback", traceback.format_exc(limit=-3))
        return made
    made.said = [*found.remarks, *(remark for outcome in found.outcomes.values() for remark in outcome.remarks)]
    made.said += [finding.text for finding in found.findings]
    rows = _compared(made, ReadOptions())
    if rows is not None:
        outcome = found.outcomes[None]
        _findings(
            made,
            [finding.row for finding in outcome.findings],
            outcome.explanation.names,
            outcome.explanation.values,
            rows,
        )
    return made


def called(words: list[str]) -> tuple[int, str]:
    """The exit code of the command, run in this process, and what it said."""
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        code = command(words)
    return code, err.getvalue()


def _pasted(made: Trial) -> None:
    """Run what a refusal ends in, in a shell as a user does, and compare what that reads."""
    made.first_call = False
    code, said = called(["detect", str(made.file.path), "--no-output"])
    made.said = said.splitlines()
    proposed = made.said[-1] if made.said and made.said[-1].startswith("aspca ") else ""
    if code == 0 or not proposed:
        made.tell("refused, no command", f"exit code {code}: {made.said[0] if made.said else 'nothing said'}")
        return
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OPENBLAS_NUM_THREADS": "1"}
    again = subprocess.run(["bash", "-c", proposed], capture_output=True, text=True, env=path, check=False)  # noqa: S603, S607
    if again.returncode:
        told = (again.stderr.strip().splitlines() or ["nothing said"])[0]
        made.tell("refused, no command", f"{proposed} fails: {told} (at first: {made.said[0]})")
        return
    made.said += again.stderr.splitlines()
    _check_told(made, None)
    words = shlex.split(proposed) if "$'" not in proposed else []
    given = {
        word.partition("=")[0]: word.partition("=")[2] or after
        for word, after in itertools.zip_longest(words, words[1:], fillvalue="")
    }
    known = {
        one.name: given[option] for one in fields(ReadOptions) if (option := f"--{one.name.replace('_', '-')}") in given
    }
    known |= {"missing": tuple(after for word, after in itertools.pairwise(words) if word == "--missing")}
    known |= {"header": "--header" in words} if {"--header", "--no-header"} & {*words} else {}
    if not made.file.refusable:
        _compared(made, ReadOptions(**known))  # type: ignore[arg-type]


# ---- the numbers that were read, beside the truth


def _compared(made: Trial, options: ReadOptions) -> list[int | None] | None:
    """Compare columns, rows and numbers; returns which row of the truth each row is, None where that is not known."""
    file = made.file
    with open_source([str(file.path)], options) as source:
        columns, n_read = source.columns, source.count()
        made.said += [*source.remarks, *(f"Column {quoted(one.name)}: {one.remark}" for one in columns if one.remark)]
        chosen = _columns(file, len(columns))
        if chosen is None:
            made.tell("misread", f"{len(columns)} columns instead of {len(file.fields)}")
            return None
        numeric = [column.name for column in columns if column.kind != "text"]
        blocks = [batch.values for batch in source.batches(numeric)] if numeric else []
        values = dict(zip(numeric, np.concatenate(blocks).T, strict=True)) if blocks else {}
        rows = _aligned(made, chosen, columns, values, n_read)
        if rows is None:
            return None
        for k, column in zip(chosen, columns, strict=True):
            _compare_column(made, k, column, values.get(column.name), rows)
        texts = [column.name for k, column in zip(chosen, columns, strict=True) if file.fields[k].kind == "code"]
        cells = [row for part in source.cells(texts) for row in part] if texts else []
        for i, row in enumerate(cells):
            told = (
                [file.fields[k].cells[rows[i]] for k in chosen if file.fields[k].kind == "code"]
                if rows[i] is not None
                else row
            )  # type: ignore[index]
            if rows[i] not in file.damaged and any(
                str(cell).strip('"') != own for cell, own in zip(row, told, strict=True) if cell is not None
            ):
                made.tell("misread", f"codes {row} instead of {told}")
                break
        places = {
            0,
            n_read - 1,
            n_read // 2,
            *(i for i, row in enumerate(rows) if row in {file.broken, *(odd[0] for odd in file.odd[:3])}),
        }
        for i in sorted(places):
            line = re.search(r"line ([\d,]+)", source.where(i))
            if rows[i] is not None and line and int(line[1].replace(",", "")) != file.rows[rows[i]][0]:  # type: ignore[index]
                made.tell("wrong row", f"{source.where(i)} is in line {file.rows[rows[i]][0]}")  # type: ignore[index]
                break
    _check_told(made, rows)
    return rows


def _columns(file: MessyFile, count: int) -> list[int] | None:
    """Which columns of the truth were read."""
    everything = range(len(file.fields))
    needed = [k for k in everything if k not in file.optional]
    return next((list(these) for these in (everything, needed) if len(these) == count), None)


def _aligned(
    made: Trial, chosen: Sequence[int], columns: Sequence[Column], values: dict[str, np.ndarray], n_read: int
) -> list[int | None] | None:
    """Which row of the truth each row is: lines that are none may be rows too, damaged rows may be dropped."""
    file = made.file
    groups = sorted({kind for kind, *_ in file.others}) + (["damaged"] if file.damaged else [])
    best: tuple[float, list[int | None], tuple[str, ...]] | None = None
    for kept in itertools.chain.from_iterable(itertools.combinations(groups, size) for size in range(len(groups) + 1)):
        rows: list[int | None] = []
        for i in range(len(file.rows) + 1):
            rows += [None for kind, before, *_ in file.others if before == i and kind in kept]
            rows += [i] if i < len(file.rows) and not (i in file.damaged and "damaged" not in kept) else []
        if len(rows) == n_read:
            pairs = [(i, row) for i, row in enumerate(rows) if row is not None][:: max(1, n_read // 50)]
            read = [
                (values[column.name], file.fields[k].values)
                for k, column in zip(chosen, columns, strict=True)
                if column.name in values
            ]
            fit = sum(_same(own[i], truth[row]) for own, truth in read for i, row in pairs)
            if best is None or fit > best[0]:
                best = fit, rows, kept
    if best is None:
        made.tell("misread", f"{n_read} rows instead of {len(file.rows)}")
        return None
    for kind, _, line, text in file.others:
        if kind == "total" and kind not in best[2]:
            made.tell("unsaid", f"the total in line {line} is dropped", made.names_line(line, -1, text))
    for row in sorted(file.damaged):
        line, text = file.rows[row]
        made.tell("unsaid", f"row {row} (line {line}) is damaged", made.names_line(line, row, text))
    return best[1]


def _same(read: float, truth: object) -> bool:
    if truth is None or isinstance(truth, str):
        return bool(np.isnan(read))
    return bool(abs(read - truth) <= 1e-9 * max(1.0, abs(truth)))  # type: ignore[operator, arg-type]


def _compare_column(made: Trial, k: int, column: Column, read: np.ndarray | None, rows: list[int | None]) -> None:
    file, truth, name = made.file, made.file.fields[k], column.name
    if truth.name is not None and _BLANKS.sub(" ", truth.name).strip() != _BLANKS.sub(" ", name).strip():
        made.tell(
            "unsaid",
            f"column {k} is called {name!r} instead of {truth.name!r}",
            any("ncod" in one for one in made.said),
        )
    odd = {row: text for row, place, text in file.odd if place == k}
    if odd:
        made.tell(
            "unsaid",
            f"cells of {name!r} are unparsable: {sorted(set(odd.values()))[:3]}",
            made.names(name, *(odd.values() if read is not None else ())),
        )
    if read is None:
        if truth.kind in ("number", "date") and any(value is not None for value in truth.values):
            made.tell("unsaid", f"column {name!r} of {truth.kind}s is text", made.names(name))
        return
    if truth.kind in ("text", "empty") and not np.isnan(read).all():
        made.tell("misread", f"column {name!r} of text has become numbers", made.names(name))
        return
    if truth.kind == "code":
        pairs = [(i, row) for i, row in enumerate(rows) if row is not None and row not in file.damaged]
        wrong = [
            truth.cells[row] for i, row in pairs if not np.isnan(read[i]) and int(read[i]) != int(truth.cells[row])
        ]
    else:
        pairs = [(i, row) for i, row in enumerate(rows) if row is not None]
        wrong = [
            truth.cells[row]
            for i, row in pairs
            if not _same(read[i], truth.values[row]) and not (row in file.damaged and np.isnan(read[i]))
        ]
    if wrong:
        made.tell("misread", f"{len(wrong)} cells of {name!r} differ, such as {wrong[0]!r}", made.names(name, *wrong))
    extra = [i for i, row in enumerate(rows) if row is None and not np.isnan(read[i])]
    if extra and not any(kind == "total" for kind, *_ in file.others):
        made.tell("misread", f"row {extra[0]} of {name!r} has the number {read[extra[0]]} of a line that is no row")


def _check_told(made: Trial, rows: list[int | None] | None) -> None:
    """Whether every cell that is told with its row and line stands there."""
    texts = dict(made.file.rows) | {line: text for *_, line, text in made.file.others}
    for cell, row, line in (found.groups() for one in made.said for found in _TOLD.finditer(one)):
        word = (
            cell[1:-1].removesuffix("...").encode().decode("unicode_escape", "ignore")
            if "\\" in cell
            else cell[1:-1].removesuffix("...")
        )
        number, place = int(row.replace(",", "")), int((line or "0").replace(",", ""))
        own = rows[number] if rows is not None and number < len(rows) else None
        if (line and word not in texts.get(place, "")) or (own is not None and word not in made.file.rows[own][1]):
            made.tell("wrong row", f"{cell} is not in row {row} (line {line})")
            return


def _findings(made: Trial, found: list[int], names: Sequence[str], values: np.ndarray, rows: list[int | None]) -> None:
    """Whether the numbers of each finding stand in its row, and whether the broken row is among them."""
    file = made.file
    for position, row in enumerate(found):
        own = rows[row]
        for name, value in zip(names, values[position], strict=True):
            truth = [one for one in file.fields if one.name == name and one.kind == "number"]
            if (
                own is not None
                and own not in file.damaged
                and truth
                and not np.isnan(value)
                and truth[0].values[own] is not None
                and not _same(value, truth[0].values[own])
            ):
                told = made.names(name)
                made.tell("wrong row", f"the finding in row {row} has {name} {value}, which stands elsewhere", told)
                return
    made.found = None if file.broken is None else file.broken in {rows[row] for row in found}


# ---- the report


def lines(trials: Sequence[Trial]) -> Iterator[Row]:
    """One line for each defect, worst first."""
    by_defect: dict[str, Counter[str]] = {name: Counter() for name in DEFECTS}
    for one in trials:
        for name in one.file.defects:
            by_defect[name][one.verdict] += 1
    bad = {
        name: sum(count[verdict] for verdict in VERDICTS[3:]) / max(1, count.total())
        for name, count in by_defect.items()
    }
    for name in sorted(by_defect, key=lambda name: -bad[name]):
        if by_defect[name]:
            yield {
                "defect": name,
                "files": by_defect[name].total(),
                **{verdict: by_defect[name][verdict] or None for verdict in VERDICTS},
            }


def by_command(trials: Sequence[Trial]) -> tuple[int, int]:
    """How many files were put through the real command, and of how many the exit code was another."""
    some = trials[::_EACH]
    codes = [
        subprocess.run(
            [sys.executable, "-m", "aspca", "detect", one.file.path, "--no-output"], capture_output=True, check=False
        ).returncode  # noqa: S603
        for one in some
    ]
    return len(some), sum(
        (code == 0) != (one.first_call and one.verdict != "traceback") for code, one in zip(codes, some, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=list(DEFECTS), metavar="DEFECT")
    parser.add_argument("--said", action="store_true", help="all that was said of each file that is not fine")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the files there")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report, tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        files = list(messy_files(options.seed, options.files, folder))
        trials = [trial(file) for file in files if not options.only or {*file.defects} & {*options.only}]
        for one in trials:
            if one.problems:
                told = (
                    one.problems[0][1]
                    if not options.said
                    else "\n    ".join([*(what for _, what in one.problems), *one.said])
                )
                report.say(f"{one.file.path.name} ({'; '.join(one.file.defects)}): {one.verdict}: {told.strip()}")
        report.table("Defects", list(lines(trials)))
        total = Counter(one.verdict for one in trials)
        report.table("All files", [{"files": len(trials), **{verdict: total[verdict] for verdict in VERDICTS}}])
        share = sum(one.first_call and one.verdict != "traceback" for one in trials) / len(trials)
        report.goal("answered at the first call", Goal(share, least=0.9))
        for verdict in VERDICTS[3:]:
            report.goal(verdict, Goal(total[verdict], most=0), digits=0)
        known = [one.found for one in trials if one.found is not None]
        report.say(f"The row with a broken relation is among the findings of {sum(known)} of {len(known)} files.")
        count, others = by_command(trials)
        report.say(f"The real command was given {count} of the files; {others} of its exit codes were others.")


if __name__ == "__main__":
    main()
