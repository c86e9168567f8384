"""Runs on the workers of a Dask cluster, one of which dies."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import joblib
import pandas as pd
import pytest
from tried import experiment_of

from ufselect.benchmark.experiment import Method, read_experiment
from ufselect.benchmark.runner import run_experiment
from ufselect.benchmark.store import Store
from ufselect.benchmark.tables import figures

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

N_FITS = 14
SECONDS_TO_WAIT = 120.0


@pytest.fixture(scope="module")
def client():
    """A client of a cluster of two processes, which are started anew when they die; a piece may end one of them."""
    forked = {"distributed.worker.multiprocessing-method": "forkserver"}  # from a process that has imported Dask
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1, **forked}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster, set_as_default=True) as opened,
    ):
        yield opened


@pytest.fixture
def experiment_file(small_set, tmp_path):
    """An experiment whose fits may wait for a file, and whose workers need not be in any certain folder."""

    def write(name="slow"):
        gate = tmp_path / "go on" if name == "slow" else ""
        path = tmp_path / f"{name}.toml"
        path.write_text(f"""
title = "A small one"
protocol = "no-labels"
data = ['{small_set}']
counts = [2, 4, 6]
n_runs = 2

[[methods]]
name = "slow"
selector = "logged_selectors:Logged"
parameters = {{ gate = '{gate}', log = '{tmp_path / name}.txt' }}
grid = {{ seed = {{ from = 1, to = {N_FITS} }} }}
""")
        return path

    return write


def n_outcomes(path):
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:
            return connection.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    except sqlite3.OperationalError:  # it is not there, or being made
        return 0


def kill_worker_midway(client, store_path, gate, still_running=lambda: True):
    """Kill a worker as soon as some fits are finished, and let the others go on; how many were."""
    client.wait_for_workers(2, timeout=SECONDS_TO_WAIT)
    victim = next(iter(client.run(os.getpid).values()))
    last = time.monotonic() + SECONDS_TO_WAIT
    while (finished := n_outcomes(store_path)) < 3:
        assert still_running()
        assert time.monotonic() < last
        time.sleep(0.02)
    os.kill(victim, signal.SIGKILL)
    gate.touch()
    return finished


def test_the_command_goes_on_when_a_worker_dies(client, experiment_file, tmp_path):
    with Store(tmp_path / "plain.sqlite") as store:
        plain = run_experiment(read_experiment(experiment_file("plain")), store)
    program = Path(sys.executable).with_name("ufselect")
    options = ["--dask", client.scheduler.address, "--output", tmp_path / "out"]
    found = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": found}  # it stores the work of methods that it finds itself
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([program, "bench", experiment_file(), *options], env=environment, **pipes) as process:
        store, gate = tmp_path / "out" / "store.sqlite", tmp_path / "go on"
        finished = kill_worker_midway(
            client, store, gate, lambda: process.poll() is None or print(process.stderr.read())
        )
        _, errors = process.communicate(timeout=SECONDS_TO_WAIT)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert 3 <= finished < N_FITS
    found = pd.read_parquet(tmp_path / "out" / "slow" / "figures.parquet")
    pd.testing.assert_frame_equal(found, figures(plain))


def test_a_piece_that_no_worker_survives_is_reported_after_the_others(client, small_set, tmp_path):
    experiment = experiment_of(
        Method("deadly", "logged_selectors:Deadly", grid={"seed": range(6)}), data=[small_set], counts=(2, 4, 6)
    )
    path = tmp_path / "store.sqlite"
    dask_backend = joblib.parallel_config(backend="dask")
    with Store(path) as store, dask_backend, pytest.raises(MemoryError, match="tasks killed every worker"):
        run_experiment(experiment, store)
    # A piece that waited at a worker which died is under suspicion, too: not all of the other five need to be there.
    assert 1 <= n_outcomes(path) <= 5
