"""``ufselect bench`` in use: run from a folder, stopped, killed, started again."""

import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor

from ufselect.cli.app import run

N_SETTINGS = 10
# Fits are slow, so that there is time to stop them; --quick runs every other setting.
EXPERIMENT = """
title = "Slow rankings"
protocol = "published"
data = ["small.npz"]
measures = ["acc"]
n_runs = 2
quick = { settings = 10, counts = [2, 4, 6] }

[[methods]]
name = "all"
selector = "AllFeatures"
features = "all"
baseline = true

[[methods]]
name = "slow"
selector = "logged_selectors:Logged"
parameters = { log = "log.txt", gate = "go on" }
grid = { seed = { from = 0, to = 18 } }

[[methods]]
name = "variance"
selector = "MaxVariance"
"""
N_FITS = 1 + N_SETTINGS + 1
COMMAND = ["bench", "slow.toml", "--quick", "--output", "out"]
OUTPUTS = {
    "figures.parquet",
    "fits.parquet",
    "data.parquet",
    "summary.csv",
    "tables.md",
    "made_by.json",
    "acc.tex",
    *(f"acc_{picture}.{ending}" for picture in ("beside_published", "curves") for ending in ("png", "svg")),
}


def prepare(folder):
    """Put the experiment and its data into a folder; nothing waits."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 10)
    X = rng.standard_normal((30, 12)) + 2.0 * rng.standard_normal((3, 12))[classes]
    folder.mkdir(exist_ok=True)
    np.savez(folder / "small.npz", X=X, y=classes)
    (folder / "slow.toml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "go on").touch()
    return folder


def start(folder, *arguments):
    """Start the program in that folder, in a group of processes of its own."""
    found = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [Path(sys.executable).with_name("ufselect"), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(found)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


class Result(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def invoke(arguments):
    """Run the program in this process."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = run(arguments)
    return Result(code, output.getvalue(), errors.getvalue())


def run_in(folder, arguments, monkeypatch):
    """Run the program from that folder to its end in this process, which has imported everything already."""
    monkeypatch.chdir(folder)
    get_reusable_executor().shutdown(wait=True)  # workers that other tests left run in another folder
    result = invoke(arguments)
    assert result.exit_code == 0, result.stderr


def outcomes_in(folder, output="out"):
    """The outcomes in the store, as text, by key."""
    path = folder / output / "store.sqlite"
    if not path.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:
            return dict(connection.execute("SELECT key, outcome FROM outcomes"))
    except sqlite3.OperationalError:  # it is being made
        return {}


def stop_midway(folder, how, *arguments):
    """Start the program and send the whole group a signal once three outcomes are there; then what it printed.

    The others wait until this is done.
    """
    (folder / "go on").unlink()
    with start(folder, *arguments) as process:
        while len(outcomes_in(folder)) < 3:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        os.killpg(process.pid, how)
        _, errors = process.communicate(timeout=300)
    (folder / "go on").touch()
    for left in Path("/dev/shm").glob(f"sem.loky-{process.pid}-*"):  # joblib's, if it had no time to clear up
        left.unlink()
    for left in Path("/dev/shm").glob(f"joblib_memmapping_folder_{process.pid}_*"):
        shutil.rmtree(left)
    return process.returncode, errors


