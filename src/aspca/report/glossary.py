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
        "How far is too far. A row beyond the limit of a rule breaks that rule. The score has a limit of its own: a "
        "row above it is an anomaly.",
    ),
    (
        "Score",
        "One number for how far a row is from all rules together, and from what is usual beside them. A broken rule "
        "lifts it above the limit. It counts squares: ten times as far off is a hundred times the score, so a row that "
        "is 10 times the limit of a rule off has about 100 times the limit of the score.",
    ),
    (
        "Anomaly",
        "A row whose score is above the limit. It is worth a look; it need not be an error. Even where nothing is "
        "wrong, a small share of the rows is above the limit: as many as the level says.",
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
        "Set aside",
        "Gross errors would spoil the rules, so they are left out while rules are learned. They are judged like all "
        "other rows afterwards.",
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
