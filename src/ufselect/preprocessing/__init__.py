"""What comes before a selector: counts as logarithms of shares, spectra corrected, any columns as numbers."""

from __future__ import annotations

from ufselect.preprocessing.counts import LogNormalize, median_of_positive
from ufselect.preprocessing.missing import MissingValues
from ufselect.preprocessing.roles import ColumnRole, Role
from ufselect.preprocessing.spectra import SNV
from ufselect.preprocessing.table_preparer import TablePreparer

__all__ = ["SNV", "ColumnRole", "LogNormalize", "MissingValues", "Role", "TablePreparer", "median_of_positive"]
