"""Where the data are: files of every common format, databases, data frames and engines, each as one kind of table."""

from aspca.tables.errors import SourceError
from aspca.tables.formats import open_source
from aspca.tables.request import ReadOptions
from aspca.tables.source import Source
from aspca.tables.table import Batch, Column

__all__ = ["Batch", "Column", "ReadOptions", "Source", "SourceError", "open_source"]
