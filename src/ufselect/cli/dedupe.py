"""``ufselect dedupe``: columns that say the same as another, and a table without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect import __version__
from ufselect._utils.wording import counted, shown
from ufselect.cli import options
from ufselect.cli.columns import matching_columns
from ufselect.cli.fitting import modest_resources
from ufselect.cli.output import ensure_table_can_be_written, needs_values, print_table, say, write_all
from ufselect.cli.reading import LoadedTable, load_table

if TYPE_CHECKING:
    from ufselect.redundancy import Redundancy

_MOST_GROUPS = 20
_MOST_NAMED = 4
_LONGEST_LINE = 400


def _threshold(above: float) -> float:
    if not 0.0 < above <= 1.0:
        raise typer.BadParameter(f"{above:g} is not above 0 and at most 1")
    return above


def dedupe(
    data: options.Data,
    *,
    above: Annotated[
        float,
        typer.Option(
            "--above",
            metavar="R",
            help="Absolute correlation from which two columns say the same, above 0 and at most 1.",
            callback=_threshold,
        ),
    ] = 0.95,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            readable=False,
            help="Write the columns that are left to this file, in any format of DATA except .xlsx. An .h5ad file "
            "keeps all columns and gets ufselect_selected, ufselect_score (how many columns each stands for) and "
            "ufselect_rank in var, and a record in uns.",
        ),
    ] = None,
    names: Annotated[
        bool, typer.Option("--names", help="Print only the names of the columns that are left, in the order of DATA.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="NAMES",
            help="Leave these columns in the table, whatever they say, to represent others: names or patterns such as "
            "'CD3*', separated by commas. Repeatable.",
        ),
    ] = None,
    jobs: options.Jobs = 1,
    read_options: options.ReadOptions,
) -> None:
    """Find the columns that say the same as another, and leave one to represent them."""
    from sklearn import config_context

    from ufselect.redundancy import redundant_columns

    ensure_table_can_be_written(output, data)
    loaded = load_table(data, read_options, keep_values=needs_values(output, data), prepare=False)
    table = loaded.table
    kept = matching_columns(keep, table.names, table.aside, "--keep") if keep else []
    with modest_resources(loaded.X, jobs):
        found = redundant_columns(loaded.X, above, keep=kept, names=table.names, n_jobs=jobs, verbose=1)
        with config_context(assume_finite=True):
            among_kept = redundant_columns(loaded.X[:, kept], above) if len(kept) > 1 else None
    notes = [*loaded.notes, *_notes_on_kept(kept, among_kept), *_notes_on_constant(found)]
    # Before anything is printed: a reader such as head may close the pipe early.
    write_all({output: _table_writer(found, loaded, kept)} if output else {}, {})
    if names:
        say([found.summary, *notes], err=True)
        say(table.names[column] for column in found.representatives)
        return
    say([found.summary, *notes])
    _print_groups(found, table.names)
    if output:
        say(["", f"Wrote {output}."])


def _notes_on_kept(kept: Sequence[int], among: Redundancy | None) -> list[str]:
    """Return a sentence on the columns that are kept, and whether some of them say the same."""
    if not kept:
        return []
    n_same = 0 if among is None else len(kept) - len(among.representatives)
    same = f", of which {n_same:,} {'says' if n_same == 1 else 'say'} the same as another" if n_same else ""
    return [f"Kept as requested: {counted(len(kept), 'column')}{same}."]


def _notes_on_constant(found: Redundancy) -> list[str]:
    n_constant = int(found.constant.sum())
    if not n_constant:
        return []
    if n_constant == 1:
        return ["1 column is constant: it correlates with no other and is left."]
    return [f"{n_constant:,} columns are constant: they correlate with no other and are left."]


def _print_groups(found: Redundancy, names: Sequence[str]) -> None:
    """Print the largest groups: the representative, for how many others it stands, and which."""
    if not found.groups:
        return
    rows = []
    for representative, *others in found.groups[:_MOST_GROUPS]:
        named = [f"{shown(names[column])} ({found.correlations[column]:+.3f})" for column in others[:_MOST_NAMED]]
        more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
        rows.append([names[representative], f"{len(others):,}", ", ".join(named) + more])
    say([""])
    print_table(["representative", "others", "which (correlation)"], rows, left=[0, 2], longest=_LONGEST_LINE)
    if (n_more := len(found.groups) - _MOST_GROUPS) > 0:
        say([f"… and {counted(n_more, 'more group')}; --names lists the columns that are left, -o writes them."])


def _table_writer(found: Redundancy, loaded: LoadedTable, kept: Sequence[int]) -> Callable[[Path], None]:
    import numpy as np

    from ufselect.files import Selection, write_table

    names, d = loaded.table.names, len(loaded.table.names)
    n_represented = np.bincount(found.representative_of, minlength=d)
    ranking = np.empty(d, dtype=np.intp)
    ranking[np.lexsort((np.arange(d), -n_represented))] = np.arange(1, d + 1)
    record: dict[str, Any] = {
        "version": __version__,
        "method": "dedupe",
        "params": {"above": found.above},
        "n_selected": len(found.representatives),
        "keep": [names[column] for column in kept] or None,
        "counts": loaded.are_counts,
        "representative_of": [names[column] for column in found.representative_of],
        "correlations": found.correlations,
    }
    selection = Selection(n_represented.astype(np.float64), ranking, len(found.representatives), record)
    return lambda path: write_table(path, loaded.table, selection)
