"""PostgreSQL through ADBC: its tables and queries as sources, and new tables of it as sinks."""

from aspca.tables.postgres.reading import open_postgres, refuse_same_table
from aspca.tables.postgres.writing import write_postgres

__all__ = ["open_postgres", "refuse_same_table", "write_postgres"]
