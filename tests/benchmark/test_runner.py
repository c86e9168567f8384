"""Runs of experiments: complete, nothing run twice, every outcome stored when it is there."""

import json
import sqlite3
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from tried import RANDOM, THREE_METHODS, experiment_of

from ufselect import MCFS, MaxVariance
from ufselect.benchmark import fits
from ufselect.benchmark.experiment import Method, Stability
from ufselect.benchmark.fits import Evaluation, Fit, code_digest
from ufselect.benchmark.output import write_results
from ufselect.benchmark.runner import planned, run_experiment
from ufselect.benchmark.store import Store
from ufselect.inspection import draws_of_samples, stability_of


@pytest.fixture
def small_experiment(small_set):
    return lambda *methods: experiment_of(*methods, data=[small_set], counts=(2, 4, 6))


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture
def logged(tmp_path):
    """A method whose fits are written down, and how often each of its settings was fitted so far."""
    log = tmp_path / "log.txt"
    method = Method("logged", "logged_selectors:Logged", {"log": str(log)}, {"seed": range(4)})
    return method, lambda: Counter(map(int, log.read_text().split())) if log.is_file() else Counter()


def names_of(row):
    return row.data, row.method, row.setting, row.count, row.metric


def without_costs(results):
    """The fits without what differs from run to run."""
    return [
        (trial.data, trial.method.name, trial.setting, {**outcome, "seconds": None, "peak_bytes": None})
        for trial, outcome in results.fits
    ]


def outcomes_in(store_path):
    connection = sqlite3.connect(store_path)
    kept = {key: json.loads(outcome) for key, outcome in connection.execute("SELECT key, outcome FROM outcomes")}
    connection.close()
    return kept


def test_results_are_complete(small_set, store):
    experiment = experiment_of(*THREE_METHODS, data=["iris", small_set], counts=(2, 4, 6))
    results = run_experiment(experiment, store)
    settings = ["{}", *(f'{{"random_state":{state}}}' for state in range(3)), "{}"]
    methods = ["all", "random", "random", "random", "variance"]
    n_features = {"iris": 4, small_set: 12}
    trials = [(data, *each) for data in ("iris", small_set) for each in zip(methods, settings, strict=True)]
    assert [(trial.data, trial.method.name, trial.setting) for trial, _ in results.fits] == trials
    expected = [
        (data, method, setting, count, metric)
        for data, method, setting in trials
        for count in ([n_features[data]] if method == "all" else [n for n in (2, 4, 6) if n <= n_features[data]])
        for metric in ("acc", "nmi")
    ]
    assert [names_of(row) for row in results.rows] == expected


def test_two_processes_find_the_same_as_one(small_experiment, logged, store, tmp_path):
    method, fitted = logged
    experiment = small_experiment(*THREE_METHODS, method)
    alone = run_experiment(experiment, store, n_jobs=1)
    with Store(tmp_path / "other.sqlite") as other:
        both = run_experiment(experiment, other, n_jobs=2)
    assert both.rows == alone.rows
    assert without_costs(both) == without_costs(alone)
    assert outcomes_in(tmp_path / "store.sqlite").keys() == outcomes_in(tmp_path / "other.sqlite").keys()
    assert fitted() == dict.fromkeys(range(4), 2)


def test_nothing_is_run_twice_and_finished_work_is_gathered_without_running(small_experiment, logged, store, tmp_path):
    method, fitted = logged
    experiment = small_experiment(method)
    assert run_experiment(experiment, store, finished_only=True).fits == []
    part = experiment.narrowed(settings=2)
    first = run_experiment(part, store)
    gathered = run_experiment(experiment, store, finished_only=True)
    assert gathered.rows == first.rows
    assert without_costs(gathered) == without_costs(first)
    assert fitted() == {0: 1, 3: 1}
    whole = run_experiment(experiment, store)
    assert fitted() == dict.fromkeys(range(4), 1)
    kept = outcomes_in(tmp_path / "store.sqlite")
    again = run_experiment(experiment, store)
    assert fitted() == dict.fromkeys(range(4), 1)
    assert outcomes_in(tmp_path / "store.sqlite") == kept
    assert again.rows == whole.rows
    assert [outcome for _, outcome in again.fits] == [outcome for _, outcome in whole.fits]
    assert set(first.rows) < set(whole.rows)