def times_fitted(folder):
    return Counter(map(int, (folder / "log.txt").read_text().split()))


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# From start to end


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder where the experiment ran without interruption, what the program printed and the files it wrote."""
    folder = prepare(tmp_path_factory.mktemp("finished"))
    with start(folder, *COMMAND) as process:
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return folder, output, files_in(folder / "out" / "slow-part")


def test_all_results_are_there_and_named(finished):
    folder, output, files = finished
    assert set(files) == OUTPUTS
    assert sorted(output.split()) == sorted(f"out/slow-part/{name}" for name in OUTPUTS)
    assert {path.name for path in (folder / "out").iterdir()} == {"store.sqlite", "slow-part"}
    assert times_fitted(folder) == dict.fromkeys(range(0, 19, 2), 1)


def test_tables_and_pictures_are_made_again_from_the_results_alone(finished, tmp_path, monkeypatch):
    # Neither the data nor the store are there.
    (tmp_path / "slow.toml").write_text(EXPERIMENT, encoding="utf-8")
    folder = tmp_path / "out" / "slow-part"
    folder.mkdir(parents=True)
    kept = {"figures.parquet", "fits.parquet", "data.parquet", "made_by.json"}
    for name in kept:
        (folder / name).write_bytes(finished[2][name])
    monkeypatch.chdir(tmp_path)
    result = invoke([*COMMAND, "--from-results"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(result.stdout.split()) == sorted(f"out/slow-part/{name}" for name in OUTPUTS - kept)
    assert files_in(folder) == finished[2]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"slow-part"}


# Stopped and killed


def test_stopped_by_hand_it_says_what_to_do_and_leaves_nothing_half_written(tmp_path):
    folder = prepare(tmp_path)
    code, errors = stop_midway(folder, signal.SIGINT, *COMMAND)
    assert code == 1
    last = errors.rstrip("\n").splitlines()[-1]
    assert last == "Stopped. Finished work is kept; the same command continues from there."
    assert "Traceback" not in errors
    assert {path.name.partition("-")[0] for path in (folder / "out").iterdir()} == {"store.sqlite"}
    assert 3 <= len(outcomes_in(folder)) < N_FITS


@pytest.mark.no_cover
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_and_started_again_it_ends_with_the_same_tables(finished, tmp_path, monkeypatch, jobs):
    folder = prepare(tmp_path)
    command = [*COMMAND, "-j", str(jobs)]
    code, _ = stop_midway(folder, signal.SIGKILL, *command)
    assert code == -signal.SIGKILL
    kept = outcomes_in(folder)
    assert 3 <= len(kept) < N_FITS
    assert all("order" in json.loads(outcome) for outcome in kept.values())
    run_in(folder, command, monkeypatch)

    stored = outcomes_in(folder)
    assert {key: stored[key] for key in kept} == kept  # seconds and all
    assert stored.keys() == outcomes_in(finished[0]).keys()
    after = times_fitted(folder)
    assert set(after) == set(range(0, 19, 2))
    assert N_SETTINGS <= after.total() <= N_SETTINGS + 2 * jobs  # those that were running when it was killed run again
    for name in ("summary.csv", "tables.md", "acc.tex", "figures.parquet"):
        assert (folder / "out" / "slow-part" / name).read_bytes() == finished[2][name], name
    assert set(files_in(folder / "out" / "slow-part")) == OUTPUTS


# Errors in a sentence


CHEAP = """
title = "Cheap"
protocol = "no-labels"
data = ["iris", "LUNG"]
counts = [1, 2]
n_runs = 2
[[methods]]
name = "variance"
selector = "MaxVariance"
"""


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Run the command on an experiment's text, in a folder with no other data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("UFSELECT_DATA", str(tmp_path / "data"))

    def run_on(text, *arguments):
        Path("tried.toml").write_text(text, encoding="utf-8")
        return invoke(["bench", "tried.toml", *arguments])

    return run_on


@pytest.mark.parametrize(
    ("text", "arguments", "error"),
    [
        (CHEAP, ["--data", "irys"], "Error: unknown data set 'irys'; did you mean 'iris'?\n"),
        (CHEAP.replace("[1, 2]", "[1, 2"), [], "Error: tried.toml is not valid TOML: "),
        (CHEAP.replace('"MaxVariance"', '"MaxVarience"'), ["--data", "iris"], "there is no selector 'MaxVarience' in"),
        (
            CHEAP.replace('"MaxVariance"', '"subprocess:Popen"') + 'parameters = { args = ["touch", "called"] }',
            ["--data", "iris"],
            "Error: the selector 'subprocess:Popen' is not a class with a method fit",
        ),
        (CHEAP + "parameters = { colour = 1 }", ["--data", "iris"], "unexpected keyword argument 'colour'"),
        (
            CHEAP.replace("MaxVariance", "logged_selectors:Failing"),
            ["--data", "iris"],
            "all fits failed; the first, variance on iris, with",
        ),
        (CHEAP.replace('"iris", ', ""), [], "none of the experiment's data sets is available"),
        (CHEAP, ["--data", "iris", "--finished"], "Error: no fit is finished yet.\n"),
        (CHEAP, ["--from-results"], "Error: results/tried/fits.parquet is missing; run the experiment first.\n"),
        (CHEAP, ["--data", "iris", "-j", "0"], "Error: n_jobs == 0"),
        (CHEAP, ["--data", "iris", "-o", "tried.toml/out"], "Error: "),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(bench, text, arguments, error):
    result = bench(text, *arguments)
    assert result.exit_code == 1
    assert error in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert not list(Path().glob("results/tried/*"))


def test_a_store_that_is_none_is_named_and_with_debug_the_traceback_is_there(bench, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "store.sqlite").write_bytes(b"something else " * 100)
    result = bench(CHEAP, "--data", "iris")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: results/store.sqlite is damaged, or not a store of finished work: ")
    with pytest.raises(ValueError, match="irys"):
        bench(CHEAP, "--data", "irys", "--debug")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["missing.toml"], "missing.toml"),
        ([], "Missing argument"),
        (["tried.toml", "--settings", "-1"], "--settings"),
        (["tried.toml", "--from-results", "--finished"], "--from-results and --finished exclude each other"),
    ],
)
def test_a_call_that_makes_no_sense_is_explained(tmp_path, monkeypatch, arguments, error):
    monkeypatch.chdir(tmp_path)
    Path("tried.toml").write_text(CHEAP, encoding="utf-8")
    result = invoke(["bench", *arguments])
    assert result.exit_code == 2
    assert error in result.stderr


def test_data_that_are_not_available_are_left_out_and_named(bench, tmp_path):
    result = bench(CHEAP)
    assert result.exit_code == 0
    (left_out,) = [line for line in result.stderr.splitlines() if line.startswith("Left out: ")]
    assert left_out.startswith("Left out: LUNG ")
    assert str(tmp_path / "data") in left_out
    assert set(pd.read_parquet("results/tried/figures.parquet").data) == {"iris"}


def test_only_what_is_asked_for_is_run_and_what_is_finished_put_into_tables(bench):
    text = CHEAP.replace("LUNG", "wine").replace("MaxVariance", "LaplacianScore")
    text += 'grid = { n_neighbors = [3, 4, 5] }\n[[methods]]\nname = "other"\nselector = "AllFeatures"\n'
    assert bench(text, "--data", " wine ,", "--methods", "variance", "--settings", "2", "-o", "here").exit_code == 0
    fits = pd.read_parquet("here/tried-part/fits.parquet")
    assert fits.data.unique().tolist() == ["wine"]
    assert fits.method.unique().tolist() == ["variance"]
    assert fits.setting.tolist() == ['{"n_neighbors":3}', '{"n_neighbors":5}']
    assert "tried.toml --data  wine , --methods variance --settings 2`" in Path("here/tried-part/tables.md").read_text()
    assert bench(text, "--finished", "-o", "here").exit_code == 0
    assert set(pd.read_parquet("here/tried/figures.parquet").data) == {"wine"}


# Modules in the current folder


def test_modules_here_can_be_named_but_do_not_replace_those_of_python(tmp_path):
    for name in ("sqlite3", "json", "pickle", "tomllib", "typer"):
        poison = f"open({str(tmp_path / 'imported')!r}, 'w').write('{name}')\nraise SystemExit(9)"
        (tmp_path / f"{name}.py").write_text(poison, encoding="utf-8")
    own = "class Reversed:\n    def fit(self, X):\n        self.scores_ = range(X.shape[1])\n        return self\n"
    (tmp_path / "here.py").write_text(own, encoding="utf-8")
    text = CHEAP.replace('"iris", "LUNG"', '"iris", "wine"').replace("MaxVariance", "here:Reversed")
    (tmp_path / "tried.toml").write_text(text, encoding="utf-8")
    with start(tmp_path, "bench", "tried.toml", "-j", "2") as process:
        _, errors = process.communicate(timeout=300)
    assert not (tmp_path / "imported").exists(), (tmp_path / "imported").read_text()
    assert process.returncode == 0, errors
    assert len(pd.read_parquet(tmp_path / "results" / "tried" / "fits.parquet")) == 2


# Convergence


def test_fits_that_did_not_converge_are_counted_in_a_sentence(bench, recwarn):
    text = CHEAP.replace('"iris", "LUNG"', '"iris"').replace("MaxVariance", "logged_selectors:Unsettled")
    result = bench(text + "grid = { times = [0, 1, 2] }")
    assert result.exit_code == 0
    assert "Note: variance: 2 of 3 fits did not converge.\n" in result.stderr
    assert "variance: 2 of 3 fits did not converge." in Path("results/tried/tables.md").read_text()
    assert pd.read_parquet("results/tried/fits.parquet").warnings.tolist() == [0, 1, 2]
    assert not len(recwarn)
