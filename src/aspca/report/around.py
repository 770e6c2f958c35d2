"""The rows before and after each anomaly that is shown: of these few, what they are and how far off."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from aspca.judging.breaks import told_rules
from aspca.judging.changes import Course
from aspca.judging.explanation import Explanation
from aspca.judging.judgement import Judgement
from aspca.judging.original import Original, value_text
from aspca.judging.row_text import standing_out
from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.report.gathering import deviation_units

# So many rows to either side are drawn, and so many of them told.
DRAWN, TOLD = 10, 2
# Columns whose values are told.
_COLUMNS = 4


class Around:
    """What is near the anomalies shown; the rows are to be added, as `wanted` says.

    Parameters
    ----------
    why : Explanation
        Of the anomalies, in the order in which they are shown.
    course : Course
        The order of all rows.
    positions : ndarray of shape (k,)
        Where the anomalies stand among all rows.
    """

    def __init__(self, why: Explanation, course: Course, positions: Ints) -> None:
        self._course = course
        self._model = why.model
        self.rules = [self._rule(why, i) for i in range(len(why))]
        self.features = [self._told(why, i, rule) for i, rule in enumerate(self.rules)]
        self._used = self._all_used()
        self.ranks = course.ranks(positions)
        offsets = np.arange(-DRAWN, DRAWN + 1)
        near = np.unique((self.ranks[:, None] + offsets).ravel())
        near = near[(near >= 0) & (near < course.n)]
        self._wanted = np.sort(near if course.order is None else course.order[near])
        self._place = {position: place for place, position in enumerate(self._wanted.tolist())}
        self._scores = np.full(self._wanted.size, np.nan)
        self._multiples = np.full((self._wanted.size, len(self._model.rules)), np.nan)
        self._values = np.full((self._wanted.size, self._used.size), np.nan)
        self._units = deviation_units(self._model)
        self._features = tuple(self._model.space.features[j] for j in self._used)
        self._at = {int(j): k for k, j in enumerate(self._used)}

    @staticmethod
    def _rule(why: Explanation, i: int) -> int | None:
        told, _ = told_rules(why, i)
        return told[0] if told else None

    @staticmethod
    def _told(why: Explanation, i: int, rule: int | None) -> list[int]:
        """One for each column whose values are told."""
        blame = round_for_ranking(why.feature_contributions[i])
        chosen = standing_out(why, i) if rule is None else why.shown_features(rule)
        return sorted(sorted(chosen.tolist(), key=lambda j: -blame[j])[:_COLUMNS])

    def _all_used(self) -> Ints:
        """With a category all others of its column are needed, to know which it is."""
        features = self._model.space.features
        columns = {features[j].column for chosen in self.features for j in chosen}
        return np.array([j for j, feature in enumerate(features) if feature.column in columns], dtype=np.intp)

    def wanted(self, start: int, count: int) -> Ints:
        """Which of so many rows from `start` on are to be added: places among them."""
        first, last = np.searchsorted(self._wanted, [start, start + count])
        return np.asarray(self._wanted[first:last] - start)

    def add(self, positions: Ints, values: Floats, judgement: Judgement) -> None:
        """Some of the rows wanted."""
        places = np.searchsorted(self._wanted, positions)
        self._scores[places] = judgement.scores
        self._multiples[places] = judgement.deviations / self._units
        self._values[places] = values[:, self._used]

    def near(self, i: int) -> list[tuple[int, float | None, bool]]:
        """Positions of the rows around anomaly i in order, how far off each is, in multiples of a limit, and
        whether it is so near that its values are told."""
        limit = self._model.threshold
        found: list[tuple[int, float | None, bool]] = []
        rank, rule = int(self.ranks[i]), self.rules[i]
        for place in range(max(0, rank - DRAWN), min(self._course.n, rank + DRAWN + 1)):
            position = place if self._course.order is None else int(self._course.order[place])
            at = self._place[position]
            multiple = self._scores[at] / limit if rule is None else self._multiples[at, rule]
            known = float(multiple) if np.isfinite(multiple) else None
            found.append((position, known, abs(place - rank) <= TOLD))
        return found

    def values(self, i: int, position: int) -> tuple[str, ...]:
        """What the columns told of anomaly i are in another row."""
        at = self._place[position]
        return tuple(value_text(self._original.value(at, self._at[j])) for j in self.features[i])

    @cached_property
    def _original(self) -> Original:
        """The rows in the terms of the table, once all were added."""
        return Original(self._features, self._values)
