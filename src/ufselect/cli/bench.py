"""``ufselect bench``: run the experiments of the harness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufselect.cli.options import Debug

if TYPE_CHECKING:
    from ufselect.benchmark.experiment import Experiment
    from ufselect.benchmark.runner import Finished, Trial

Files = Annotated[list[Path], typer.Argument(metavar="EXPERIMENT", help="TOML files.", exists=True, dir_okay=False)]
Settings = Annotated[
    int, typer.Option(min=0, help="Maximum number of settings per method, spread over its grid; 0 for all.")
]
Check = Annotated[
    bool,
    typer.Option("--check", help="Run nothing; exit with 1 if code, data or experiment changed since the results."),
]
Refit = Annotated[
    bool, typer.Option("--refit", help="With --check: refit one setting of each method and compare its figures.")
]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept",
        help="Refit one setting of each method whose code changed on each data set; if the figures are the same, the "
        "results count as made by the current code.",
    ),
]
FromResults = Annotated[
    bool,
    typer.Option("--from-results", help="Run nothing; write tables and plots again from the figures in the results."),
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep/--no-keep", help="Keep figures in the results folder that the same code made; run only the rest."
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for results and finished pieces.")]


@dataclass(frozen=True)
class _RunOptions:
    """Where results go, and which workers do the work."""

    output: Path
    jobs: int
    dask: str
    finished: bool
    keep: bool

    def folder_of(self, experiment: Experiment) -> Path:
        """Return the folder of results; a part of an experiment does not replace the results of the whole."""
        return self.output / (f"{experiment.name}-part" if experiment.options else experiment.name)


def bench(
    experiment: Files,
    data: Annotated[str, typer.Option(help="Only these data sets, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these methods, separated by commas.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few settings on little data, to see if it runs.")] = False,
    settings: Settings = 0,
    finished: Annotated[bool, typer.Option("--finished", help="Run nothing; tabulate what is finished.")] = False,
    keep: Keep = True,
    from_results: FromResults = False,
    check: Check = False,
    refit: Refit = False,
    accept: Accept = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 for all cores.")] = 1,
    output: Output = Path("results"),
    dask: Annotated[str, typer.Option(help="Address of a Dask scheduler; its workers do the work.")] = "",
    debug: Debug = False,  # noqa: ARG001 - read before the arguments are parsed
) -> None:
    """Run experiments and write their tables and plots.

    Finished pieces are stored one by one: a run that was stopped or killed continues where it was. Figures that the
    same code made from the same data are kept.
    """
    from ufselect.benchmark.experiment import read_experiment

    if refit and not check:
        raise typer.BadParameter("--refit needs --check")
    chosen = {"--from-results": from_results, "--accept": accept, "--check": check, "--finished": finished}
    if len(exclusive := [name for name, given in chosen.items() if given]) > 1:
        raise typer.BadParameter(f"{exclusive[0]} and {exclusive[1]} exclude each other")
    options = _as_typed({"data": data, "methods": methods, "settings": settings, "quick": quick})
    run = _RunOptions(output, jobs, dask, finished, keep and not quick)  # quick is to see if it runs
    current = True
    for path in experiment:
        wanted = read_experiment(path).narrowed(
            data=names_in(data), methods=names_in(methods), quick=quick, settings=settings or None
        )
        wanted = replace(wanted, options=options)
        if check:
            current &= _is_current(wanted, run.folder_of(wanted), refit)
        elif accept:
            _accept(wanted, run)
        elif from_results:
            _write_again(wanted, run.folder_of(wanted))
        else:
            _run_or_stop(wanted if data else _available_part(wanted), run)
    if not current:
        raise typer.Exit(1)


def names_in(text: str) -> list[str] | None:
    """Return the names between commas, None if there are none."""
    return [name.strip() for name in text.split(",") if name.strip()] or None


def _is_current(experiment: Experiment, folder: Path, refit: bool) -> bool:
    """Print whether the results of an experiment are current, and the reasons if they are not."""
    from ufselect.benchmark.provenance import reasons_out_of_date, refitted_differences

    reasons = reasons_out_of_date(experiment, folder)
    if refit and (folder / "fits.parquet").is_file():
        reasons += refitted_differences(_available_part(experiment), folder)
    typer.echo(f"{folder} is {'out of date' if reasons else 'current'}.")
    for reason in reasons:
        typer.echo(f"  {reason}")
    return not reasons


def _accept(experiment: Experiment, run: _RunOptions) -> None:
    """Record the code of methods whose refits have the same figures, and print how that went."""
    from ufselect.benchmark.provenance import accept_refitted

    for sentence in accept_refitted(_available_part(experiment), run.output / experiment.name, run.jobs):
        typer.echo(sentence)


def _write_again(experiment: Experiment, folder: Path) -> None:
    """Write tables and plots from the figures in a folder of results; its record stays as it is."""
    from ufselect.benchmark.output import write_tables
    from ufselect.benchmark.restoring import restored

    for path in write_tables(*restored(experiment, folder), folder):
        typer.echo(path)


def _run_or_stop(experiment: Experiment, run: _RunOptions) -> None:
    try:
        _run(experiment, run)
    except KeyboardInterrupt:
        typer.echo("Stopped. Finished pieces are kept; the same command continues from there.", err=True)
        raise typer.Exit(1) from None


def _run(experiment: Experiment, run: _RunOptions) -> None:
    from ufselect.benchmark.output import write_results
    from ufselect.benchmark.runner import run_experiment
    from ufselect.benchmark.store import Store
    from ufselect.benchmark.tables import not_converged

    with Store(run.output / "pieces.sqlite") as store, _workers(run.dask):
        n_jobs = None if run.dask else run.jobs
        kept = _kept(experiment, run.output / experiment.name) if run.keep else {}
        results = run_experiment(experiment, store, n_jobs=n_jobs, verbose=1, finished_only=run.finished, kept=kept)
    for sentence in not_converged(results):
        typer.echo(f"Note: {sentence}", err=True)
    for path in write_results(experiment, results, run.folder_of(experiment)):
        typer.echo(path)


def _kept(experiment: Experiment, folder: Path) -> Mapping[Trial, Finished]:
    """Return what need not be run because it is in the folder of the whole experiment's results; print how much."""
    from ufselect.benchmark.keeping import kept_trials
    from ufselect.benchmark.runner import planned_trials

    trials = planned_trials(experiment)
    try:
        kept = kept_trials(experiment, trials, folder)
    except ValueError as error:
        typer.echo(f"Note: {error} No figures are kept.", err=True)
        return {}
    if kept:
        n_kept = f"{len(kept):,} of {len(trials):,} settings"
        typer.echo(f"Kept {n_kept} from {folder}, made by the same code.", err=True)
    return kept


def _as_typed(options: dict[str, Any]) -> str:
    """Return the given options as on the command line."""
    return "".join(f" --{name}" if value is True else f" --{name} {value}" for name, value in options.items() if value)


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
