"""Digits with leading zeros in text files: postal codes and other identifiers, or numbers of a fixed width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.text_columns import Notation

LEADING_ZEROS = "leading zeros: taken as identifiers"


def identifiers_among(columns: Mapping[int, Any], X: NDArray[np.float64], notation: Notation) -> dict[int, Any]:
    """Return the columns that hold only digits, some with leading zeros; none if all numbers have the same width.

    Parameters
    ----------
    columns : mapping
        The columns with leading zeros as they are written, by their index.
    X : ndarray of shape (n, d)
        The other numeric columns.
    notation : Notation
    """
    found = {index: column for index, column in columns.items() if _are_digits(notation.normalized(column))}
    written = [notation.normalized(column) for column in columns.values()]
    return {} if len(columns) + X.shape[1] > 1 and _have_one_width(written, X) else found


def _are_digits(values: Any) -> bool:
    import pyarrow.compute as pc

    only_digits = pc.all(pc.match_substring_regex(values, r"^\d+$"), min_count=0).as_py()
    return bool(only_digits and pc.any(pc.match_substring_regex(values, r"^0\d")).as_py())


def _have_one_width(written: list[Any], X: NDArray[np.float64]) -> bool:
    """Whether all numbers of a file have as many digits, as a program writes them with a fixed width."""
    import pyarrow.compute as pc

    widths = {width for values in written for width in pc.min_max(pc.utf8_length(values)).as_py().values()}
    if len(widths) != 1:
        return False
    (width,) = widths
    fitting = (10.0 ** (width - 1) <= X) & (10.0**width > X) & (np.rint(X) == X)
    return bool((fitting | np.isnan(X)).all())
