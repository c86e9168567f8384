"""Tables in and out of files."""

from ufselect.files.formats import FORMATS, file_format, read_table, write_table
from ufselect.files.table import (
    Selection,
    Table,
    infinite_values,
    missing_values,
    with_logarithms,
    with_medians,
)

__all__ = [
    "FORMATS",
    "Selection",
    "Table",
    "file_format",
    "infinite_values",
    "missing_values",
    "read_table",
    "with_logarithms",
    "with_medians",
    "write_table",
]
