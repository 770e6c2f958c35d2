"""How the model came about, told: what was set aside, how choices were made, what is proven and what is not."""

from __future__ import annotations

import numpy as np

from aspca.identities.wording import number_text
from aspca.judging.metric import READABLE
from aspca.judging.model import Model
from aspca.report.evidence import Evidence
from aspca.report.naming import Naming
from aspca.report.summary import Certificates, Choice, Choices, Excluded, ExcludedCell, Flagged, Step
from aspca.rules.sentence import counted
from aspca.settings import BY_NAME
from aspca.sparse_pca.defaults import little_variance

# Cells and rows that were set aside, as many as are shown.
_CELLS, _ROWS = 100, 100
# Above so many columns their variances are left out.
_COLUMNS = 512
# The curve of limits reaches from the tenth to a thousand times the limit in use.
_FROM, _TO = 0.1, 1000.0
_TOLD = (
    "n_components",
    "alpha",
    "scaling",
    "score",
    "robust",
    "contamination",
    "limit",
    "rule_limit",
    "level",
    "alarm",
)


def excluded_of(model: Model, naming: Naming, *, elsewhere: bool) -> Excluded:
    """What relations were not learned from, of another table than the one judged or of this."""
    excluded = model.excluded
    if excluded is None:
        return Excluded(False, elsewhere, 0, (), ())
    shown = excluded.shown
    features = model.space.features
    cells = tuple(
        ExcludedCell(
            int(row), naming.number[features[column].column], naming.value(float(now)), naming.value(_near(expected))
        )
        for row, column, now, expected in zip(
            shown.rows[:_CELLS].tolist(),
            shown.columns[:_CELLS].tolist(),
            shown.values[:_CELLS].tolist(),
            shown.expected[:_CELLS].tolist(),
            strict=True,
        )
    )
    repeated = [
        f"{number_text(value)} stands {times:,} times in {features[column].column}, and looks like a word for missing."
        for column, value, times in excluded.repeated
    ]
    remarks = () if naming.private else tuple(repeated)
    return Excluded(True, elsewhere, int(excluded.cells.sum()), cells, remarks)


def _near(value: float) -> float:
    """What was expected, in as many digits as anyone would."""
    return float(f"{value:.6g}")


def choices_of(evidence: Evidence) -> Choices:
    """How the number of rules, the penalty and the limit were chosen, and what others would give."""
    model = evidence.model
    space = model.space.plain
    variances: tuple[float, ...] = ()
    little, directions = 0.0, 0
    if space.known_covariance is not None and space.n_features <= _COLUMNS and space.typical > 0.0:
        values = np.maximum(np.linalg.eigvalsh(space.known_covariance), 0.0) / space.typical
        variances = tuple(float(f"{value:.4g}") for value in values)
        little = little_variance(space.known_covariance) / space.typical
        directions = int((values <= little).sum())
    return Choices(
        settings=_settings(model, directions),
        variances=variances,
        little=float(f"{little:.4g}"),
        directions=directions,
        rules=len(model.rules),
        sensitivity=_sensitivity(evidence),
    )


def _settings(model: Model, directions: int) -> tuple[Choice, ...]:
    came_to = {name: number_or_text(getattr(model.settings, name)) for name in _TOLD}
    many, found = counted(directions, "direction"), counted(len(model.table), "rule")
    if directions:
        among = f"{many} in which rows vary little; {found} found among them that chance does not explain."
        came_to["n_components"] = f"{len(model.table)}: {among}"
    total = model.alarms.total
    if total is not None:
        came_to["limit"] = f"{total.value:.4g} ({total.name})"
    came_to["alpha"] = f"{model.components.alpha:.4g}" if _alpha_known(model) else "not computed"
    if model.metric.kind in READABLE:
        came_to["alpha"] += "; it shapes the components only, not the rules that judge"
    made = []
    for name in _TOLD:
        asked = number_or_text(getattr(model.settings, name))
        why = BY_NAME[name].meaning
        if name == "limit" and total is not None:
            why = f"{why} It assumes: {total.assumes}"
        made.append(Choice(name, asked, came_to[name], why))
    return tuple(made)


def _alpha_known(model: Model) -> bool:
    """Whether it can be told without solving for the components."""
    components = model.components
    return components.solved is not None or (
        components.covariance is not None and components.settings.max_features is None
    )


def number_or_text(value: object) -> str:
    """A setting as it is written."""
    return number_text(value) if isinstance(value, float) else "none" if value is None else str(value)


def _sensitivity(evidence: Evidence) -> tuple[Flagged, ...]:
    limit = evidence.limit
    if not limit:
        return ()
    edges, counts = evidence.gathering.above()
    inside = (edges >= _FROM * limit * 0.999) & (edges <= _TO * limit * 1.001)
    return tuple(
        Flagged(float(f"{edge:.4g}"), int(count)) for edge, count in zip(edges[inside], counts[inside], strict=True)
    )


def certificates_of(model: Model) -> Certificates:
    """What is proven of the components, where they were solved; of readable rules what is not."""
    says = []
    if model.metric.kind in READABLE:
        says.append(
            "The rules that judge are the shortest that a search found among the directions of little variance. That "
            "none is shorter is not proven. Their spreads and limits are measured on rows, and the parts of a row's "
            "score add up to it exactly."
        )
    if model.components.solved is None:
        says.append(
            "The paper's components, which carry certificates, do not judge rows here and were not solved; "
            "aspca report --certificates solves and checks them."
        )
        return Certificates(tuple(says), (), "")
    subspace = model.subspace
    says.append(
        "A certificate belongs to a step of the sequence behind the components. It holds a bound below every vector "
        "there is, and what the vector taken attains: where the two meet, no better one exists."
    )
    steps = tuple(
        Step(number, float(step.lower), float(step.upper), float(step.gap), step.status)
        for number, step in enumerate(subspace.certificates)
    )
    known = model.space.plain.known_covariance
    verified = "" if known is None else str(subspace.verify(known))
    return Certificates(tuple(says), steps, verified)
