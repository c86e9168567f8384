"""``ufselect select --dask``: the informative columns of Parquet files that are larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted
from ufselect.cli.fitting import (
    alignment_of,
    fit_with_notes,
    notes_on_fit,
    print_ranking,
    selected_names,
    verdict_of,
)
from ufselect.cli.options import Counts, ReadOptions
from ufselect.cli.output import say, time_and_memory
from ufselect.cli.reading import COUNTS_REQUESTED, note_on_detected_counts, notes_on_aside

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.files.parquet import ParquetParts

_SECONDS_TO_CONNECT = 10


def refuse_with_dask(options: Mapping[str, Any]) -> None:
    """Raise an error if an option was given that needs the whole table in memory; others are ignored."""
    for name, value in options.items():
        if value and name not in ("aside", "counts"):
            raise typer.BadParameter("does not work with --dask", param_hint=f"--{name.replace('_', '-')}")


def select_with_dask(
    pattern: Path, selector: BaseSelector, options: ReadOptions, *, scheduler: str, names: bool = False
) -> None:
    """Select the informative columns of Parquet files, block by block, and print them."""
    from ufselect.files.parquet import array_of_parts, parquet_parts
    from ufselect.preprocessing import LogNormalize, median_of_positive
    from ufselect.selectors.kernel_fsasl import KernelFSASL

    start = perf_counter()
    if not isinstance(selector, KernelFSASL):
        reason = f"{type(selector).__name__} needs the whole table in memory; only KernelFSASL works with --dask"
        raise typer.BadParameter(reason, param_hint="--method")
    files = parquet_parts(pattern, aside=tuple(options.aside or ()))
    with _connected(scheduler):
        X = array_of_parts(files)
        are_counts, values = _are_counts(files, options.counts), X
        if are_counts:
            # All blocks have the same target.
            target = median_of_positive(X.sum(axis=1, dtype="float64").compute())
            values = X.map_blocks(LogNormalize(target_sum=target).fit_transform, dtype=X.dtype)
        fit_with_notes(selector, values, lambda: selector._fit(values, None, files.names))
    n, d = files.shape
    size = f"{counted(files.n_files, 'file')}, {counted(X.numblocks[0], 'block')}, {X.nbytes / 1e6:,.1f} MB"
    notes = [f"{pattern}: {n:,} samples × {d:,} numeric columns ({size}).", *notes_on_aside(files.reasons)]
    if are_counts:
        detected = note_on_detected_counts("non-negative integers")
        notes.insert(0, COUNTS_REQUESTED if options.counts is Counts.yes else detected)
    if names:
        say([*verdict_of(selector), *notes], err=True)
        say(selected_names(selector, files.names))
        return
    say([*verdict_of(selector), *notes, *notes_on_fit(selector), ""])
    print_ranking(selector, files.names, further="--names lists all")
    say(["", *alignment_of(selector), f"Took {time_and_memory(start)}."])


@contextmanager
def _connected(scheduler: str) -> Iterator[None]:
    """Let Dask compute on a cluster, or on the cores of this machine if the scheduler is "local"."""
    try:
        from distributed import Client
    except ImportError as error:
        raise typer.BadParameter("requires Dask: pip install dask distributed", param_hint="--dask") from error
    if scheduler == "local":
        with Client(threads_per_worker=1, dashboard_address=None):
            yield
        return
    try:
        client = Client(scheduler, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, TimeoutError) as error:
        reason = f"there is no Dask scheduler at {scheduler}; give its address, such as tcp://host:8786, or local"
        raise typer.BadParameter(reason, param_hint="--dask") from error
    with client:
        yield


def _are_counts(files: ParquetParts, counts: Counts | None) -> bool:
    """Whether the values are counts, as requested or by the first part."""
    if counts is not None:
        return counts is Counts.yes
    from ufselect.files import Table, looks_like_counts

    part = next(part for part in files.parts if part.n_rows)
    values = part.read(files.names, files.dtype)
    return looks_like_counts(Table(values, files.names, {}, {}, None, part.path))
