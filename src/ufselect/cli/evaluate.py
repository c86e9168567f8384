"""``ufselect evaluate``: any list of columns, beside columns chosen by a method and at random."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect._utils.wording import counted, listed, percent, shown
from ufselect.cli import options
from ufselect.cli.columns import ColumnList, column_lists, guess_at, names_in_file
from ufselect.cli.compare import N_RANDOM, explained_measures, explained_stability
from ufselect.cli.fitting import make_selector, modest_resources, significance_of_columns
from ufselect.cli.methods import DEFAULT_METHOD
from ufselect.cli.output import ensure_can_be_written, print_table, say, write_all
from ufselect.cli.reading import LoadedTable, classes_of, load_table

if TYPE_CHECKING:
    from ufselect.inspection import EvaluatedColumns, Evaluation

_DIGITS = 3
_LONGEST = 250  # name and reason of a column that is set aside


def evaluate(
    data: options.Data,
    columns: Annotated[
        list[Path],
        typer.Option(
            "--columns",
            metavar="LIST.txt",
            readable=False,
            help="Text file with the columns to evaluate, one name per line or separated by commas. Repeatable.",
        ),
    ],
    *,
    labels: options.Labels = "",
    repeats: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of fits on random subsets of 80 % of the samples, each with its own structure; 0 for none.",
        ),
    ] = 5,
    method: options.Method = DEFAULT_METHOD,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT.csv",
            readable=False,
            help="Write R² of every column by each list, and its substitutes in each, to this file.",
        ),
    ] = None,
    test_options: options.TestOptions,
    fit_options: options.FitOptions,
    read_options: options.ReadOptions,
    parameters: Mapping[str, Any],
) -> None:
    """Evaluate lists of columns, beside columns selected by a method and at random."""
    from ufselect.base.significance import LIMITS
    from ufselect.inspection import evaluate as evaluate_columns
    from ufselect.inspection.measures import RANDOM

    if repeats == 1:
        raise typer.BadParameter("a standard deviation needs at least two fits", param_hint="--repeats")
    ensure_can_be_written(output, data, "--output", suffix=".csv")
    selector = make_selector(method, fit_options, parameters=parameters)
    lines = {path: names_in_file(path, "--columns") for path in columns}  # before the table is read
    loaded = load_table(data, read_options, aside=[labels] if labels else [])
    lists = column_lists(lines, loaded, (RANDOM, type(selector).__name__), "--columns")
    classes = classes_of(loaded, labels)
    significance = None
    if test_options.rate is not None:
        significance = significance_of_columns(
            loaded.as_observed, test_options.rate, groups=loaded.groups, options=fit_options
        )
    with modest_resources(loaded.X, fit_options.jobs):
        found = evaluate_columns(
            loaded.X,
            {name: each.columns for name, each in lists.items()},
            labels=classes,
            groups=loaded.groups,
            selector=selector,
            significance=significance,
            n_random=N_RANDOM,
            n_draws=repeats,
            standardize=fit_options.scale is not options.Scale.none,
            random_state=fit_options.seed,
            verbose=1,
        )
    write_all({}, {output: _as_csv(found, loaded.names)} if output else {})
    tested = [] if significance is None else [significance.verdict, LIMITS]
    say([*tested, *loaded.notes, *loaded.summary, *_notes_on_lists(lists, loaded), ""])
    headers = [
        "list",
        "columns",
        *(["found"] if significance else []),
        "alignment",
        *(["on subsets", "stability"] if repeats else []),
        "redundancy",
    ]
    headers += ["neighbours", "R²", *(["ACC", "NMI"] if labels else [])]
    print_table(headers, [_cells(row) for row in found.rows], left=[0])
    say(["", *_legend(found, repeats, bool(labels), fit_options.scale)])
    for name, each in found.reconstructions.items():
        sentences = (f"  {sentence}" for sentence in each.sentences(loaded.names))
        say(["", f"{shown(name)}, if only its columns are measured:", *sentences])
    say(["", *_verdicts(found, lists)])
    if output:
        say(["", f"Wrote {output}."])


def _as_csv(found: Evaluation, names: Sequence[str]) -> str:
    """Return for each list how well it predicts every other column, and what could take the place of its own."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    places = range(1, 1 + max(len(best) for each in found.reconstructions.values() for best in each.substitutes))
    further = [name for place in places for name in (f"substitute_{place}", f"loss_{place}")]
    table.writerow(["list", "column", "in_list", "r2", *further])
    for name, each in found.reconstructions.items():
        of_column = dict(zip(each.columns.tolist(), each.substitutes, strict=True))
        for index, (column, r2) in enumerate(zip(names, each.r2.tolist(), strict=True)):
            cells = [cell for best in of_column.get(index, ()) for cell in (names[best.column], repr(best.loss))]
            padding = [""] * (len(further) - len(cells))
            table.writerow([name, column, index in of_column, "" if r2 != r2 else repr(r2), *cells, *padding])
    return text.getvalue()


