"""Stability in an experiment: the agreement of fits on random shares of the samples."""

from dataclasses import replace

import numpy as np
import pytest

from ufselect import MCFS, MaxVariance
from ufselect.benchmark.experiment import Experiment, Method, Stability, read_experiment
from ufselect.benchmark.output import write_results
from ufselect.benchmark.provenance import reasons_out_of_date
from ufselect.benchmark.runner import run_experiment
from ufselect.benchmark.store import Store
from ufselect.inspection import draws_of_samples, stability_over


def experiment_of(data, *methods, **options):
    options = {"counts": (2, 3, 5), "n_runs": 2, "stability": Stability(0.9, 4), **options}
    return Experiment("tried", "Tried", "no-labels", (str(data),), methods, **options)


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    np.savez(tmp_path / "small.npz", X=rng.standard_normal((30, 12)) + 2.0 * rng.standard_normal((3, 12))[y], y=y)
    return tmp_path / "small.npz"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "pieces.sqlite") as opened:
        yield opened


def stability_in(results):
    return {(row.method, row.count): row.value for row in results.rows if row.metric == "stability"}


def logged(path, **options):
    return Method("logged", "logged_selectors:Logged", {"log": str(path)}, **options)


def test_it_is_that_of_the_middle_number_of_features(data, store):
    results = run_experiment(experiment_of(data, Method("variance", "MaxVariance"), Method("MCFS", "MCFS")), store)
    with np.load(data) as stored:
        X = stored["X"]
    draws = draws_of_samples(30, 4, 0.9)
    assert stability_in(results)["variance", 3] == pytest.approx(stability_over(MaxVariance(3), X, draws))
    best = [np.argsort(MCFS(5).fit(X[rows]).ranking_)[:3] for rows in draws]
    times = np.bincount(np.concatenate(best), minlength=12) / 4
    expected = 1.0 - 4 / 3 * np.mean(times * (1.0 - times)) / (0.25 * 0.75)
    assert stability_in(results)["MCFS", 3] == pytest.approx(expected)


def test_methods_without_it_are_fitted_once(data, store, tmp_path):
    log = tmp_path / "log.txt"
    methods = logged(log, stability=False), Method("all", "AllFeatures", features="all")
    assert stability_in(run_experiment(experiment_of(data, *methods), store)) == {}
    assert len(log.read_text().split()) == 1


def test_finished_fits_are_kept_and_more_are_added_to_them(data, store, tmp_path):
    log = tmp_path / "log.txt"
    experiment = experiment_of(data, logged(log))
    first = run_experiment(experiment, store)
    assert len(log.read_text().split()) == 1 + 4
    assert run_experiment(experiment, store).rows == first.rows
    assert len(log.read_text().split()) == 1 + 4
    run_experiment(replace(experiment, stability=Stability(0.9, 6)), store)
    assert len(log.read_text().split()) == 1 + 6
    run_experiment(replace(experiment, stability=Stability(0.8, 2)), store)
    assert len(log.read_text().split()) == 1 + 6 + 2


def test_it_is_left_out_until_all_fits_are_finished(data, store):
    experiment = experiment_of(data, Method("variance", "MaxVariance"))
    whole = run_experiment(replace(experiment, stability=None), store)
    assert run_experiment(experiment, store, finished_only=True).rows == whole.rows
    assert stability_in(run_experiment(experiment, store))


def test_a_fit_that_fails_on_some_of_the_samples_is_named(data, store, tmp_path):
    fragile = Method("fragile", "logged_selectors:Fragile", {"n_samples": 30})
    experiment = experiment_of(data, fragile, Method("variance", "MaxVariance"))
    results = run_experiment(experiment, store)
    assert {method for method, _ in stability_in(results)} == {"variance"}
    assert {row.method for row in results.rows} == {"fragile", "variance"}
    write_results(experiment, results, tmp_path / "out")
    text = (tmp_path / "out" / "tables.md").read_text(encoding="utf-8")
    assert f"Failed: fragile on {data} with {{}}, on some of the samples: ValueError: too few samples\n" in text
    assert text.count("too few samples") == 1


def test_a_fit_that_fails_on_all_samples_is_named_once(data, store):
    fragile = Method("fragile", "logged_selectors:Fragile", {"n_samples": 31})
    results = run_experiment(experiment_of(data, fragile, Method("variance", "MaxVariance")), store)
    assert [trial.method.name for trial, outcome in results.fits if "error" in outcome] == ["fragile"]
    assert results.failed_repeats == []


def test_tables_have_it_as_a_column_and_say_how_it_was_measured(data, store, tmp_path):
    experiment = experiment_of(data, Method("variance", "MaxVariance"), Method("all", "AllFeatures", features="all"))
    results = run_experiment(experiment, store)
    write_results(experiment, results, tmp_path / "out")
    text = (tmp_path / "out" / "tables.md").read_text(encoding="utf-8")
    assert "agreement of 4 fits, each on a random 90 % of the samples, corrected for chance." in text
    assert f"Features selected: 3 ({data})." in text
    assert "| method | ACC | NMI | stability | s | MB |" in text
    value = 100.0 * stability_in(results)["variance", 3]
    assert f"| variance | {value:.1f} | {value:.1f} |" in text
    assert not reasons_out_of_date(experiment, tmp_path / "out")
    other = replace(experiment, stability=Stability(0.9, 5))
    assert reasons_out_of_date(other, tmp_path / "out") == ["stability in the experiment has changed."]


def test_a_quick_run_fits_twice(tmp_path):
    (tmp_path / "tried.toml").write_text(
        'title = "t"\nprotocol = "no-labels"\ndata = ["iris"]\nstability = { fits = 7 }\n'
        '[[methods]]\nname = "m"\nselector = "MaxVariance"\n'
    )
    experiment = read_experiment(tmp_path / "tried.toml")
    assert experiment.stability == Stability(0.9, 7)
    assert experiment.narrowed(quick=True).stability == Stability(0.9, 2)
