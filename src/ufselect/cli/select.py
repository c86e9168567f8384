"""``ufselect select``: a file in, its informative columns out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect import __version__
from ufselect._utils.wording import counted, percent
from ufselect.cli import options
from ufselect.cli.columns import ColumnChoice
from ufselect.cli.fitting import (
    alignment_of,
    fit_with_notes,
    make_selector,
    modest_resources,
    notes_on_cost,
    notes_on_fit,
    print_ranking,
    select_all_found,
    selected_names,
    spread_columns,
    verdict_of,
)
from ufselect.cli.methods import DEFAULT_METHOD
from ufselect.cli.output import (
    ensure_can_be_written,
    ensure_table_can_be_written,
    needs_values,
    say,
    time_and_memory,
    write_all,
)
from ufselect.cli.reading import LoadedTable, load_table, notes_on_aside, print_all_roles, print_roles
from ufselect.cli.requirements import NamedRequirements
from ufselect.cli.saving import choice_of
from ufselect.cli.select_dask import refuse_with_dask, select_with_dask
from ufselect.cli.structure import NamedStructure

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.inspection import Stability

_N_RANDOM = 5
_FEW = 0.1
_MOST_VALUES_REFITTED, _FEWEST_REFITTED = 10_000_000, 500  # in five fits that take no longer than people wait


def select(
    context: typer.Context,
    data: options.Data,
    *,
    features: options.Features = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            readable=False,
            help="Write the selected columns to this file, in any format of DATA except .xlsx. An .h5ad file keeps all "
            "columns and gets ufselect_score, ufselect_rank, ufselect_selected and ufselect_q in var, and a record in "
            "uns.",
        ),
    ] = None,
    report: options.Report = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="CHOICE.json",
            readable=False,
            help="Write the choice to this file, for apply and diff on the next one.",
        ),
    ] = None,
    image: Annotated[
        str, typer.Option("--image", metavar="HxW", help="The columns are the pixels of images of this size.")
    ] = "",
    ordered: options.Ordered = False,
    names: Annotated[
        bool, typer.Option("--names", help="Print only the names of the selected columns, best first.")
    ] = False,
    roles: Annotated[
        bool, typer.Option("--roles", help="Print the role of every column, and why, and select nothing.")
    ] = False,
    structure: Annotated[
        str,
        typer.Option(
            "--structure",
            metavar="FILE|COLUMN|obsm:KEY|obsp:KEY",
            help="Select the columns that explain this structure, not one that is learned: an embedding, a graph or "
            "labels in a file, a column of DATA with labels, or what an .h5ad file has in obsm or obsp. With labels "
            "this is a supervised selection.",
        ),
    ] = "",
    significant: Annotated[
        bool,
        typer.Option("--significant", help="Select all columns that share structure with others, by the test."),
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Read Parquet files such as 'parts/*.parquet' block by block on the Dask cluster with this scheduler, "
            "or on the cores of this machine if local.",
        ),
    ] = None,
    method: options.Method = DEFAULT_METHOD,
    test_options: options.TestOptions,
    fit_options: options.FitOptions,
    column_options: options.ColumnOptions,
    requirement_options: options.RequirementOptions,
    read_options: options.ReadOptions,
    parameters: Mapping[str, Any],
) -> None:
    """Select the informative columns of a file.

    No option is required: the number of columns is chosen from the data.
    """
    from sklearn import config_context

    start = perf_counter()
    fdr = test_options.rate
    required, parameters = NamedRequirements.of(requirement_options, parameters, data)
    selector = make_selector(method, fit_options, features=features, fdr=fdr, parameters=parameters)
    if significant:
        _refuse_with_significant(selector, features, test_options, required)
    choice = ColumnChoice.of(column_options, data)
    if dask is not None:
        of_one_file = {"output": output, "report": report, "save": save, "image": image, "ordered": ordered}
        of_one_file |= {"significant": significant, "structure": structure}
        refuse_with_dask(of_one_file | vars(choice) | vars(requirement_options) | vars(read_options))
        select_with_dask(data, selector, read_options, scheduler=dask, names=names)
        return
    pixels = _height_and_width(image)
    ensure_table_can_be_written(output, data)
    ensure_can_be_written(report, data, "--report", suffix=".html")
    ensure_can_be_written(save, data, "--save", suffix=".json")
    if pixels and read_options.counts is None:
        read_options = replace(read_options, counts=options.Counts.no)
    # Neighbours may be alike then.
    in_order = ordered or "positions" in required or parameters.get("min_distance", 1) != 1
    named = NamedStructure.of(structure, data)
    loaded = load_table(
        data,
        read_options,
        aside=(*choice.aside, *named.aside),
        keep=choice.keep,
        keep_values=save is not None or "limits" in required or needs_values(output, data),
        in_order=in_order,
        keep_copies="costs" in required,
        prepare=not pixels,
    )
    if roles:
        print_all_roles(loaded)
        return
    if pixels and pixels[0] * pixels[1] != (d := loaded.X.shape[1]):
        reason = f"{pixels[0]} × {pixels[1]} is {pixels[0] * pixels[1]:,} pixels, but there are {d:,} columns"
        raise typer.BadParameter(reason, param_hint="--image")
    notes = [*loaded.notes, *choice.apply(selector, loaded)]
    notes += required.apply(selector, loaded, choice.groups_of(loaded))
    if ordered and not significant and not options.is_given(context, "min_distance"):
        notes += spread_columns([selector])
    batches, command = choice.batches(loaded), shlex.join(["ufselect", *context.obj])
    given, before_fit = named.read(loaded), perf_counter()
    fit_with_notes(selector, loaded.X, batch=batches, fdr=fdr, filled=loaded.filled, structure=given)
    notes += named.notes(selector)
    if significant:
        select_all_found(selector)
    fit = time_and_memory(before_fit)
    pages, stability = {}, None
    with config_context(assume_finite=True):  # the fit has validated X
        all_notes = [*notes, *notes_on_fit(selector, significant=significant), *_notes_on_constant(selector, loaded.X)]
        alignment = alignment_of(selector, loaded.X if batches is None else None)
        unit = "group" if choice.groups else "column"
        alignment += notes_on_cost(selector, None if names else loaded.X, loaded.variables, unit)
        kept = [] if names and not report else [_note_on_neighbors(selector, loaded, fit_options)]
        if report:
            # What was read stands among the facts, and what is set aside in a table.
            aside = notes_on_aside(loaded.table.reasons)
            of_page = [each for each in loaded.without_source([*all_notes, *kept]) if each not in aside]
            shown = {"image": pixels, "ordered": ordered, "command": command}
            stability = _stability(selector, loaded.X, batches, fit_options.seed)
            pages[report] = _page(selector, loaded, notes=of_page, fit=fit, stability=stability, **shown)
            kept += [] if stability is None else [stability.sentence]
    record = {"layer": read_options.layer or None, "batch_key": choice.batch or None, "counts": loaded.are_counts}
    saved = {"command": command, "stability": "" if stability is None else stability.sentence}
    record["structure"] = structure or None
    settings = record | {"significant": significant or None}
    pages |= {save: _choice_text(selector, loaded, read_options, settings, batches, **saved)} if save else {}
    # Before anything is printed: a reader such as head may close the pipe early.
    write_all({output: _table_writer(output, selector, loaded, record)} if output else {}, pages)
    if names:
        say([*verdict_of(selector), *notes, *loaded.summary], err=True)
        say(selected_names(selector, loaded.variables))
        return
    say([*verdict_of(selector), *all_notes, ""])
    print_roles(loaded)
    shares = {name: count / loaded.table.shape[0] for name, count in loaded.missing.items()}
    print_ranking(selector, loaded.variables, further="--names lists all, -o writes them", missing=shares)
    written = [f"Wrote {path}." for path in (output, report, save) if path]
    say(["", *alignment, *kept, *written, f"Took {time_and_memory(start)}; the fit {fit}."])


def _refuse_with_significant(
    selector: BaseSelector, features: str | None, test_options: options.TestOptions, required: NamedRequirements
) -> None:
    """Raise an error if an option contradicts --significant, or the class of an author cannot be told what is found."""
    from sklearn.utils.validation import has_fit_parameter

    refused = {"--features": features is not None, "--no-test": test_options.no_test}
    refused["--min-distance"] = getattr(selector, "min_distance", 1) != 1 or "min_distance" in required
    refused |= {"--budget": "budget" in required, "--families": "families" in required}
    refused[f"{type(selector).__name__}, whose fit takes no significance"] = not has_fit_parameter(
        selector, "significance"
    )
    for what, is_given in refused.items():
        if is_given:
            raise typer.BadParameter(f"does not work with {what}", param_hint="--significant")


def _notes_on_constant(selector: BaseSelector, X: Any) -> list[str]:
    """Return a sentence on selected columns that are constant; none if there are none."""
    from ufselect.columns.moments import constant_columns

    n_constant = int(constant_columns(X[:, selector.top_features()]).sum())
    verb = "is" if n_constant == 1 else "are"
    return [f"{n_constant:,} of them {verb} constant: there are too few informative columns."] if n_constant else []


def _note_on_neighbors(selector: BaseSelector, loaded: LoadedTable, fit_options: options.FitOptions) -> str:
    """Return a sentence on how well the selected columns preserve nearest neighbours, beside random columns."""
    from ufselect._utils.seeds import random_selections
    from ufselect.inspection import neighborhoods_kept

    count, groups = getattr(selector, "n_groups_", selector.n_features_), getattr(selector, "groups_", None)
    random = random_selections(loaded.X.shape[1], count, _N_RANDOM, fit_options.seed, groups)
    standardize = fit_options.scale is not options.Scale.none
    kept, *by_chance = neighborhoods_kept(loaded.X, [selector.top_features(), *random], standardize=standardize)
    baseline = sum(by_chance) / len(by_chance)
    digits = 1 if min(kept, baseline) < _FEW else 0
    preserved = (
        f"{percent(kept, digits)} of the samples' nearest neighbours (random columns: {percent(baseline, digits)})"
    )
    m, d = len(selected_names(selector, loaded.variables)), len(loaded.columns_of_variables)
    return f"{m:,} of {counted(d, 'column')} {'preserves' if m == 1 else 'preserve'} {preserved}."


def _page(selector: BaseSelector, loaded: LoadedTable, *, fit: str, **others: Any) -> str:
    import numpy as np

    from ufselect.report import Study, render_page

    table = loaded.table
    n_missing = np.array([loaded.missing.get(name, 0) for name in loaded.variables])
    return render_page(
        Study(
            selector=selector,
            X=loaded.X,
            names=loaded.names,
            source=table.path.name,
            samples=None if table.samples is None else table.samples.tolist(),
            groups={  # dates as dates, not as nanoseconds
                name: (values.astype("M8[s]").astype(str) if values.dtype.kind == "M" else values).tolist()
                for name, values in table.aside.items()
            },
            missing=n_missing / table.shape[0],
            roles=[*loaded.roles, *_further_aside(loaded)],
            variables=None if loaded.variables == loaded.names else loaded.variables,
            facts={"Fit": fit, "Version": f"ufselect {__version__}"},
            **others,
        )
    )


def _further_aside(loaded: LoadedTable) -> list[Any]:
    """Return the columns that are set aside before roles are decided."""
    from ufselect.report import SetAside

    known = {each.name for each in loaded.roles}
    return [SetAside(name, why) for name, why in loaded.aside.items() if name not in known]


def _stability(selector: BaseSelector, X: Any, batch: Any, seed: int) -> Stability | None:
    """Return how often the same columns are selected from subsets of the samples; None if a fit fails.

    It is not known for a structure that was given: subsets would learn structures of their own.
    """
    if hasattr(selector, "given_structure_"):
        return None
    from ufselect._utils.warnings import convergence_warnings
    from ufselect.inspection import stability_of

    n, d = X.shape
    n_values = X.nnz if hasattr(X, "nnz") else n * d
    most = max(_MOST_VALUES_REFITTED * n // max(n_values, 1), _FEWEST_REFITTED)
    try:
        with convergence_warnings(), modest_resources(X, selector.get_params().get("n_jobs", 1)):
            return stability_of(selector, X, max_samples=most, batch=batch, random_state=seed, verbose=1)
    except ValueError:
        return None


def _choice_text(
    selector: BaseSelector,
    loaded: LoadedTable,
    read_options: options.ReadOptions,
    settings: Mapping[str, Any],
    batch: Any,
    **known: Any,
) -> str:
    from ufselect.files import choice_as_json

    return choice_as_json(replace(choice_of(selector, loaded, read_options, settings, batch=batch), **known))


def _table_writer(
    output: Path, selector: BaseSelector, loaded: LoadedTable, settings: Mapping[str, Any]
) -> Callable[[Path], None]:
    from ufselect.files import write_table
    from ufselect.files.registry import known_format
    from ufselect.inspection.choices import recorded_selection

    known, selection = known_format(output), recorded_selection(selector, loaded.names, settings)
    written = loaded.as_written(selection, all_columns=known is not None and known.annotates)
    return lambda path: write_table(path, *written)


def _height_and_width(image: str) -> tuple[int, int] | None:
    if not image:
        return None
    sizes = re.fullmatch(r"([1-9]\d*)[x×X]([1-9]\d*)", image)
    if not sizes:
        raise typer.BadParameter(f"{image!r} does not have the form 28x28", param_hint="--image")
    return int(sizes[1]), int(sizes[2])