def _notes_on_lists(lists: Mapping[str, ColumnList], loaded: LoadedTable) -> list[str]:
    """Return sentences on duplicate and unknown names in lists, on columns set aside, and on constant ones."""
    from ufselect.columns.moments import constant_columns

    notes = []
    for name, each in lists.items():
        if each.n_duplicates:
            notes.append(f"{name}: {counted(each.n_duplicates, 'duplicate name')} ignored.")
        if each.unknown:
            guess = guess_at(each.unknown[0], list(loaded.columns_of_variables)) or "."
            notes.append(f"{name}: ignored names that are not columns: {listed(each.unknown, quoted=True)}{guess}")
        ignored, copies = "ignored columns that are set aside", "near copies count as the columns they copy"
        for what, columns in {ignored: each.aside, copies: each.copies}.items():
            if columns:
                named = listed([f"{shown(column)} ({loaded.aside[column]})" for column in columns], longest=_LONGEST)
                notes.append(f"{name}: {what}: {named}.")
        constant = int(constant_columns(loaded.X[:, each.columns]).sum())
        if constant:
            verb = "is" if constant == 1 else "are"
            notes.append(f"{name}: {constant:,} of {counted(len(each.columns), 'column')} {verb} constant.")
    return notes


def _cells(row: EvaluatedColumns) -> list[str]:
    return [
        row.name,
        f"{row.count:,}",
        *([] if row.found is None else [percent(row.found)]),
        _with_spread(row, _DIGITS),
        *_on_subsets(row),
        *(_share(row, name) for name in ("redundancy", "neighborhoods")),
        _r2(row),
        *(_share(row, name, 1) for name in ("acc", "nmi") if getattr(row, name) is not None),
    ]


def _with_spread(row: EvaluatedColumns, digits: int) -> str:
    """Return the alignment, of random lists with its standard deviation."""
    spread = f" ± {row.spreads['alignment']:.{digits}f}" if row.spreads else ""
    return f"{row.alignment:.{digits}f}{spread}"


def _on_subsets(row: EvaluatedColumns) -> list[str]:
    if row.alignment_on_subsets is None:
        return []
    alignment = f"{row.alignment_on_subsets:.{_DIGITS}f} ± {row.spread_on_subsets:.{_DIGITS}f}"
    return [alignment, "–" if row.stability is None else f"{row.stability.value:z.2f}"]


def _share(row: EvaluatedColumns, name: str, digits: int = 0) -> str:
    """Return a share in percent, of random lists with its standard deviation."""
    value = getattr(row, name)
    if not row.spreads:
        return percent(value, digits)
    return f"{100.0 * value:.{digits}f} ± {percent(row.spreads[name], digits)}"


def _r2(row: EvaluatedColumns) -> str:
    if row.r2 != row.r2:
        return "–"
    return f"{row.r2:z.2f}" + (f" ± {row.spreads['r2']:.2f}" if row.spreads else "")


def _legend(found: Evaluation, repeats: int, labelled: bool, scale: options.Scale | None) -> list[str]:
    method, missed = found.selector, found.n_not_converged
    several = sum(row.stability is not None for row in found.rows) > 1
    stabilities = {
        counted(row.count, "column") if several else method: row.stability
        for row in found.rows
        if row.stability is not None
    }
    subsets = [
        f"on subsets: the same on {repeats} random subsets of 80 % of the samples, mean ± standard deviation.",
        *explained_stability(stabilities),
    ]
    tested = any(row.found is not None for row in found.rows)
    return [
        *(["found: share of the columns that share structure with others."] if tested else []),
        "alignment: cosine between the kernel of the listed columns and "
        f"the structure that {method} learns; 1 is the most.",
        f"           {method}'s own columns are chosen to maximise it, an advantage over other lists.",
        *(subsets if repeats else []),
        *explained_measures("listed", labelled=labelled, scale=scale),
        "R²: how well the listed columns predict each other column, cross-validated; the mean of these.",
        f"random: mean ± standard deviation of {N_RANDOM} random lists.",
        *([f"not converged: {method} in {missed} of {counted(found.n_fits, 'fit')}."] if missed else []),
    ]


def _verdicts(found: Evaluation, lists: Mapping[str, ColumnList]) -> list[str]:
    from ufselect.inspection.measures import RANDOM

    beside = {(row.name, row.count): row for row in found.rows if row.name in (RANDOM, found.selector)}
    return [
        _verdict(row, found.selector, *(beside.get((name, row.count)) for name in (found.selector, RANDOM)))
        for row in found.rows
        if row.name in lists
    ]


def _verdict(row: EvaluatedColumns, method: str, own: EvaluatedColumns | None, random: EvaluatedColumns | None) -> str:
    count, name = row.count, shown(row.name)
    sentences = []
    if row.found is not None:
        verb = "shares" if round(row.found * count) == 1 else "share"
        sentences.append(f"{round(row.found * count):,} of the {counted(count, 'column')} in {name} {verb} structure.")
    if own is None or random is None:
        sentences.append(f"{name} contains all {counted(count, 'column')}: there is nothing to compare it with.")
    else:
        verb = "reaches" if count == 1 else "reach"
        sentences.append(
            f"{name} has an alignment of {row.alignment:.2f}, higher than {row.n_random_below} of {N_RANDOM} "
            f"random lists ({_with_spread(random, 2)}); "
            f"{method}'s own {counted(count, 'column')} {verb} {own.alignment:.2f}."
        )
    return " ".join(sentences)
