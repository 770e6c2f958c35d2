"""What the words of a report mean, for whoever opens one for the first time."""

from __future__ import annotations

# What is said where a rule asks for a value that cannot be.
NO_VALUE = "no value alone would do"

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Rule",
        "A relation between columns that normal rows obey, such as total = net + tax. It was found in the rows learned "
        "from, or given by somebody who knows it. The number after ± is its spread.",
    ),
    (
        "Spread",
        "How far normal rows usually are off a rule: the standard deviation of the difference between its two sides. "
        "A rule that held exactly has none.",
    ),
    (
        "Limit",
        "How far is too far. A row beyond the limit of a rule breaks that rule.",
    ),
    (
        "Score",
        "One number for all the evidence against a row: what it breaks, how far out its values are, by themselves and "
        "given the others. A score of 1,000 is as good as one in 1,000 normal rows reaches.",
    ),
    (
        "p-value",
        "The share of normal rows that are as far out as this one, or further.",
    ),
    (
        "Error",
        "A row that is so far out that it is most likely wrong: of all rows called errors, at most one in ten is meant "
        "to be right (the false discovery rate). Certain, very likely and likely say how sure it is for each.",
    ),
    (
        "Unusual",
        "A row that is far out, and may well be right. Even where nothing is wrong, a small share of the rows is "
        "unusual: as many as the level says.",
    ),
    ("Share", "Which part of a row's score a rule makes up. The shares of all rules and of the rest add up to 100 %."),
    (
        "Blame",
        "Which part of a row's score is put down to a column. Where a rule of three columns is broken, the others of "
        "the row's cells tell which of the three is most likely wrong.",
    ),
    (
        "Would have to be",
        "The value with which the rule would hold, if all other cells of the row are right. One such change is enough. "
        "No value alone would do where it would have to be one that the column cannot have, or far beyond all that was "
        "seen.",
    ),
    (
        "Outside the rules",
        "Some rows keep every rule and are unusual all the same: a column is far from where it usually is.",
    ),
    (
        "Excluded",
        "Cells that look like errors would spoil relations, so they are excluded while these are learned. They are "
        "judged like all others afterwards.",
    ),
    (
        "Change",
        "A rule that is off by like amounts for many rows in a row. That is one event, not many anomalies: something "
        "was replaced, moved or set anew.",
    ),
    ("Group", "Anomalies that break the same rules to the same side: often one cause."),
    ("Incident", "Anomalies near each other in time."),
    (
        "Certificate",
        "A proof that nothing better exists than what was found, within a bound that can be checked from the data.",
    ),
)
