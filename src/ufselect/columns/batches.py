"""Samples in batches, such as plates or donors: columns centred within each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import column_or_1d

from ufselect._utils.memory import ensure_fits
from ufselect._utils.policy import MEAN_TO_SHIFT
from ufselect._utils.types import Float, Indices
from ufselect._utils.wording import counted, shown
from ufselect.columns.dense import Columns, with_dense_columns
from ufselect.columns.moments import (
    column_spreads,
    common_unit,
    constant_columns,
    divisors_of_moments,
    dtype_beside_offsets,
    powers_of_two,
)
from ufselect.columns.tabular import is_missing


@dataclass(frozen=True)
class Batches:
    """The batch of every sample, as a number from 0 on."""

    codes: Indices

    @classmethod
    def of(cls, batch: Any, n_samples: int) -> Batches:
        """Check the batches that a user gives, one for each sample; return a result of this as it is."""
        if isinstance(batch, cls):
            return batch
        labels = column_or_1d(np.asarray(batch, dtype=object))
        if len(labels) != n_samples:
            raise ValueError(f"batch has {len(labels)} values, but X has {n_samples} samples.")
        missing = [index for index, label in enumerate(labels) if is_missing(label)]
        if missing:
            raise ValueError(f"The batch of sample {missing[0]} is missing ({len(missing)} in all).")
        different, numbers = numbered_by_equality(list(labels), "batches")
        names, order = np.unique([str(label) for label in different], return_inverse=True)
        codes = order[numbers]
        if len(names) == 1:
            raise ValueError(f"All samples are in batch '{shown(names[0])}': fit without batch.")
        single = np.flatnonzero(np.bincount(codes) == 1)
        if len(single):
            raise ValueError(
                f"Batch '{shown(names[single[0]])}' has only one sample, which leaves nothing within it: leave the "
                "sample out, or put it into another batch."
            )
        return cls(codes.astype(np.intp))

    def among(self, rows: Indices) -> tuple[Indices, Batches]:
        """Return some of the samples, less those that are single in their batch then, and their batches."""
        codes = self.codes[rows]
        several = np.bincount(codes)[codes] > 1
        return rows[several], Batches(np.unique(codes[several], return_inverse=True)[1])

    @cached_property
    def sizes(self) -> Float:
        """Number of samples in each batch."""
        return np.bincount(self.codes).astype(np.float64)

    @cached_property
    def indicator(self) -> sp.csr_array:
        """Sparse array of shape (n_batches, n_samples) with a 1 for the batch of each sample."""
        n = len(self.codes)
        return sp.csr_array((np.ones(n), (self.codes, np.arange(n))), shape=(len(self.sizes), n))

    def parts(self, X: Any) -> list[Any]:
        """Return the rows of each batch."""
        by_row = X.tocsr() if sp.issparse(X) else X
        return [by_row[np.flatnonzero(self.codes == code)] for code in range(len(self.sizes))]

    def constant_columns(self, X: Any, *, scale: str | None) -> npt.NDArray[np.bool_]:
        """Return which columns are constant within every batch."""
        return np.all([constant_columns(part, scale=scale) for part in self.parts(X)], axis=0)

    def shuffled(self, X: Any, rng: np.random.RandomState) -> Any:
        """Return X with the values of every column in a random order within each batch."""
        parts = [Columns(part).shuffled(rng).values for part in self.parts(X)]
        back = np.argsort(np.argsort(self.codes, kind="stable"), kind="stable")
        return sp.vstack(parts, format="csr")[back] if sp.issparse(X) else np.concatenate(parts)[back]

    def without_means(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a dense X with the means of all batches moved to that of all samples."""
        means = np.array([part.mean(axis=0, dtype=np.float64) for part in self.parts(X)])
        overall = self.sizes @ means / len(self.codes)
        return (X - (means - overall)[self.codes]).astype(dtype_beside_offsets(X))


def numbered_by_equality(values: Sequence[Any], what: str) -> tuple[list[Any], Indices]:
    """Return the different values, sorted (by their texts if they have no order), and the number of each value.

    1 and 1.0 are equal; a number and a text that look the same are an error. Messages call the values ``what``.

    Examples
    --------
    >>> from ufselect.columns.batches import numbered_by_equality
    >>> numbered_by_equality(["b", 2, "a", 2.0], "labels")
    ([2, 'a', 'b'], array([2, 0, 1, 0]))
    """
    n_missing = sum(map(is_missing, values))
    if n_missing:
        raise ValueError(f"{what} are missing for {counted(n_missing, 'sample')}.")
    different = list(dict.fromkeys(values))
    try:
        different.sort()
    except TypeError:
        different.sort(key=str)
    texts = [str(value) for value in different]
    if len(set(texts)) < len(texts):
        same = next(text for text in texts if texts.count(text) > 1)
        raise ValueError(f"{what} have {shown(same)} as a number and as a text; make all of them texts.")
    number = {value: index for index, value in enumerate(different)}
    return different, np.array([number[value] for value in values], dtype=np.intp)


