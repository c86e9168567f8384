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
    sums_of_fourth_powers,
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


def sparse_within_batches(X: Any, batches: Batches, *, center: bool, scale: str | None) -> Columns:
    """Centre a sparse X within batches, implicitly, and scale it as :meth:`Columns.prepared` does."""
    means, deviations = (np.array(each) for each in zip(*map(column_spreads, batches.parts(X)), strict=True))
    shares = batches.sizes / len(batches.codes)
    unit = powers_of_two(deviations.max(axis=0))
    deviation = unit * np.sqrt(shares @ (deviations / unit) ** 2)
    overall = shares @ means

    def amplitude() -> Float:
        parts = zip(batches.parts(X), means, strict=True)
        fourth = sum(sums_of_fourth_powers(part, mean, deviation) for part, mean in parts)
        return deviation * np.sqrt(fourth / X.shape[0])

    divisor = divisors_of_moments(overall, deviation, amplitude, center=center, scale=scale)
    heavy = np.flatnonzero(np.any(np.abs(means) > MEAN_TO_SHIFT * deviation, axis=0))
    offsets = means if center else means - overall
    if len(heavy):  # a difference of large products would leave few digits
        X = with_dense_columns(X.tocsc(), heavy, X[:, heavy].toarray() - offsets[:, heavy][batches.codes])
        offsets[:, heavy] = 0.0
    values = sp.csc_array(X @ sp.diags_array(1.0 / divisor))
    return Columns(values, offsets / divisor, centered=center, unit=common_unit(divisor, scale), batches=batches)
