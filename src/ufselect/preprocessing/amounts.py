"""Amounts: quantities that span orders of magnitude, such as incomes and concentrations, taken as logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices, Mask
from ufselect.preprocessing.number_summary import NumberSummary, known_values

# Figures of eleven tables and of the public sets, without labels. In data of one unit (pixels, spectra, expression) at
# most 1 % of the columns differ from the others in being whole or not, and the standard deviations of 95 % and 5 % of
# the columns have a ratio of 180 or less. In tables with amounts, 9 % or more differ, or that ratio is 2,500 or more.
_UNLIKE_UNITS = 300.0
_SIMILAR_UNITS = 10.0  # at least, if whole numbers and others are mixed
_MIXED = 0.05
_LARGEST_GRADE = 20  # range of whole numbers that say nothing of units
_LARGEST_COUNT = 100  # whole numbers up to here are counts
_FEWEST_VALUES = 20  # that differ
_LEAST_SKEW = 2.0  # of an exponential variable
_MOST_SKEW_LEFT = 0.5  # of that of the values
_LEAST_SPAN = 10.0  # ratio of the largest value to the median of the positive ones
_MOST_ZEROS = 0.5
_SMALL = 0.1  # quantile of the positive values from which on the logarithm is one


@dataclass(frozen=True)
class Logarithm:
    """The function log(1 + x / unit): a logarithm of amounts above the unit, and zero at zero."""

    unit: float

    @classmethod
    def of(cls, values: Float) -> Logarithm:
        """Return the logarithm whose unit is a small one of these values, in any unit of measurement."""
        positive = values[values > 0.0]
        return cls(float(np.quantile(positive, _SMALL)) if len(positive) else 1.0)

    def __call__(self, values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """Return the logarithms; of negative values, those of zero."""
        return np.log1p(np.maximum(values, 0.0) / self.unit)


def amounts_among(
    X: npt.NDArray[np.floating], index: Indices, summary: NumberSummary, *, any_units: bool
) -> dict[int, str]:
    """Return the columns that are amounts, and why; none if all columns have similar units, unless ``any_units``."""
    index = index[~summary.constant[index]]
    whole, largest = summary.whole[index], summary.largest[index]
    rich = index[~whole | (largest - summary.smallest[index] >= _LARGEST_GRADE)]
    if not any_units and not _units_differ(summary.deviation[rich], summary.whole[rich]):
        return {}
    some = index[(summary.smallest[index] >= 0.0) & (~whole | (largest > _LARGEST_COUNT))]
    reasons = {column: _why_amount(known_values(X[:, column])) for column in some.tolist()}
    return {column: reason for column, reason in reasons.items() if reason}


def _units_differ(deviations: Float, whole: Mask) -> bool:
    if len(deviations) < 2:
        return False
    low, high = np.quantile(np.log(deviations), [0.05, 0.95])
    is_mixed = _MIXED <= np.mean(whole) <= 1.0 - _MIXED
    return bool(high - low >= np.log(_SIMILAR_UNITS if is_mixed else _UNLIKE_UNITS))


def _why_amount(values: Float) -> str:
    """Return the skews before and after if the logarithm of some values is far less skewed; else nothing."""
    skew = _skew(values)
    if skew < _LEAST_SKEW:
        return ""
    positive = values[values > 0.0]
    if len(positive) < (1.0 - _MOST_ZEROS) * len(values) or values.max() < _LEAST_SPAN * np.median(positive):
        return ""
    left = _skew(Logarithm.of(values)(values))
    if abs(left) > _MOST_SKEW_LEFT * skew or len(np.unique(values)) < _FEWEST_VALUES:
        return ""
    return f"logarithms taken: skew {skew:.1f}, now {left:.1f}"


def _skew(values: npt.NDArray[np.floating]) -> float:
    centred = values - values.mean()
    size = np.abs(centred).max()
    if size == 0.0:
        return 0.0
    centred = centred / size
    return float(np.mean(centred**3) / np.mean(centred**2) ** 1.5)
