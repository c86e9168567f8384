"""What a command reads: a table, with notes on what was done to it, and the classes in one of its columns."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufselect._utils.wording import counted, listed, occurrences, percent, shown
from ufselect.cli.options import Counts, ReadOptions

if TYPE_CHECKING:
    from ufselect.files import Table

COUNTS_REQUESTED = "Values are log-normalised as raw counts, as requested."
_MOST_CODES = 3
_LONGEST_REASON = 250


@dataclass(frozen=True)
class LoadedTable:
    """A table as it was read, its values as the methods see them, and notes on what was done."""

    table: Table
    X: Any
    source: str  # the note on what was read, which pages show elsewhere
    notes: list[str]
    missing: Mapping[str, int]  # number of missing values in the file, by column
    are_counts: bool = False

    def without_source(self, notes: Sequence[str]) -> list[str]:
        """Return notes less the one on what was read."""
        return [each for each in notes if each != self.source]


def load_table(
    path: Path, options: ReadOptions | None = None, *, aside: Sequence[str] = (), keep_values: bool = False
) -> LoadedTable:
    """Read a file; raise an error that names the columns with infinite or missing values.

    Columns in ``aside`` are no features, besides those in the options. Unless ``keep_values``, counts are normalised in
    place.
    """
    from ufselect.files import infinite_values, missing_values, read_table, with_medians

    options = options or ReadOptions()
    aside = (*(options.aside or ()), *aside)
    table = read_table(path, aside=aside, layer=options.layer or None, verbose=1, **options.of_text)
    source = what_was_read(table)
    notes = [source, *table.notes, *notes_on_aside(table.reasons)]
    if infinite := infinite_values(table):
        raise ValueError(f"{occurrences('infinite', infinite)}; replace them, or set the columns aside with --aside.")
    ready = table
    if missing := missing_values(table):
        if options.impute is None:
            raise ValueError(f"{occurrences('missing', missing)}; use --impute median to replace them.")
        ready = with_medians(table)
        notes.append(f"{occurrences('missing', missing)}, replaced by the median of the column.")
    # Judged by the table as read: medians of counts need not be whole numbers.
    counts = _notes_on_counts(table, options.counts)
    codes = [] if counts else _notes_on_codes(table)
    X = _normalized(ready, in_place=not keep_values or ready is not table) if counts else ready.X
    return LoadedTable(table, X, source, [*counts, *notes, *codes], missing, bool(counts))


def classes_of(loaded: LoadedTable, labels: str) -> Any:
    """Return the column of classes; None if no column is named."""
    import numpy as np

    if not labels:
        return None
    values = np.asarray(loaded.table.aside[labels])
    unknown = [value is None or value != value or value == "" for value in values.tolist()]
    if any(unknown):
        raise ValueError(f"{counted(sum(unknown), 'sample')} without a value in {labels}, the column of classes.")
    classes = values.astype(str)
    n_classes = len(np.unique(classes))
    if n_classes == 1:
        raise ValueError(f"{labels} has the same class for all samples; at least 2 classes are needed.")
    if n_classes == len(classes):
        raise ValueError(f"{labels} has a different class for each of the {n_classes:,} samples.")
    return classes


def note_on_detected_counts(how: str) -> str:
    """Return the sentence on counts that nobody has declared as such."""
    return f"Raw counts are detected ({how}) and log-normalised; use --counts no to keep the values unchanged."


def notes_on_aside(reasons: Mapping[str, str]) -> list[str]:
    """Return a sentence on the columns that are not features, and why; none if there are no such columns."""
    if not reasons:
        return []
    # A reason may end with the option that helps, so only names are shortened.
    columns = [f"{shown(name)} ({reason})" for name, reason in reasons.items()]
    return [f"Set aside: {listed(columns, longest=_LONGEST_REASON)}."]


def what_was_read(table: Table) -> str:
    """Return a sentence on the size of a table."""
    from scipy.sparse import issparse

    from ufselect.files import is_pattern

    n, d = table.shape
    name = str(table.path) if is_pattern(table.path) else table.path.name
    kind = "sparse, " if issparse(table.X) else ""
    return f"{name}: {n:,} samples × {d:,} numeric columns ({kind}{table.memory / 1e6:,.1f} MB)."


def _notes_on_counts(table: Table, counts: Counts | None) -> list[str]:
    """Return a sentence on what is done with counts; none if the values are not counts."""
    from ufselect.files import looks_like_counts, share_of_zeros

    if counts is Counts.yes:
        return [COUNTS_REQUESTED]
    if counts is Counts.no or not looks_like_counts(table):
        return []
    return [note_on_detected_counts(f"non-negative integers, {percent(share_of_zeros(table))} zeros")]


def _notes_on_codes(table: Table) -> list[str]:
    """Return a sentence on columns that may be codes rather than quantities; none if there are no such columns."""
    from ufselect.files import codes_among

    codes = codes_among(table)
    if not codes:
        return []
    options = " ".join(f"--aside {shlex.quote(shown(name))}" for name in list(codes)[:_MOST_CODES])
    if len(codes) == 1:
        ((name, count),) = codes.items()
        return [f"{shown(name)} has only {count} distinct integer values: if it is a code, set it aside ({options})."]
    named = listed([f"{shown(name)} ({count})" for name, count in codes.items()], _MOST_CODES)
    return [f"Few distinct integer values in {named}: if these columns are codes, set them aside ({options})."]


def _normalized(table: Table, *, in_place: bool) -> Any:
    """Return the values divided by the sums of their rows, and logarithms taken."""
    from ufselect.files import negative_values
    from ufselect.preprocessing import LogNormalize

    if negative := negative_values(table):
        raise ValueError(f"{occurrences('negative', negative)}; --counts yes requires non-negative values.")
    return LogNormalize(copy=not in_place).fit_transform(table.X)
