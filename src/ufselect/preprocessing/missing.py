"""Missing values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ufselect._utils.types import Float


class MissingValues:
    """Replace missing values by the median of their column."""

    medians_: Float

    def fit(self, values: Any) -> Self:
        """Compute the medians; 0 for a column without values."""
        known = ~np.isnan(values).all(axis=0)
        self.medians_ = np.zeros(values.shape[1])
        self.medians_[known] = np.nanmedian(values[:, known], axis=0)
        return self

    def transform(self, values: Any) -> Any:
        """Return the values without missing ones; the same array if there are none."""
        missing = np.isnan(values)
        return np.where(missing, self.medians_.astype(values.dtype), values) if missing.any() else values
