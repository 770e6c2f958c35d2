"""Every step on the paper's data: the convex problem solved, and the vector optimal wherever one vector can be."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

# Rank-one steps whose dual is degenerate, so that a gap of 1e-5 must do: (case, step). None so far.
DEGENERATE: set[tuple[str, int]] = set()
# Clarabel's share lies between the two groups (see make_rank_one). Only step 20 is rank two by its value, 1.03e-6 below
# our vector's; of the others that is at most 4e-7.
BORDERLINE = {
    ("kdd99-B-100-sparse", 21),
    ("kdd99-B-100-dominant", 21),
    ("kdd99-F-100-sparse", 33),
    ("kdd99-F-100-dominant", 20),
    ("kdd99-F-100-dominant", 33),
}
# Rank two by Clarabel, but our vector is within our tolerance of the optimum, so that its certificate says attained.
WITHIN_TOLERANCE = {("kdd99-B-100-sparse", 24), ("kdd99-B-100-dominant", 24)}


def test_every_step_solves_the_convex_problem(case, fitted):
    gaps = np.array([c.sdp_gap for c in fitted.certificates])
    assert gaps.size == fitted.sequence.shape[1]
    assert (gaps >= 0).all()
    assert gaps.max() <= 1e-6


def test_bounds_enclose_clarabels_value(case, fitted, settled, made):
    for certificate, step in zip(fitted.certificates, settled, strict=True):
        slack = 1e-7 * made.size_of(case, certificate.primal)
        assert certificate.lower <= step["value"] + slack
        assert step["value"] <= certificate.primal + slack
        assert certificate.primal <= certificate.upper
        assert abs(certificate.upper - step["upper"]) <= 10 * slack


def test_rank_one_steps_have_no_gap(case, fitted, settled):
    steps = [k for k, step in enumerate(settled) if step["kind"] != "not rank one"]
    assert steps
    for k in steps:
        allowed = 1e-5 if (str(case), k) in DEGENERATE else 1e-6
        assert fitted.certificates[k].gap <= allowed, f"step {k} ({settled[k]['kind']})"
        assert fitted.certificates[k].rank_one


def test_other_steps_say_so_and_give_the_true_gap(case, fitted, settled, made, record_property):
    """Seen with `pytest -rP`."""
    for k, step in enumerate(settled):
        if step["kind"] != "not rank one":
            continue
        certificate = fitted.certificates[k]
        print(f"{case} step {k}: gap {certificate.gap:.3e}, top eigenvalue share {step['share']:.6f}")
        record_property(f"gap of step {k}", certificate.gap)
        if (str(case), k) in WITHIN_TOLERANCE:
            assert certificate.upper - step["value"] <= 1e-6 * made.size_of(case, certificate.upper)
            continue
        assert not certificate.rank_one
        assert "not rank one" in certificate.status
        # The gap that we state is the distance to the optimum as Clarabel has it: no more, no less.
        size = made.size_of(case, certificate.upper)
        assert certificate.gap == pytest.approx((certificate.upper - step["value"]) / size, abs=1e-6)


def test_ties_are_flagged(case, fitted, settled):
    for k, step in enumerate(settled):
        if step["kind"] == "tie":
            assert fitted.certificates[k].tie, f"step {k}"


def test_the_result_verifies(case, fitted, made):
    verification = fitted.verify(made.scatter(case.data))
    assert verification, str(verification)


def test_stale_words_of_clarabel_are_noticed(made):
    """Each change of our sequence must ask for new data."""
    case = next(case for case in made.CASES if str(case) == "breast_cancer-B-10-sparse")
    found = made.fit(case)
    stored = json.loads(made.STORE.read_text())[str(case)]
    assert made.stale(case, found, stored) is None
    for change in (
        lambda steps: steps.pop(),
        lambda steps: steps[3]["support"].append(29),
        lambda steps: steps[3].update(upper=steps[3]["upper"] * (1 + 1e-4)),
        lambda steps: steps.insert(0, steps.pop(1)),
        lambda steps: steps[3].update(kind="not rank one"),
        lambda steps: steps[3].update(share=0.7, value=steps[3]["upper"] - 1.0),
    ):
        changed = copy.deepcopy(stored)
        change(changed)
        assert "regenerate" in made.stale(case, found, changed)


def test_the_stored_word_of_clarabel_is_clear(made):
    """No step lies between "one vector" and "several", except those named above."""
    stored = json.loads(made.STORE.read_text())
    assert set(stored) == {str(case) for case in made.CASES}
    between = {
        (name, k) for name, steps in stored.items() for k, step in enumerate(steps) if 1e-7 < 1 - step["share"] < 1e-5
    }
    assert between == BORDERLINE
