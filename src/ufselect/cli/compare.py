"""``ufselect compare``: several methods on one file."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect import __version__
from ufselect._utils.wording import counted, percent
from ufselect.cli import options
from ufselect.cli.bench import names_in
from ufselect.cli.classes import method_named
from ufselect.cli.fitting import (
    Numbers,
    Source,
    form_of_text,
    make_selector,
    modest_resources,
    number_or_share,
    read_numbers,
)
from ufselect.cli.judging import N_RANDOM, are_standardized, classes_of, what_measures_mean
from ufselect.cli.outputs import ensure_can_be_written, write_all
from ufselect.cli.panel import Panel, set_where_possible, what_panels_do
from ufselect.cli.printing import note, print_table, say

if TYPE_CHECKING:
    from ufselect.inspection import ComparedSelection, Comparison

_DEFAULT_METHODS = "KernelFSASL,MCFS,FSSL,SPFS,LaplacianScore,MaxVariance"


def compare(
    context: typer.Context,
    data: options.Data,
    methods: Annotated[
        str,
        typer.Option(
            "--methods", metavar="NAMES", help="Methods, separated by commas, or all; module:Class is one of your own."
        ),
    ] = _DEFAULT_METHODS,
    features: Annotated[
        str,
        typer.Option(
            "--features",
            "-m",
            metavar="N",
            help="Number of columns to select, a fraction or percentage of them, or auto: as many as the first method "
            "selects.",
        ),
    ] = "auto",
    labels: options.Labels = "",
    repeats: Annotated[
        int,
        typer.Option(min=0, help="Number of fits on a random 80 % of the samples, to measure stability; 0 for none."),
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", readable=False, help="Write the results to this file."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="PAGE.html", readable=False, help="Write a report to this file."),
    ] = None,
    ordered: options.Ordered = False,
    counts: options.Counting = None,
    scale: options.Scaling = None,
    clusters: options.Clusters = None,
    keep: options.Keep = None,
    keep_file: options.KeepFile = None,
    exclude: options.Exclude = None,
    exclude_file: options.ExcludeFile = None,
    batch: options.Batch = "",
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
) -> None:
    """Compare several methods on the same file, without labels."""
    from ufselect.inspection import compare_selectors

    names = _methods_in(methods)
    if repeats == 1:
        raise typer.BadParameter("stability is the agreement of at least two fits", param_hint="--repeats")
    settings: dict[str, Any] = {"clusters": clusters, "scale": scale, "seed": seed, "jobs": jobs, "strict": False}
    selectors = {name: make_selector(name, features=features, **settings) for name in names}
    ensure_can_be_written(output, data, "--output", suffix=".csv")
    ensure_can_be_written(report, data, "--report", suffix=".html")
    form = form_of_text(delimiter, decimal, na, transpose, encoding, sheet, header)
    panel = Panel.of_options(keep, keep_file, exclude, exclude_file, batch)
    kept_aside = (*(aside or ()), *panel.aside, *([labels] if labels else ()))
    numbers = read_numbers(Source(data, kept_aside, impute, counts, layer, form, as_read=False))
    classes = classes_of(numbers, labels)
    refused = _set_panel(panel, selectors, numbers)
    with modest_resources(numbers.X, jobs):
        compared = compare_selectors(
            {name: selector for name, selector in selectors.items() if name not in refused},
            numbers.X,
            n_features_to_select=number_or_share(features),
            batch=panel.batch_of_samples(numbers),
            labels=classes,
            n_repeats=repeats,
            n_random=N_RANDOM,
            ordered=ordered,
            standardize=are_standardized(scale),
            random_state=seed,
            verbose=1,
        )
    compared = replace(compared, failures=refused | compared.failures)
    for name, reason in compared.failures.items():
        note(f"{name} is left out: {reason}")
    legend = _legend(repeats, bool(labels), scale, ordered=ordered)
    pages = {output: _as_csv(compared.rows, bool(labels))} if output else {}
    if report:
        pages[report] = _page(compared, numbers, legend, shlex.join(["ufselect", *context.obj]))
    # Before anything is printed: a reader such as head may close the pipe early.
    write_all({}, pages)
    say([*numbers.notes, *_what_counted(compared)])
    _print_comparison(compared.rows, legend)
    if pages:
        say(["", *(f"Wrote {path}." for path in pages)])


def _set_panel(panel: Panel, selectors: Mapping[str, Any], numbers: Numbers) -> dict[str, str]:
    """Set the columns to keep and to exclude; return why methods without these parameters cannot take part."""
    found = panel.columns_in(numbers)
    refused = set_where_possible(selectors, found)
    if len(refused) == len(selectors):
        raise ValueError(f"no method could be fitted: {' '.join(dict.fromkeys(refused.values()))}")
    numbers.notes.extend(what_panels_do(found))
    return refused


def _page(compared: Comparison, numbers: Numbers, legend: Sequence[str], command: str) -> str:
    from ufselect.report import render_comparison

    n, d = numbers.X.shape
    explained = (line.partition(": ") for line in [*legend, *_what_did_not_converge(compared.rows)])
    return render_comparison(
        compared,
        d,
        source=numbers.table.path.name,
        command=command,
        notes=[*numbers.without_source(numbers.notes), *_what_counted(compared)],
        facts={"Data": f"{counted(n, 'sample')} × {counted(d, 'column')}", "Version": f"ufselect {__version__}"},
        explained=[(what, meaning) for what, _, meaning in explained],
    )


def _methods_in(text: str) -> list[str]:
    import ufselect

    names = ufselect.__all__ if text.strip().casefold() == "all" else names_in(text) or []
    wanted = list(dict.fromkeys(method_named(name, "--methods") for name in names))
    if not wanted:
        raise typer.BadParameter("no method is given", param_hint="--methods")
    return wanted


def _what_counted(compared: Comparison) -> list[str]:
    if compared.counted_by is None:
        return []
    count = len(compared.rows[0].chosen)
    return [f"Columns: {count:,} for every method, as many as {compared.counted_by} selects."]


def _print_comparison(rows: Sequence[ComparedSelection], legend: Sequence[str]) -> None:
    from ufselect.inspection import selection_overlap

    say(["", f"{counted(len(rows[0].chosen), 'column')} selected by each method:", ""])
    repeats = any(row.stability is not None for row in rows)
    headers = ["method", "redundancy", "neighbours", *(["stability"] if repeats else []), "seconds"]
    cells = [_cells(row, repeats) for row in rows]
    print_table([*headers, *(["ACC", "NMI"] if rows[0].agreement else [])], cells, left=[0])
    say(["", *legend, *_what_did_not_converge(rows)])
    fitted = [row for row in rows if row.seconds is not None]
    if len(fitted) > 1:
        overlap = selection_overlap([row.chosen for row in fitted])
        say(["", "Overlap of the selections of two methods (Jaccard index):", ""])
        shares = [[row.method, *map(percent, line)] for row, line in zip(fitted, overlap, strict=True)]
        print_table(["", *(row.method for row in fitted)], shares, left=[0])


def _cells(row: ComparedSelection, repeats: bool) -> list[str]:
    stability = ["–" if row.stability is None else f"{row.stability:.2f}"] if repeats else []
    seconds = "–" if row.seconds is None else f"{row.seconds:.2f}"
    measured = [percent(row.redundancy), percent(row.neighborhoods), *stability, seconds]
    return [row.method, *measured, *(percent(value, 1) for value in row.agreement.values())]


def _legend(repeats: int, labelled: bool, scale: options.Scale | None, *, ordered: bool) -> list[str]:
    subsets = f"{repeats} random subsets of 80 % of the samples"
    stability = f"stability: agreement of the selections from {subsets}; 0 is chance, 1 is identical."
    measured = what_measures_mean("selected", *([stability] if repeats else []), labelled=labelled, scale=scale)
    even = ["evenly spaced: columns at equal distances."] if ordered else []
    return [*measured, *even, f"random: mean of {N_RANDOM} random selections."]


def _what_did_not_converge(rows: Sequence[ComparedSelection]) -> list[str]:
    missed = [row for row in rows if row.n_not_converged]
    counts = [f"{row.method} in {row.n_not_converged} of {counted(row.n_fits, 'fit')}" for row in missed]
    return [f"not converged: {', '.join(counts)}."] if counts else []


def _as_csv(rows: Sequence[ComparedSelection], labelled: bool) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    plain = ["method", "columns", "redundancy", "neighbours_kept", "stability", "seconds", "fits", "not_converged"]
    table.writerow([*plain, *(["ACC", "NMI"] if labelled else [])])
    for row in rows:
        fits = [row.n_fits, row.n_not_converged] if row.n_fits else [None, None]
        figures = [row.redundancy, row.neighborhoods, row.stability, row.seconds, *fits, *row.agreement.values()]
        table.writerow([row.method, len(row.chosen), *("" if figure is None else repr(figure) for figure in figures)])
    return text.getvalue()
