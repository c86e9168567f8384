"""``ufselect diff``: what changed between two choices, or between a choice and what is selected from another file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect._utils.naming import names_a_module
from ufselect._utils.wording import counted, listed, shown
from ufselect.cli import options
from ufselect.cli.fitting import fit_with_notes, select_all_found
from ufselect.cli.methods import class_named, method_named
from ufselect.cli.output import print_table, say
from ufselect.cli.reading import LoadedTable, load_table
from ufselect.cli.saving import choice_of, print_drift, read_as_before

if TYPE_CHECKING:
    from ufselect.files import Choice
    from ufselect.inspection import ChoiceComparison

_MOST_ROWS = 40


def diff(
    choice: options.SavedChoice,
    other: Annotated[
        Path,
        typer.Argument(
            metavar="OTHER", help="Another choice (.json), or a file with data to select from anew.", readable=False
        ),
    ],
    *,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            min=0,
            metavar="N",
            help="Number of random splits of the data, from whose parts columns are selected to say what changes by "
            "chance; 0 for none.",
            show_default="5; 0 for more than 10 million values",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="The method of CHOICE, required if it is a class of your own."),
    ] = "",
    jobs: options.Jobs = 1,
    read_options: options.ReadOptions,
) -> None:
    """Compare two choices, or a choice with what its method selects from another file.

    Says what changed, whether it is more than chance, and which columns have drifted.
    """
    from ufselect.files import read_choice
    from ufselect.inspection import chance_in_words, column_drift, compare_choices

    if repeats == 1:
        raise typer.BadParameter("a deviation needs at least two splits", param_hint="--repeats")
    before = read_choice(choice)
    if other.suffix.casefold() == ".json":
        if method or repeats is not None or read_options != options.ReadOptions():
            raise typer.BadParameter("options apply to a file with data only, not to two choices", param_hint="OTHER")
        compared = compare_choices(before, read_choice(other))
        notes: list[str] = []
    else:
        after, like, notes = _selected_anew(before, other, read_options, method, repeats, jobs)
        drift = column_drift({name: before.summaries[name] for name in like}, like)
        compared = compare_choices(before, after, drift=drift)
    say([f"{compared.sentence} {compared.drift.sentence}", *_sources(compared), *notes, *_notes(compared)])
    _print_changes(compared)
    print_drift(compared.drift)
    if words := chance_in_words(compared):
        say(["", words])


def _selected_anew(
    before: Choice, data: Path, given: options.ReadOptions, method: str, n_splits: int | None, jobs: int
) -> tuple[Choice, dict[str, Any], list[str]]:
    """Select from another file with the method and parameters of a choice."""
    from ufselect.files import column_summaries
    from ufselect.inspection import selector_of

    record = before.record
    if method and method_named(method) != record["method"]:
        reason = f"the choice was made by {shown(record['method'])}, not by {shown(method)}"
        raise typer.BadParameter(reason, param_hint="--method")
    cls = class_named(method) if method else None
    if cls is None and names_a_module(record["method"]):  # a file does not say what is run
        which = shown(record["method"])
        raise ValueError(
            f"The choice was made by {which}, which is no method of ufselect; import it by --method {which}."
        )
    if record.get("structure"):
        raise ValueError(
            f"The choice was made by a structure that was given, {shown(record['structure'])}; "
            "select from the other file by its own, with --save, and compare the two choices."
        )
    if record.get("requirements"):
        raise ValueError(
            "The choice had requirements, such as a budget, which it does not store; select from the other file with "
            "them and --save, and compare the two choices."
        )
    batch = record.get("batch_key") or ""
    counts = options.Counts.yes if record.get("counts") else options.Counts.no

    def read(options_: options.ReadOptions) -> LoadedTable:
        settings = replace(options_, counts=given.counts or counts)
        return load_table(data, settings, aside=(batch,) if batch else (), keep_values=True, like=before)

    loaded, _ = read_as_before(read, before, given, data)
    loaded, notes = _known_columns(before, loaded)
    selector = selector_of(before, loaded.variables, cls)
    known = selector.get_params()
    selector.set_params(**{key: value for key, value in {"n_jobs": jobs, "verbose": 1}.items() if key in known})
    batches = loaded.table.aside[batch] if batch else None
    fit_with_notes(selector, loaded.X, batch=batches, fdr=(record.get("test") or {}).get("fdr"), filled=loaded.filled)
    if record.get("significant"):
        select_all_found(selector)
    settings = {key: record.get(key) for key in ("layer", "batch_key", "significant")} | {"counts": loaded.are_counts}
    after = choice_of(selector, loaded, given, settings, batch=batches, n_splits=n_splits, known_digest=before.sha256)
    return after, column_summaries(loaded.table, before.summaries), [*loaded.notes, *notes]


def _known_columns(before: Choice, loaded: LoadedTable) -> tuple[LoadedTable, list[str]]:
    """Return the columns of a table that a choice knows, in its order, and a sentence on the others."""
    import numpy as np

    table, place = loaded.table, loaded.columns_of_variables
    columns = np.array([index for name in before.names for index in place.get(name, ())], dtype=np.intp)
    if not len(columns):
        raise ValueError(f"{table.path} has none of the columns of {before.origin}.")
    known = {*before.names, *before.aside}
    new = [name for name in (*table.names, *(table.aside if before.roles else ())) if name not in known]
    notes = [f"Left out: {counted(len(new), 'column')} that {before.origin} did not have."] if new else []
    if columns.tolist() == list(range(loaded.X.shape[1])):
        return loaded, notes
    known_columns = {
        "X": loaded.X[:, columns],
        "names": [loaded.names[index] for index in columns],
        "variables": [loaded.variables[index] for index in columns],
        "filled": None if loaded.filled is None else loaded.filled[:, columns],
    }
    return replace(loaded, **known_columns), notes


def _sources(compared: ChoiceComparison) -> list[str]:
    return [
        f"{when}: {len(each.selected):,} of {len(each.names):,} columns of {each.origin} "
        f"({each.n_samples:,} samples), by {shown(each.record['method'])}."
        for when, each in (("Before", compared.before), ("After", compared.after))
    ]


def _notes(compared: ChoiceComparison) -> list[str]:
    sentences = []
    if compared.missing:
        verb = "is" if len(compared.missing) == 1 else "are"
        sentences.append(f"Of the columns selected before, {listed(compared.missing)} {verb} missing.")
    if compared.expected is None:
        sentences += [f"Before: {compared.before.stability}"] if compared.before.stability else []
    return sentences


def _print_changes(compared: ChoiceComparison) -> None:
    """Print the columns selected before or after with their ranks, those that changed first."""
    copies = {new: old for old, new in compared.replaced.items()}
    changes = dict.fromkeys(compared.missing, "missing") | dict.fromkeys(compared.went_out, "out")
    changes |= dict.fromkeys(compared.came_in, "in") | {
        new: f"in for its near-copy {old}" for new, old in copies.items()
    }
    changes |= dict.fromkeys(compared.replaced, "out") | dict.fromkeys(compared.kept, "")
    ranks = [dict(zip(each.names, each.ranking.tolist(), strict=True)) for each in (compared.before, compared.after)]
    rows = [[name, *(_rank(name, known) for known in ranks), change] for name, change in changes.items()]
    say([""])
    print_table(["column", "rank before", "rank after", "change"], rows[:_MOST_ROWS], left=[0, 3])
    if (n_more := len(rows) - _MOST_ROWS) > 0:
        say([f"… and {counted(n_more, 'more column')}."])


def _rank(name: str, known: dict[str, int]) -> str:
    return f"{known[name]:,}" if name in known else "–"
