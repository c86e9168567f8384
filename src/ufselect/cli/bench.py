"""``ufselect bench``: run an experiment of the harness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect.cli.options import Debug

if TYPE_CHECKING:
    from ufselect.benchmark.experiment import Experiment


def bench(
    experiment: Annotated[Path, typer.Argument(help="The experiment's TOML file.", exists=True, dir_okay=False)],
    data: Annotated[str, typer.Option(help="Only these data sets, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these methods, separated by commas.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few settings on little data: does it run?")] = False,
    settings: Annotated[int, typer.Option(min=0, help="At most so many settings a method, spread over its grid.")] = 0,
    finished: Annotated[bool, typer.Option("--finished", help="Run nothing: tables of what is finished.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 for all cores.")] = 1,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where results and finished pieces go.")] = Path(
        "results"
    ),
    dask: Annotated[str, typer.Option(help="Address of a Dask scheduler whose workers do the work.")] = "",
    debug: Debug = False,
) -> None:
    """Run an experiment and write its tables and figures.

    Every finished piece is kept at once: started again after any end, a run goes on where it was.
    """
    from ufselect.benchmark.experiment import read_experiment

    wanted = read_experiment(experiment).narrowed(
        data=names_in(data), methods=names_in(methods), quick=quick, settings=settings or None
    )
    given = {"data": data, "methods": methods, "settings": settings, "quick": quick}
    wanted = replace(wanted, options=_as_typed(given))
    try:
        _run(wanted if data else _of_data_at_hand(wanted), output, jobs, dask, finished)
    except KeyboardInterrupt:
        typer.echo("Stopped. What was finished is kept; the same command goes on from there.", err=True)
        raise typer.Exit(1) from None


def names_in(text: str) -> list[str] | None:
    """The names between commas; None where there are none."""
    return [name.strip() for name in text.split(",") if name.strip()] or None


def _run(experiment: Experiment, output: Path, jobs: int, dask: str, finished: bool) -> None:
    from ufselect.benchmark.output import write_results
    from ufselect.benchmark.runner import run_experiment
    from ufselect.benchmark.store import Store

    with Store(output / "pieces.sqlite") as store, _workers(dask):
        results = run_experiment(experiment, store, n_jobs=None if dask else jobs, verbose=1, finished_only=finished)
    folder = f"{experiment.name}-part" if experiment.options else experiment.name  # the whole stays as it is
    for path in write_results(experiment, results, output / folder):
        typer.echo(path)


def _as_typed(options: dict[str, Any]) -> str:
    """The options that were given, as on the command line."""
    return "".join(f" --{name}" if value is True else f" --{name} {value}" for name, value in options.items() if value)


def _of_data_at_hand(experiment: Experiment) -> Experiment:
    """The experiment without the data sets whose files are not there, each named with how to get it."""
    from ufselect.datasets import load_dataset

    there = []
    for name in experiment.data:
        try:
            load_dataset(name)
        except FileNotFoundError as error:
            typer.echo(f"Left out: {error}", err=True)
        else:
            there.append(name)
    if not there:
        raise FileNotFoundError("none of the experiment's data sets is at hand.")
    return experiment.narrowed(data=there)


@contextmanager
def _workers(dask: str) -> Iterator[None]:
    """The workers of that Dask scheduler, or whatever joblib is set to."""
    if not dask:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ModuleNotFoundError("--dask needs Dask: pip install 'ufselect[dask]'.") from error
    import joblib

    client = Client(dask)  # type: ignore[no-untyped-call]
    with client, joblib.parallel_config(backend="dask", client=client):
        yield
