"""Read tables from files, and write them."""

from ufselect.files.codes import codes_among
from ufselect.files.counts import looks_like_counts, share_of_zeros
from ufselect.files.formats import FORMATS, file_format
from ufselect.files.parquet_parts import paths_matching
from ufselect.files.read import is_pattern, read_table
from ufselect.files.table import Selection, Table
from ufselect.files.values import infinite_values, missing_values, negative_values, with_medians
from ufselect.files.write import check_writable, write_table

__all__ = [
    "FORMATS",
    "Selection",
    "Table",
    "check_writable",
    "codes_among",
    "file_format",
    "infinite_values",
    "is_pattern",
    "looks_like_counts",
    "missing_values",
    "negative_values",
    "paths_matching",
    "read_table",
    "share_of_zeros",
    "with_medians",
    "write_table",
]
