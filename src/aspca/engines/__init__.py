"""Where the data are: files of every common format, databases, data frames and engines, each as one kind of table."""

from aspca.engines.errors import SourceError
from aspca.engines.formats import open_source
from aspca.engines.request import ReadOptions
from aspca.engines.source import Batch, Column, Source

__all__ = ["Batch", "Column", "ReadOptions", "Source", "SourceError", "open_source"]
