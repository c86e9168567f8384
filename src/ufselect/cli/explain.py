"""``ufselect explain``: what columns contribute, and which selected columns resemble them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ufselect._utils.wording import shown
from ufselect.cli import options
from ufselect.cli.columns import ColumnChoice, why_not_a_column
from ufselect.cli.fitting import fit_with_notes, make_selector, notes_on_fit, verdict_of
from ufselect.cli.methods import DEFAULT_METHOD
from ufselect.cli.output import say
from ufselect.cli.reading import load_table


def explain(
    data: options.Data,
    columns: Annotated[
        list[str], typer.Argument(metavar="COLUMN…", help="Names of columns; put -- before one that begins with -.")
    ],
    *,
    features: options.Features = None,
    method: options.Method = DEFAULT_METHOD,
    test_options: options.TestOptions,
    fit_options: options.FitOptions,
    column_options: options.ColumnOptions,
    read_options: options.ReadOptions,
    parameters: Mapping[str, Any],
) -> None:
    """Explain what columns contribute, and which selected columns resemble them."""
    from sklearn import config_context

    from ufselect.inspection import explain_features

    selector = make_selector(method, fit_options, features=features, fdr=test_options.rate, parameters=parameters)
    choice = ColumnChoice.of(column_options)
    loaded = load_table(data, read_options, aside=choice.aside, keep=choice.keep)
    variables = loaded.columns_of_variables
    for column in columns:
        if column not in variables:
            raise typer.BadParameter(why_not_a_column(column, list(variables), loaded.aside))
    notes = [*loaded.notes, *choice.apply(selector, loaded)]
    fit_with_notes(selector, loaded.X, batch=choice.batches(loaded), fdr=test_options.rate)
    say([*verdict_of(selector), *notes, *notes_on_fit(selector)])
    # Of a category, the level that ranks best stands for all.
    best = [min(variables[column], key=selector.ranking_.__getitem__) for column in columns]
    with config_context(assume_finite=True):  # the fit has validated X
        explained = explain_features(selector, loaded.X, best)
    for column, each in zip(columns, explained, strict=True):
        verdict = "selected" if each.selected else "not selected"
        place = f"rank {each.rank:,} of {len(loaded.names):,}, score {each.score:.4g}."
        level = f" by {shown(loaded.names[each.feature])}" if len(variables[column]) > 1 else ""
        sentences = each.sentences(loaded.names, int(selector.copies_[each.feature]))
        say(["", f"{shown(column)}: {verdict}{level}, {place}", *(f"  {sentence}" for sentence in sentences)])
