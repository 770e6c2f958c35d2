"""Table 1, first half: how many records of each kind were taken from KDD99."""

from __future__ import annotations

from collections import Counter

from aspca.reproduction.comparison import compared
from aspca.reproduction.published import rows_of, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import Study

# The file has no warezserver.
SPELLED = {"warezserver": "warezmaster"}


def categories() -> dict[str, tuple[str, ...]]:
    """Kinds of attacks in each category, as the file spells them."""
    return {
        category: tuple(SPELLED.get(kind, kind) for kind in row["types"])
        for category, row in rows_of("statistics").items()
        if row["types"]
    }


def statistics(study: Study) -> Table:
    counts = Counter(study.data.kinds)
    source = source_of("statistics")
    found = []
    for category, row in rows_of("statistics").items():
        kinds = categories().get(category, ("normal",))
        ours = sum(counts[kind] for kind in kinds)
        found.append(compared(("statistics", study.name, category, "records"), source, row["records"], ours))
        found += [
            compared(("statistics", study.name, category, kind), source, paper, counts[SPELLED.get(kind, kind)])
            for kind, paper in row["types"].items()
        ]
    return Table("Records", tuple(found), ("The paper's warezserver is warezmaster in the file.",))
