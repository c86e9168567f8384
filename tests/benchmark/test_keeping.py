"""Figures in a folder of results are kept if the same code made them from the same data; only the rest is run."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ufselect.benchmark.experiment import Stability
from ufselect.benchmark.keeping import kept_trials
from ufselect.benchmark.output import write_results
from ufselect.benchmark.preparing import Preparation
from ufselect.benchmark.provenance import RECORD
from ufselect.benchmark.runner import planned_trials, run_experiment
from ufselect.benchmark.store import Store

METHODS = """
[[methods]]
name = "all"
selector = "AllFeatures"
features = "all"

[[methods]]
name = "random"
selector = "RandomRanking"
grid = { random_state = { from = 0, to = 2 } }

[[methods]]
name = "variance"
selector = "MaxVariance"
"""
N_TRIALS = 2 * 5  # on two data sets
OWN = """
[[methods]]
name = "own"
selector = "own_method_to_keep:Own"
"""
SOURCE = """
import numpy as np

class Own:
    def fit(self, X):
        self.scores_ = np.arange(X.shape[1]) * {factor}
        return self
"""


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    """Pictures take longest; that they are the same is tested with the command."""
    monkeypatch.setattr("ufselect.benchmark.output._drawn", lambda experiment: [])
    monkeypatch.setattr("ufselect.benchmark.output._Written.picture", lambda *ignored: None)


@pytest.fixture
def fresh_store(tmp_path):
    """Open a store without any piece."""
    numbers = iter(range(100))
    return lambda: Store(tmp_path / f"{next(numbers)}.sqlite")


@pytest.fixture
def experiment(make_experiment, small_set):
    return make_experiment(METHODS, data=["iris", small_set], protocol="no-labels")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def written(fresh_store, out):
    """Run an experiment and write its results."""

    def run(experiment):
        with fresh_store() as store:
            results = run_experiment(experiment, store)
        write_results(experiment, results, out)
        return results

    return run


@pytest.fixture
def run_again(fresh_store, out):
    """Run an experiment from a fresh store and the results; return what it finds and which trials had to be fitted."""

    def run(experiment, **options):
        trials = planned_trials(experiment)
        with fresh_store() as store:
            kept = kept_trials(experiment, trials, out)
            results = run_experiment(experiment, store, kept=kept, **options)
            stored = store.find(trial.fit.key for trial in trials)
            n_pieces = store._connection.execute("SELECT count(*) FROM pieces").fetchone()[0]
        fitted = [trial for trial in trials if trial.fit.key in stored]
        assert bool(fitted) == bool(n_pieces)  # where nothing is fitted, nothing is judged
        return results, [(trial.method.name, trial.setting) for trial in fitted]

    return run


def edit_record(folder, *keys, value):
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    inner = record
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")


def kept_of(experiment, folder):
    return kept_trials(experiment, planned_trials(experiment), folder)


# The same as if all were run


@pytest.mark.parametrize("protocol", ["published", "no-labels", "sensitivity"])
def test_nothing_is_run_and_the_files_are_the_same(make_experiment, small_set, written, run_again, out, protocol):
    stability = Stability(0.9, 2) if protocol == "no-labels" else None
    wanted = make_experiment(METHODS, data=["iris", small_set], protocol=protocol, counts="[1, 2, 2]")
    wanted = replace(wanted, stability=stability)
    written(wanted)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    results, fitted = run_again(wanted)
    assert fitted == []
    assert any(row.metric == "stability" for row in results.rows) == (stability is not None)
    write_results(wanted, results, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_courses_of_the_objective_are_kept(make_experiment, written, run_again, out):
    method = '[[methods]]\nname = "m"\nselector = "logged_selectors:{}"\n'
    methods = (
        method.format("Keen") + "grid = { n_clusters = [2, 3] }\n" + method.format("Stepwise").replace('"m"', '"n"')
    )
    experiment = make_experiment(methods, data=["iris"], protocol="convergence", counts="[1, 2]")
    before = written(experiment)
    results, fitted = run_again(experiment)
    assert fitted == []
    assert results.fits == before.fits
    assert results.rows == before.rows
    (out / "courses.parquet").unlink()
    assert kept_of(experiment, out) == {}


def test_courses_of_other_fits_are_not_taken(make_experiment, written, out):
    method = '[[methods]]\nname = "m"\nselector = "logged_selectors:Keen"\ngrid = { n_clusters = [2, 3] }\n'
    experiment = make_experiment(method, data=["iris"], protocol="convergence", counts="[1, 2]")
    written(experiment)
    courses = pd.read_parquet(out / "courses.parquet")
    courses.iloc[::-1].to_parquet(out / "courses.parquet", index=False)
    with pytest.raises(ValueError, match=r"courses\.parquet is damaged: its fits are not those of fits\.parquet"):
        kept_of(experiment, out)


def test_only_new_settings_of_a_grid_are_run_and_come_in_the_order_of_the_file(
    make_experiment, small_set, written, run_again, fresh_store
):
    method = '[[methods]]\nname = "random"\nselector = "RandomRanking"\ngrid = {{ random_state = {} }}\n'
    first = make_experiment(method.format("[4, 1, 7]"), data=[small_set])
    grown = make_experiment(method.format("[0, 1, 2, 4]"), data=[small_set])
    written(first)
    results, fitted = run_again(grown)
    assert fitted == [("random", '{"random_state":0}'), ("random", '{"random_state":2}')]
    with fresh_store() as store:
        alone = run_experiment(grown, store)
    assert results.rows == alone.rows
    assert [trial for trial, _ in results.fits] == [trial for trial, _ in alone.fits]


def test_new_methods_and_data_are_run_and_a_part_keeps_what_it_needs(experiment, written, run_again, small_set):
    written(experiment.narrowed(data=["iris"], methods=["all", "random"]))
    results, fitted = run_again(experiment)
    assert Counter(name for name, _ in fitted) == {"all": 1, "random": 3, "variance": 2}
    assert list(results.sizes) == ["iris", small_set]
    assert run_again(experiment.narrowed(data=["iris"], methods=["random"], settings=2))[1] == []


def test_with_what_is_finished_only_the_kept_is_there(experiment, written, run_again):
    written(experiment.narrowed(methods=["random"]))
    results, fitted = run_again(experiment, finished_only=True)
    assert fitted == []
    assert {trial.method.name for trial, _ in results.fits} == {"random"}
    assert len(results.rows) == 3 * (2 + 3) * 2  # settings, numbers of features, measures


# What has changed is run


def test_a_method_whose_code_has_changed_is_run_again_and_the_others_are_kept(
    make_experiment, written, run_again, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "own_method_to_keep.py"
    path.write_text(SOURCE.format(factor="1"), encoding="utf-8")
    experiment = make_experiment(METHODS + OWN, data=["iris"], counts="[1, 2]")
    before = written(experiment)
    path.write_text(SOURCE.format(factor="1  # a comment"), encoding="utf-8")
    assert run_again(experiment)[1] == []
    path.write_text(SOURCE.format(factor="-1"), encoding="utf-8")
    results, fitted = run_again(experiment)
    assert fitted == [("own", "{}")]
    old, new = ({row: row.value for row in each.rows if row.method == "own"} for each in (before, results))
    assert old != new
    assert [row for row in results.rows if row.method != "own"] == [row for row in before.rows if row.method != "own"]


def test_a_data_set_whose_content_has_changed_is_run_again(experiment, written, run_again, small_set):
    written(experiment)
    with np.load(small_set) as stored:
        np.savez(small_set, X=np.flip(stored["X"], axis=1), y=stored["y"])
    results, fitted = run_again(experiment)
    assert len(fitted) == N_TRIALS / 2
    assert len(results.fits) == N_TRIALS


@pytest.mark.parametrize(
    "changes",
    [
        {"measures": ("acc",)},
        {"measures": ("acc", "nmi", "redundancy")},
        {"n_runs": 3},
        {"stability": Stability(0.9, 2)},
    ],
)
def test_nothing_is_kept_if_it_is_judged_in_another_way(experiment, written, out, changes):
    written(experiment)
    assert len(kept_of(experiment, out)) == N_TRIALS
    assert kept_of(replace(experiment, **changes), out) == {}


def test_another_measurement_of_stability_is_none(experiment, written, out):
    measured = replace(experiment, stability=Stability(0.9, 2))
    written(measured)
    assert len(kept_of(measured, out)) == N_TRIALS
    assert kept_of(replace(experiment, stability=Stability(0.8, 2)), out) == {}
    assert kept_of(experiment, out) == {}


def test_other_numbers_of_features_matter_where_they_are_used(experiment, written, out, small_set):
    written(experiment)
    one_more = replace(experiment, counts=(2, 4, 6, 8))  # iris has four features
    kept = Counter((trial.data, trial.method.name) for trial in kept_of(one_more, out))
    assert kept == {("iris", "all"): 1, ("iris", "random"): 3, ("iris", "variance"): 1, (small_set, "all"): 1}
    fewer = kept_of(replace(experiment, counts_of={small_set: (2, 4)}), out)
    assert Counter((trial.data, trial.method.name) for trial in fewer) == kept


@pytest.mark.parametrize(
    ("keys", "rerun"),
    [
        (("judging_code",), {"all", "random", "variance"}),
        (("code", "random"), {"random"}),
        (("experiment", "methods", "random", "parameters"), {"random"}),
        (("experiment", "methods", "random", "values"), {"random"}),
        (("experiment", "methods", "random", "selector"), {"random"}),
        (("experiment", "methods", "all", "features"), {"all"}),
        (("experiment", "methods", "random", "most_settings"), set()),
    ],
)
def test_each_difference_of_the_record_counts(experiment, written, out, keys, rerun):
    written(experiment)
    edit_record(out, *keys, value="another")
    kept = kept_of(experiment, out)
    assert {trial.method.name for trial in kept} == {"all", "random", "variance"} - rerun


def test_how_and_by_which_code_data_are_prepared_matters_to_them_only(experiment, written, out, small_set):
    prepared = replace(experiment, preparations={small_set: Preparation(values="unlike")})
    written(prepared)
    assert len(kept_of(prepared, out)) == N_TRIALS
    assert {trial.data for trial in kept_of(experiment, out)} == {"iris"}
    otherwise = replace(experiment, preparations={small_set: Preparation(values="unlike", smallest_class=2)})
    assert {trial.data for trial in kept_of(otherwise, out)} == {"iris"}
    edit_record(out, "preparing_code", value="another")
    assert {trial.data for trial in kept_of(prepared, out)} == {"iris"}


def test_code_that_is_not_found_here_may_have_changed(experiment, written, out):
    written(experiment)
    edit_record(out, "code", "variance", value="")
    trials = [
        replace(trial, fit=replace(trial.fit, source="")) if trial.method.name == "variance" else trial
        for trial in planned_trials(experiment)
    ]
    assert {trial.method.name for trial in kept_trials(experiment, trials, out)} == {"all", "random"}


# What is not whole is run


def test_failed_fits_are_tried_again(make_experiment, written, run_again):
    method = '[[methods]]\nname = "m"\nselector = "logged_selectors:Failing"\nparameters = { first = 1 }\n'
    experiment = make_experiment(method + "grid = { seed = [0, 1] }", data=["iris"], counts="[1, 2]")
    before = written(experiment)
    results, fitted = run_again(experiment)
    assert fitted == []  # failures are not stored
    assert [outcome.get("error") for _, outcome in results.fits] == [None, "ValueError: out of luck"]
    assert results.rows == before.rows
    results, _ = run_again(experiment, finished_only=True)
    assert [trial.setting for trial, _ in results.fits] == ['{"seed":0}']


def test_failed_fits_on_some_of_the_samples_are_tried_again(make_experiment, written, run_again):
    method = '[[methods]]\nname = "m"\nselector = "logged_selectors:Fragile"\nparameters = { n_samples = 150 }\n'
    experiment = make_experiment(METHODS + method, data=["iris"], protocol="no-labels", counts="[1, 2]")
    experiment = replace(experiment, stability=Stability(0.9, 2))
    before = written(experiment)
    results, fitted = run_again(experiment)
    assert fitted == [("m", "{}")]
    assert results.rows == before.rows
    assert [error for _, error in results.failed_repeats] == ["ValueError: too few samples"]


def test_a_setting_with_a_missing_figure_is_run_again(experiment, written, run_again, out):
    before = written(experiment)
    pd.read_parquet(out / "figures.parquet").drop(index=0).to_parquet(out / "figures.parquet", index=False)
    results, fitted = run_again(experiment)
    assert fitted == [("all", "{}")]
    assert results.rows == before.rows


# Missing and damaged files


@pytest.mark.parametrize("name", ["figures.parquet", "fits.parquet", RECORD])
def test_where_a_file_is_missing_nothing_is_kept(experiment, written, out, name):
    written(experiment)
    (out / name).unlink()
    assert kept_of(experiment, out) == {}
    shutil.rmtree(out)
    assert kept_of(experiment, out) == {}


@pytest.mark.parametrize("name", ["figures.parquet", "fits.parquet", RECORD])
def test_a_damaged_file_is_named(experiment, written, out, name):
    written(experiment)
    content = (out / name).read_bytes()
    (out / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=rf"{name} is damaged"):
        kept_of(experiment, out)


@pytest.mark.parametrize("content", ['{"experiment": 3}', '{"experiment": {"methods": []}}', '{"code": {}}'])
def test_a_record_of_something_else_is_named(experiment, written, out, content):
    written(experiment)
    (out / RECORD).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"made_by\.json is damaged, so it is not known which code made these results"):
        kept_of(experiment, out)


@pytest.mark.parametrize("name", ["figures.parquet", "fits.parquet"])
def test_a_table_of_something_else_is_named(experiment, written, out, name):
    written(experiment)
    pd.read_parquet(out / name).drop(columns="setting").to_parquet(out / name, index=False)
    with pytest.raises(ValueError, match=rf"{name} is damaged: it has no column 'setting'"):
        kept_of(experiment, out)
