"""``ufselect bench``: run the experiments of the harness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ufselect.cli.options import Debug

if TYPE_CHECKING:
    from ufselect.benchmark.experiment import Experiment

Files = Annotated[list[Path], typer.Argument(metavar="EXPERIMENT", help="TOML files.", exists=True, dir_okay=False)]
Settings = Annotated[
    int, typer.Option(min=0, help="Maximum number of settings per method, spread over its grid; 0 for all.")
]
FromResults = Annotated[
    bool,
    typer.Option("--from-results", help="Run nothing; write tables and plots again from the figures in the results."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for results and the store of finished work.")]


def bench(
    experiment: Files,
    data: Annotated[str, typer.Option(help="Only these data sets, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these methods, separated by commas.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few settings on little data, to see if it runs.")] = False,
    settings: Settings = 0,
    finished: Annotated[bool, typer.Option("--finished", help="Run nothing; tabulate what is finished.")] = False,
    from_results: FromResults = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 for all cores.")] = 1,
    output: Output = Path("results"),
    dask: Annotated[str, typer.Option(help="Address of a Dask scheduler; its workers do the work.")] = "",
    debug: Debug = False,  # noqa: ARG001 - read before the arguments are parsed
) -> None:
    """Run experiments and write their tables and plots.

    Finished fits and evaluations are stored one by one: a run that was stopped or killed continues where it was.
    """
    from ufselect.benchmark.experiment import read_experiment
    from ufselect.benchmark.output import write_tables
    from ufselect.benchmark.record import read_results

    if from_results and finished:
        raise typer.BadParameter("--from-results and --finished exclude each other")
    given = {"data": data, "methods": methods, "settings": settings, "quick": quick}
    options = "".join(f" --{name}" if value is True else f" --{name} {value}" for name, value in given.items() if value)
    for path in experiment:
        wanted = read_experiment(path).narrowed(
            data=names_in(data), methods=names_in(methods), quick=quick, settings=settings or None
        )
        wanted = replace(wanted, options=options)
        # A part of an experiment does not replace the results of the whole.
        folder = output / (f"{wanted.name}-part" if options else wanted.name)
        if from_results:
            written = write_tables(*read_results(folder), folder)
        else:
            wanted = wanted if data else _available_part(wanted)
            try:
                written = _run(wanted, folder, None if dask else jobs, dask, finished)
            except KeyboardInterrupt:
                typer.echo("Stopped. Finished work is kept; the same command continues from there.", err=True)
                raise typer.Exit(1) from None
        for each in written:
            typer.echo(each)


def names_in(text: str) -> list[str] | None:
    """Return the names between commas, None if there are none."""
    return [name.strip() for name in text.split(",") if name.strip()] or None


def _run(experiment: Experiment, folder: Path, jobs: int | None, dask: str, finished: bool) -> list[Path]:
    from ufselect.benchmark.output import write_results
    from ufselect.benchmark.runner import run_experiment
    from ufselect.benchmark.store import Store
    from ufselect.benchmark.tables import not_converged

    with Store(folder.parent / "store.sqlite") as store, _workers(dask):
        results = run_experiment(experiment, store, n_jobs=jobs, verbose=1, finished_only=finished)
    for sentence in not_converged(results):
        typer.echo(f"Note: {sentence}", err=True)
    return write_results(experiment, results, folder)


def _available_part(experiment: Experiment) -> Experiment:
    """Return the experiment without the data sets that are not found; print how to get each of them."""
    from ufselect.datasets import load_dataset

    available = []
    for name in experiment.data:
        try:
            load_dataset(name)
        except FileNotFoundError as error:
            typer.echo(f"Left out: {error}", err=True)
        else:
            available.append(name)
    if not available:
        raise FileNotFoundError("none of the experiment's data sets is available.")
    missing = tuple(name for name in experiment.data if name not in available)
    return replace(experiment.narrowed(data=available), unavailable=missing)


@contextmanager
def _workers(dask: str) -> Iterator[None]:
    """Use the workers of a Dask scheduler, or joblib's active backend if no address is given."""
    if not dask:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ModuleNotFoundError("--dask needs Dask: pip install dask distributed.") from error
    import joblib

    client = Client(dask)
    with client, joblib.parallel_config(backend="dask", client=client):
        yield
