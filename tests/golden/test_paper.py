"""The paper's published numbers, as `aspca reproduce` compares them: each agrees, or is known not to, for a reason.

A number that stops agreeing fails here, and so does one that begins to, until it is taken off the list.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from aspca import ASPCA
from aspca.paper.claims import list_beyond_paper
from aspca.paper.datasets import load_breast_cancer, load_kdd99, load_synthetic
from aspca.paper.figures import show_number_of_components, show_roc_curves
from aspca.paper.published import Comparison, Section, Table, get_printed, load_reasons
from aspca.paper.run import EXPERIMENTS
from aspca.paper.study import Study
from aspca.paper.tables import list_sparsity_over_seeds
from aspca.paper.write import draw_picture
from aspca.pipeline.passes import Silent

# Outside the tolerances that were fixed before.
DIFFER = {
    "synthetic": {"components/synthetic, normal rows only/PC 1/D"},
    "breast-cancer": {
        "sparsity/breast-cancer/ASPCA-F/card 0.01",
        "penalties/breast-cancer/ASPCA-FG/lambda 1/variance",
        "counts/breast-cancer/rows/false positives",
        "counts/breast-cancer/rows/true negatives",
        "jspca/breast-cancer/all/features",
    },
    "kdd99": {
        "statistics/kdd99/Normal/records",
        "parameters/kdd99/settings/abnormal PCs",
        "sparsity/kdd99/ASPCA-BG/card 0.01",
        "signatures/kdd99/ipsweep/detected",
        "signatures/kdd99/ipsweep 1H 19H/in type",
        "signatures/kdd99/ipsweep 1H 19H/in group",
        "signatures/kdd99/warezclient 4L 5H 6L/in type",
        "signatures/kdd99/warezclient 4L 5H 6L/in group",
        "signatures/kdd99/warezclient 4L 5H/in type",
        "signatures/kdd99/warezclient 4L 5H/in group",
        "jspca/kdd99/DoS/features",
        "jspca/kdd99/Probe/features",
        "jspca/kdd99/U2R/features",
        "jspca/kdd99/R2L/features",
    },
}


# Steps without a published number that take most of the time: those of KDD99 are run on the other data sets, the draws
# of the synthetic data in tests/e2e/test_examples.py.
WITHOUT_NUMBERS = {
    "synthetic": {list_sparsity_over_seeds},
    "kdd99": {show_number_of_components, show_roc_curves, list_beyond_paper},
}


@cache
def section(name: str) -> Section:
    left_out = WITHOUT_NUMBERS.get(name, set())
    steps = tuple(step for step in EXPERIMENTS[name].steps if step not in left_out)
    return replace(EXPERIMENTS[name], steps=steps).run(study(name), Silent())


@cache
def study(name: str) -> Study:
    load = {"synthetic": load_synthetic, "breast-cancer": load_breast_cancer, "kdd99": load_kdd99}[name]
    try:
        return Study(name, load())
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def comparison(name: str, key: str) -> Comparison:
    (found,) = (one for one in section(name).comparisons if one.key == key)
    return found


@pytest.mark.parametrize("name", EXPERIMENTS)
class TestEveryNumber:
    def test_agrees_or_is_known_not_to(self, name: str) -> None:
        found = {one.key: one for one in section(name).comparisons if not one.agrees}
        shown = [f"{key}: paper {one.paper}, ours {one.ours} ({one.tolerance})" for key, one in found.items()]
        assert set(found) == DIFFER[name], "\n".join(shown)

    def test_that_differs_has_a_reason(self, name: str) -> None:
        assert not [one.key for one in section(name).comparisons if not one.agrees and not one.reason]

    def test_has_a_name_of_its_own(self, name: str) -> None:
        keys = [one.key for one in section(name).comparisons]
        assert len(set(keys)) == len(keys)


def test_every_figure_of_breast_cancer_is_drawn() -> None:
    figures = section("breast-cancer").figures
    assert len(figures) >= 6
    for figure in figures:
        assert draw_picture(figure)["png"].startswith(b"\x89PNG")


def test_no_reason_outlives_its_number() -> None:
    given = {one.reason for name in EXPERIMENTS for one in section(name).comparisons}
    assert set(load_reasons().values()) <= given


class TestReasons:
    """What the sentences in deviations.json say, proved from the numbers."""

    def test_eighteen_false_positives_are_not_the_tables_rate(self) -> None:
        rate = float(get_printed("thresholds", "breast-cancer", "FPR"))
        assert round(17 / 357, 4) == rate
        assert round(18 / 357, 4) != rate

    def test_the_printed_sign_of_d_is_a_direction_of_much_variance(self) -> None:
        rows = load_synthetic(normal_only=True).data
        covariance = np.cov(rows.T)
        signs = np.array([0.31, 0.31, 0.64, 0.64, 0.0, 0.0, 0.0])
        printed, meant = signs, signs * [1, 1, 1, -1, 1, 1, 1]
        assert printed @ covariance @ printed > 0.85 * np.linalg.eigvalsh(covariance)[-1] * (printed @ printed)
        assert meant @ covariance @ meant < 0.01 * printed @ covariance @ printed

    def test_ipsweep_differs_by_the_same_records_in_all_three_counts(self) -> None:
        keys = ("ipsweep/detected", "ipsweep 1H 19H/in type", "ipsweep 1H 19H/in group")
        apart = {comparison("kdd99", f"signatures/kdd99/{key}").difference for key in keys}
        assert apart == {267.0}
        found = study("kdd99")
        without = (int((found.flagged & found.anomalous).sum()) - 267) / int(found.anomalous.sum())
        assert round(without, 2) == 0.80
        assert abs(without - float(get_printed("thresholds", "kdd99", "TPR"))) > 0.05
        scores = found.fit().scores[np.array(found.data.kinds) == "ipsweep"]
        assert (np.abs(scores / found.threshold - 1) < 0.02).mean() > 0.5

    def test_warezclient_is_parted_elsewhere_but_as_many(self) -> None:
        pair = [comparison("kdd99", f"signatures/kdd99/warezclient {s}/in type") for s in ("4L 5H 6L", "4L 5H")]
        assert sum(int(one.ours) for one in pair) == sum(int(one.paper) for one in pair)
        found = study("kdd99")
        rows = found.rows[(np.array(found.data.kinds) == "warezclient") & found.flagged]
        far = np.sqrt(found.threshold) / 2
        near = np.abs(rows @ found.matched.loadings[:, found.matched.positions["6"]] / -far - 1) < 0.07
        assert near.sum() > 0.9 * sum(int(one.ours) for one in pair)

    def test_the_papers_rate_counts_land(self) -> None:
        rate = float(get_printed("thresholds", "kdd99", "TPR"))
        assert round(get_printed("counts", "kdd99", "true positives") / 5173, 4) != rate
        assert round(4423 / 5194, 4) == rate
        assert int(study("kdd99").anomalous.sum()) == 5194

    def test_the_constant_columns_of_kdd99_hide_the_printed_row_of_pca(self) -> None:
        (table,) = (part for part in section("kdd99").parts if part.title == "Sparsity of the loadings")
        assert isinstance(table, Table)
        printed = get_printed("sparsity", "kdd99", "PCA")
        assert f"{printed['L1']}, {printed['card 0.1']} and {printed['card 0.01']}." in table.notes[0]


class TestFixedTolerances:
    """The few that mean more than a number beside a number."""

    def test_the_components_of_breast_cancer_hold_no_more_than_printed(self) -> None:
        (table,) = (part for part in section("breast-cancer").parts if part.title == "Components of ASPCA-BG")
        # A unit vector with 0.9894 must hold another of 0.145, which the paper leaves out.
        assert table.notes == ("Ours have further loadings above 0.1: -0.1454 symmetry_mean in PC 2.",)

    def test_forward_at_1_solves_its_convex_problems(self) -> None:
        found = study("breast-cancer")
        model = found.fit_paper_model("ASPCA-FG", 1.0, found.n_components)
        assert max(c.sdp_gap for c in model.subspace_.certificates) <= 1e-6


@pytest.mark.parametrize(
    ("name", "method", "penalty"),
    [
        ("breast-cancer", "ASPCA-B", 5.0),
        ("breast-cancer", "ASPCA-BG", 1.0),
        ("breast-cancer", "ASPCA-BG", 10.0),
        pytest.param(
            "breast-cancer",
            "ASPCA-FG",
            1.0,
            marks=pytest.mark.xfail(strict=True, reason="AUC 0.913 and 0.919: early forward steps are not rank one"),
        ),
        ("synthetic", "ASPCA-B", 5.0),
        ("kdd99", "ASPCA-B", 100.0),
        ("kdd99", "ASPCA-BG", 10.0),
        ("kdd99", "ASPCA-BG", 100.0),
        ("kdd99", "ASPCA-BG", 500.0),
    ],
)
def test_the_sparse_rounding_is_as_good_as_the_papers(name: str, method: str, penalty: float) -> None:
    found = study(name)
    dominant = found.fit(method, penalty)
    model = ASPCA.paper(
        n_components=found.n_components,
        alpha=penalty / found.data.data.shape[0],
        variant=method.removeprefix("ASPCA-"),
        rounding="sparse",
        scaling=found.scaling,
    ).fit_moments(found.moments)
    loadings = model.subspace_.loadings
    assert np.abs(loadings).sum() <= 1.005 * dominant.l1, "the sparse rounding should not be denser"
    assert found.compute_auc(np.square(found.rows @ loadings).sum(axis=1)) >= dominant.auc - 0.005, (
        "it should detect as well"
    )
