"""``ufselect explain``: why a column was selected, or what stands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect.cli import options
from ufselect.cli.fitting import Source, choices_made, fit_timed, make_selector, read_numbers
from ufselect.cli.parameters import DEFAULT_METHOD
from ufselect.cli.printing import percent, say, shown

if TYPE_CHECKING:
    from ufselect.inspection import Explanation


def explain(
    data: options.Data,
    columns: Annotated[list[str], typer.Argument(metavar="FEATURE…", help="Names of columns.")],
    features: options.Features = "auto",
    method: options.Method = DEFAULT_METHOD,
    scale: options.Scaling = None,
    clusters: options.Clusters = "auto",
    impute: options.Imputation = None,
    aside: options.Aside = None,
    layer: options.Layer = "",
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    debug: options.Debug = False,
    parameters: Mapping[str, Any] = {},
) -> None:
    """Tell what columns carry, and which selected ones stand for them."""
    from ufselect.inspection import explain_features

    selector = make_selector(
        method, features=features, clusters=clusters, scale=scale, seed=seed, jobs=jobs, parameters=parameters
    )
    numbers = read_numbers(Source(data, tuple(aside or ()), impute, scale, layer))
    places = _places(columns, numbers.table.names, numbers.table.aside)
    fit_timed(selector, numbers.X)
    say([*numbers.notes, *choices_made(selector)])
    for explanation in explain_features(selector, numbers.X, places):
        say(["", *_sentences(explanation, numbers.table.names)])


def _places(columns: Sequence[str], names: Sequence[str], aside: Mapping[str, Any]) -> list[int]:
    place = {name: number for number, name in enumerate(names)}
    for column in columns:
        if column not in place:
            raise typer.BadParameter(_why_not(column, names, aside))
    return [place[column] for column in columns]


def _why_not(column: str, names: Sequence[str], aside: Mapping[str, Any]) -> str:
    if column in aside:
        return f"{shown(column)} was kept aside, it is not among the numbers"
    near = get_close_matches(column, names, n=1)
    guess = f"; {shown(near[0])} is" if near else ""
    return f"'{shown(column)}' is no column{guess}"


def _sentences(explanation: Explanation, names: Sequence[str]) -> list[str]:
    verdict = "selected" if explanation.selected else "not selected"
    head = f"{shown(names[explanation.feature])}: {verdict}, rank {explanation.rank:,} of {len(names):,}, "
    told = [*_structure(explanation), *_stand_ins(explanation, names)]
    return [f"{head}score {explanation.score:.4g}.", *(f"  {sentence}" for sentence in told)]


def _structure(explanation: Explanation) -> list[str]:
    sentences = []
    if explanation.alone is None:
        sentences.append("This method learns no embedding that a column could explain.")
    else:
        sentences.append(f"By itself it explains {percent(explanation.alone, 1)} of the learned embedding.")
    if explanation.gain is not None:
        sentences.append(f"It adds {percent(explanation.gain, 1)} to what the columns ranked before it explain.")
    return sentences


def _stand_ins(explanation: Explanation, names: Sequence[str]) -> list[str]:
    likest = ", ".join(f"{shown(names[column])} ({value:+.2f})" for column, value in explanation.likest)
    if not likest:
        return ["No other column is selected."]
    others = "The other selected columns" if explanation.selected else "The selected columns"
    like = f"Most like it among the selected, by correlation: {likest}."
    if explanation.covered is None:
        return [like]
    return [f"{others} together explain {percent(explanation.covered)} of its variance.", like]
