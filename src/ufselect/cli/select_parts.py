"""``ufselect select --dask``: the informative columns of Parquet files that are larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted
from ufselect.cli.fitting import (
    COUNTS_REQUESTED,
    agreement_found,
    choices_made,
    copies_found,
    counts_detected,
    fit_with_notes,
    what_is_aside,
)
from ufselect.cli.options import Counts
from ufselect.cli.printing import say
from ufselect.cli.selection import cost, print_ranking, selected_names

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.files.parquet_parts import ParquetParts

_SECONDS_TO_CONNECT = 10


def refuse_with_parts(options: Mapping[str, Any]) -> None:
    """Raise an error if one of these options was given, which need a whole table in memory."""
    for name, value in options.items():
        if value:
            raise typer.BadParameter("does not work with --dask", param_hint=f"--{name}")


def refuse_methods_in_memory(selector: BaseSelector) -> None:
    """Raise an error if a method cannot be fitted block by block."""
    from ufselect.selectors.kernel_fsasl import KernelFSASL

    if not isinstance(selector, KernelFSASL):
        reason = f"{type(selector).__name__} needs a whole table in memory; only KernelFSASL works with --dask"
        raise typer.BadParameter(reason, param_hint="--method")


def select_from_parts(
    pattern: Path,
    selector: BaseSelector,
    *,
    scheduler: str,
    aside: Sequence[str] = (),
    counts: Counts | None = None,
    names: bool = False,
) -> None:
    """Select the informative columns of Parquet files, block by block, and print them."""
    start = perf_counter()
    refuse_methods_in_memory(selector)
    from ufselect.files.parquet_parts import parquet_parts

    files = parquet_parts(pattern, aside=aside)
    with _connected(scheduler):
        from ufselect.files.parquet_parts import array_of_parts

        X = array_of_parts(files)
        normalized = _are_counts(files, counts)
        values = _normalized(X) if normalized else X
        fit_with_notes(selector, values, lambda: selector._fit(values, None, files.names))
    found = [_what_was_found(pattern, files, X), *what_is_aside(files.reasons)]
    notes = [*_what_counts_became(normalized, counts), *found]
    if names:
        say(notes, err=True)
        say(selected_names(selector, files.names))
        return
    say([*notes, *choices_made(selector), *copies_found(selector), ""])
    print_ranking(selector, files.names, further="--names lists all")
    say(["", *agreement_found(selector, X, test=False).sentences, f"Took {cost(start)}."])


@contextmanager
def _connected(scheduler: str) -> Iterator[None]:
    """Let Dask compute on a cluster, or on the cores of this machine if the scheduler is "local"."""
    try:
        from distributed import Client
    except ImportError as error:
        raise typer.BadParameter("needs Dask: pip install dask distributed", param_hint="--dask") from error
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
    """Whether the values are counts, as told or by the first part."""
    if counts is not None:
        return counts is Counts.yes
    from ufselect.files import Table, looks_like_counts

    part = next(part for part in files.parts if part.n_rows)
    values = part.read(files.names, files.dtype)
    return looks_like_counts(Table(values, files.names, {}, {}, None, part.path))


def _normalized(X: Any) -> Any:
    """Return the blocks divided by the sums of their rows, and logarithms taken; all with the same target."""
    from ufselect.preprocessing import LogNormalize, median_of_positive

    target = median_of_positive(X.sum(axis=1, dtype="float64").compute())
    return X.map_blocks(LogNormalize(target_sum=target).fit_transform, dtype=X.dtype)


def _what_was_found(pattern: Path, files: ParquetParts, X: Any) -> str:
    n, d = files.shape
    where = f"{counted(files.n_files, 'file')}, {counted(X.numblocks[0], 'block')}, {X.nbytes / 1e6:,.1f} MB"
    return f"{pattern}: {n:,} samples × {d:,} numeric columns ({where})."


def _what_counts_became(normalized: bool, counts: Counts | None) -> list[str]:
    if not normalized:
        return []
    return [COUNTS_REQUESTED if counts is Counts.yes else counts_detected("non-negative whole numbers")]
