"""All tables."""

from __future__ import annotations

from functools import cache

from .measured import measured
from .money import money
from .people import people
from .products import products
from .table import Table


@cache
def catalogue() -> tuple[Table, ...]:
    """Every table, sums first; loaded when first asked for their rows."""
    return (*people(), *money(), *measured(), *products())
