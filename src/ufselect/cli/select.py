"""``ufselect select``: a file in, its informative columns out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect import __version__
from ufselect._utils.wording import percent
from ufselect.cli import options
from ufselect.cli.classes import DEFAULT_METHOD
from ufselect.cli.fitting import (
    Agreement,
    Numbers,
    Source,
    agreement_found,
    choices_made,
    copies_found,
    fit_with_notes,
    form_of_text,
    make_selector,
    modest_resources,
    read_numbers,
)
from ufselect.cli.outputs import ensure_can_be_written, ensure_table_can_be_written, write_all
from ufselect.cli.panel import Panel
from ufselect.cli.printing import say
from ufselect.cli.select_parts import refuse_with_parts, select_from_parts
from ufselect.cli.selection import cost, print_ranking, selected_names

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.files import Table
    from ufselect.inspection import StructureTest

_N_RANDOM = 5
_FEW = 0.1
_SHARE_REFITTED = 0.8
_MOST_VALUES_REFITTED, _FEWEST_REFITTED = 10_000_000, 500
"""Number of values, and of samples, of which five fits on subsets take no longer than people wait for a page."""


def select(
    context: typer.Context,
    data: options.Data,
    features: options.Features = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            readable=False,
            help="Write the selected columns to this file, in any of the formats of DATA but .xlsx. An .h5ad file "
            "keeps all columns and gets ufselect_score, ufselect_rank and ufselect_selected in var, and a record in "
            "uns.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="PAGE.html", readable=False, help="Write a report to this file."),
    ] = None,
    image: Annotated[
        str, typer.Option("--image", metavar="HxW", help="The columns are the pixels of images of this size.")
    ] = "",
    ordered: Annotated[
        bool,
        typer.Option(
            "--ordered",
            help="The columns are in an order, such as wavelengths or time: the report draws their means and marks the "
            "selected ones. --min-distance keeps selected ones apart.",
        ),
    ] = False,
    names: Annotated[bool, typer.Option("--names", help="Print only the selected names, best first.")] = False,
    no_test: Annotated[
        bool,
        typer.Option(
            "--no-test",
            help="Do not compare the selection with that of shuffled columns, which takes six more fits on up to 500 "
            "samples.",
        ),
    ] = False,
    method: options.Method = DEFAULT_METHOD,
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
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Read DATA, Parquet files such as 'parts/*.parquet', block by block on the Dask cluster with this "
            "scheduler, or on the cores of this machine if it is local.",
        ),
    ] = None,
    debug: options.Debug = False,  # noqa: ARG001 - read before the arguments are parsed
    parameters: Mapping[str, Any] = {},
) -> None:
    """Select the informative columns of a file.

    No option is required: the number of columns is chosen from the data.
    """
    start = perf_counter()
    selector = make_selector(
        method, features=features, clusters=clusters, scale=scale, seed=seed, jobs=jobs, parameters=parameters
    )
    form = form_of_text(delimiter, decimal, na, transpose, encoding, sheet, header)
    panel = Panel.of_options(keep, keep_file, exclude, exclude_file, batch)
    if dask is not None:
        of_one_file = {"output": output, "report": report, "image": image, "impute": impute, "layer": layer}
        of_panel = {"keep": panel.keep, "exclude": panel.exclude, "batch": batch, "ordered": ordered}
        refuse_with_parts(of_one_file | of_panel | dict.fromkeys(form, True))
        select_from_parts(data, selector, scheduler=dask, aside=tuple(aside or ()), counts=counts, names=names)
        return
    pixels = _height_and_width(image)
    if ordered and not report:
        raise typer.BadParameter("the order of columns shows in a report only; add --report", param_hint="--ordered")
    ensure_table_can_be_written(output, data)
    ensure_can_be_written(report, data, "--report", suffix=".html")
    if pixels and counts is None:
        counts = options.Counts.no
    kept_aside = (*(aside or ()), *panel.aside)
    numbers = read_numbers(Source(data, kept_aside, impute, counts, layer, form, as_read=_needs_values(output, data)))
    _refuse_other_shape(pixels, numbers.X.shape[1])
    numbers.notes.extend(panel.apply(selector, numbers))
    batches = panel.batch_of_samples(numbers)
    before_fit = perf_counter()
    fit_with_notes(selector, numbers.X, batch=batches)
    fit = cost(before_fit)
    agreement = agreement_found(selector, numbers.X, test=not (no_test or names), batch=batches)
    standardize = scale is not options.Scale.none
    kept = [] if names and not report else [_neighbors_kept(selector, numbers.X, standardize=standardize, seed=seed)]
    pages = {}
    if report:
        command = shlex.join(["ufselect", *context.obj])
        more = {"image": pixels, "ordered": ordered, **_stability(selector, numbers.X, batches, seed)}
        pages[report] = _page(selector, numbers, agreement, kept, more, command, fit)
    # Before anything is printed: a reader such as head may close the pipe early.
    settings = {"layer": layer or None, "batch_key": batch or None, "counts": numbers.are_counts}
    write_all({output: _table_writer(selector, numbers, agreement.tested, settings)} if output else {}, pages)
    if names:
        say(numbers.notes, err=True)
        say(selected_names(selector, numbers.table.names))
        return
    _print_selection(selector, numbers, [*agreement.sentences, *kept])
    say([*(f"Wrote {path}." for path in (output, report) if path), f"Took {cost(start)}; the fit {fit}."])


def _needs_values(output: Path | None, data: Path) -> bool:
    """Whether the output has values of the table, rather than a copy of everything in the input file."""
    from ufselect.files.registry import known_format

    known = output and known_format(output)
    return output is not None and not (known and known.annotates and known is known_format(data))


def _print_selection(selector: BaseSelector, numbers: Numbers, verdict: Sequence[str]) -> None:
    say([*_notes(selector, numbers), ""])
    print_ranking(selector, numbers.table.names, further="--names lists all, -o writes them")
    say(["", *verdict])


def _neighbors_kept(selector: BaseSelector, X: Any, *, standardize: bool, seed: int) -> str:
    """Return a sentence on how well the selected columns preserve nearest neighbours, beside random columns."""
    from ufselect._utils.seeds import random_selections
    from ufselect.inspection import neighborhoods_kept

    m, d = selector.n_features_, X.shape[1]
    random = random_selections(d, m, _N_RANDOM, seed)
    kept, *by_chance = neighborhoods_kept(X, [selector.top_features(), *random], standardize=standardize)
    baseline = sum(by_chance) / len(by_chance)
    digits = 1 if min(kept, baseline) < _FEW else 0
    preserved = (
        f"{percent(kept, digits)} of the samples' nearest neighbours (random columns: {percent(baseline, digits)})"
    )
    return f"{m:,} of {d:,} columns preserve {preserved}."


def _notes(selector: BaseSelector, numbers: Numbers) -> list[str]:
    """Return sentences on the data and on the choices made."""
    return [*numbers.notes, *choices_made(selector), *_constant_ones(selector, numbers), *copies_found(selector)]


def _constant_ones(selector: BaseSelector, numbers: Numbers) -> list[str]:
    """Return a sentence on selected columns that are constant, which happens if there are not enough others."""
    from ufselect.columns.dense import constant_columns

    count = int(constant_columns(numbers.X[:, selector.top_features()]).sum())
    return [f"{count:,} of them are constant: no other columns are left."] if count else []


def _page(
    selector: BaseSelector,
    numbers: Numbers,
    agreement: Agreement,
    kept: Sequence[str],
    more: Mapping[str, Any],
    command: str,
    fit: str,
) -> str:
    from ufselect.report import Study, render_page

    table = numbers.table
    said = numbers.without_source(_notes(selector, numbers))
    return render_page(
        Study(
            selector=selector,
            X=numbers.X,
            names=table.names,
            source=table.path.name,
            command=command,
            samples=None if table.samples is None else table.samples.tolist(),
            groups={name: _as_written(values) for name, values in table.aside.items()},
            # What was read stands among the facts, and a test in the headline.
            notes=[*said, *([] if agreement.tested else agreement.sentences), *kept],
            **more,
            test=agreement.tested,
            missing=_shares_missing(numbers.table),
            facts={"Fit": fit, "Version": f"ufselect {__version__}"},
        )
    )


def _stability(selector: BaseSelector, X: Any, batch: Any, seed: int) -> dict[str, Any]:
    """Return how often columns are selected from subsets of the samples, and their size; empty if none can be fitted.

    The subsets are those of ``ufselect compare``, 80 % of the samples, unless five such fits would take too long.
    """
    from ufselect._utils.warnings import convergence_warnings
    from ufselect.inspection import selection_frequencies

    n, d = X.shape
    n_values = X.nnz if hasattr(X, "nnz") else n * d
    most = max(_MOST_VALUES_REFITTED * n // max(n_values, 1), _FEWEST_REFITTED)
    try:
        with convergence_warnings(), modest_resources(X, selector.get_params().get("n_jobs", 1)):
            found = selection_frequencies(
                selector, X, share=_SHARE_REFITTED, max_samples=most, batch=batch, random_state=seed, verbose=1
            )
    except ValueError:
        return {}
    return {"stability": found, "subset_size": min(round(_SHARE_REFITTED * n), most)}


def _shares_missing(table: Table) -> Any:
    import numpy as np

    from ufselect.files import missing_values

    counts = missing_values(table)
    return np.array([counts.get(name, 0) for name in table.names]) / table.shape[0]


def _as_written(values: Any) -> list[Any]:
    """Return values as people write them: dates as dates, not as nanoseconds."""
    return (values.astype("datetime64[s]").astype(str) if values.dtype.kind == "M" else values).tolist()


def _table_writer(
    selector: BaseSelector, numbers: Numbers, tested: StructureTest | None, settings: Mapping[str, Any]
) -> Callable[[Path], None]:
    from ufselect.anndata import recorded_selection
    from ufselect.files import write_table

    selection = recorded_selection(selector, numbers.table.names, tested, settings)
    return lambda path: write_table(path, numbers.table, selection)


def _height_and_width(image: str) -> tuple[int, int] | None:
    if not image:
        return None
    sizes = re.fullmatch(r"([1-9]\d*)[x×X]([1-9]\d*)", image)
    if not sizes:
        raise typer.BadParameter(f"{image!r} does not have the form 28x28", param_hint="--image")
    return int(sizes[1]), int(sizes[2])


def _refuse_other_shape(pixels: tuple[int, int] | None, n_columns: int) -> None:
    if pixels and pixels[0] * pixels[1] != n_columns:
        raise typer.BadParameter(
            f"{pixels[0]} × {pixels[1]} is {pixels[0] * pixels[1]:,} pixels, but there are {n_columns:,} columns",
            param_hint="--image",
        )
