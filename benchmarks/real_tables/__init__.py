"""Real tables that ship inside public packages, with the identities that hold in them, known beforehand.

    from real_tables import catalogue, cases
    for table in catalogue():
        if table.available:
            for case in cases(table): ...

`catalogue()` lists the tables, `cases(table)` breaks each identity of a table in one row at a time, `trial` measures
what a model makes of a case. Nothing here is found at run time: identities are declared, and `Table.check` proves them.
"""

from .catalogue import catalogue
from .spoiling import Case, Skipped, cases, skipped
from .table import Identity, Table

__all__ = ["Case", "Identity", "Skipped", "Table", "cases", "catalogue", "skipped"]
