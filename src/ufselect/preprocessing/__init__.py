"""What is done to data before columns are selected."""

from ufselect.preprocessing.counts import LogNormalize, median_of_positive
from ufselect.preprocessing.missing import MissingValues

__all__ = ["LogNormalize", "MissingValues", "median_of_positive"]
