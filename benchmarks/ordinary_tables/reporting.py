"""The figures of all tables as printed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from library.report import Cell, Goal, Report, Row

from . import product
from .corruption import KINDS
from .measuring import LEVELS, Figures, Results
from .peers import MAHALANOBIS

_WORST = 10
_QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
# Most of the tables (in %) above a share of the rows (in %); the median (in %) at least and at most.
_ERROR_MARKS, _ERROR_MEDIAN = {2: 5.0}, (None, 0.3)
_UNUSUAL_MARKS, _UNUSUAL_MEDIAN = {5: 3.0, 10: 0.0}, (2.0, 3.0)
_HALF_MEDIAN, _HALF_WORST = (1.8, 3.2), 6.0
# The pooled precision is that at most 15 % of the rows classified as errors are none.
_FIRST, _PRECISION, _POOLED_PRECISION, _RECALL = 0.65, 0.8, 0.85, 0.5
# Goals where 10 % are corrupted, as a share of those where 1 % are.
_EASED = 0.9


def report_untouched(report: Report, results: Results) -> None:
    found = pd.DataFrame(results.untouched)
    ours = found[found["method"] == product.NAME]
    rows = [
        _describe_shares(f"{product.NAME}: error", ours["errors"], _ERROR_MARKS, _ERROR_MEDIAN),
        _describe_shares(f"{product.NAME}: unusual or worse", ours["unusual"], _UNUSUAL_MARKS, _UNUSUAL_MEDIAN),
    ]
    rest = found[found["method"] != product.NAME]
    rows += [_describe_shares(str(peer), lines["unusual"]) for peer, lines in rest.groupby("method", sort=False)]
    report.table(f"As they are: rows flagged (in %) in {len(ours)} tables", rows, digits=2)
    for share in ("errors", "unusual"):
        report.say(_list_worst(results.untouched, share))


def report_halves(report: Report, results: Results) -> None:
    found = pd.DataFrame(results.halves)
    rows = [
        _describe_shares("error", found["errors"]),
        _describe_shares("unusual or worse", found["unusual"], {}, _HALF_MEDIAN, _HALF_WORST),
    ]
    report.table(f"Fresh halves: rows flagged (in %) in {len(found)} tables", rows, digits=2)


def report_corrupted(report: Report, results: Results) -> None:
    tables, cells = pd.DataFrame(results.corrupted), pd.DataFrame(results.cells)
    for level in LEVELS:
        eased = 1.0 if level == next(iter(LEVELS)) else _EASED
        of_level, wrong = tables[tables["level"] == level], cells[cells["level"] == level]
        figures = {
            str(method): _describe_method(lines, wrong[wrong["method"] == method])
            for method, lines in of_level.groupby("method", sort=False)
        }
        rows: list[Row] = [{"method": method, **described} for method, described in figures.items()]
        if product.NAME in figures:
            rows[0] = _add_goals(figures[product.NAME], figures.get(MAHALANOBIS, {}), eased)
        number = of_level["table"].nunique()
        report.table(f"{level} of the rows corrupted in one cell, {number} tables", rows)
        report.table(f"{level}: by kind of error", [_describe_kind(kind, wrong) for kind in KINDS])
    if results.not_corrupted:
        report.say(f"Not corrupted, since no column has enough values: {', '.join(results.not_corrupted)}")


def report_speed(report: Report, results: Results) -> None:
    lines = [{"step": "as they are", **line} for line in results.untouched]
    lines += [{"step": "fresh halves", **line} for line in results.halves]
    lines += [{"step": f"{line['level']} corrupted", **line} for line in results.corrupted]
    rows: list[Row] = []
    for (method, step), group in pd.DataFrame(lines).groupby(["method", "step"], sort=False):
        slowest = group.loc[group["fit seconds"].idxmax()]
        rows.append(
            {
                "method": f"{method}, {step}",
                "fits": len(group),
                "median": float(group["fit seconds"].median()),
                "longest": float(slowest["fit seconds"]),
                "of": str(slowest["table"]),
                "all fits": float(group["fit seconds"].sum()),
                "all judging": float(group["judge seconds"].sum()),
            }
        )
    report.table("Seconds (peers: fitting and judging together)", rows, digits=2)


def report_failures(report: Report, results: Results) -> None:
    lines = [f"- {one['table']}, {one['step']}, {one['method']}: {one['error']}" for one in results.failures]
    report.say("\n".join([f"Failures: {len(lines)}", *lines]))


def _describe_shares(
    name: str,
    shares: pd.Series[float],
    marks: Mapping[int, float] | None = None,
    median: tuple[float | None, float | None] = (None, None),
    worst: float | None = None,
) -> Row:
    """Shares of rows over tables, in %: mean, quantiles, and in how many of the tables it is above 2, 5 and 10 %."""
    percent = 100.0 * shares.to_numpy(dtype=np.float64)
    row: dict[str, Cell] = {"": name, "mean": float(percent.mean())}
    for at, value in zip(_QUANTILES, np.quantile(percent, _QUANTILES).tolist(), strict=True):
        label = {0.5: "median", 1.0: "worst"}.get(at, f"{at:.0%}")
        row[label] = value
    if median != (None, None):
        row["median"] = Goal(float(np.median(percent)), *median)
    if worst is not None:
        row["worst"] = Goal(float(percent.max()), most=worst)
    for mark in (2, 5, 10):
        above = percent > mark
        row[f"tables above {mark} %"] = int(above.sum())
        share = 100.0 * float(above.mean())
        row[f"these in % ({mark})"] = Goal(share, most=marks[mark]) if marks and mark in marks else share
    return row


def _list_worst(untouched: list[Figures], share: str) -> str:
    ours = [line for line in untouched if line["method"] == product.NAME and line[share] > 0]
    lines = [f"Most {share}:"]
    for line in sorted(ours, key=lambda line: (-line[share], line["table"]))[:_WORST]:
        size = f"{line['rows']} x {line['columns']}, {line['n_rules']} rules"
        named = ", ".join(f"{column} {number}" for column, number in line[f"columns of {share}"].items())
        lines.append(f"- {line['table']} ({size}): {line[share]:.2%}; columns named: {named}")
        lines += [f"    {rule}" for rule in line["rules"]]
    return "\n".join(lines)


def _describe_method(tables: pd.DataFrame, cells: pd.DataFrame) -> dict[str, float]:
    flagging = tables[tables["flagged"] > 0]
    return {
        "first k": float(tables["first k"].mean()),
        "flagged": _divide(tables["flagged"].sum(), tables["rows"].sum()),
        "tables with any": len(flagging),
        "precision": float((flagging["hits"] / flagging["flagged"]).mean()),
        "pooled precision": _divide(tables["hits"].sum(), tables["flagged"].sum()),
        "recall": float((tables["hits"] / tables["corrupted"]).mean()),
        "pooled recall": _divide(tables["hits"].sum(), tables["corrupted"].sum()),
        "right column": _average(cells, "right"),
        f"right column where {product.NAME} says error": _average(cells[cells["error"]], "right"),
    }


def _add_goals(figures: Mapping[str, float], reference: Mapping[str, float], eased: float) -> Row:
    """Right columns are compared with those of the `reference`."""
    least = {"first k": eased * _FIRST, "precision": eased * _PRECISION, "recall": eased * _RECALL}
    least["pooled precision"] = _POOLED_PRECISION
    least |= {name: value for name, value in reference.items() if name.startswith("right column")}
    with_goals = {name: Goal(value, least=least[name]) if name in least else value for name, value in figures.items()}
    return {"method": product.NAME, **with_goals}


def _describe_kind(kind: str, cells: pd.DataFrame) -> Row:
    """Every table counts the same, however many of its rows were corrupted."""
    of_kind = cells[cells["kind"] == kind]
    ours = of_kind[of_kind["method"] == product.NAME]
    row: dict[str, Cell] = {"kind": kind, "cells": len(ours)}
    row["recall of error"] = _average(ours, "flagged")
    for method, lines in of_kind.groupby("method", sort=False):
        row[f"first k, {method}"] = _average(lines, "first")
    for method in (product.NAME, MAHALANOBIS):
        lines = of_kind[of_kind["method"] == method]
        if len(lines):
            row[f"right column, {method}"] = _average(lines, "right")
            row[f"where error, {method}"] = _average(lines[lines["error"]], "right")
    return row


def _average(cells: pd.DataFrame, name: str) -> float:
    return _divide((cells[name] * cells["weight"]).sum(skipna=False), cells["weight"].sum())


def _divide(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else float("nan")
