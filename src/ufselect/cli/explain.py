"""``ufselect explain``: what columns contribute, and which selected columns resemble them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect._utils.wording import shown
from ufselect.cli import options
from ufselect.cli.classes import DEFAULT_METHOD
from ufselect.cli.fitting import Source, choices_made, fit_with_notes, form_of_text, make_selector, read_numbers
from ufselect.cli.panel import Panel, why_not_a_column
from ufselect.cli.printing import say

if TYPE_CHECKING:
    from ufselect.inspection import Explanation


def explain(
    data: options.Data,
    columns: Annotated[
        list[str], typer.Argument(metavar="COLUMN…", help="Names of columns; put -- before one that begins with -.")
    ],
    features: options.Features = None,
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
    debug: options.Debug = False,  # noqa: ARG001 - read before the arguments are parsed
    parameters: Mapping[str, Any] = {},
) -> None:
    """Explain what columns contribute, and which selected columns resemble them."""
    from ufselect.inspection import explain_features

    selector = make_selector(
        method, features=features, clusters=clusters, scale=scale, seed=seed, jobs=jobs, parameters=parameters
    )
    form = form_of_text(delimiter, decimal, na, transpose, encoding, sheet, header)
    panel = Panel.of_options(keep, keep_file, exclude, exclude_file, batch)
    kept_aside = (*(aside or ()), *panel.aside)
    numbers = read_numbers(Source(data, kept_aside, impute, counts, layer, form, as_read=False))
    indices = _indices(columns, numbers.table.names, numbers.table.aside)
    notes = [*numbers.notes, *panel.apply(selector, numbers)]
    fit_with_notes(selector, numbers.X, batch=panel.batch_of_samples(numbers))
    say([*notes, *choices_made(selector)])
    for explanation in explain_features(selector, numbers.X, indices):
        original = int(selector.copies_[explanation.feature])
        say(["", *_sentences(explanation, numbers.table.names, original)])


def _indices(columns: Sequence[str], names: Sequence[str], aside: Mapping[str, Any]) -> list[int]:
    index = {name: number for number, name in enumerate(names)}
    for column in columns:
        if column not in index:
            raise typer.BadParameter(why_not_a_column(column, names, aside))
    return [index[column] for column in columns]


def _sentences(explanation: Explanation, names: Sequence[str], original: int) -> list[str]:
    verdict = "selected" if explanation.selected else "not selected"
    head = f"{shown(names[explanation.feature])}: {verdict}, rank {explanation.rank:,} of {len(names):,}, "
    details = explanation.sentences(names, original)
    return [f"{head}score {explanation.score:.4g}.", *(f"  {sentence}" for sentence in details)]
