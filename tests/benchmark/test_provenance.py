"""Is a folder of results younger than the code, the data and the experiment that made it?"""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ufselect.benchmark.experiment import Method
from ufselect.benchmark.output import write_results
from ufselect.benchmark.provenance import RECORD, accept_refitted, reasons_out_of_date, refitted_differences
from ufselect.benchmark.runner import run_experiment
from ufselect.benchmark.store import Store

METHODS = """
[[methods]]
name = "random"
selector = "RandomRanking"
grid = { random_state = { from = 0, to = 2 } }

[[methods]]
name = "variance"
selector = "MaxVariance"
"""


@pytest.fixture
def made(make_experiment, small_set, tmp_path, monkeypatch):
    """An experiment and the folder of its results, without the pictures, which take longest and are not compared."""
    monkeypatch.setattr("ufselect.benchmark.output._drawn", lambda experiment: [])
    experiment = make_experiment(METHODS, data=["iris", small_set], protocol="no-labels", counts="[2]")
    with Store(tmp_path / "pieces.sqlite") as store:
        write_results(experiment, run_experiment(experiment, store), tmp_path / "out")
    return experiment, tmp_path / "out"


def edit_record(folder, *keys, value):
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    inner = record
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")


def test_results_are_current_right_after_the_run(made):
    assert reasons_out_of_date(*made) == []
    assert list(refitted_differences(*made)) == []


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (("code", "variance"), "The code of variance has changed."),
        (("judging_code",), "The code that judges selections has changed."),
        (("data", "iris"), "The content of iris has changed."),
        (("experiment", "n_runs"), "n_runs in the experiment has changed."),
        (("experiment", "methods", "random", "grid"), "The settings of random have changed."),
        (("experiment", "methods", "random", "most_settings"), "The settings of random have changed."),
        (("experiment", "methods", "third"), "The experiment no longer has third."),
    ],
)
def test_each_reason_is_named(made, keys, reason):
    experiment, folder = made
    edit_record(folder, *keys, value="another")
    assert reasons_out_of_date(experiment, folder) == [reason]


def test_a_new_method_is_named(made):
    experiment, folder = made
    more = replace(experiment, methods=(*experiment.methods, Method("third", "MCFS")))
    assert reasons_out_of_date(more, folder) == ["The experiment has new methods: third."]


def test_a_rewritten_file_is_named_and_a_deleted_one_is_not_compared(made, small_set, tmp_path):
    experiment, folder = made
    np.savez(small_set, X=np.eye(30, 12), y=np.arange(30) % 3)
    assert reasons_out_of_date(experiment, folder) == [f"The content of {small_set} has changed."]
    (tmp_path / "small.npz").unlink()
    assert reasons_out_of_date(experiment, folder) == []


def test_data_that_were_not_available_do_not_make_results_old(made, small_set, tmp_path):
    experiment, _ = made
    part = replace(experiment.narrowed(data=["iris"]), unavailable=(small_set,))
    with Store(tmp_path / "pieces.sqlite") as store:
        write_results(part, run_experiment(part, store), tmp_path / "part")
    assert reasons_out_of_date(experiment, tmp_path / "part") == []
    assert f"{small_set} was not available." in (tmp_path / "part" / "tables.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"experiment": 3}'])
def test_a_damaged_record_says_nothing_about_the_code(made, content):
    experiment, folder = made
    (folder / RECORD).write_text(content, encoding="utf-8")
    (reason,) = reasons_out_of_date(experiment, folder)
    assert reason == f"{folder / RECORD} is damaged, so it is not known which code made these results."


def test_a_selector_that_no_longer_exists_has_changed(made):
    experiment, folder = made
    random, variance = experiment.methods
    gone = replace(experiment, methods=(random, replace(variance, selector="logged_selectors_of_old:Gone")))
    assert reasons_out_of_date(gone, folder) == [
        "The settings of variance have changed.",
        "The code of variance has changed.",
    ]


def test_refitting_finds_figures_that_are_not_the_same(made, small_set):
    experiment, folder = made
    with np.load(small_set) as stored:
        np.savez(small_set, X=stored["X"], y=np.arange(30) % 3)
    part = experiment.narrowed(data=[small_set], methods=["variance"])
    (difference,) = refitted_differences(part, folder)
    assert difference.startswith(f"variance on {small_set} with {{}}: the figures differ by up to ")
    failing = replace(part, methods=(replace(part.methods[0], selector="logged_selectors:Failing"),))
    (difference,) = refitted_differences(failing, folder)
    assert difference.endswith("the fit fails now, with ValueError: out of luck.")


def test_changed_code_that_changes_no_figure_is_accepted(made):
    experiment, folder = made
    edit_record(folder, "code", "variance", value="another")
    assert list(accept_refitted(experiment, folder)) == [
        "variance: refitted on 2 data sets with the same figures, and accepted."
    ]
    assert reasons_out_of_date(experiment, folder) == []
    assert list(accept_refitted(experiment, folder)) == []


def test_changed_code_that_changes_a_figure_on_one_data_set_is_not_accepted(made, small_set):
    experiment, folder = made
    edit_record(folder, "code", "variance", value="another")
    figures = pd.read_parquet(folder / "figures.parquet")
    one = (figures.data == small_set) & (figures.method == "variance")
    figures.loc[one, "value"] += 0.01
    figures.to_parquet(folder / "figures.parquet")
    (difference,) = accept_refitted(experiment, folder)
    assert difference == f"variance on {small_set} with {{}}: the figures differ by up to 1 points."
    assert reasons_out_of_date(experiment, folder) == ["The code of variance has changed."]


def test_a_method_is_not_accepted_by_refits_on_some_of_its_data_sets(made, small_set):
    experiment, folder = made
    edit_record(folder, "code", "variance", value="another")
    assert list(accept_refitted(experiment.narrowed(data=["iris"]), folder)) == [
        f"variance: not accepted, because it has results on {small_set}, on which it was not refitted."
    ]
    assert reasons_out_of_date(experiment, folder) == ["The code of variance has changed."]


@pytest.mark.parametrize("content", [None, "{", "[]", "{}"])
def test_nothing_is_accepted_if_the_record_is_missing_or_damaged(made, content):
    experiment, folder = made
    (folder / RECORD).unlink()
    if content is not None:
        (folder / RECORD).write_text(content, encoding="utf-8")
    with pytest.raises((FileNotFoundError, ValueError), match=f"{RECORD} is (missing|damaged)"):
        list(accept_refitted(experiment, folder))
