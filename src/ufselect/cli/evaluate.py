"""``ufselect evaluate``: any list of columns, beside columns chosen by a method and at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect._utils.wording import counted, listed, percent, shown
from ufselect.cli import options
from ufselect.cli.classes import DEFAULT_METHOD
from ufselect.cli.column_lists import ColumnList, lines_in, lists_in
from ufselect.cli.fitting import Numbers, Source, form_of_text, make_selector, modest_resources, read_numbers
from ufselect.cli.judging import N_RANDOM, are_standardized, classes_of, what_measures_mean
from ufselect.cli.panel import guess_at
from ufselect.cli.printing import print_table, say

if TYPE_CHECKING:
    from ufselect.inspection import EvaluatedColumns, Evaluation

_DIGITS = 3


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
    labels: options.Labels = "",
    repeats: Annotated[
        int,
        typer.Option(
            min=0, help="Number of fits on a random 80 % of the samples, each with its structure; 0 for none."
        ),
    ] = 5,
    method: options.Method = DEFAULT_METHOD,
    counts: options.Counting = None,
    scale: options.Scaling = None,
    clusters: options.Clusters = None,
    impute: options.Imputation = None,
    aside: options.Aside = None,
    layer: options.Layer = "",
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    na: options.Missing = None,
    transpose: options.Transpose = False,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    header: options.HeaderLine = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    debug: options.Debug = False,  # noqa: ARG001 - read before the arguments are parsed
    parameters: Mapping[str, Any] = {},
) -> None:
    """Evaluate any list of columns, beside columns selected by a method and at random."""
    from ufselect.inspection import evaluate as evaluate_columns
    from ufselect.inspection.measures import RANDOM

    if repeats == 1:
        raise typer.BadParameter("a spread needs at least two fits", param_hint="--repeats")
    selector = make_selector(method, clusters=clusters, scale=scale, seed=seed, jobs=jobs, parameters=parameters)
    lines = lines_in(columns)
    form = form_of_text(delimiter, decimal, na, transpose, encoding, sheet, header)
    kept_aside = (*(aside or ()), *([labels] if labels else ()))
    numbers = read_numbers(Source(data, kept_aside, impute, counts, layer, form, as_read=False))
    lists = lists_in(lines, numbers.table, reserved=(RANDOM, type(selector).__name__))
    classes = classes_of(numbers, labels)
    with modest_resources(numbers.X, jobs):
        found = evaluate_columns(
            numbers.X,
            {name: each.columns for name, each in lists.items()},
            labels=classes,
            selector=selector,
            n_random=N_RANDOM,
            n_draws=repeats,
            standardize=are_standardized(scale),
            random_state=seed,
            verbose=1,
        )
    say([*numbers.notes, *_notes_on_lists(lists, numbers), ""])
    _print_table(found.rows)
    say(["", *_legend(found, repeats, bool(labels), scale), "", *_verdicts(found, lists)])


def _notes_on_lists(lists: Mapping[str, ColumnList], numbers: Numbers) -> list[str]:
    """Return sentences on repeated, unknown and constant columns of lists."""
    from ufselect.columns.dense import constant_columns

    notes = []
    for name, each in lists.items():
        if each.n_repeated:
            notes.append(f"{name}: {counted(each.n_repeated, 'repeated name')} left out; a column counts once.")
        if each.unknown:
            guess = guess_at(each.unknown[0], numbers.table.names) or "."
            notes.append(f"{name}: left out, as there are no such columns: {listed(each.unknown, quoted=True)}{guess}")
        constant = int(constant_columns(numbers.X[:, each.columns]).sum())
        if constant:
            verb = "is constant and adds" if constant == 1 else "are constant and add"
            notes.append(f"{name}: {constant:,} of its {counted(len(each.columns), 'column')} {verb} nothing.")
    return notes


def _print_table(rows: Sequence[EvaluatedColumns]) -> None:
    on_subsets = ["on subsets", "stability"] if rows[0].alignment_on_subsets is not None else []
    labelled = ["ACC", "NMI"] if rows[0].acc is not None else []
    headers = ["list", "columns", "agreement", *on_subsets, "redundancy", "neighbours", *labelled]
    print_table(headers, [_cells(row) for row in rows], left=[0])


def _cells(row: EvaluatedColumns) -> list[str]:
    return [
        row.name,
        f"{len(row.columns):,}",
        _with_spread(row, _DIGITS),
        *_on_subsets(row),
        *(_share(row, name) for name in ("redundancy", "neighborhoods")),
        *(_share(row, name, 1) for name in ("acc", "nmi") if getattr(row, name) is not None),
    ]


def _with_spread(row: EvaluatedColumns, digits: int) -> str:
    """Return the agreement, of random lists with its spread."""
    spread = f" ± {row.spreads['alignment']:.{digits}f}" if row.spreads else ""
    return f"{row.alignment:.{digits}f}{spread}"


def _on_subsets(row: EvaluatedColumns) -> list[str]:
    if row.alignment_on_subsets is None:
        return []
    agreement = f"{row.alignment_on_subsets:.{_DIGITS}f} ± {row.spread_on_subsets:.{_DIGITS}f}"
    return [agreement, "–" if row.stability is None else f"{row.stability:.2f}"]


def _share(row: EvaluatedColumns, name: str, digits: int = 0) -> str:
    """Return a share in percent, of random lists with its spread."""
    value = getattr(row, name)
    if not row.spreads:
        return percent(value, digits)
    return f"{100.0 * value:.{digits}f} ± {percent(row.spreads[name], digits)}"


def _legend(found: Evaluation, repeats: int, labelled: bool, scale: options.Scale | None) -> list[str]:
    method = found.selector
    subsets = [
        f"on subsets: the same for {repeats} random subsets of 80 % of the samples, mean ± standard deviation.",
        f"stability: agreement of what {method} selects from these subsets; 0 is chance, 1 is identical.",
    ]
    return [
        f"agreement: alignment with the structure that {method} learns from all columns; 1 is the most.",
        f"           {method}'s own columns are chosen for it, an advantage that other lists do not have.",
        *(subsets if repeats else []),
        *what_measures_mean("listed", labelled=labelled, scale=scale),
        f"random: mean ± standard deviation of {N_RANDOM} random lists.",
        *_what_did_not_converge(found),
    ]


def _what_did_not_converge(found: Evaluation) -> list[str]:
    missed = found.n_not_converged
    return [f"not converged: {found.selector} in {missed} of {counted(found.n_fits, 'fit')}."] if missed else []


def _verdicts(found: Evaluation, lists: Mapping[str, ColumnList]) -> list[str]:
    from ufselect.inspection.measures import RANDOM

    beside = {(row.name, len(row.columns)): row for row in found.rows if row.name in (RANDOM, found.selector)}
    return [
        _verdict(row, found.selector, *(beside.get((name, len(row.columns))) for name in (found.selector, RANDOM)))
        for row in found.rows
        if row.name in lists
    ]


def _verdict(row: EvaluatedColumns, method: str, own: EvaluatedColumns | None, random: EvaluatedColumns | None) -> str:
    count = len(row.columns)
    if own is None or random is None:
        return f"{shown(row.name)} has all {counted(count, 'column')}, so there is nothing to compare it with."
    better = f"better than {row.n_random_below} of {N_RANDOM} random lists"
    verb = "reaches" if count == 1 else "reach"
    return (
        f"{shown(row.name)} agrees with the structure {better} ({row.alignment:.2f}, random "
        f"{_with_spread(random, 2)}); {method}'s own {counted(count, 'column')} {verb} {own.alignment:.2f}."
    )
