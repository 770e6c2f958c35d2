"""What every fitted model must be, whatever the table."""

from __future__ import annotations

import numpy as np

from aspca import ASPCA

SCALINGS = ("maxabs", "standard", "none")


def detector(**options: object) -> ASPCA:
    """The estimator with the paper's plain score, judged by that alone."""
    return ASPCA(**{"score": "spe"} | options)


def spe(model: ASPCA, rows: object) -> np.ndarray:
    return -model.score_samples(rows)


def assert_finite(model: ASPCA, rows: object) -> None:
    for name in ("components_", "explained_variance_", "mean_", "scale_", "covariance_", "threshold_", "alpha_"):
        assert np.isfinite(getattr(model, name)).all(), name
    for result in (model.transform(rows), model.score_samples(rows), model.decision_function(rows)):
        assert np.isfinite(result).all()
    for rule in model.rules_:
        assert np.isfinite([rule.centre, rule.spread, *rule.coefficients]).all()
        assert abs(np.linalg.norm(rule.coefficients) - 1.0) <= 1e-12
        assert "nan" not in str(rule)
        assert "inf" not in str(rule)


def assert_proved(model: ASPCA) -> None:
    verification = model.subspace_.verify(model.covariance_)
    assert verification, str(verification)
