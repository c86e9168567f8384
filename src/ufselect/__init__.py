"""Choose the informative columns of unlabelled data."""

from ufselect.selectors.fsasl import FSASL

__version__ = "0.1.0"

__all__ = ["FSASL"]
