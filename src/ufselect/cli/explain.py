"""``ufselect explain``: what columns contribute, and which selected columns resemble them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect._utils.wording import shown
from ufselect.cli import options
from ufselect.cli.columns import ColumnChoice, why_not_a_column
from ufselect.cli.fitting import fit_with_notes, make_selector, notes_on_fit, spread_columns, verdict_of
from ufselect.cli.methods import DEFAULT_METHOD
from ufselect.cli.output import say
from ufselect.cli.reading import LoadedTable, load_table
from ufselect.cli.requirements import NamedRequirements

if TYPE_CHECKING:
    from ufselect.base import BaseSelector


def explain(
    context: typer.Context,
    data: options.Data,
    columns: Annotated[
        list[str], typer.Argument(metavar="COLUMN…", help="Names of columns; put -- before one that begins with -.")
    ],
    *,
    features: options.Features = None,
    ordered: options.Ordered = False,
    method: options.Method = DEFAULT_METHOD,
    test_options: options.TestOptions,
    fit_options: options.FitOptions,
    column_options: options.ColumnOptions,
    requirement_options: options.RequirementOptions,
    read_options: options.ReadOptions,
    parameters: Mapping[str, Any],
) -> None:
    """Explain what columns contribute, and which selected columns resemble them."""
    from sklearn import config_context

    required, parameters = NamedRequirements.of(requirement_options, parameters, data)
    selector = make_selector(method, fit_options, features=features, fdr=test_options.rate, parameters=parameters)
    choice = ColumnChoice.of(column_options, data)
    in_order = ordered or parameters.get("min_distance", 1) != 1 or "positions" in required
    loaded = load_table(
        data,
        read_options,
        aside=choice.aside,
        keep=choice.keep,
        in_order=in_order,
        keep_copies="costs" in required,
    )
    variables, aside = loaded.columns_of_variables, loaded.aside
    # Of a near copy, the column that stands for it is explained.
    meant = {column: loaded.originals.get(column, column) for column in columns}
    for column in columns:
        if column not in variables and column not in aside:
            raise typer.BadParameter(why_not_a_column(column, list(variables), aside))
    notes = [*loaded.notes, *choice.apply(selector, loaded)]
    notes += [*required.apply(selector, loaded, choice.groups_of(loaded)), *loaded.summary]
    if ordered and not options.is_given(context, "min_distance"):
        notes += spread_columns([selector])
    features_meant = list(dict.fromkeys(name for name in meant.values() if name in variables))
    explained = {}
    if features_meant:
        fit_with_notes(selector, loaded.X, batch=choice.batches(loaded), fdr=test_options.rate, filled=loaded.filled)
        notes = [*verdict_of(selector), *notes, *notes_on_fit(selector)]
        with config_context(assume_finite=True):  # the fit has validated X
            explained = _explained(selector, loaded, features_meant)
    say(notes)
    for column, name in meant.items():
        if name in variables:
            verdict, *sentences = explained[name]
            like = "" if column == name else f"{aside[column]}, which is "
            say(["", f"{shown(column)}: {like}{verdict}", *(f"  {sentence}" for sentence in sentences)])
        else:
            advice = f"; --keep {shlex.quote(column)} makes it a feature" if _can_be_kept(column, loaded) else ""
            say(["", f"{shown(column)}: set aside ({aside[column]}){advice}."])


def _can_be_kept(column: str, loaded: LoadedTable) -> bool:
    """Whether a column that is set aside can be a feature."""
    roles = {each.name: each.role for each in loaded.roles}
    return roles.get(column) == "incomplete" or (column in loaded.table.names and roles.get(column) != "constant")


def _explained(selector: BaseSelector, loaded: LoadedTable, names: list[str]) -> dict[str, list[str]]:
    """Return sentences on some variables: whether they are selected, and what they contribute."""
    from ufselect.inspection import explain_features

    columns = loaded.columns_of_variables
    ranked = list(dict.fromkeys(loaded.variables[column] for column in selector.ranking_.argsort(kind="stable")))
    explained = {}
    for name, each in zip(names, explain_features(selector, loaded.X, [columns[n] for n in names]), strict=True):
        verdict = "selected" if each.selected else "not selected"
        place = f"rank {ranked.index(name) + 1:,} of {len(ranked):,}, score {each.score:.4g}."
        original = int(selector.copies_[each.feature])
        explained[name] = [f"{verdict}, {place}", *each.sentences(loaded.names, original)]
    return explained
