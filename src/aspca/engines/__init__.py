"""Where the data are: files of every common format, read by DuckDB in batches."""

from aspca.engines.errors import SourceError
from aspca.engines.source import Batch, Column, ReadOptions, Source, open_source

__all__ = ["Batch", "Column", "ReadOptions", "Source", "SourceError", "open_source"]
