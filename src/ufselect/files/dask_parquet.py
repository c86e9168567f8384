"""Parquet files as a Dask array."""

from __future__ import annotations

import dask
import dask.array as da

from ufselect.files.parquet_parts import ParquetParts


def array_of_parts(files: ParquetParts) -> da.Array:
    """Return a Dask array of the numeric columns, each block of which is a part of a file."""
    blocks = [
        da.from_delayed(
            dask.delayed(part.read, pure=False)(files.names, files.dtype),
            shape=(part.n_rows, len(files.names)),
            dtype=files.dtype,
        )
        for part in files.parts
        if part.n_rows
    ]
    return da.concatenate(blocks, axis=0)
