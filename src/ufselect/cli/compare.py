"""``ufselect compare``: several methods on one file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect.cli import options
from ufselect.cli.bench import names_in
from ufselect.cli.fitting import Numbers, Source, fit_timed, make_selector, modest_resources, read_numbers
from ufselect.cli.outputs import ensure_can_be_written, write_all
from ufselect.cli.parameters import method_named
from ufselect.cli.printing import percent, print_table, say

if TYPE_CHECKING:
    from ufselect._backend.columns import Indices
    from ufselect.base import BaseSelector

_USUAL = "FSASL,MCFS,FSSL,SPFS,LaplacianScore,MaxVariance"
_RANDOM_DRAWS = 10


@dataclass(frozen=True)
class Row:
    """One method and what its selection is worth; shares between 0 and 1, None where there is no such figure."""

    method: str
    chosen: Indices
    redundancy: float
    neighborhoods: float
    stability: float | None
    seconds: float | None
    agreement: Mapping[str, float]


def compare(
    data: options.Data,
    methods: Annotated[
        str, typer.Option("--methods", metavar="NAMES", help="Methods, separated by commas, or all.")
    ] = _USUAL,
    features: options.Features = "auto",
    labels: Annotated[
        str,
        typer.Option(
            "--labels", metavar="COLUMN", help="Classes to judge by, never shown to a method: adds ACC and NMI."
        ),
    ] = "",
    repeats: Annotated[
        int, typer.Option(min=0, help="Fits on random 80 % of the samples, for the stability; 0 for none.")
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", readable=False, help="Write the figures there."),
    ] = None,
    scale: options.Scaling = None,
    clusters: options.Clusters = "auto",
    impute: options.Imputation = None,
    aside: options.Aside = None,
    layer: options.Layer = "",
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    debug: options.Debug = False,
) -> None:
    """Compare several methods on the same file, without labels."""
    wanted = _methods_in(methods)
    if repeats == 1:
        raise typer.BadParameter("two fits or more can agree, one cannot", param_hint="--repeats")
    settings: dict[str, Any] = {"clusters": clusters, "scale": scale, "seed": seed, "jobs": jobs, "strict": False}
    proposed = [make_selector(name, features=features, **settings) for name in wanted]
    ensure_can_be_written(output, data, "--output", suffix=".csv")
    numbers = read_numbers(Source(data, (*(aside or ()), *([labels] if labels else ())), impute, scale, layer))
    classes = _classes(numbers, labels)
    count, why = _count_by(proposed, numbers) if features == "auto" else (features, [])
    selectors = {name: make_selector(name, features=str(count), **settings) for name in wanted}
    rows = _judged(selectors, numbers, repeats, seed, scale in (None, options.Scale.standard), classes)
    # Before anything is printed: who reads that may hang up early, as head does.
    write_all({}, {output: _as_csv(rows)} if output else {})
    say([*numbers.notes, *why])
    _print_comparison(rows, repeats, bool(labels))
    if output:
        say(["", f"Wrote {output}."])


def _methods_in(text: str) -> list[str]:
    import ufselect

    names = ufselect.__all__ if text.strip().casefold() == "all" else names_in(text) or []
    wanted = list(dict.fromkeys(method_named(name, "--methods") for name in names))
    if not wanted:
        raise typer.BadParameter("no method is named", param_hint="--methods")
    return wanted


def _classes(numbers: Numbers, labels: str) -> Any:
    """The classes as numbers from 0 on; None where none are named."""
    import numpy as np

    if not labels:
        return None
    values = np.asarray(numbers.table.aside[labels])
    unknown = [value is None or value != value or value == "" for value in values.tolist()]
    if any(unknown):
        raise ValueError(f"{sum(unknown):,} samples have no value in {labels}, the column of classes.")
    different, classes = np.unique(values.astype(str), return_inverse=True)
    if len(different) == 1:
        raise ValueError(f"{labels} has 1 class for all samples; 2 or more are needed.")
    if len(different) == len(classes):
        raise ValueError(f"{labels} has {len(classes):,} classes for {len(classes):,} samples; some must share one.")
    return classes


def _count_by(selectors: Sequence[BaseSelector], numbers: Numbers) -> tuple[int, list[str]]:
    """How many columns the first method that can be fitted takes by itself, for all to take; and that in words."""
    for selector in selectors:
        try:
            fit_timed(selector, numbers.X)
        except (ValueError, MemoryError) as error:
            reason = error
            continue
        name = type(selector).__name__
        why = f"Columns: {selector.n_features_:,} for every method, as many as {name} takes by itself."
        return selector.n_features_, [why]
    raise ValueError(f"no method could be fitted: {reason}")


def _judged(
    selectors: Mapping[str, BaseSelector],
    numbers: Numbers,
    repeats: int,
    seed: int,
    standardize: bool,
    classes: Any,
) -> list[Row]:
    """A row for every method that could be fitted, and one for chance."""
    from ufselect.inspection import neighborhoods_kept

    fits = {name: fit for name, selector in selectors.items() if (fit := _fit(selector, numbers, repeats, seed))}
    if not fits:
        raise ValueError("no method could be fitted.")
    count = len(next(iter(fits.values()))[0])
    selections = {name: [chosen] for name, (chosen, *_) in fits.items()}
    selections["random"] = _random_selections(numbers.X.shape[1], count, seed)
    every = [chosen for several in selections.values() for chosen in several]
    kept = iter(neighborhoods_kept(numbers.X, every, standardize=standardize))
    judge = _Judge(numbers.X, standardize, classes)
    return [
        judge.row(name, several, [next(kept) for _ in several], *(fits[name][1:] if name in fits else (None, None)))
        for name, several in selections.items()
    ]


def _fit(
    selector: BaseSelector, numbers: Numbers, repeats: int, seed: int
) -> tuple[Indices, float, float | None] | None:
    """What a method selects, in how many seconds, and how stable that is; None, with a note, where it fails."""
    from ufselect._backend.progress import with_progress
    from ufselect.inspection import draws_of_samples, stability_over

    try:
        seconds = fit_timed(selector, numbers.X)
        draws = draws_of_samples(numbers.X.shape[0], repeats, random_state=seed)
        steps = with_progress(draws, repeats, 1, f"{type(selector).__name__} on parts", unit="fit")
        with modest_resources(selector, numbers.X):
            stability = stability_over(_settled(selector), numbers.X, steps) if repeats else None
    except (ValueError, MemoryError) as error:
        typer.echo(f"Note: {type(selector).__name__} is left out: {error}", err=True)
        return None
    return selector.top_features(), seconds, stability


def _settled(selector: BaseSelector) -> BaseSelector:
    """The same selector, silent, with the number of clusters that it found: parts are to be asked the same question."""
    from sklearn.base import clone

    found = {"n_clusters": getattr(selector, "n_clusters_", None), "verbose": 0}
    return clone(selector).set_params(**{key: value for key, value in found.items() if hasattr(selector, key)})


def _random_selections(n_features: int, count: int, seed: int) -> list[Indices]:
    import numpy as np

    rng = np.random.default_rng(seed)
    return [rng.choice(n_features, size=count, replace=False) for _ in range(_RANDOM_DRAWS)]


class _Judge:
    """Measures selections of one table, all alike; several of one method are averaged."""

    def __init__(self, X: Any, standardize: bool, classes: Any) -> None:
        self.X = X
        self.standardize = standardize
        self.classes = classes

    def row(
        self,
        name: str,
        selections: Sequence[Indices],
        neighborhoods: Sequence[float],
        seconds: float | None,
        stability: float | None,
    ) -> Row:
        """The means over several selections of one method."""
        import numpy as np

        from ufselect.metrics import redundancy

        agreements = [self._agreement(chosen) for chosen in selections]
        return Row(
            name,
            selections[0],
            float(np.mean([redundancy(self.X[:, chosen]) for chosen in selections])),
            float(np.mean(neighborhoods)),
            stability,
            seconds,
            {key: float(np.mean([agreement[key] for agreement in agreements])) for key in agreements[0]},
        )

    def _agreement(self, chosen: Indices) -> dict[str, float]:
        """ACC and NMI of k-means on the columns, scaled as the methods had them."""
        from ufselect.benchmark.protocol import clustering_agreement
        from ufselect.inspection import dense_columns

        if self.classes is None:
            return {}
        figures = clustering_agreement(dense_columns(self.X, chosen, standardize=self.standardize), self.classes)
        return {"ACC": figures["acc"], "NMI": figures["nmi"]}


def _print_comparison(rows: Sequence[Row], repeats: int, labelled: bool) -> None:
    from ufselect.inspection import selection_overlap

    say(["", f"{len(rows[0].chosen):,} columns by each method:", ""])
    headers = ["method", "redundancy", "neighbours", *(["stability"] if repeats else []), "seconds"]
    cells = [_cells(row, repeats) for row in rows]
    print_table([*headers, *(["ACC", "NMI"] if labelled else [])], cells, left=[0])
    say(["", *_explained(repeats, labelled)])
    fitted = [row for row in rows if row.seconds is not None]
    if len(fitted) > 1:
        overlap = selection_overlap([row.chosen for row in fitted])
        say(["", "Columns that two methods have in common, of those that either takes:", ""])
        shares = [[row.method, *map(percent, line)] for row, line in zip(fitted, overlap, strict=True)]
        print_table(["", *(row.method for row in fitted)], shares, left=[0])


def _cells(row: Row, repeats: int) -> list[str]:
    stability = ["–" if row.stability is None else f"{row.stability:.2f}"] if repeats else []
    seconds = "–" if row.seconds is None else f"{row.seconds:.2f}"
    measured = [percent(row.redundancy), percent(row.neighborhoods), *stability, seconds]
    return [row.method, *measured, *(percent(value, 1) for value in row.agreement.values())]


def _explained(repeats: int, labelled: bool) -> list[str]:
    parts = [
        "redundancy: mean absolute correlation of the selected columns, less is better",
        "neighbours: how far a sample's five nearest are the same by all columns and by the selected ones (Jaccard)",
    ]
    if repeats:
        parts.append(
            f"stability: agreement over {repeats} random 80 % of the samples, 0 is chance and 1 the same each time"
        )
    if labelled:
        parts.append("ACC, NMI: k-means on the selected columns against the labels, which no method was shown")
    parts.append(f"random: mean of {_RANDOM_DRAWS} random selections")
    return [f"{part}." for part in parts]


def _as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    labels = list(rows[0].agreement)
    table.writerow(["method", "columns", "redundancy", "neighbours_kept", "stability", "seconds", *labels])
    for row in rows:
        figures = [row.redundancy, row.neighborhoods, row.stability, row.seconds, *row.agreement.values()]
        table.writerow([row.method, len(row.chosen), *("" if figure is None else repr(figure) for figure in figures)])
    return text.getvalue()
