"""Messy CSV files through `aspca detect` without options: are numbers and rows what they should be, or is it said?

    python benchmarks/messy.py                                   # 200 files of seed 0, for development
    python benchmarks/messy.py --seed 1                          # reserved for reports
    python benchmarks/messy.py --only "short row" CR --said      # some defects, with all that was said
    python benchmarks/messy.py --keep /tmp/messy --json out.json # keep the files, and every figure

`library.messy` writes the files and knows the truth. A file is, by the last that holds:

- *exact*, or *noted*: an answer in which nothing differs from the truth, or whatever does is said
- *command works*, or *no command*: refused; what is to be pasted is run in a shell, and what that reads is compared
  with the truth (unless nobody can know how the file is to be read)
- *unsaid*: an unparsable cell, a column left out, a damaged row or a garbled name of which nothing is said
- *wrong row*: a row or line that is told beside a cell, or the row of a finding, is another one
- *misread*: a number, date or row differs from the truth, and no remark names the column with a cell, or the line
- *traceback*: anything but a result or a sentence
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
from typing import Any

import numpy as np
from library.defects import DEFECTS
from library.messy import MessyFile, messy_files
from library.report import Goal, Report, Row, add_json

import aspca
from aspca.cli.main import main as command
from aspca.escaping import quoted
from aspca.tables import Column, ReadOptions, Source, open_source
from aspca.tables.errors import JobError

FLAGS = ("header",)
VERDICTS = ["exact", "noted", "command works", "no command", "unsaid", "wrong row", "misread", "traceback"]
_TOLD = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") in (?:row ([\d,]+))?(?: ?\(?line ([\d,]+))?""")
# Every so many files are put through the real command as well.
_EACH = 10
# Which row of the truth each row is that was read; None: a line that is no row.
Rows = list[int | None]


@dataclass
class Trial:
    """What came of a file: problems by verdict, what differs but is said, and all that was said."""

    file: MessyFile
    said: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    answered: bool = True
    found: bool | None = None

    @property
    def verdict(self) -> str:
        worst = {kind for kind, _ in self.problems}
        calm = "command works" if not self.answered else "noted" if self.noted else "exact"
        return next((kind for kind in reversed(VERDICTS) if kind in worst), calm)

    def tell(self, kind: str, what: str, said: bool = False) -> None:
        """A problem, unless it was said."""
        (self.noted.append(what) if said else self.problems.append((kind, what)))

    def names(self, name: str, *words: str) -> bool:
        """Whether one remark has this column and, if any are given, one of these cells."""
        ways = [quoted(name), repr(name), f"[{name}]", f"column {name},", *([name] if len(name) > 3 else [])]
        shown = [quoted(word) for word in words] or [""]
        return any(any(way in one for way in ways) and any(word in one for word in shown) for one in self.said)

    def names_line(self, row: int) -> bool:
        """Whether a remark has the number of this row, its line, or how it begins."""
        line, text = self.file.rows[row]
        number = re.compile(rf"\blines?\b[^.;]*\b{line}\b|\brows?\b[^.;]*\b{row}\b")
        return any(number.search(one.replace(",", "")) or text[:20] in one for one in self.said)


def trial(file: MessyFile, paste: bool = True) -> Trial:
    """One file, judged; `paste`: run what a refusal proposes."""
    made = Trial(file)
    try:
        found = aspca.detect(str(file.path))
        made.said = [*found.remarks, *found.outcomes[None].remarks, *(finding.text for finding in found.findings)]
        with open_source([str(file.path)]) as source:
            rows = _compare(made, source)
        if rows is not None:
            _compare_findings(made, found, rows)
    except JobError as error:
        made.answered, made.said = False, [str(error)]
        _compare_told(made, {})
        if paste:
            _paste(made)
    except Exception:
        made.tell("traceback", traceback.format_exc(limit=-3))
    return made


def called(words: list[str]) -> tuple[int, str]:
    """The exit code of the command, run in this process, and what it said."""
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        code = command(words)
    return code, err.getvalue()


def _paste(made: Trial) -> None:
    """Run what a refusal ends in, in a shell as a user does, and compare what that reads."""
    code, said = called(["detect", str(made.file.path), "--no-output"])
    made.said = said.splitlines()
    proposed = made.said[-1] if code and made.said[-1:] and made.said[-1].startswith("aspca ") else ""
    if not proposed:
        made.tell("no command", f"exit code {code}: {said[:300]}")
        return
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    again = subprocess.run(["bash", "-c", proposed], capture_output=True, text=True, env=path, check=False)  # noqa: S603, S607
    if again.returncode:
        made.tell("no command", f"{proposed} fails: {again.stderr[:300]} (at first: {made.said[0]})")
        return
    made.said += again.stderr.splitlines()
    # Words of a shell that spells signs out are not taken apart here.
    pairs = [*itertools.pairwise(shlex.split(proposed))] if "$'" not in proposed and not made.file.refusable else []
    known: dict[str, Any] = {one.name: one.default for one in fields(ReadOptions)}
    for word, after in pairs:
        option, _, value = word.removeprefix("--").replace("-", "_").partition("=")
        known |= {option.removeprefix("no_"): not option.startswith("no_")} if option.endswith(FLAGS) else {}
        known |= {option: value or after} if option in known and option not in ("missing", *FLAGS) else {}
        known["missing"] += (value or after,) if option == "missing" else ()
    if pairs:
        with open_source([str(made.file.path)], ReadOptions(**known)) as source:
            _compare(made, source)


