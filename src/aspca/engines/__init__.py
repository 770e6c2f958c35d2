"""Where the data are: files of every common format, read by DuckDB in batches, as `Moments` or as rows."""

from aspca.engines.errors import SourceError
from aspca.engines.reduction import moments_of
from aspca.engines.source import Batch, Column, ReadOptions, Source, open_source

__all__ = ["Batch", "Column", "ReadOptions", "Source", "SourceError", "moments_of", "open_source"]