class SparseWithinBatches(Columns):
    """Sparse columns less the means of batches: X = V − EᵀO, with O the (b, d) offsets and E the indicator of batches.

    V stays sparse, and products subtract the offsets implicitly. Only a neighbour search needs all values, which are
    dense, at once.
    """

    def __init__(self, values: Any, batches: Batches, offsets: Float, *, centered: bool, unit: float = 1.0) -> None:
        super().__init__(values, centered=centered, unit=unit)
        self.batches, self.offsets = batches, offsets

    @classmethod
    def of(cls, X: Any, batches: Batches, *, center: bool, scale: str | None) -> SparseWithinBatches:
        """Centre a sparse X within batches, and scale it as :meth:`Columns.prepared` does."""
        means, deviations = (np.array(each) for each in zip(*map(column_spreads, batches.parts(X)), strict=True))
        shares = batches.sizes / len(batches.codes)
        unit = powers_of_two(deviations.max(axis=0))
        deviation = unit * np.sqrt(shares @ (deviations / unit) ** 2)
        overall = shares @ means
        divisor = divisors_of_moments(overall, deviation, center=center, scale=scale)
        shift = 0.0 if center else overall
        heavy = np.flatnonzero(np.any(np.abs(means) > MEAN_TO_SHIFT * deviation, axis=0))
        offsets = means - shift
        if len(heavy):  # a difference of large products would leave few digits
            X = with_dense_columns(X.tocsc(), heavy, X[:, heavy].toarray() - offsets[:, heavy][batches.codes])
            offsets[:, heavy] = 0.0
        values = sp.csc_array(X @ sp.diags_array(1.0 / divisor))
        return cls(values, batches, offsets / divisor, centered=center, unit=common_unit(divisor, scale))

    def _like(self, values: Any, offsets: Float, *, centered: bool | None = None) -> SparseWithinBatches:
        known = self.centered if centered is None else centered
        return SparseWithinBatches(values, self.batches, offsets, centered=known)

    @cached_property
    def by_row(self) -> Any:
        """All values, dense."""
        n, d = self.shape
        ensure_fits(8 * n * d, f"{n:,} samples centred within batches", "use KernelFSASL, which needs no dense copy")
        return self.rows(slice(None))

    @cached_property
    def _stored_rows(self) -> Any:
        return self.values.tocsr()

    def __matmul__(self, B: Float) -> Float:
        """X B."""
        return np.asarray(self._stored_rows @ B - (self.offsets @ B)[self.batches.codes])

    def subset(self, index: Indices) -> Columns:
        """Return the columns with the given indices."""
        return self._like(self.values[:, index], self.offsets[:, index])

    def transposed_matmul(self, B: Float) -> Float:
        """Xᵀ B."""
        return np.asarray(self.values.T @ B - self.offsets.T @ (self.batches.indicator @ B))

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices as a dense (n, len(index)) array."""
        return self.values[:, index].toarray() - self.offsets[:, index][self.batches.codes]

    def rows(self, index: Indices | slice) -> Float:
        """Return the rows with the given indices as a dense (len(index), d) array."""
        return self._stored_rows[index].toarray() - self.offsets[self.batches.codes[index]]

    def gram(self, index: Indices | slice = slice(None), weights: Float | None = None) -> Float:
        """XᵀX, or Xᵀ diag(w) X with w ≥ 0, of the columns with the given indices, as a dense array."""
        # (V−EᵀO)ᵀ D (V−EᵀO) = VᵀDV − SᵀO − OᵀS + Oᵀ diag(ED1) O with S = EDV.
        plain = Columns(self.values[:, index]).gram(weights=weights)
        weights = np.ones(self.shape[0]) if weights is None else weights
        offsets = self.offsets[:, index]
        sums = (self.batches.indicator * weights) @ self.values[:, index]
        cross = sums.T @ offsets
        return np.asarray(plain - cross - cross.T + (offsets.T * (self.batches.indicator @ weights)) @ offsets)

    def row_gram(self, weights: Float | None = None) -> Float:
        """XXᵀ, or X diag(w) Xᵀ with w ≥ 0, as a dense (n, n) array."""
        weights = np.ones(self.shape[1]) if weights is None else weights
        codes = self.batches.codes
        cross = (self._stored_rows @ (self.offsets * weights).T)[:, codes]
        between = (self.offsets * weights) @ self.offsets.T
        return Columns(self.values).row_gram(weights) - cross - cross.T + between[codes][:, codes]

    def in_double_precision(self) -> Columns:
        """The same columns, whose values are float64 already."""
        return self

    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        sums = self.batches.indicator @ self.values
        products = np.asarray(sums.multiply(self.offsets).sum(axis=0)).ravel()
        squares = np.asarray(self.values.power(2).sum(axis=0)).ravel()
        return np.maximum(squares - 2.0 * products + self.batches.sizes @ self.offsets**2, 0.0)

    def squared_row_norms(self) -> Float:
        """‖xᵢ‖² of every sample."""
        codes = self.batches.codes
        cross = (self._stored_rows @ self.offsets.T)[np.arange(len(codes)), codes]
        squares = np.asarray(self._stored_rows.power(2).sum(axis=1)).ravel()
        return np.maximum(squares - 2.0 * cross + np.sum(self.offsets**2, axis=1)[codes], 0.0)

    def mean_squared_distance(self) -> float:
        """The mean of ‖xᵢ−xⱼ‖² over all n² pairs of samples, twice the summed variance of the columns."""
        centered = self if self.centered else self.less_means()
        return 2.0 * float(centered.squared_norms().sum()) / self.shape[0]

    def less_means(self, weights: Float | None = None) -> Columns:
        """Subtract the means of the columns, weighted over the samples if weights are given."""
        return self._like(self.values, self.offsets + self.means(weights), centered=weights is None)

    def scaled(self, weights: Float) -> Columns:
        """X diag(w)."""
        return self._like(sp.csc_array(self.values @ sp.diags_array(weights)), self.offsets * weights)

    def shuffled(self, rng: np.random.RandomState) -> Columns:
        """Return every column with its values in a random order within each batch."""
        return self._like(sp.csc_array(self.batches.shuffled(self.values, rng)), self.offsets)
