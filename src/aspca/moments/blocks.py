"""The moments of one block of rows, centred before anything is multiplied, and the decimals that it is given in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aspca.linalg.arrays import EPS, Bools, Floats, Ints
from aspca.linalg.small import symmetrise

Number = Floats | float
Pair = tuple[Floats, Floats]
# The same where nothing is known of what rounding left over.
Rounded = tuple[Floats, Floats | None]
# A block of 1 MiB stays in the second-level cache, and is all that is ever copied of the data.
BLOCK_VALUES = 2**17
# Temporaries of 256 KiB: larger ones go back to the operating system each time, and come as fresh pages.
SLICE_VALUES = 2**15
# A block much shorter than it is wide would cost more in adding p x p matrices than in making them.
ENOUGH_ROWS = 2048
# Bits of a float64, and what splits one in halves (Veltkamp).
_MANTISSA, _SPLITTER = 53, 2.0**27 + 1.0
_SMALLER, _LARGE = 2.0**-64, 2.0**800
# Below this, what is left of a value by cutting has no normal float64.
_LEAST_EXPONENT = -960
# More decimals than this are no step that somebody chose: the column is continuous.
MOST_DECIMALS = 6
CONTINUOUS = 16
# BLAS sums products one after the other: errors grow with the rows of a block, but hardly with merges.
MOST_ROWS = 2**13


def slice_rows(n_rows: int, n_features: int) -> Iterator[slice]:
    """Consecutive slices that cover `n_rows` rows, each about one block in size."""
    step = max(min(BLOCK_VALUES // n_features, MOST_ROWS), min(n_features, ENOUGH_ROWS), 1)
    return _slices(n_rows, step)


def slice_for_cache(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Consecutive slices of a matrix, for temporaries that stay small."""
    return _slices(n_rows, max(SLICE_VALUES // n_columns, 1))


def _slices(n_rows: int, step: int) -> Iterator[slice]:
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """`(s, e)` with `s` the rounded sum and `s + e` equal to `a + b` exactly (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def two_product(a: Number, b: Number) -> tuple[Floats, Floats]:
    """`(c, e)` with `c` the rounded product and `c + e` equal to `a b` exactly, barring overflow (Dekker)."""
    product = np.asarray(a * b)
    high_a, high_b = (_high_half(one) for one in (a, b))
    low_a, low_b = a - high_a, b - high_b
    return product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def _high_half(a: Number) -> Floats:
    scaled = _SPLITTER * a
    return np.asarray(scaled - (scaled - a))


def sum_block(columns: Floats, minimum: Floats, maximum: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Centre, residual and scatter of one block, the scatter as a sum of two numbers.

    `columns` (p, m), m >= 1, finite, are overwritten; `minimum` and `maximum` (p,) are theirs. The unevaluated sum of
    centre and residual (p,) is the mean, `centre` being the mean as one float64; that of both scatters (p, p) is the
    sum of (x - mean)(x - mean)', the first being it as one float64; infinite where it exceeds float64.

    The sum of both is right to about 1e-21 of sqrt(S_ii S_jj): far below what one float64 shows, so that blocks cut
    otherwise, or rows in another order, end in the same float64 but for one time in thousands. Where two columns are
    alike to four digits, the last bit of a scatter is the eighth digit of how they differ.

    Values are seen from a point from which they are seen without rounding. Each is cut into a leading part of 20 bits,
    of which products and sums are exact in float64 whatever the order, and the rest, a millionth of it, whose products
    may be rounded. What the point is off the mean is taken out at the end.
    """
    m = columns.shape[1]
    point = _point(columns, minimum, maximum)
    cut = _cutter(np.maximum(maximum - point, point - minimum), m)
    rest = np.empty_like(columns)
    for lines in slice_for_cache(*columns.shape):
        if point[lines].any():
            columns[lines] -= point[lines, None]
        leading = columns[lines] + cut[lines, None]
        leading -= cut[lines, None]
        np.subtract(columns[lines], leading, out=rest[lines])
        columns[lines] = leading
    mean, mean_low = divide_sum(two_sum(columns.sum(axis=1), rest.sum(axis=1)), float(m))
    scatter = columns @ columns.T
    # BLAS makes A A' symmetric wherever NumPy asks it to, but nothing promises that it does.
    symmetrise(scatter)
    # Twice the leading parts and the rest: with the rest they make all products but those of leading parts.
    columns *= 2.0
    columns += rest
    low = rest @ columns.T
    symmetrise(low)
    add_outer(scatter, low, (mean, mean_low), (-float(m), 0.0))
    centre, residual = two_sum(point, mean)
    return *two_sum(centre, residual + mean_low), scatter, low


def _point(columns: Floats, minimum: Floats, maximum: Floats) -> Floats:
    """A point (p,) that no difference from it is rounded: zero, or the mean where all values are about as large."""
    near = np.asarray(columns.mean(axis=1))
    # Of two numbers, one at most twice the other, the difference is exact (Sterbenz).
    far = np.maximum(maximum - near, near - minimum) <= 0.25 * np.abs(near)
    return np.where(far, near, 0.0)


def divide_sum(number: tuple[Floats, Floats], divisor: float) -> tuple[Floats, Floats]:
    """An unevaluated sum of two numbers (p,), divided; the same kind of sum."""
    high, low = number
    quotient = high / divisor
    back, rounded = two_product(quotient, divisor)
    return quotient, ((high - back) - rounded + low) / divisor


def _cutter(reach: Floats, m: int) -> Floats:
    """What is added and taken off again to leave leading bits: of values up to `reach` (p,), for sums of m products."""
    bits = (_MANTISSA - int(np.ceil(np.log2(max(m, 2))))) // 2
    exponents = np.frexp(np.where(reach > 0.0, reach, 1.0))[1] - bits
    return np.asarray(np.ldexp(1.5, np.maximum(exponents, _LEAST_EXPONENT) + _MANTISSA - 1))


def sum_weighted_block(columns: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The same of rows with positive weights (m,), each number to the accuracy of one float64.

    Three subtractions, each of something closer to the mean. (1) The heaviest row: never further than sqrt(m)
    standard deviations from the mean, while the first row may be an outlier of no weight. (2) The mean
    so found, rounded to float64: from here on it does not matter how far off that row was. (3) The mean of
    what is left, which is below the resolution of the data; what its rounding leaves behind enters squared.
    """
    share = weights / weights.sum()
    start = columns[:, int(weights.argmax())].copy()
    centre = np.empty_like(start)
    for lines in slice_for_cache(*columns.shape):
        centre[lines] = start[lines] + (columns[lines] - start[lines, None]) @ share
    columns -= centre[:, None]
    residual = columns @ share
    columns -= residual[:, None]
    columns *= np.sqrt(weights)
    scatter = columns @ columns.T
    symmetrise(scatter)
    return *two_sum(centre, residual), scatter, np.zeros_like(scatter)


def add_outer(scatter: Floats, low: Floats, gap: Pair, weight: tuple[float, float]) -> None:
    """Add weight gap gap' to `scatter + low` (p, p), a few rows at a time: no further p x p matrix.

    `gap` is the unevaluated sum of two vectors (p,), `weight` of two numbers.
    """
    for rows in slice_for_cache(*scatter.shape):
        scatter[rows], low[rows] = _with_outer(rows, (scatter[rows], low[rows]), gap, weight)


def sum_with_outer(one: Rounded, other: Rounded, gap: Pair, weight: tuple[float, float]) -> Pair:
    """one + other + weight gap gap', all of them unevaluated sums of two matrices (p, p), in the same way."""
    scatter, low = np.empty_like(one[0]), np.empty_like(one[0])
    for rows in slice_for_cache(*scatter.shape):
        total, more = two_sum(one[0][rows], other[0][rows])
        for low_part in (one[1], other[1]):
            if low_part is not None:
                more += low_part[rows]
        scatter[rows], low[rows] = _with_outer(rows, (total, more), gap, weight)
    return scatter, low


def _with_outer(rows: slice, before: Pair, gap: Pair, weight: tuple[float, float]) -> Pair:
    """Some rows of the sum."""
    (high, rest), (heavy, light) = gap, weight
    # The product of the gaps first: only that is exactly symmetric.
    product, error = two_product(high[rows, None], high[None, :])
    error += high[rows, None] * rest[None, :] + rest[rows, None] * high[None, :]
    error *= heavy
    error += light * product
    # To split the largest products would overflow; smaller ones are the same but for the power of two.
    smaller = np.where(np.abs(product) > _LARGE, _SMALLER, 1.0)
    product, rounded = two_product(product * smaller, heavy)
    total, more = two_sum(before[0], product / smaller)
    return two_sum(total, before[1] + more + rounded / smaller + error)


def find_decimals(columns: Floats) -> Ints:
    """The decimals that every value of each column (p, n) needs, `CONTINUOUS` beyond six; 0 where there are no values.

    A value counts as a decimal number if it is the float64 nearest to one, give or take a rounding or two.
    """
    found = np.full(len(columns), CONTINUOUS, dtype=np.intp)
    open_columns = np.arange(len(columns))
    for decimals in range(MOST_DECIMALS + 1):
        # Some values before all of them: a continuous column fails at once.
        fits = _fit(columns[open_columns, :64], decimals)
        for row in np.flatnonzero(fits):
            fits[row] = bool(_fit(columns[open_columns[row]][None], decimals)[0])
        found[open_columns[fits]] = decimals
        open_columns = open_columns[~fits]
        if not open_columns.size:
            break
    return found


def _fit(columns: Floats, decimals: int) -> Bools:
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = columns * 10.0**decimals
        off = np.abs(shifted - np.rint(shifted))
        # Beyond 2^53 every float64 is a whole number: no sign of a step.
        bad = (off > 4.0 * EPS * np.abs(shifted)) | (np.abs(shifted) >= 2.0**53)
    return np.asarray(~bad.any(axis=1))
