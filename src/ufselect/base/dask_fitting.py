"""From a selector and a Dask array to a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.types import Indices
from ufselect.base.screening import Screening, keep_exclude_of
from ufselect.columns.copies import columns_of_equal_extremes, first_of_equal_content
from ufselect.columns.dask_arrays import validate_features
from ufselect.columns.dask_blocks import RowBlocks, dense_pieces
from ufselect.columns.dask_columns import DaskColumns, Preparation
from ufselect.columns.moments import ColumnMoments
from ufselect.columns.resolution import has_large_offsets
from ufselect.columns.scaling import common_unit, divisors_of_moments


def fit_blocks(selector: Any, X: Any, names: Sequence[str] | None = None) -> Any:
    """Fit FSASL to a Dask array or data frame.

    The columns are screened, centred and scaled as those of an array in memory, but block by block.

    Parameters
    ----------
    selector : FSASL
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n, d)
        Each of its blocks fits into the memory of a worker.
    names : sequence of str, optional
        Names of the columns; by default those of a data frame.

    Returns
    -------
    FSASL
        The selector, fitted.
    """
    array: da.Array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
    _refuse(selector, array)
    validate_features(selector, X, names, reset=True)
    names = getattr(selector, "feature_names_in_", None)
    blocks = RowBlocks(array)
    n, d = blocks.shape
    if n < 3 or d < 1:
        raise ValueError(f"X must have at least 3 samples and 1 feature, but its shape is {blocks.shape}.")
    keep_exclude = keep_exclude_of(selector, d, names)
    count = selector._wanted_features(d, keep_exclude)
    dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    moments = _moments(blocks)
    constant = moments.constant_columns(n, np.finfo(dtype), selector.scale, names=names)
    screening = Screening(constant, _first_equal_columns(blocks, moments), keep_exclude, names)
    informative = screening.informative
    if len(informative) > min(n, LARGEST_DENSE_SYSTEM):
        raise ValueError(
            f"A Dask array may have at most as many features as samples, and at most {LARGEST_DENSE_SYSTEM:,}; "
            f"X has {n:,} samples and {len(informative):,} features. Use X.compute() if it fits into memory."
        )
    columns = _prepared(blocks, moments, informative, dtype, center=selector.center, scale=selector.scale)
    with selector._clock():
        selector._rank_and_store(partial(selector._learn, columns), screening, count, dtype, columns.unit)
    return selector


def _refuse(selector: Any, X: da.Array) -> None:
    if selector.device is not None:
        raise ValueError(f"device={selector.device!r} does not work with a Dask array; use device=None.")
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix, but it has {X.ndim} dimension{'s' * (X.ndim != 1)}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, but its type is {X.dtype}.")


def _moments(blocks: RowBlocks) -> ColumnMoments:
    found = [part for _, part in blocks.each(_moments_of_block)]
    lengths, parts = zip(*found, strict=True)
    return ColumnMoments.joined(parts, lengths)


def _moments_of_block(block: Any) -> tuple[int, ColumnMoments]:
    found = [(len(part), ColumnMoments.of_rows(part)) for _, part in dense_pieces(block)]
    lengths, parts = zip(*found, strict=True)
    return sum(lengths), ColumnMoments.joined(parts, lengths)


def _first_equal_columns(blocks: RowBlocks, moments: ColumnMoments) -> Indices:
    """Return for every column the index of the first column with the same values, which may be itself."""
    doubtful = columns_of_equal_extremes((moments.smallest, moments.largest))
    contents = [b""] * len(doubtful)
    if len(doubtful):
        for _, digests in blocks.each(partial(_digests_of_columns, index=doubtful)):
            contents = [content + digest for content, digest in zip(contents, digests, strict=True)]
    return first_of_equal_content(blocks.shape[1], doubtful, contents)


def _digests_of_columns(block: Any, index: Indices) -> list[bytes]:
    """Return a digest of the values of every column in a block; zero and minus zero are the same value."""
    digests = [blake2b(digest_size=16) for _ in index]
    for values in _columns_of_pieces(block, index):
        for digest, column in zip(digests, values, strict=True):
            digest.update(column)
    return [digest.digest() for digest in digests]


def _columns_of_pieces(block: Any, index: Indices) -> Iterator[npt.NDArray[Any]]:
    for _, part in dense_pieces(block):
        yield np.ascontiguousarray(part[:, index].T) + 0.0


def _prepared(
    blocks: RowBlocks,
    moments: ColumnMoments,
    index: Indices,
    dtype: np.dtype[Any],
    *,
    center: bool,
    scale: str | None,
) -> DaskColumns:
    mean, deviation = moments.mean[index], moments.deviation[index]
    divisor = divisors_of_moments(mean, deviation, center=center, scale=scale)
    if not center and has_large_offsets(mean, deviation):
        dtype = np.dtype(np.float64)
    prepare = Preparation(index, mean if center else np.zeros_like(mean), divisor, dtype)
    return DaskColumns(blocks, prepare, mean, centered=center, unit=common_unit(divisor, scale))
