"""Every constant that influences a p-value or a verdict; docs/choices.md has the same table with what was measured."""

from __future__ import annotations

from typing import Final

# Share of the rows that a tail is fitted to, and share of the rows at its far end that only enter as a count.
TAIL: Final = 0.2
CENSORED: Final = 0.05
# However few rows there are: rows in a tail, and of these censored.
FEWEST_IN_TAIL: Final = 10
FEWEST_CENSORED: Final = 2
# Exceedances behind a gap this many times as wide as all before are large on average are apart from the rest, if so
# many of a tail come before.
GAP: Final = 8.0
FEWEST_BEFORE_GAP: Final = 5
# Shapes of the Pareto law that are possible, from exponential to no mean, and the mean of their exponential prior.
SHAPES: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
SHAPE_PRIOR: Final = 0.12
# Cross-fitting.
FOLDS: Final = 5
# Shrinkage of correlations towards zero that is possible; held-out residuals choose one per column.
SHRINKAGES: Final = (1e-6, 1e-3, 1e-2, 0.1, 0.5)
# A skewed column is judged given the others as logarithms, unless plain residuals are below this share of theirs.
CLEARLY_BETTER: Final = 0.5
# A column with no more distinct values has no tail: it explains others and is not judged.
DISTINCT: Final = 10
# Cells with smaller p-values are not learned from, and are the accused of the pattern test, of which this is the level.
# Gross ones are tested by themselves too: where merely outlying rows have a pattern, a slip of the pen has none.
OUTLYING: Final = 1e-3
GROSS: Final = 1e-6
PATTERN_LEVEL: Final = 0.05
# Cells further out than this, in robust standard deviations, are not learned from where a column has no tail.
FAR_OUT: Final = 8.0
# What one of the tests of a kind reaches by chance in this share of the rows is no evidence by itself.
BY_CHANCE: Final = 0.03
# Several columns moved, rather than one, if the best change of one leaves more than this share of what it removes.
SEVERAL: Final = 0.3
# The usual (median) size of what is Gaussian, in standard deviations.
GAUSSIAN_SIZE: Final = 0.6745
# Rows that a model of tails is learned from; more are sampled by what they hold.
SAMPLE_ROWS: Final = 20_000
SAMPLE_VALUES: Final = 4_000_000
# A relation is a rule if it has at most so many columns, its residual has at most this share of the spread that
# independent columns would give, and ranks of residual and row correlate by no more than this.
MOST_TERMS: Final = 6
TIGHT: Final = 0.2
HOMOGENEOUS: Final = 0.3
