"""Table 4: what the paper's thresholds on the squared prediction error of ASPCA-BG find, also as counts in its text."""

from __future__ import annotations

from aspca.reproduction.comparison import EQUAL, Tolerance, compared
from aspca.reproduction.published import published, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import Study

_RATE = 0.03


def thresholds(study: Study) -> Table:
    """Rates at the paper's own threshold; on KDD99, whose codes are not known, they may differ a little."""
    flagged, anomalous = study.flagged, study.anomalous
    loose = study.name == "kdd99"
    rates = {"TPR": float(flagged[anomalous].mean()), "FPR": float(flagged[~anomalous].mean())}
    source = source_of("thresholds")
    found = [
        compared(
            ("thresholds", study.name, f"SPE >= {study.threshold:g}", what),
            source,
            published("thresholds", study.name, what),
            ours,
            Tolerance(absolute=_RATE) if loose else EQUAL,
        )
        for what, ours in rates.items()
    ]
    counts = {
        "true positives": int((flagged & anomalous).sum()),
        "false positives": int((flagged & ~anomalous).sum()),
        "true negatives": int((~flagged & ~anomalous).sum()),
    }
    said = published("counts").get(study.name, {})
    room = Tolerance(absolute=float(int(_RATE * anomalous.sum()))) if loose else EQUAL
    found += [
        compared(("counts", study.name, "rows", what), source_of("counts"), paper, counts[what], room)
        for what, paper in said.items()
    ]
    return Table("What the thresholds find", tuple(found))
