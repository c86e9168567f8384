"""Moments of columns that are summed over blocks of rows, and which columns they show to be informative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ufselect._utils.policy import LARGEST_VALUE
from ufselect._utils.types import Float
from ufselect.columns.dense import powers_of_two, root_mean_squares
from ufselect.columns.resolution import (
    Mask,
    common_spread,
    differs_by_rounding,
    magnitudes,
    warn_of_rounding,
    whole_columns,
    why_nothing_is_informative,
)


class ColumnMoments(NamedTuple):
    """Smallest and largest value, mean and standard deviation of every column, in float64; which are whole numbers."""

    smallest: Float
    largest: Float
    mean: Float
    deviation: Float
    whole: Mask

    @classmethod
    def of_rows(cls, values: npt.NDArray[Any]) -> ColumnMoments:
        """The moments of a dense block of rows."""
        smallest, largest = (ends.astype(np.float64) for ends in (values.min(axis=0), values.max(axis=0)))
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinite values are reported later
            mean = values.mean(axis=0, dtype=np.float64)
            return cls(smallest, largest, mean, root_mean_squares(values - mean), whole_columns(values))

    @classmethod
    def joined(cls, parts: Sequence[ColumnMoments], lengths: Sequence[int]) -> ColumnMoments:
        """The moments of all rows, given those of blocks of some lengths."""
        smallest, largest, means, deviations, whole = (np.array(each) for each in zip(*parts, strict=True))
        shares = np.asarray(lengths, dtype=np.float64)[:, None] / sum(lengths)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = np.sum(shares * means, axis=0)
            # σ² = Σ sᵇ(σᵇ² + (mᵇ − m)²), in units that keep the squares from underflowing.
            unit = powers_of_two(np.maximum(deviations.max(axis=0), np.abs(means - mean).max(axis=0)))
            variance = np.sum(shares * ((deviations / unit) ** 2 + ((means - mean) / unit) ** 2), axis=0)
        return cls(
            smallest.min(axis=0), largest.max(axis=0), mean, unit * np.sqrt(variance), np.asarray(whole.all(axis=0))
        )

    def constant_columns(
        self,
        n: int,
        limits: Any,
        scale: str | None,
        *,
        computed_in: Any = None,
        names: Sequence[str] | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Return which columns hold only one value, up to rounding; raise an error if X cannot be fitted.

        Parameters
        ----------
        n : int
            Number of rows.
        limits : finfo
            Precision of the values.
        scale : {"standard", "moderate"} or None
            How the columns will be scaled; a column is also constant if the squares of its scaled values underflow.
        computed_in : finfo, optional
            Precision of the scaled values, by default that of the values.
        names : sequence of str, optional
            What errors call the columns; by default their numbers.
        """
        size = magnitudes((self.smallest, self.largest))
        called = np.arange(len(size)) if names is None else names
        if not np.all(np.isfinite(size)):
            raise ValueError(f"Column {called[int(np.argmin(np.isfinite(size)))]} of X contains NaN or infinity.")
        if size.max() > LARGEST_VALUE:
            raise ValueError(
                f"Column {called[int(np.argmax(size))]} of X has a value of magnitude {size.max():.0e}, too large to "
                f"be squared. Scale X to values of at most {LARGEST_VALUE:.0e}."
            )
        spread = self.largest - self.smallest
        rounded = (spread > 0.0) & differs_by_rounding(self.deviation, size, self.whole, limits)
        constant = (spread == 0.0) | rounded
        smallest_square = float((limits if computed_in is None else computed_in).tiny)
        least = np.sqrt(smallest_square) * common_spread(spread[~constant], scale)
        constant |= spread <= max(float(limits.tiny), least)
        if constant.all():
            raise ValueError(why_nothing_is_informative(size, spread > 0.0, n, limits))
        warn_of_rounding(rounded, size, limits, names)
        return np.asarray(constant)
