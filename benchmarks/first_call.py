"""Tables of public packages as CSV through `aspca detect` without options: is there an answer at the first call?

    python benchmarks/first_call.py                            # all tables whose packages are installed (extra `bench`)
    python benchmarks/first_call.py --only mpg flights --said  # some of them, with all that was said on stderr
    python benchmarks/first_call.py --json result.json

Each table is written by pandas (`to_csv`) as its package has it: texts, dates, codes, gaps, names of rows. `answer` is
"first" where the command answers as it is, "second" where it answers once the command that it ended in is pasted, and
"none" otherwise. `flagged` counts anomalies.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
import time

from library.raw_tables import RawTable, raw_tables
from library.report import Goal, Report, Row, add_json

from aspca.cli.main import main as aspca


def called(words: list[str]) -> tuple[int, str, str]:
    """The exit code of a command, run in this process, and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = aspca(words)
    return code, out.getvalue(), err.getvalue()


def trial(table: RawTable) -> tuple[Row, str]:
    """One line of the report, and all that was said."""
    frame = table.frame
    frame.to_csv(f"{table.name}.csv", index=False)
    started = time.perf_counter()
    words = ["detect", f"{table.name}.csv", "--json"]
    code, out, said = called(words)
    answer = "first" if code == 0 else "none"
    if code == 2:
        again, out, more = called(shlex.split(said.strip().splitlines()[-1])[1:])
        answer, said = ("second" if again == 0 else "none"), said + more
    seconds = time.perf_counter() - started
    flagged = json.loads(out)["n_anomalies"] if answer != "none" else None
    size = f"{len(frame):,} x {frame.shape[1]}"
    row: Row = {
        "table": table.name,
        "package": table.package,
        "rows x columns": size,
        "text": int((frame.dtypes.astype(str).isin(["object", "str"])).sum()),
        "rows with gaps": int(frame.isna().any(axis=1).sum()),
        "answer": answer,
        "lines said": len(said.strip().splitlines()),
        "flagged": flagged,
        "s": round(seconds, 1),
    }
    return row, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--said", action="store_true", help="print all that the command said")
    add_json(parser)
    arguments = parser.parse_args()
    tables = [table for table in raw_tables() if not arguments.only or table.name in arguments.only]
    for table in tables:
        if not table.available:
            print(f"{table.name} is left out: {table.package} is not installed.", file=sys.stderr)
    place = arguments.json and arguments.json.absolute()
    with Report(place) as report, tempfile.TemporaryDirectory(prefix="aspca-") as folder:
        os.chdir(folder)
        rows = []
        for table in tables:
            if table.available:
                row, said = trial(table)
                rows.append(row)
                print(f"{table.name}: {row['answer']}, {row['s']} s", file=sys.stderr)
                if arguments.said:
                    print(said, file=sys.stderr)
        report.table("", rows)
        answered = [str(row["answer"]) for row in rows]
        report.goal("answered at the first call, of 28", Goal(28 * answered.count("first") / len(rows), least=25), 1)
        report.goal("answered at the first or the second", Goal(1 - answered.count("none") / len(rows), least=1.0))
        report.say(f"{answered.count('first')} of {len(rows)} tables answered at the first call.")


if __name__ == "__main__":
    main()
