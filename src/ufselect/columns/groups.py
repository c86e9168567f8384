"""Samples in groups, such as classes or batches: equal values are one group, whatever their type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.wording import counted, shown
from ufselect.columns.tabular import is_missing

Indices = npt.NDArray[np.intp]


def numbered_by_equality(values: Sequence[Any], what: str) -> tuple[list[Any], Indices]:
    """Return the different values, sorted (by their texts if they have no order), and the number of each value.

    Parameters
    ----------
    values : sequence
        0.0 and -0.0 are equal, and so are 1 and 1.0.
    what : str
        What messages call them, such as "labels".

    Raises
    ------
    ValueError
        If a value is missing, or if a number and a text look the same.

    Examples
    --------
    >>> from ufselect.columns.groups import numbered_by_equality
    >>> numbered_by_equality(["b", 2, "a", 2.0], "labels")
    ([2, 'a', 'b'], array([2, 0, 1, 0]))
    """
    n_missing = sum(map(is_missing, values))
    if n_missing:
        raise ValueError(f"{what} are missing for {counted(n_missing, 'sample')}.")
    different = _sorted(list(dict.fromkeys(values)))
    texts = [str(value) for value in different]
    if len(set(texts)) < len(texts):
        same = next(text for text in texts if texts.count(text) > 1)
        raise ValueError(f"{what} have {shown(same)} as a number and as a text; make all of them texts.")
    number = {value: index for index, value in enumerate(different)}
    return different, np.array([number[value] for value in values], dtype=np.intp)


def _sorted(values: list[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)
