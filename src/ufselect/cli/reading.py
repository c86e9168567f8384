"""What a command reads: a table, the roles of its columns, notes on what was done, and the classes in a column."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted, listed, occurrences, percent, shown
from ufselect.cli.columns import by_variable
from ufselect.cli.options import Counts, ReadOptions
from ufselect.cli.output import print_table, say
from ufselect.cli.preparing import Features, prepared

if TYPE_CHECKING:
    from ufselect.files import Choice, Selection, Table
    from ufselect.preprocessing import ColumnRole

_TABLES = ("csv", "tsv", "parquet", "xlsx")
COUNTS_REQUESTED = "Values are log-normalised as raw counts, as requested."
_MOST_CODES = 3
_LONGEST_REASON = 250
_LONGEST_LIST = 120
_MOST_MISSING = 3  # columns that are named
_FEATURES = ("numeric", "amount", "category")
_COUNTED = {  # columns of a role, one and several
    "numeric": ("number", "numbers"),
    "amount": ("amount (as logarithm)", "amounts (as logarithms)"),
    "category": ("category", "categories"),
    "id": ("id", "ids"),
    "date": ("date", "dates"),
    "text": ("text", "texts"),
    "incomplete": ("incomplete", "incomplete"),
    "constant": ("constant", "constant"),
    "copy": ("copy", "copies"),
    "requested": ("as requested", "as requested"),
    "other": ("other", "others"),
}
_REPEATING = (
    "near copy ",
    "identifier, ",
    "dates ",
    "constant",
    "requested",
)  # beginnings of reasons that the role says


@dataclass(frozen=True)
class LoadedTable:
    """A table as it was read, its features as the methods see them, and notes on what was done."""

    table: Table
    X: Any
    source: str  # the note on what was read, which pages show elsewhere
    notes: list[str]
    missing: Mapping[str, int]  # number of missing values in the file, by feature
    are_counts: bool = False
    names: Sequence[str] = ()  # of the columns of X
    variables: Sequence[str] = ()  # the column of the file that each of them comes from
    roles: Sequence[ColumnRole] = ()  # of the columns of the file; none if they were not decided
    filled: Any = None  # which values of X are filled in; None if none is

    @property
    def as_observed(self) -> Any:
        """X with NaN where values are filled in, since columns are tested where they are observed."""
        import numpy as np

        return self.X if self.filled is None else np.where(self.filled, np.nan, self.X)

    @property
    def groups(self) -> list[str] | None:
        """The variable of each column of X; None if each is one by itself."""
        return None if len(set(self.variables)) == len(self.variables) else list(self.variables)

    @property
    def columns_of_variables(self) -> dict[str, list[int]]:
        """The columns of X that each variable has."""
        return by_variable(self.variables)

    @property
    def aside(self) -> dict[str, str]:
        """Why columns are no features, by name."""
        return {each.name: each.reason for each in self.roles if not each.is_feature} | self._others

    @property
    def originals(self) -> dict[str, str]:
        """The column that stands for each near copy, by name."""
        return {each.name: each.original for each in self.roles if each.original}

    @property
    def _others(self) -> dict[str, str]:
        """Why columns are set aside whose roles were not decided, such as those that the user named."""
        decided = {each.name for each in self.roles}
        return {name: reason for name, reason in self.table.reasons.items() if name not in decided}

    @property
    def by_role(self) -> dict[str, dict[str, str]]:
        """The columns of each role and their reasons, features first; empty if all columns are plain numbers."""
        if not self.roles:
            return {}
        found: dict[str, dict[str, str]] = {role: {} for role in _COUNTED}
        for each in self.roles:
            found[each.role][each.name] = each.reason
        for name, reason in self._others.items():
            found[reason if reason == "requested" else "other"][name] = reason
        found = {role: columns for role, columns in found.items() if columns}
        return {} if found.keys() == {"numeric"} else found

    @property
    def summary(self) -> list[str]:
        """A sentence on how many columns have each role; none if all are plain numbers."""
        counts = {role: f"{len(each):,} {_COUNTED[role][len(each) > 1]}" for role, each in self.by_role.items()}
        if not counts:
            return []
        aside = [text for role, text in counts.items() if role not in _FEATURES]
        said = f" Set aside: {', '.join(aside)}; select --roles tells why." if aside else ""
        return [f"Features: {', '.join(counts[role] for role in _FEATURES if role in counts)}.{said}"]

    def as_written(self, selection: Selection, *, all_columns: bool = False) -> tuple[Table, Selection]:
        """Return the table and the selection of its numeric columns, given that of the columns of X.

        Unless ``all_columns``, categories that are not selected, near copies and incomplete columns are left out, as
        columns are that are not selected; ids, dates and text are set aside.
        """
        import numpy as np

        from ufselect.files.table import with_columns_aside

        if not self.roles:
            return self.table, selection
        columns, known = self.columns_of_variables, {each.name for each in self.roles}
        selected = {name for name, index in columns.items() if selection.selected[index].any()}
        carried = {each.name for each in self.roles if each.role in ("id", "date", "text")}
        left_out = set() if all_columns else known - selected - carried
        aside = {name: values for name, values in self.table.aside.items() if name not in left_out}
        table = with_columns_aside(replace(self.table, aside=aside), [n for n in self.table.names if n in carried])
        index = [columns.get(name, []) for name in table.names]
        best = np.array([min(selection.ranking[each], default=np.inf) for each in index])
        ranking = np.empty(len(best), dtype=np.intp)
        ranking[np.argsort(best, kind="stable")] = np.arange(1, len(best) + 1)
        scores = np.array([max(selection.scores[each], default=0.0) for each in index])
        q_values = selection.q_values
        if q_values is not None:
            q_values = np.array([min(q_values[each], default=1.0) for each in index])
        count = sum(name in selected for name in table.names)
        return table, replace(selection, scores=scores, ranking=ranking, n_features=count, q_values=q_values)

    def without_source(self, notes: Sequence[str]) -> list[str]:
        """Return notes less the one on what was read."""
        return [each for each in notes if each != self.source]


def load_table(
    path: Path,
    options: ReadOptions | None = None,
    *,
    aside: Sequence[str] = (),
    keep: Sequence[str] = (),
    keep_values: bool = False,
    in_order: bool = False,
    keep_copies: bool = False,
    prepare: bool = True,
    like: Choice | None = None,
) -> LoadedTable:
    """Read a file and decide the roles of its columns; raise an error that names the columns with infinite values.

    Columns in ``aside`` are no features, besides those in the options; those in ``keep`` are, whatever they hold.
    Unless ``keep_values``, counts are normalised in place. Of columns ``in_order``, as wavelengths are, neighbours may
    be alike, and text is no feature; bands of spectra that are corrected are in order. Unless ``keep_copies``, near
    copies are set aside. Unless ``prepare``, columns are as they are. ``like`` gives columns their roles.
    """
    from ufselect.files import check_still_numeric, infinite_values, missing_values, read_table, with_medians

    options = options or ReadOptions()
    if options.snv and options.counts is Counts.yes:
        raise typer.BadParameter("spectra are no counts; leave out --counts yes", param_hint="--snv")
    in_order = in_order or options.snv
    aside = (*(options.aside or ()), *aside)
    layer, prepare = options.layer or None, prepare and (like is None or bool(like.roles))
    table = read_table(path, aside=aside, layer=layer, require_numbers=not prepare, verbose=1, **options.of_text)
    if like:
        check_still_numeric(like, table)
    if infinite := infinite_values(table):
        raise ValueError(f"{occurrences('infinite', infinite)}; replace them, or set the columns aside with --aside.")
    # Judged by the table as read: medians of counts need not be whole numbers.
    counts = _notes_on_counts(table, Counts.no if options.snv else options.counts)
    if prepare and not counts and _is_of_many_kinds(table):
        features = prepared(table, options, keep, in_order, like, keep_copies=keep_copies)
        return _corrected(_with_features(table, features, options), options)
    if options.role:
        raise typer.BadParameter(f"the columns of {table.path.name} are taken as they are", param_hint="--role")
    ready, source, missing = table, what_was_read(table), missing_values(table)
    if missing and options.impute is None:
        raise ValueError(f"{occurrences('missing', missing)}; use --impute median to replace them.")
    notes = [*counts, source, *table.notes]
    if missing:
        ready = with_medians(table)
        notes.append(_note_on_missing(missing, options))
    X = _normalized(ready, in_place=not keep_values or ready is not table) if counts else ready.X
    notes += notes_on_aside(table.reasons)
    notes += [] if counts else _notes_on_codes(table, table.names)
    loaded = LoadedTable(table, X, source, notes, missing, bool(counts), table.names, table.names)
    return _corrected(loaded, options)


def _corrected(loaded: LoadedTable, options: ReadOptions) -> LoadedTable:
    """Return a table of spectra less their means, divided by their deviations, if this is requested."""
    from scipy.sparse import issparse

    from ufselect.preprocessing import SNV

    if not options.snv:
        return loaded
    categories = [each.name for each in loaded.roles if each.role == "category"]
    refused = {
        f"the values of {loaded.table.path.name} are sparse, which SNV would not leave them": issparse(loaded.X),
        f"column '{shown((categories or [''])[0])}' is a category and no band of a spectrum": bool(categories),
    }
    for reason, is_so in refused.items():
        if is_so:
            raise typer.BadParameter(reason, param_hint="--snv")
    note = "Each sample less its mean, divided by its standard deviation, as requested (SNV)."
    return replace(loaded, X=SNV().fit_transform(loaded.X), notes=[*loaded.notes, note])


def _is_of_many_kinds(table: Table) -> bool:
    """Whether columns may be of different kinds: those of files of arrays, of AnnData too, are of one."""
    from scipy.sparse import issparse

    from ufselect.files.registry import known_format

    known = known_format(table.path)
    return not issparse(table.X) and (known is None or known.name in _TABLES)  # None if there are several files


def _with_features(table: Table, features: Features, options: ReadOptions) -> LoadedTable:
    """Return a table of columns of many kinds with its features, and notes on them."""
    source, missing, roles = what_was_read(table, of_all=True), features.missing, features.roles
    numbers = [each.name for each in roles if each.role == "numeric" and not each.reason]
    notes = [source, *table.notes, *([_note_on_missing(missing, options)] if missing else [])]
    notes += _notes_on_codes(table, numbers)
    return LoadedTable(
        table,
        features.X,
        source,
        notes,
        missing,
        names=features.names,
        variables=features.variables,
        roles=roles,
        filled=features.filled,
    )


def _note_on_missing(missing: Mapping[str, int], options: ReadOptions) -> str:
    how = "filled in from the other columns" if options.impute is None else "replaced by the median of the column"
    return f"{occurrences('missing', missing, _MOST_MISSING)}, {how}."


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


def what_was_read(table: Table, *, of_all: bool = False) -> str:
    """Return a sentence on the size of a table, with the number of all columns or of the numeric ones."""
    from scipy.sparse import issparse

    from ufselect.files import is_pattern

    n, d = table.shape
    name = str(table.path) if is_pattern(table.path) else table.path.name
    columns = counted(d + len(table.aside), "column") if of_all else counted(d, "numeric column")
    kind = "sparse, " if issparse(table.X) else ""
    return f"{name}: {n:,} samples × {columns} ({kind}{table.memory / 1e6:,.1f} MB)."


def _notes_on_counts(table: Table, counts: Counts | None) -> list[str]:
    """Return a sentence on what is done with counts; none if the values are not counts."""
    from ufselect.files import looks_like_counts, share_of_zeros

    if counts is Counts.yes:
        return [COUNTS_REQUESTED]
    if counts is Counts.no or not looks_like_counts(table):
        return []
    return [note_on_detected_counts(f"non-negative integers, {percent(share_of_zeros(table))} zeros")]


def _notes_on_codes(table: Table, names: Collection[str]) -> list[str]:
    """Return a sentence on columns among these that may be codes rather than quantities; none if there are none."""
    from ufselect.files import codes_among

    codes = {name: count for name, count in codes_among(table).items() if name in names}
    if not codes:
        return []
    option = f"--role category={shlex.quote(','.join(map(shown, list(codes)[:_MOST_CODES])))}"
    if len(codes) == 1:
        ((name, count),) = codes.items()
        return [f"{shown(name)} has only {count} distinct integer values: if it is a code, use {option}."]
    named = listed([f"{shown(name)} ({count})" for name, count in codes.items()], _MOST_CODES)
    return [f"Few distinct integer values in {named}: if these columns are codes, use {option}."]


def print_roles(loaded: LoadedTable) -> None:
    """Print how many columns have each role, and which, unless all are plain numbers."""
    rows = []
    for role, columns in loaded.by_role.items():
        said = {name: f" ({short})" if (short := _in_short(reason)) else "" for name, reason in columns.items()}
        named = [shown(name) if role in _FEATURES else f"{shown(name)}{said[name]}" for name in columns]
        n_shown = sum(length <= _LONGEST_LIST for length in accumulate(len(each) + 2 for each in named))
        text = "" if role == "numeric" else listed(named, max(n_shown, 1), longest=_LONGEST_REASON)
        rows.append([role if role in _FEATURES else f"set aside: {role}", f"{len(columns):,}", text])
    if rows:
        print_table(["role", "columns", ""], rows, left=[0, 2], longest=2 * _LONGEST_REASON)
        say(["--roles lists all columns with the reasons, --role changes them.", ""])


def _in_short(reason: str) -> str:
    """Return a reason without what the role says already."""
    return next((reason.removeprefix(start) for start in _REPEATING if reason.startswith(start)), reason)


def print_all_roles(loaded: LoadedTable) -> None:
    """Print the role of every column, and why."""
    roles = loaded.by_role or {"numeric": dict.fromkeys(loaded.names, ""), "other": loaded.aside}
    rows = [[name, role, reason] for role, columns in roles.items() for name, reason in columns.items()]
    print_table(["column", "role", "reason"], rows, left=[0, 1, 2], longest=_LONGEST_REASON)


def _normalized(table: Table, *, in_place: bool) -> Any:
    """Return the values divided by the sums of their rows, and logarithms taken."""
    from ufselect.files import negative_values
    from ufselect.preprocessing import LogNormalize

    if negative := negative_values(table):
        raise ValueError(f"{occurrences('negative', negative)}; --counts yes requires non-negative values.")
    return LogNormalize(copy=not in_place).fit_transform(table.X)