def test_work_of_unknown_code_is_not_stored(small_experiment, logged, store, monkeypatch):
    method, fitted = logged
    known = code_digest()
    monkeypatch.setattr(fits, "code_digest", lambda selector="": "" if selector else known)  # the workers only have it
    for times in (1, 2):
        run_experiment(small_experiment(method), store)
        assert fitted() == dict.fromkeys(range(4), times)


def test_features_are_judged_once_whoever_selected_them(small_set, store, tmp_path):
    # Both take the columns as they come; of the four rankings at random none begins with the same two.
    methods = (
        Method("as they come", "logged_selectors:Failing", {"first": 9}, {"seed": range(3)}),
        Method("too", "AllFeatures"),
        Method("random", "logged_selectors:Logged", grid={"seed": range(4)}),
    )
    results = run_experiment(experiment_of(*methods, data=[small_set], counts=(2, 12)), store)
    kept = outcomes_in(tmp_path / "store.sqlite").values()
    assert sum("order" in outcome for outcome in kept) == 3 + 1 + 4
    assert sum("acc" in outcome for outcome in kept) == (1 + 4) + 1  # of two features; and all twelve
    assert len(results.rows) == 8 * 2 * 2


def test_counts_beyond_the_number_of_features_are_left_out_unless_all_are():
    experiment = experiment_of(*THREE_METHODS, data=["iris", "wine"], counts=(2, 4, 6), counts_of={"wine": (3, 13, 14)})
    plans = {(trial.data, trial.method.name): (trial.counts, fit.n_features) for trial, fit, _ in planned(experiment)}
    assert plans["iris", "variance"] == ((2, 4), 4)
    assert plans["wine", "random"] == ((3, 13), 13)
    with pytest.raises(ValueError, match=r"iris has only 4 features.* 5, 50"):
        planned(experiment_of(*THREE_METHODS, counts=(5, 50)))


def test_a_fit_whose_evaluations_are_not_all_there_is_not_finished(small_experiment, store, monkeypatch):
    experiment = small_experiment(RANDOM)
    run_until_interrupted(experiment, store, monkeypatch, Evaluation, after=4)
    gathered = run_experiment(experiment, store, finished_only=True)
    assert [trial.setting for trial, _ in gathered.fits] == ['{"random_state":0}']
    assert {row.count for row in gathered.rows} == {2, 4, 6}


def test_a_method_that_fails_is_reported_and_the_others_go_on(small_experiment, store):
    failing = Method("failing", "logged_selectors:Failing", {"first": 1}, {"seed": range(3)})
    experiment = small_experiment(failing, *THREE_METHODS)
    results = run_experiment(experiment, store)
    outcomes = {(trial.method.name, trial.setting): outcome for trial, outcome in results.fits}
    assert len(outcomes) == 3 + 5
    for seed in (1, 2):
        assert outcomes["failing", f'{{"seed":{seed}}}'] == {"error": "ValueError: out of luck"}
    counted = Counter((row.method, row.setting) for row in results.rows)
    assert counted["failing", '{"seed":0}'] == counted["variance", "{}"] == 6
    assert len(counted) == 1 + 5
    assert run_experiment(experiment, store).rows == results.rows


def run_until_interrupted(experiment, store, monkeypatch, kind, after):
    """Run the experiment, up to a Ctrl-C in a piece of that kind after so many of them; the keys of those begun."""
    begun, run = [], kind.run

    def run_or_stop(piece):
        begun.append(piece.key)
        if len(begun) > after:
            raise KeyboardInterrupt
        return run(piece)

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(kind, "run", run_or_stop)
        run_experiment(experiment, store, n_jobs=1)
    return begun


