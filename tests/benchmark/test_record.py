"""The record of results, and results read from their files: the same tables without the data and the store."""

import json
import platform
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from tried import experiment_of

import ufselect
from ufselect.benchmark import tables
from ufselect.benchmark.data import current_version
from ufselect.benchmark.experiment import Method, Stability
from ufselect.benchmark.output import write_results, write_tables
from ufselect.benchmark.record import RECORD, current_commit, read_results
from ufselect.benchmark.runner import run_experiment
from ufselect.benchmark.store import Store

# Methods with and without iterations, one for some data only, one that always fails, one that fails on fewer samples.
METHODS = (
    Method("all", "AllFeatures", features="all", baseline=True),
    Method("random", "RandomRanking", grid={"random_state": {"from": 0, "to": 3}}),
    Method("varied", "logged_selectors:Keen", grid={"n_clusters": [2, 3, 4]}, most_settings=2),
    Method("stepwise", "logged_selectors:Stepwise", data=("iris",)),
    Method("fragile", "logged_selectors:Fragile", {"n_samples": 150}),
    Method("unsettled", "logged_selectors:Unsettled", {"times": 2}),
)
FIGURES = {"figures.parquet", "fits.parquet", "data.parquet", "courses.parquet", RECORD}


@pytest.fixture
def without_pictures(monkeypatch):
    """Pictures take longest; that they are the same is tested with the command."""
    monkeypatch.setattr("ufselect.benchmark.output.plots", Mock())
    monkeypatch.setattr("ufselect.benchmark.output._Written.picture", lambda *ignored: None)


@pytest.fixture
def made(small_set, tmp_path, without_pictures):
    """Run an experiment on three data sets, one of which is prepared and one not available, and write its results."""

    def run(protocol, **changes):
        data = ["iris", small_set, "LUNG"]
        wanted = experiment_of(*METHODS, data=data, protocol=protocol, counts=(1, 2, 2), **changes)
        with Store(tmp_path / "store.sqlite") as store:
            available = replace(wanted.narrowed(data=data[:2]), unavailable=("LUNG",))
            results = run_experiment(available, store)
        write_results(available, results, tmp_path / "out")
        return wanted, results, tmp_path / "out"

    return run


@pytest.mark.parametrize("protocol", ["published", "no-labels", "sensitivity", "convergence"])
def test_all_tables_are_made_again_from_the_files_alone(made, protocol, small_set, tmp_path, monkeypatch):
    stability = Stability(0.9, 2) if protocol == "no-labels" else None
    _, _, folder = made(protocol, stability=stability)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in set(before) - FIGURES:
        (folder / name).unlink()
    Path(small_set).unlink()
    monkeypatch.setattr("ufselect.benchmark.data.load_dataset", None)  # no data are read
    written = write_tables(*read_results(folder), folder)
    assert {path.name for path in written} == set(before) - FIGURES
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    text = before["tables.md"].decode()
    assert "LUNG was not available." in text
    assert "unsettled: 2 of 2 fits did not converge." in text
    assert ("on some of the samples: ValueError: too few samples" in text) == (protocol == "no-labels")


def test_the_record_says_what_made_the_results(made, small_set):
    _, _, folder = made("no-labels", stability=Stability(0.9, 2))
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    assert record["commit"] == current_commit()
    assert (record["ufselect"], record["python"]) == (ufselect.__version__, platform.python_version())
    assert record["packages"]["numpy"] == np.__version__
    assert set(record["packages"]) == {"numpy", "scipy", "scikit-learn", "numba"}
    assert record["processor"]
    assert record["data"] == {name: current_version(name).digest for name in ("iris", small_set)}
    assert record["experiment"]["unavailable"] == ["LUNG"]
    assert record["experiment"]["stability"] == {"samples": 0.9, "fits": 2}


def test_the_commit_is_that_of_the_packages_repository(monkeypatch):
    answers = {"ls-files": "record.py\n", "status": "", "rev-parse": "0123abcd\n"}
    monkeypatch.setattr("subprocess.run", lambda command, **_: SimpleNamespace(stdout=answers[command[1]]))
    assert current_commit() == "0123abcd"
    answers["status"] = " M fits.py\n"
    assert current_commit() == "0123abcd and changes"

    def fail(command, **_):
        raise FileNotFoundError(command[0])

    monkeypatch.setattr("subprocess.run", fail)
    assert current_commit() is None


def test_what_is_missing_or_damaged_is_named(made):
    _, _, folder = made("published")
    for name, contents in ((RECORD, ["{", "[]", "{}"]), ("fits.parquet", ["no table"])):
        for content in contents:
            (folder / name).write_text(content, encoding="utf-8")
            with pytest.raises(ValueError, match=rf"{name} is damaged"):
                read_results(folder)
        (folder / name).unlink()
        with pytest.raises(FileNotFoundError, match=rf"{name} is missing"):
            read_results(folder)


def test_tables_over_data_sets_compare_the_reference_with_the_others(made):
    _, results, folder = made("published", reference="varied")
    text = (folder / "tables.md").read_text(encoding="utf-8")
    assert "\nvaried against\n" in text
    compared = pd.read_csv(folder / "acc_comparisons.csv")
    assert set(compared.method) == {"all", "random", "unsettled"}
    assert "Left out, because figures are missing: fragile.\n" in text
    assert "## Against as many random rankings\n" in text
    assert "| total | " in text
    assert "| varied, iris | 2 of 3 | < 0.01 | < 0.01 | thinned in the experiment's file |" in text
    summary = pd.read_csv(folder / "summary.csv").set_index(["data", "metric", "method"])
    random = summary.loc["iris", "acc", "random"]
    assert random.above_random == pytest.approx(0.0, abs=1e-9)
    of_random = tables.figures(results).query("data == 'iris' and metric == 'acc' and method == 'random'")
    one = of_random.groupby("count").value.mean() * 100.0  # two features are listed twice
    assert summary.loc["iris", "acc", "all"].as_many_random == pytest.approx((one[1] + 2 * one[2]) / 3)
