"""Read tables from files, and write them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ufselect.files.parquet_parts import paths_matching
    from ufselect.files.reading import is_pattern, read_table
    from ufselect.files.recognition import codes_among, looks_like_counts, share_of_zeros
    from ufselect.files.registry import FORMATS, Format, check_writable, file_format
    from ufselect.files.table import Selection, Table
    from ufselect.files.values import infinite_values, missing_values, negative_values, with_medians
    from ufselect.files.writing import write_table

_NAMES_OF = {
    "parquet_parts": ("paths_matching",),
    "reading": ("is_pattern", "read_table"),
    "recognition": ("codes_among", "looks_like_counts", "share_of_zeros"),
    "registry": ("FORMATS", "Format", "check_writable", "file_format"),
    "table": ("Selection", "Table"),
    "values": ("infinite_values", "missing_values", "negative_values", "with_medians"),
    "writing": ("write_table",),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}

__all__ = [
    "FORMATS",
    "Format",
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


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: the command line needs the list of formats before NumPy."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'ufselect.files' has no attribute {name!r}")
    value = getattr(import_module(f"ufselect.files.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
