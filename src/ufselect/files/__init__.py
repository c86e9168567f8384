"""Read tables from files, and write them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ufselect.files.choice import (
        Choice,
        Resampled,
        check_still_numeric,
        choice_as_json,
        chosen_from,
        column_summaries,
        read_choice,
        write_choice,
    )
    from ufselect.files.parquet import paths_matching
    from ufselect.files.reading import is_pattern, read_table
    from ufselect.files.recognition import codes_among, looks_like_counts, share_of_zeros
    from ufselect.files.registry import FORMATS, Format, check_writable, file_format
    from ufselect.files.summaries import ColumnSummary, summaries_of
    from ufselect.files.table import Selection, Table, write_table
    from ufselect.files.values import infinite_values, missing_values, negative_values, with_medians

_MODULES = ("registry", "table", "reading", "parquet", "values", "recognition", "choice", "summaries")

__all__ = [
    "FORMATS",
    "Choice",
    "ColumnSummary",
    "Format",
    "Resampled",
    "Selection",
    "Table",
    "check_still_numeric",
    "check_writable",
    "choice_as_json",
    "chosen_from",
    "codes_among",
    "column_summaries",
    "file_format",
    "infinite_values",
    "is_pattern",
    "looks_like_counts",
    "missing_values",
    "negative_values",
    "paths_matching",
    "read_choice",
    "read_table",
    "share_of_zeros",
    "summaries_of",
    "with_medians",
    "write_choice",
    "write_table",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: the command line needs the list of formats before NumPy."""
    for module in _MODULES if name in __all__ else ():
        found = import_module(f"ufselect.files.{module}")
        if hasattr(found, name):
            globals()[name] = getattr(found, name)
            return globals()[name]
    raise AttributeError(f"module 'ufselect.files' has no attribute {name!r}")
