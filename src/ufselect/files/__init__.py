"""Read tables from files, and write them."""

from ufselect.files.formats import FORMATS, file_format
from ufselect.files.read import read_table
from ufselect.files.table import Selection, Table
from ufselect.files.values import infinite_values, missing_values, with_logarithms, with_medians
from ufselect.files.write import write_table

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
