"""What a floating-point type resolves beside a large offset, and what to say where it resolves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.policy import MEAN_TO_SHIFT, ROUNDING_OF_DOUBLES, ROUNDING_OF_SINGLES
from ufselect._utils.warnings import warn_user
from ufselect._utils.wording import shown

Float = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def magnitudes(extremes: tuple[Any, Any]) -> Float:
    """Return the largest magnitude of every column, given its smallest and its largest value."""
    return np.maximum(np.abs(extremes[0]), np.abs(extremes[1])).astype(np.float64)


def whole_columns(X: Any) -> Mask:
    """Return which columns consist of whole numbers."""
    if not sp.issparse(X):
        return np.asarray(np.all(np.rint(X) == X, axis=0))
    broken = abs(X.rint() - X).max(axis=0)
    return np.asarray(broken.toarray().ravel() == 0.0)


def has_large_offsets(mean: Float, deviation: Float) -> bool:
    """Return whether the mean of some column is large compared to its standard deviation."""
    return bool(np.any(np.abs(mean) > MEAN_TO_SHIFT * deviation))


def largest_rounding(limits: Any) -> float:
    """Return the standard deviation, relative to the values, up to which a column may differ by rounding only."""
    return float(limits.eps) * (ROUNDING_OF_DOUBLES if limits.bits == 64 else ROUNDING_OF_SINGLES)


def differs_by_rounding(deviation: Float, size: Float, whole: Mask, limits: Any) -> Mask:
    """Return which columns differ from a constant by no more than rounding.

    Parameters
    ----------
    deviation, size : ndarray of shape (d,)
        Standard deviation and largest magnitude of each column.
    whole : ndarray of bool of shape (d,)
        Which columns consist of whole numbers: these are exact as long as the type holds every whole number. Above
        that, numbers of single precision may still be exact if they differ by more than neighbouring ones do.
    limits : finfo
        Precision of the values.
    """
    rounding = largest_rounding(limits) * size
    if limits.bits < 64:
        rounding = np.where(whole, _spacing(size, limits), rounding)
    exact = whole & (size <= _largest_exact(limits))
    return ~exact & (deviation <= rounding)


def _largest_exact(limits: Any) -> float:
    """Return the number up to which the type holds every whole number."""
    return 2.0 / float(limits.eps)


def why_nothing_is_informative(size: Float, varies: Mask, n: int, limits: Any, within: str = "") -> str:
    """Return the message that all columns are constant, or that their precision cannot tell.

    Parameters
    ----------
    size : ndarray of shape (d,)
        Largest magnitude of each column.
    varies : ndarray of bool of shape (d,)
        Which columns hold more than one value.
    n : int
        Number of samples.
    limits : finfo
        Precision of the values.
    within : str
        Within what they are constant.
    """
    said = f"X has no informative column: all {len(size)} columns are constant{within} over {n} samples"
    doubtful = size[varies | (size > _largest_exact(limits))]
    if limits.bits == 64 or not len(doubtful):
        return said + "."
    value = float(doubtful.max())
    return (
        f"{said} in {limits.dtype}, which holds no differences below {_spacing(value, limits):.3g} at {value:.2g}: "
        "pass X as float64, or subtract an offset from it before it is rounded."
    )


def warn_of_rounding(rounded: Mask, size: Float, limits: Any, names: Sequence[str] | None) -> None:
    """Warn of columns that vary, but by no more than their single precision resolves at large magnitudes.

    At small ones, where it holds all whole numbers, they are taken for computed constants.
    """
    found = np.flatnonzero(rounded & (size > _largest_exact(limits)))
    if limits.bits == 64 or not len(found):
        return
    first = int(found[0])
    called = f"Column {first}" if names is None else f"Column '{shown(str(names[first]))}'"
    others = f" ({len(found)} such columns in all)" if len(found) > 1 else ""
    value = float(size[first])
    warn_user(
        f"{called} of X varies by no more than {limits.dtype} resolves at {value:.2g}, where its values are "
        f"{_spacing(value, limits):.3g} apart, and counts as constant{others}. Pass X as float64 if it is more precise."
    )


def _spacing(value: Any, limits: Any) -> Any:
    """Return the distance from positive values to the next ones that the type holds."""
    return np.ldexp(float(limits.eps), np.frexp(value)[1] - 1)


def common_spread(spread: Float, scale: str | None) -> float:
    """Return the spread, of the columns that are not constant, to which the others are compared when scaled."""
    if scale == "standard" or not len(spread):
        return 0.0
    return float(np.median(spread) if scale == "moderate" else spread.max())
