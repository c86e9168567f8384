"""Read tables from files, and write them."""

from ufselect.files.codes import codes_among
from ufselect.files.counts import looks_like_counts, share_of_zeros
from ufselect.files.formats import FORMATS, file_format
from ufselect.files.read import read_table
from ufselect.files.table import Selection, Table
from ufselect.files.values import infinite_values, missing_values, negative_values, with_medians
from ufselect.files.write import write_table

__all__ = [
    "FORMATS",
    "Selection",
    "Table",
    "codes_among",
    "file_format",
    "infinite_values",
    "looks_like_counts",
    "missing_values",
    "negative_values",
    "read_table",
    "share_of_zeros",
    "with_medians",
    "write_table",
]