# ---- what was read, beside the truth


def _compare(made: Trial, source: Source) -> Rows | None:
    """Compare columns, rows and cells; returns the rows, None where they cannot be told apart."""
    file, columns = made.file, source.columns
    made.said += [*source.remarks, *(f"Column {quoted(one.name)}: {one.remark}" for one in columns if one.remark)]
    needed = [k for k in range(len(file.fields)) if k not in file.optional]
    chosen = next((these for these in (range(len(file.fields)), needed) if len(these) == len(columns)), None)
    if chosen is None:
        made.tell("misread", f"{len(columns)} columns instead of {len(file.fields)}")
        return None
    pairs = list(zip(chosen, columns, strict=True))
    numeric = [column.name for column in columns if column.kind != "text"]
    read = np.concatenate([batch.values for batch in source.batches(numeric)]).T if numeric else np.empty((0, 0))
    values = dict(zip(numeric, read, strict=True))
    truths = [(values[column.name], file.fields[k].values) for k, column in pairs if column.name in values]
    rows = _align(made, truths, source.count())
    if rows is None:
        return None
    for k, column in pairs:
        _compare_column(made, k, column, values.get(column.name), rows)
    own = {i: row for i, row in enumerate(rows) if row is not None}
    codes = {column.name: file.fields[k].cells for k, column in pairs if file.fields[k].kind == "code"}
    cells = [row for part in source.cells(list(codes)) for row in part] if codes else []
    for i, row in own.items() if cells else ():
        told = [cells_of[row] for cells_of in codes.values()]
        if row not in file.damaged and any(cell not in (one, None) for cell, one in zip(cells[i], told, strict=True)):
            made.tell("misread", f"codes {cells[i]} instead of {told}")
            break
    for i in {*own} & {0, len(rows) // 2, len(rows) - 1, *(k for k, row in own.items() if row == file.broken)}:
        if (line := re.search(r"line (\d+)", source.locate(i))) and int(line[1]) != file.rows[own[i]][0]:
            made.tell("wrong row", f"{source.locate(i)} is in line {file.rows[own[i]][0]}")
    _compare_told(made, own)
    return rows


def _align(made: Trial, truths: Sequence[tuple[Any, Sequence[Any]]], n_read: int) -> Rows | None:
    """Which row of the truth each row is: lines that are none may be rows too, damaged rows may be dropped."""
    file = made.file
    groups = [*sorted({kind for kind, *_ in file.others}), *(["damaged"] if file.damaged else [])]
    best: tuple[int, Rows, tuple[str, ...]] | None = None
    for kept in itertools.chain.from_iterable(itertools.combinations(groups, k) for k in range(len(groups) + 1)):
        rows: Rows = []
        for i in range(len(file.rows) + 1):
            rows += [None for kind, before, *_ in file.others if before == i and kind in kept]
            rows += [i] if i < len(file.rows) and (i not in file.damaged or "damaged" in kept) else []
        if len(rows) == n_read:
            some = [(i, row) for i, row in enumerate(rows) if row is not None][:: max(1, n_read // 50)]
            fit = sum(_same(own[i], truth[row]) for own, truth in truths for i, row in some)
            best = (fit, rows, kept) if best is None or fit > best[0] else best
    if best is None:
        made.tell("misread", f"{n_read} rows instead of {len(file.rows)}")
        return None
    for _, _, line, text in [other for other in file.others if other[0] == "total" and "total" not in best[2]]:
        said = any(f"line {line}" in one or text[:20] in one for one in made.said)
        made.tell("unsaid", f"the total in line {line} is dropped", said)
    for row in sorted(file.damaged):
        made.tell("unsaid", f"row {row} (line {file.rows[row][0]}) is damaged", made.names_line(row))
    return best[1]


def _same(read: float, truth: Any) -> bool:
    if truth is None or isinstance(truth, str):
        return bool(np.isnan(read))
    return bool(abs(read - truth) <= 1e-9 * max(1.0, abs(truth)))


def _compare_column(made: Trial, k: int, column: Column, read: Any, rows: Rows) -> None:
    file, truth, name = made.file, made.file.fields[k], column.name
    if truth.name is not None and truth.name.split() != name.split():
        said = any("ncoding" in one for one in made.said)
        made.tell("unsaid", f"column {k} is called {name!r} instead of {truth.name!r}", said)
    odd = [text for _, place, text in file.odd if place == k]
    if odd:
        said = made.names(name, *(odd if read is not None else ()))
        made.tell("unsaid", f"unparsable cells of {name!r} such as {odd[0]!r}", said)
    if read is None:
        if truth.kind in ("number", "date") and any(value is not None for value in truth.values):
            made.tell("unsaid", f"column {name!r} of {truth.kind}s is left out", made.names(name))
        return
    extra = [read[i] for i, row in enumerate(rows) if row is None and not np.isnan(read[i])]
    if extra and not any(kind == "total" for kind, *_ in file.others):
        said = any(f"line {line}" in one for *_, line, _ in file.others for one in made.said)
        made.tell("misread", f"a line that is no row has the number {extra[0]} of {name!r}", said)
    own = [(read[i], row) for i, row in enumerate(rows) if row is not None]
    # What is lost of a damaged row is said elsewhere. A code may be a number, but that one to the last digit.
    own = [(one, row) for one, row in own if not (np.isnan(one) and (row in file.damaged or truth.kind == "code"))]
    codes = truth.cells if truth.kind == "code" else None
    wrong = [
        truth.cells[row]
        for one, row in own
        if not (int(one) == int(codes[row]) if codes else _same(one, truth.values[row]))
    ]
    if wrong:
        made.tell("misread", f"{len(wrong)} cells of {name!r} such as {wrong[0]!r}", made.names(name, *wrong))


def _compare_told(made: Trial, own: dict[int, int]) -> None:
    """Whether every cell that is told with its row and line stands there."""
    for found in (found for one in made.said for found in _TOLD.finditer(one)):
        word = re.sub(r"\\.+|\.\.\.$", "", found[1][1:-1])
        row, line = (int((number or "-1").replace(",", "")) for number in found.groups()[1:])
        there = row not in own or word in made.file.rows[own[row]][1].replace('""', '"')
        if not there or (line > 0 and word not in made.file.lines.get(line, "").replace('""', '"')):
            made.tell("wrong row", f"this is not so: {found[0]}")


def _compare_findings(made: Trial, found: aspca.Detection, rows: Rows) -> None:
    """Whether the numbers of each finding stand in its row, and whether the broken row is among them."""
    why = found.outcomes[None].explanation
    truth = {one.name: one.values for one in made.file.fields if one.kind == "number"}
    for finding, values in zip(found.findings, why.values, strict=True):
        row = rows[finding.row]
        own = {} if row is None or row in made.file.damaged else dict(zip(why.names, values, strict=True))
        known = {name: value for name, value in own.items() if name in truth and truth[name][row] is not None}
        wrong = [name for name, value in known.items() if not _same(value, truth[name][row]) and not made.names(name)]
        if wrong:
            made.tell("wrong row", f"the finding of row {finding.row} has another {wrong[0]!r}: {finding.text}")
    made.found = None if made.file.broken is None else made.file.broken in {rows[one.row] for one in found.findings}


# ---- the report


def lines(trials: Sequence[Trial]) -> Iterator[Row]:
    """One line for each defect, worst first."""
    counts = {name: Counter(one.verdict for one in trials if name in one.file.defects) for name in DEFECTS}
    bad = {name: sum(count[one] for one in VERDICTS[3:]) / max(1, count.total()) for name, count in counts.items()}
    for name in sorted((name for name in counts if counts[name]), key=lambda name: -bad[name]):
        yield {"defect": name, "files": counts[name].total(), **{one: counts[name][one] or None for one in VERDICTS}}


def by_command(trials: Sequence[Trial]) -> str:
    """Some files through the real command: does it answer where the library does?"""
    words = [sys.executable, "-m", "aspca", "detect", "--no-output", "--quiet", "--"]
    some = trials[::_EACH]
    codes = [subprocess.run([*words, one.file.path], capture_output=True, check=False).returncode for one in some]  # noqa: S603
    other = sum((code == 0) != one.answered for code, one in zip(codes, some, strict=True))
    return f"The real command was given {len(some)} of the files, and {other} of its exit codes were others."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--only", nargs="+", default=list(DEFECTS), choices=list(DEFECTS), metavar="DEFECT")
    parser.add_argument("--said", action="store_true", help="all that was said of each file that is not fine")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the files there")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report, tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        trials = []
        for file in messy_files(options.seed, options.files, folder):
            if not {*file.defects}.isdisjoint(options.only):
                trials.append(one := trial(file))
                told = [*(what for _, what in one.problems), *(one.said if options.said else [])]
                if one.problems:
                    report.say(f"{file.path} ({'; '.join(file.defects)}), {one.verdict}: " + "\n    ".join(told))
        report.table("Defects", list(lines(trials)))
        total = Counter(one.verdict for one in trials)
        report.table("All files", [{"files": len(trials), **{one: total[one] for one in VERDICTS}}])
        report.goal("answered at the first call", Goal(sum(one.answered for one in trials) / len(trials), least=0.9))
        for verdict in VERDICTS[3:]:
            report.goal(verdict, Goal(total[verdict], most=0), digits=0)
        known = [one.found for one in trials if one.found is not None]
        report.say(f"The row with a broken relation is among the findings of {sum(known)} of {len(known)} files.")
        report.say(by_command(trials))


if __name__ == "__main__":
    main()
