"""Columns that are read by blocks of rows: what those of Dask arrays and of tensors have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns
from ufselect.columns.moments import ColumnMoments, common_unit, divisors_of_moments


@dataclass(frozen=True)
class Preparation:
    """How a block of X is prepared: which columns, what is subtracted from them, and their scale and precision."""

    index: Indices
    offset: Float
    divisor: Float
    dtype: np.dtype[Any]

    def among(self, index: Indices) -> Preparation:
        """The preparation of some of the columns."""
        return replace(self, index=self.index[index], offset=self.offset[index], divisor=self.divisor[index])


class StreamedColumns(Columns):
    """Some columns of a source of blocks of rows, and their means before anything is subtracted.

    What :class:`Columns` can do beyond this needs all values at once, and raises an error.
    """

    _refusal: ClassVar[str]

    def __init__(self, source: Any, prepare: Preparation, means: Float, *, centered: bool, unit: float = 1.0) -> None:
        self._source, self._prepare, self._means = source, prepare, means
        self.centered, self.unit = centered, unit
        self.offset = None
        self.shape = (source.shape[0], len(prepare.index))
        self.dtype = prepare.dtype

    @classmethod
    def of_moments(
        cls, source: Any, moments: ColumnMoments, index: Indices, dtype: Any, *, center: bool, scale: str | None
    ) -> Self:
        """Columns with the given indices, centred and scaled as :meth:`Columns.prepared` does."""
        mean, deviation = moments.mean[index], moments.deviation[index]
        divisor = divisors_of_moments(mean, deviation, center=center, scale=scale)
        prepare = Preparation(index, mean if center else np.zeros_like(mean), divisor, np.dtype(dtype))
        return cls(source, prepare, mean, centered=center, unit=common_unit(divisor, scale))

    @property
    def values(self) -> Any:
        """Raise an error: the values are not in memory."""
        raise ValueError(self._refusal)

    @property
    def by_row(self) -> Any:
        """Raise the same error."""
        return self.values

    @cached_property
    @abstractmethod
    def _gram(self) -> Float:
        """XᵀX."""

    def gram(self, index: Indices | slice = slice(None), weights: Float | None = None) -> Float:
        """XᵀX of the columns with the given indices."""
        if weights is not None:
            return super().gram(index, weights)  # raises
        return self._gram[index][:, index]

    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        return self._gram.diagonal().copy()

    def subset(self, index: Indices) -> Self:
        """Return the columns with the given indices."""
        part = type(self)(self._source, self._prepare.among(index), self._means[index], centered=self.centered)
        if "_gram" in vars(self):
            part._gram = self.gram(index)
        return part

    def scaled(self, weights: Float) -> Self:
        """X diag(w)."""
        prepare = replace(self._prepare, divisor=self._prepare.divisor / weights)
        scaled = type(self)(self._source, prepare, self._means, centered=self.centered)
        scaled.distance_weights = self.distance_weights
        if "_gram" in vars(self):
            scaled._gram = self._gram * np.outer(weights, weights)
        return scaled

    def less_means(self, weights: Float | None = None) -> Self:
        """Subtract the means of the columns."""
        if weights is not None:
            return self.values
        return type(self)(self._source, replace(self._prepare, offset=self._means), self._means, centered=True)
