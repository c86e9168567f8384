"""The data matrix as a Dask array: products are sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices
from ufselect.columns.dask_blocks import RowBlocks, dense_pieces
from ufselect.columns.dense import Columns


@dataclass(frozen=True)
class Preparation:
    """How a block of X is prepared: which columns, what is subtracted from them, and their scale and precision."""

    index: Indices
    offset: Float
    divisor: Float
    dtype: np.dtype[Any]

    def pieces(self, block: Any) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield slices of the rows of a block and their prepared values."""
        for rows, part in dense_pieces(block):
            values = part[:, self.index] - self.offset  # in double precision, as offsets may be far larger
            values /= self.divisor
            yield rows, values.astype(self.dtype, copy=False)

    def gram(self, block: Any) -> Float:
        """XᵀX of a block."""
        return sum(((V.T @ V).astype(np.float64) for _, V in self.pieces(block)), start=np.zeros(()))

    def transposed_product(self, block: Any, B: Float) -> Float:
        """XᵀB of a block and the rows of B that belong to it."""
        return sum(((V.T @ B[rows]).astype(np.float64) for rows, V in self.pieces(block)), start=np.zeros(()))

    def product(self, block: Any, B: Float) -> Float:
        """XB of a block."""
        return np.concatenate([V @ B for _, V in self.pieces(block)])

    def columns(self, block: Any) -> npt.NDArray[Any]:
        """The prepared values of a block."""
        return np.concatenate([V for _, V in self.pieces(block)])


class DaskColumns(Columns):
    """Some columns of a Dask array, less an offset and divided by a scale.

    Everything with a row per sample that it returns is in memory. What :class:`Columns` can do beyond that needs all
    values at once, and raises an error.

    Parameters
    ----------
    blocks : RowBlocks
    prepare : Preparation
    means : ndarray of shape (d,)
        Means of the columns, before anything is subtracted.
    centered : bool
        Whether the offset is these means.
    unit : float
        The power of two by which all columns are divided if they are not scaled.
    """

    def __init__(
        self, blocks: RowBlocks, prepare: Preparation, means: Float, *, centered: bool, unit: float = 1.0
    ) -> None:
        self._blocks, self._prepare, self._means = blocks, prepare, means
        self.centered, self.unit = centered, unit
        self.offset = None
        self.shape = (blocks.shape[0], len(prepare.index))
        self.dtype = prepare.dtype

    @property
    def values(self) -> Any:
        """Raise an error: the values are not in memory."""
        raise ValueError(
            "These settings need all values of X at once, but X is a Dask array. Use X.compute(), or the default "
            "structure and selection of FSASL."
        )

    @property
    def by_row(self) -> Any:
        """Raise the same error."""
        return self.values

    def __matmul__(self, B: Float) -> Float:
        """XB."""
        weights = np.ascontiguousarray(B, dtype=self.dtype)
        product = np.empty((self.shape[0], B.shape[1]))
        for rows, part in self._blocks.each(partial(self._prepare.product, B=weights), weights[:1].nbytes):
            product[rows] = part
        return product

    def transposed_matmul(self, B: Float) -> Float:
        """XᵀB."""
        return self._blocks.total(self._prepare.transposed_product, B.astype(self.dtype, copy=False))

    @cached_property
    def _gram(self) -> Float:
        return self._blocks.total(self._prepare.gram)

    def gram(self, index: Indices | slice = slice(None), weights: Float | None = None) -> Float:
        """XᵀX of the columns with the given indices."""
        if weights is not None:
            return super().gram(index, weights)  # raises
        return self._gram[index][:, index]

    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        return self._gram.diagonal().copy()

    def subset(self, index: Indices) -> DaskColumns:
        """Return the columns with the given indices."""
        old = self._prepare
        part = DaskColumns(
            self._blocks,
            Preparation(old.index[index], old.offset[index], old.divisor[index], old.dtype),
            self._means[index],
            centered=self.centered,
        )
        if "_gram" in vars(self):
            part._gram = self.gram(index)
        return part

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices, in memory."""
        part = self.subset(np.arange(self.shape[1])[index])
        blocks = self._blocks.each(part._prepare.columns, part.shape[1] * self.dtype.itemsize)
        return np.concatenate([values for _, values in blocks])

    def in_memory(self) -> Columns:
        """The same columns with their values in memory, which is for few of them."""
        return Columns(self.columns(slice(None)), centered=self.centered)

    def less_means(self, weights: Float | None = None) -> DaskColumns:
        """Subtract the means of the columns."""
        if weights is not None:
            return self.values
        return DaskColumns(self._blocks, replace(self._prepare, offset=self._means), self._means, centered=True)
