"""What a command reads: a table, with notes on what was done to it, and the classes in one of its columns."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufselect._utils.wording import counted, listed, occurrences, percent, shown
from ufselect.cli.options import Counts, ReadOptions
from ufselect.cli.output import print_table, say

if TYPE_CHECKING:
    from ufselect.files import Selection, Table
    from ufselect.preprocessing import ColumnRole

COUNTS_REQUESTED = "Values are log-normalised as raw counts, as requested."
_MOST_CODES = 3
_LONGEST_REASON = 250
_MOST_OF_A_ROLE, _LONGEST_LIST = 3, 150
_MOST_COMPARED = 5000  # columns among which near copies are looked for
_HOW = {"numeric": "numeric", "amount": "amount: its logarithm", "category": "category: as a whole"}


@dataclass(frozen=True)
class LoadedTable:
    """A table as it was read, its features as the methods see them, and notes on what was done."""

    table: Table
    X: Any
    source: str  # the note on what was read, which pages show elsewhere
    notes: list[str]
    missing: Mapping[str, int]  # number of missing values in the file, by column
    are_counts: bool = False
    names: Sequence[str] = ()  # of the columns of X
    variables: Sequence[str] = ()  # the column of the file that each of them comes from
    roles: Sequence[ColumnRole] = ()  # of all columns of the file; none if they were not decided

    @property
    def groups(self) -> list[str] | None:
        """The variable of each column of X; None if each is one by itself."""
        return None if len(set(self.variables)) == len(self.variables) else list(self.variables)

    @property
    def columns_of_variables(self) -> dict[str, list[int]]:
        """The columns of X that each variable has."""
        found: dict[str, list[int]] = {}
        for column, variable in enumerate(self.variables):
            found.setdefault(variable, []).append(column)
        return found

    @property
    def aside(self) -> dict[str, str]:
        """Why columns are no features, by name."""
        reasons = {each.name: each.reason for each in self.roles if not each.is_feature}
        given = {name: why for name, why in self.table.reasons.items() if name not in self.columns_of_variables}
        return given | reasons

    def as_written(self, selection: Selection) -> tuple[Table, Selection]:
        """Return the table and the selection of its numeric columns, given that of the columns of X.

        Categories that are not selected, near copies and incomplete columns are left out, as columns are that are not
        selected; ids, dates and text are set aside.
        """
        import numpy as np

        from ufselect.files.table import with_columns_aside

        if not self.roles:
            return self.table, selection
        columns, features = self.columns_of_variables, {each.name: each.is_feature for each in self.roles}
        selected = {name for name, index in columns.items() if selection.selected[index].any()}
        others = {each.name for each in self.roles if each.role in ("id", "date", "text")}
        left_out = [name for name in self.table.aside if name in features and name not in selected | others]
        aside = {name: values for name, values in self.table.aside.items() if name not in left_out}
        table = with_columns_aside(replace(self.table, aside=aside), [n for n in self.table.names if n in others])
        index = [columns.get(name, []) for name in table.names]
        best = np.array([min(selection.ranking[each], default=np.inf) for each in index])
        ranking = np.empty(len(best), dtype=np.intp)
        ranking[np.argsort(best, kind="stable")] = np.arange(1, len(best) + 1)
        scores = np.array([max(selection.scores[each], default=0.0) for each in index])
        count = sum(name in selected for name in table.names)
        return table, replace(selection, scores=scores, ranking=ranking, n_features=count, q_values=None)

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
    near_copies: bool = True,
    prepare: bool = True,
) -> LoadedTable:
    """Read a file and decide the roles of its columns; raise an error that names the columns with infinite values.

    Columns in ``aside`` are no features, besides those in the options; those in ``keep`` are, whatever they hold.
    Unless ``keep_values``, counts are normalised in place. Unless ``prepare``, columns are as they are.
    """
    from ufselect.files import infinite_values, missing_values, read_table, with_medians

    options = options or ReadOptions()
    aside = (*(options.aside or ()), *aside)
    table = read_table(path, aside=aside, layer=options.layer or None, verbose=1, **options.of_text)
    source = _what_was_read(table)
    if infinite := infinite_values(table):
        raise ValueError(f"{occurrences('infinite', infinite)}; replace them, or set the columns aside with --aside.")
    ready, notes, missing = table, [source, *table.notes], missing_values(table)
    # Judged by the table as read: medians of counts need not be whole numbers.
    counts = _notes_on_counts(table, options.counts)
    prepare = prepare and not counts and _is_of_many_kinds(table)
    if missing and not prepare and options.impute is None:
        raise ValueError(f"{occurrences('missing', missing)}; use --impute median to replace them.")
    if missing and options.impute is not None:
        ready = with_medians(table)
        notes.append(f"{occurrences('missing', missing)}, replaced by the median of the column.")
    if prepare:
        if missing and options.impute is None:
            notes.append(f"{occurrences('missing', missing)}, filled in from the other columns.")
        loaded = _prepared(ready, options, keep, near_copies)
        return replace(loaded, table=table, source=source, notes=[*notes, *_notes_on_codes(table)], missing=missing)
    X = _normalized(ready, in_place=not keep_values or ready is not table) if counts else ready.X
    notes = [*counts, *notes, *notes_on_aside(table.reasons)]
    return LoadedTable(table, X, source, notes, missing, bool(counts), table.names, table.names)


def _is_of_many_kinds(table: Table) -> bool:
    """Whether columns may be of different kinds: not those of a matrix with annotations, nor of a sparse one."""
    from scipy.sparse import issparse

    from ufselect.files.registry import known_format

    known = known_format(table.path)
    return not issparse(table.X) and not (known is not None and known.annotates)


def _prepared(table: Table, options: ReadOptions, keep: Sequence[str], near_copies: bool) -> LoadedTable:
    """Decide the roles of the columns, and encode those that are features."""
    import numpy as np

    from ufselect.columns.tabular import columns_matching
    from ufselect.files.text_columns import LEADING_ZEROS
    from ufselect.files.text_dialect import MISSING
    from ufselect.preprocessing import TablePreparer

    missing = {*MISSING, *options.of_text.get("na", ())} - {"None"}  # which is a category of its own
    texts = {name: each for name, each in table.aside.items() if table.reasons[name] in ("text", LEADING_ZEROS)}
    texts = {name: np.array([None if each in missing else each for each in values]) for name, values in texts.items()}
    names = (*table.names, *texts)
    kept = [names[column] for columns in columns_matching(keep, names).values() for column in columns]
    are_few = len(names) <= _MOST_COMPARED
    preparer = TablePreparer(
        roles=options.roles_of_columns, keep=kept or None, near_copies=0.999 if near_copies and are_few else None
    )
    X = preparer.fit_columns(table.X, table.names, texts).transform_columns(table.X, table.names, texts)
    encoded, variables = preparer.get_feature_names_out().tolist(), preparer.groups_.tolist()
    return LoadedTable(table, X, "", [], {}, False, encoded, variables, preparer.roles_)


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


def _what_was_read(table: Table) -> str:
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
    option = f"--role category={shlex.quote(','.join(map(shown, list(codes)[:_MOST_CODES])))}"
    if len(codes) == 1:
        ((name, count),) = codes.items()
        return [f"{shown(name)} has only {count} distinct integer values: if it is a code, use {option}."]
    named = listed([f"{shown(name)} ({count})" for name, count in codes.items()], _MOST_CODES)
    return [f"Few distinct integer values in {named}: if these columns are codes, use {option}."]


def print_roles(loaded: LoadedTable) -> None:
    """Print how many columns have each role, and which, unless all are plain numbers."""
    if all(each.role == "numeric" for each in loaded.roles):
        return
    rows = []
    for role in dict.fromkeys(each.role for each in sorted(loaded.roles, key=lambda each: not each.is_feature)):
        of_role = [each for each in loaded.roles if each.role == role]
        named = [each.name if each.is_feature else f"{each.name} ({each.reason})" for each in of_role]
        rows.append([_HOW.get(role, f"{role}: set aside"), f"{len(of_role):,}", listed(named, _MOST_OF_A_ROLE)])
    rows[0][2] = "" if rows[0][0] == _HOW["numeric"] else rows[0][2]
    print_table(["role", "columns", ""], rows, left=[0, 2], longest=_LONGEST_LIST)
    say(["--roles prints all of them; --role changes them.", ""])


def print_all_roles(loaded: LoadedTable) -> None:
    """Print the role of every column, and why."""
    known = {each.name: [each.role, each.reason] for each in loaded.roles}
    known |= {name: ["set aside", why] for name, why in loaded.aside.items() if name not in known}
    print_table(["column", "role", "reason"], [[name, *each] for name, each in known.items()], left=[0, 1, 2])


def _normalized(table: Table, *, in_place: bool) -> Any:
    """Return the values divided by the sums of their rows, and logarithms taken."""
    from ufselect.files import negative_values
    from ufselect.preprocessing import LogNormalize

    if negative := negative_values(table):
        raise ValueError(f"{occurrences('negative', negative)}; --counts yes requires non-negative values.")
    return LogNormalize(copy=not in_place).fit_transform(table.X)
