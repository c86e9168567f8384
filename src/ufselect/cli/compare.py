"""``ufselect compare``: several methods on one file."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ufselect import __version__
from ufselect._utils.wording import counted, listed, percent
from ufselect.cli import options
from ufselect.cli.columns import ColumnChoice
from ufselect.cli.fitting import (
    make_selector,
    modest_resources,
    number_or_share,
    significance_of_columns,
    spread_columns,
)
from ufselect.cli.methods import method_named
from ufselect.cli.output import ensure_can_be_written, note, print_table, say, write_all
from ufselect.cli.reading import LoadedTable, classes_of, load_table

if TYPE_CHECKING:
    from ufselect.inspection import ComparedSelection, Comparison, Stability

N_RANDOM = 10  # random selections
_BASELINES = {  # those that --methods may name
    "UncorrelatedVariance": "the largest variance among columns of which no two have an absolute correlation of 0.8 or "
    "more.",
    "PivotedQR": "the pivots of a QR decomposition: each column has the largest variance that those before it do not "
    "explain.",
}
_EVENLY_SPACED = "evenly spaced"
_DEFAULT_METHODS = ",".join(["KernelFSASL", "MCFS", "FSSL", "SPFS", "LaplacianScore", "MaxVariance", *_BASELINES])


def compare(
    context: typer.Context,
    data: options.Data,
    *,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            metavar="NAMES",
            help="Methods and baselines to compare, separated by commas, or all; module:Class for a selector of your "
            "own.",
        ),
    ] = _DEFAULT_METHODS,
    features: Annotated[
        str,
        typer.Option(
            "--features",
            "-m",
            metavar="N",
            help="Number of columns to select, a fraction or percentage of all columns, or auto: as many as the first "
            "method selects.",
        ),
    ] = "auto",
    labels: options.Labels = "",
    repeats: Annotated[
        int,
        typer.Option(
            min=0, help="Number of fits on random subsets of 80 % of the samples to measure stability; 0 for none."
        ),
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", readable=False, help="Write the results to this file."),
    ] = None,
    report: options.Report = None,
    ordered: options.Ordered = False,
    test_options: options.TestOptions,
    fit_options: options.FitOptions,
    column_options: options.ColumnOptions,
    read_options: options.ReadOptions,
) -> None:
    """Compare several methods on the same file, without labels."""
    from ufselect.base.significance import LIMITS
    from ufselect.inspection import compare_selectors

    if repeats == 1:
        raise typer.BadParameter("stability needs at least two fits", param_hint="--repeats")
    selectors = {
        name: make_selector(path, fit_options, features=features, strict=False)
        for name, path in _methods_in(methods, ordered=ordered).items()
    }
    ensure_can_be_written(output, data, "--output", suffix=".csv")
    ensure_can_be_written(report, data, "--report", suffix=".html")
    choice = ColumnChoice.of(column_options, data)
    aside = (*choice.aside, *([labels] if labels else ()))
    loaded = load_table(data, read_options, aside=aside, keep=choice.keep, in_order=ordered)
    classes = classes_of(loaded, labels)
    notes, refused = choice.apply_to_all(selectors, loaded)
    notes += spread_columns(selectors.values()) if ordered else []
    found = choice.indices(loaded)
    groups = found.get("groups")
    batch, significance = choice.batches(loaded), None
    if test_options.rate is not None:
        significance = significance_of_columns(
            loaded.as_observed,
            test_options.rate,
            batch=batch,
            exclude=found.get("exclude"),
            groups=groups,
            options=fit_options,
        )
    with modest_resources(loaded.X, fit_options.jobs):
        compared = compare_selectors(
            {name: selector for name, selector in selectors.items() if name not in refused},
            loaded.X,
            n_features_to_select=number_or_share(features),
            batch=batch,
            significance=significance,
            labels=classes,
            groups=groups,
            n_repeats=repeats,
            n_random=N_RANDOM,
            standardize=fit_options.scale is not options.Scale.none,
            random_state=fit_options.seed,
            verbose=1,
        )
    compared = replace(compared, failures=refused | compared.failures)
    for name, reason in compared.failures.items():
        note(f"{name} was skipped: {reason}")
    tested = [] if significance is None else [significance.verdict, LIMITS]
    notes = [*tested, *loaded.notes, *notes, *loaded.summary]
    if compared.counted_by is not None:
        count = len(compared.rows[0].units)
        notes.append(f"Columns: {count:,} for every method, as many as {compared.counted_by} selects.")
    legend = _legend(compared.rows, bool(labels), fit_options.scale, of_all=bool(choice.keep or choice.exclude))
    pages = {output: _as_csv(compared.rows, bool(labels))} if output else {}
    if report:
        pages[report] = _page(compared, loaded, notes, legend, shlex.join(["ufselect", *context.obj]))
    # Before anything is printed: a reader such as head may close the pipe early.
    write_all({}, pages)
    say(notes)
    _print_comparison(compared.rows, legend)
    if pages:
        say(["", *(f"Wrote {path}." for path in pages)])


def explained_measures(which: str, *extra: str, labelled: bool, scale: options.Scale | None) -> list[str]:
    """Return a line on every measure of ``which`` columns, such as the selected ones; ``extra`` lines are added."""
    agreement = f"ACC, NMI: agreement of k-means on the {which} columns with the labels, which no method sees."
    measured = "neighbours, ACC and NMI" if labelled else "neighbours"
    scaled = "unscaled columns" if scale is options.Scale.none else "columns scaled to mean 0 and variance 1"
    return [
        f"redundancy: mean absolute correlation of the {which} columns; lower is better.",
        "neighbours: overlap of each sample's five nearest neighbours in all and in "
        f"the {which} columns (Jaccard index).",
        *extra,
        *([agreement] if labelled else []),
        f"{measured}: computed from {scaled}.",
    ]


def explained_stability(found: Mapping[str, Stability]) -> list[str]:
    """Return lines on the stability of several selections, by chance and with near-copies as one."""
    if not found:
        return []
    by_chance: dict[str, list[str]] = {}
    for name, each in found.items():
        by_chance.setdefault(f"{each.by_chance:z.2f}", []).append(name)
    chance = ", ".join(f"{text} ({listed(names)})" for text, names in by_chance.items())
    chance = chance if len(by_chance) > 1 else next(iter(by_chance))
    subsets = next(iter(found.values())).subsets
    copies = [
        f"{name} {each.value_of_groups:z.2f} (by chance {each.groups_by_chance:z.2f})"
        for name, each in found.items()
        if each.has_near_copies
    ]
    as_one = "stability if columns with an absolute correlation of 0.9 or more count as one"
    return [
        f"stability: agreement of the selections from {subsets}; 1 = always the same columns, by chance {chance}.",
        *([f"near-copies: {as_one}: {', '.join(copies)}."] if copies else []),
    ]


def _page(compared: Comparison, loaded: LoadedTable, notes: Sequence[str], legend: Sequence[str], command: str) -> str:
    from ufselect.report import render_comparison

    n, d = loaded.X.shape[0], len(loaded.columns_of_variables)
    explained = (line.partition(": ") for line in legend)
    return render_comparison(
        compared,
        d,
        source=loaded.table.path.name,
        command=command,
        notes=loaded.without_source(notes),
        facts={"Data": f"{counted(n, 'sample')} × {counted(d, 'column')}", "Version": f"ufselect {__version__}"},
        explained=[(what, meaning) for what, _, meaning in explained],
    )


def _methods_in(text: str, *, ordered: bool) -> dict[str, str]:
    """Return the methods and baselines that a text names, and which class each of them is."""
    import ufselect

    every = [*ufselect.__all__, *_BASELINES]
    given = every if text.strip().casefold() == "all" else filter(None, map(str.strip, text.split(",")))
    baselines = {name.casefold(): name for name in _BASELINES}
    names = [baselines.get(name.casefold()) or method_named(name, "--methods") for name in given]
    if not names:
        raise typer.BadParameter("no method is given", param_hint="--methods")
    room = "ufselect.inspection.baselines"
    paths = {name: f"{room}:{name}" if name in _BASELINES else name for name in names}
    return paths | ({_EVENLY_SPACED: f"{room}:EvenSpacing"} if ordered else {})


def _print_comparison(rows: Sequence[ComparedSelection], legend: Sequence[str]) -> None:
    from ufselect.inspection import selection_overlap

    say(["", f"{counted(len(rows[0].units), 'column')} selected by each method:", ""])
    repeats = any(row.stability is not None for row in rows)
    found = ["found"] if any(row.found is not None for row in rows) else []
    headers = ["method", *found, "redundancy", "neighbours", *(["stability"] if repeats else []), "seconds"]
    cells = [_cells(row, repeats) for row in rows]
    print_table([*headers, *(["ACC", "NMI"] if rows[0].agreement else [])], cells, left=[0])
    say(["", *legend])
    fitted = [row for row in rows if row.seconds is not None]
    if len(fitted) > 1:
        overlap = selection_overlap([row.units for row in fitted])
        say(["", "Overlap between the selections of two methods (Jaccard index):", ""])
        shares = [[row.method, *map(percent, line)] for row, line in zip(fitted, overlap, strict=True)]
        print_table(["", *(row.method for row in fitted)], shares, left=[0])


def _cells(row: ComparedSelection, repeats: bool) -> list[str]:
    stability = ["–" if row.stability is None else f"{row.stability.value:z.2f}"] if repeats else []
    seconds = "–" if row.seconds is None else f"{row.seconds:.2f}"
    found = [] if row.found is None else [percent(row.found)]
    measured = [*found, percent(row.redundancy), percent(row.neighborhoods), *stability, seconds]
    name = f"baseline: {row.method}" if row.is_baseline else row.method
    return [name, *measured, *(percent(value, 1) for value in row.agreement.values())]


def _legend(
    rows: Sequence[ComparedSelection], labelled: bool, scale: options.Scale | None, *, of_all: bool
) -> list[str]:
    stability = explained_stability({row.method: row.stability for row in rows if row.stability is not None})
    missed = [row for row in rows if row.n_not_converged]
    counts = [f"{row.method} in {row.n_not_converged} of {counted(row.n_fits, 'fit')}" for row in missed]
    tested = any(row.found is not None for row in rows)
    explained = {**_BASELINES, _EVENLY_SPACED: "columns at equal distances."}
    return [
        *(["found: share of the selected columns that share structure with others."] if tested else []),
        *explained_measures("selected", *stability, labelled=labelled, scale=scale),
        *(f"{row.method}: {explained[row.method]}" for row in rows if row.method in explained),
        f"random: mean of {N_RANDOM} random selections{' of all columns' if of_all else ''}.",
        *([f"not converged: {', '.join(counts)}."] if counts else []),
    ]


def _stabilities(row: ComparedSelection) -> list[float | None]:
    found = row.stability
    return [None] * 3 if found is None else [found.value, found.by_chance, found.value_of_groups]


def _as_csv(rows: Sequence[ComparedSelection], labelled: bool) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    plain = [
        "method",
        "baseline",
        "columns",
        "found",
        "redundancy",
        "neighbours_kept",
        "stability",
        "stability_by_chance",
        "stability_of_groups",
        "seconds",
        "fits",
        "not_converged",
    ]
    table.writerow([*plain, *(["ACC", "NMI"] if labelled else [])])
    for row in rows:
        fits = [row.n_fits, row.n_not_converged] if row.n_fits else [None, None]
        figures = [
            row.found,
            row.redundancy,
            row.neighborhoods,
            *_stabilities(row),
            row.seconds,
            *fits,
            *row.agreement.values(),
        ]
        table.writerow(
            [
                row.method,
                row.is_baseline,
                len(row.units),
                *("" if figure is None else repr(figure) for figure in figures),
            ]
        )
    return text.getvalue()
