"""The command line: parse, call, print."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

try:
    import typer
except ImportError as error:
    raise SystemExit("The command line needs more packages: pip install 'ufselect[cli]'.") from error

if TYPE_CHECKING:
    from ufselect.benchmark.experiment import Experiment

app = typer.Typer(
    help="Choose the informative columns of unlabelled data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _commands() -> None:
    """Keep ``bench`` a command also while it is the only one."""


@app.command()
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
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Run an experiment and write its tables and figures.

    Every finished piece is kept at once: started again after any end, a run goes on where it was.
    """
    with _plain_errors(debug):
        from ufselect.benchmark.experiment import read_experiment

        wanted = read_experiment(experiment).narrowed(
            data=_names(data), methods=_names(methods), quick=quick, settings=settings or None
        )
        given = {"data": data, "methods": methods, "settings": settings, "quick": quick}
        wanted = replace(wanted, options=_as_typed(given))
        _run(wanted if data else _of_data_at_hand(wanted), output, jobs, dask, finished)


def main() -> None:
    """Run the program; modules in the current folder can be named, as with ``python -m``."""
    sys.path.insert(0, "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    app()


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


def _names(text: str) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] or None


class _plain_errors:  # noqa: N801 - reads as a verb in a with statement
    """Errors as one plain sentence on standard error and exit code 1, unless their traceback is wanted."""

    def __init__(self, debug: bool) -> None:
        self.debug = debug

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self.debug or error is None:
            return
        if isinstance(error, KeyboardInterrupt):
            typer.echo("Stopped. What was finished is kept; the same command goes on from there.", err=True)
            sys.exit(1)
        # BrokenExecutor: joblib's, when the system ended one of its processes; sqlite3.Error: the disk is full.
        if isinstance(error, (ValueError, OSError, ImportError, MemoryError, BrokenExecutor, sqlite3.Error)):
            typer.echo(f"Error: {error}", err=True)
            sys.exit(1)