@pytest.mark.parametrize("kind", [Fit, Evaluation])
def test_after_an_interruption_a_run_goes_on_where_it_was(small_experiment, store, tmp_path, monkeypatch, kind):
    experiment = small_experiment(*THREE_METHODS)
    begun = run_until_interrupted(experiment, store, monkeypatch, kind, after=3)
    kept = outcomes_in(tmp_path / "store.sqlite")
    assert [key in kept for key in begun] == [True, True, True, False]
    rest = run_until_interrupted(experiment, store, monkeypatch, kind, after=1000)
    assert not set(begun[:3]) & set(rest)
    assert len(rest) == len(set(rest))
    finished = outcomes_in(tmp_path / "store.sqlite")
    assert {key: finished[key] for key in kept} == kept
    with Store(tmp_path / "other.sqlite") as other:
        assert run_experiment(experiment, other).rows == run_experiment(experiment, store).rows
    assert finished.keys() == outcomes_in(tmp_path / "other.sqlite").keys()


# Stability: the agreement of fits on random shares of the samples


def measured_stability(data, *methods):
    options = {"protocol": "no-labels", "counts": (2, 3, 5), "stability": Stability(0.9, 4)}
    return experiment_of(*methods, data=[data], **options)


def stability_in(results):
    return {(row.method, row.count): row.value for row in results.rows if row.metric == "stability"}


def test_it_is_that_of_the_middle_number_of_features(small_set, store):
    results = run_experiment(
        measured_stability(small_set, Method("variance", "MaxVariance"), Method("MCFS", "MCFS")), store
    )
    with np.load(small_set) as stored:
        X = stored["X"]
    draws = draws_of_samples(30, 4, 0.9)
    expected = stability_of(MaxVariance(3).fit(X), X, n_draws=4, share=0.9).value
    assert stability_in(results)["variance", 3] == pytest.approx(expected)
    best = [np.argsort(MCFS(5).fit(X[rows]).ranking_)[:3] for rows in draws]
    times = np.bincount(np.concatenate(best), minlength=12) / 4
    expected = 1.0 - 4 / 3 * np.mean(times * (1.0 - times)) / (0.25 * 0.75)
    assert stability_in(results)["MCFS", 3] == pytest.approx(expected)


def test_finished_fits_are_kept_and_more_are_added_to_them(small_set, store, tmp_path):
    log = tmp_path / "log.txt"
    experiment = measured_stability(small_set, Method("logged", "logged_selectors:Logged", {"log": str(log)}))
    first = run_experiment(experiment, store)
    assert len(log.read_text().split()) == 1 + 4
    assert run_experiment(experiment, store).rows == first.rows
    for stability, expected in (((0.9, 4), 1 + 4), ((0.9, 6), 1 + 6), ((0.8, 2), 1 + 6 + 2)):
        run_experiment(replace(experiment, stability=Stability(*stability)), store)
        assert len(log.read_text().split()) == expected


def test_tables_have_it_as_a_column_and_name_fits_that_fail_on_some_of_the_samples(small_set, store, tmp_path):
    fragile = Method("fragile", "logged_selectors:Fragile", {"n_samples": 30})
    others = Method("variance", "MaxVariance"), Method("all", "AllFeatures", features="all")
    experiment = measured_stability(small_set, fragile, *others)
    results = run_experiment(experiment, store)
    stability = stability_in(results)
    assert "fragile" not in {method for method, _ in stability}
    assert {row.method for row in results.rows} == {"fragile", "variance", "all"}
    write_results(experiment, results, tmp_path / "out")
    text = (tmp_path / "out" / "tables.md").read_text(encoding="utf-8")
    assert f"Failed: fragile on {small_set} with {{}}, on some of the samples: ValueError: too few samples\n" in text
    assert text.count("too few samples") == 1
    assert "agreement of 4 fits, each on a random 90 % of the samples, corrected for chance." in text
    assert f"Features selected: 3 ({small_set})." in text
    assert "| method | ACC | NMI | stability | s | MB |" in text
    value = 100.0 * stability["variance", 3]
    assert f"| variance | {value:.1f} | {value:.1f} |" in text
