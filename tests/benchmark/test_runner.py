"""Runs of experiments: complete, nothing run twice, every piece stored when it is done."""

import json
import sqlite3
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from ufselect._plain import best_features
from ufselect.benchmark.data import current_version
from ufselect.benchmark.pieces import Fit, Judgement, judgement_of
from ufselect.benchmark.rankings import RandomRanking
from ufselect.benchmark.runner import feature_counts, planned_trials, run_experiment
from ufselect.benchmark.store import Store
from ufselect.benchmark.tables import summary
from ufselect.datasets import load_dataset

THREE_METHODS = """
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


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "pieces.sqlite") as opened:
        yield opened


@pytest.fixture
def logged(tmp_path):
    """A method whose fits are written down, and how often each of its settings was fitted so far."""
    log = tmp_path / "log.txt"
    method = f"""
[[methods]]
name = "logged"
selector = "logged_selectors:Logged"
parameters = {{ log = '{log}' }}
grid = {{ seed = [0, 1, 2, 3] }}
"""
    return method, lambda: Counter(map(int, log.read_text().split())) if log.is_file() else Counter()


def names_of(row):
    return row.data, row.method, row.setting, row.count, row.metric


def without_costs(results):
    """The fits without what differs from run to run."""
    return [
        (trial.data, trial.method.name, trial.setting, {**outcome, "seconds": None, "peak_bytes": None})
        for trial, outcome in results.fits
    ]


def pieces_in(store_path):
    connection = sqlite3.connect(store_path)
    kept = {key: json.loads(outcome) for key, outcome in connection.execute("SELECT key, outcome FROM pieces")}
    connection.close()
    return kept


def test_results_are_complete(make_experiment, small_set, store):
    experiment = make_experiment(THREE_METHODS, data=["iris", small_set])
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


def test_figures_are_those_of_the_selected_features(make_experiment, small_set, store):
    results = run_experiment(make_experiment(THREE_METHODS, data=[small_set]), store)
    X = load_dataset(small_set).X
    found = {names_of(row): row.value for row in results.rows}
    for state in range(3):
        order = best_features(RandomRanking(random_state=state).fit(X), 6)
        for count in (2, 4, 6):
            outcome = judgement_of(current_version(small_set), order, count, ("acc", "nmi"), 2).run()
            for metric, value in outcome.items():
                assert found[small_set, "random", f'{{"random_state":{state}}}', count, metric] == value


def test_two_processes_find_the_same_as_one(make_experiment, logged, small_set, store, tmp_path):
    method, fitted = logged
    experiment = make_experiment(THREE_METHODS + method, data=[small_set])
    alone = run_experiment(experiment, store, n_jobs=1)
    with Store(tmp_path / "other.sqlite") as other:
        both = run_experiment(experiment, other, n_jobs=2)
    assert both.rows == alone.rows
    assert without_costs(both) == without_costs(alone)
    assert pieces_in(tmp_path / "pieces.sqlite").keys() == pieces_in(tmp_path / "other.sqlite").keys()
    assert fitted() == dict.fromkeys(range(4), 2)


def test_nothing_is_run_twice(make_experiment, logged, small_set, store, tmp_path):
    method, fitted = logged
    experiment = make_experiment(method, data=[small_set])
    part = experiment.narrowed(settings=2)
    first = run_experiment(part, store)
    assert fitted() == {0: 1, 3: 1}
    whole = run_experiment(experiment, store)
    assert fitted() == dict.fromkeys(range(4), 1)
    kept = pieces_in(tmp_path / "pieces.sqlite")
    again = run_experiment(experiment, store)
    assert fitted() == dict.fromkeys(range(4), 1)
    assert pieces_in(tmp_path / "pieces.sqlite") == kept
    assert again.rows == whole.rows
    assert [outcome for _, outcome in again.fits] == [outcome for _, outcome in whole.fits]
    assert set(first.rows) < set(whole.rows)


def test_settings_of_two_methods_that_are_the_same_are_fitted_once(make_experiment, logged, small_set, store):
    method, fitted = logged
    other = method.replace('"logged"', '"twin"')
    results = run_experiment(make_experiment(method + other, data=[small_set]), store)
    assert fitted() == dict.fromkeys(range(4), 1)
    values = {name: [row.value for row in results.rows if row.method == name] for name in ("logged", "twin")}
    assert values["logged"] == values["twin"]
    assert len(values["twin"]) == 4 * 3 * 2


def test_features_are_judged_once_whoever_selected_them(make_experiment, small_set, store, tmp_path):
    # Both take the columns as they come; of the four rankings at random none begins with the same two.
    methods = """
[[methods]]
name = "as they come"
selector = "logged_selectors:Failing"
parameters = { first = 9 }
grid = { seed = [0, 1, 2] }
[[methods]]
name = "too"
selector = "AllFeatures"
[[methods]]
name = "random"
selector = "logged_selectors:Logged"
grid = { seed = [0, 1, 2, 3] }
"""
    results = run_experiment(make_experiment(methods, data=[small_set], counts="[2, 12]"), store)
    kept = pieces_in(tmp_path / "pieces.sqlite").values()
    assert sum("order" in outcome for outcome in kept) == 3 + 1 + 4
    assert sum("acc" in outcome for outcome in kept) == (1 + 4) + 1  # of two features; and all twelve
    assert len(results.rows) == 8 * 2 * 2


def test_a_count_that_stands_twice_is_judged_once(make_experiment, small_set, store):
    experiment = make_experiment(THREE_METHODS, data=[small_set], counts="[2, 4, 4, 6]")
    results = run_experiment(experiment, store)
    assert {trial.counts for trial, _ in results.fits} == {(12,), (2, 4, 4, 6)}
    assert set(Counter(names_of(row) for row in results.rows).values()) == {1}


def test_counts_beyond_the_number_of_features_are_left_out(make_experiment):
    experiment = make_experiment(THREE_METHODS, data=["iris", "wine"], more="counts_of.wine = [3, 13, 14]")
    assert feature_counts(experiment, "iris", 4) == (2, 4)
    assert feature_counts(experiment, "wine", 13) == (3, 13)
    fits = {(trial.data, trial.method.name): trial.fit.n_features for trial in planned_trials(experiment)}
    assert fits["iris", "variance"] == 4
    assert fits["wine", "random"] == 13


def test_counts_that_are_all_beyond_are_refused_with_the_name_of_the_data(make_experiment):
    with pytest.raises(ValueError, match=r"iris has only 4 features.* 5, 50"):
        planned_trials(make_experiment(THREE_METHODS, data=["iris"], counts="[5, 50]"))


def test_counts_are_those_of_the_data_where_none_are_given(make_experiment):
    experiment = replace(make_experiment(THREE_METHODS, data=["wine"]), counts=None)
    assert feature_counts(experiment, "wine", 13) == (2, 4, 6, 8, 10, 12)


def test_what_is_finished_is_gathered_without_running(make_experiment, logged, small_set, store):
    method, fitted = logged
    experiment = make_experiment(method, data=[small_set])
    assert run_experiment(experiment, store, finished_only=True).fits == []
    part = run_experiment(experiment.narrowed(settings=2), store)
    gathered = run_experiment(experiment, store, finished_only=True)
    assert gathered.rows == part.rows
    assert without_costs(gathered) == without_costs(part)
    assert fitted() == {0: 1, 3: 1}


def test_a_deeper_run_reuses_what_is_finished_and_all_of_it_is_gathered(make_experiment, logged, small_set, store):
    method, times_fitted = logged
    method = method.replace("[0, 1, 2, 3]", "[0, 1, 2, 3, 4, 5, 6, 7, 8]")
    experiment = make_experiment(method, data=[small_set])
    run_experiment(experiment.narrowed(settings=3), store)
    assert times_fitted() == dict.fromkeys([0, 4, 8], 1)
    run_experiment(experiment.narrowed(settings=5), store)
    assert times_fitted() == dict.fromkeys([0, 2, 4, 6, 8], 1)
    run_experiment(experiment.narrowed(settings=4), store)  # neither contains the other
    assert times_fitted() == dict.fromkeys([0, 2, 3, 4, 5, 6, 8], 1)
    results = run_experiment(experiment, store, finished_only=True)
    assert [trial.setting for trial, _ in results.fits] == [f'{{"seed":{seed}}}' for seed in (0, 2, 3, 4, 5, 6, 8)]
    (row,) = summary(experiment, results).query("metric == 'acc'").itertuples()
    assert (row.settings, row.grid) == (7, 9)


def test_a_fit_whose_judgements_are_not_all_there_is_not_finished(make_experiment, small_set, store, monkeypatch):
    experiment = make_experiment(THREE_METHODS, data=[small_set]).narrowed(methods=["random"])
    run_until_interrupted(experiment, store, monkeypatch, Judgement, after=4)
    gathered = run_experiment(experiment, store, finished_only=True)
    assert [trial.setting for trial, _ in gathered.fits] == ['{"random_state":0}']
    assert {row.count for row in gathered.rows} == {2, 4, 6}


def test_no_processes_is_not_taken_for_nothing_to_do(make_experiment, store):
    with pytest.raises(ValueError, match="n_jobs"):
        run_experiment(make_experiment(THREE_METHODS, data=["iris"]), store, n_jobs=0)


def test_a_method_may_be_for_some_data_only(make_experiment, small_set, store):
    methods = THREE_METHODS + "data = ['iris']\n"  # of the last one
    results = run_experiment(make_experiment(methods, data=["iris", small_set]), store)
    assert {row.method for row in results.rows if row.data == "iris"} == {"all", "random", "variance"}
    assert {row.method for row in results.rows if row.data == small_set} == {"all", "random"}


def test_a_method_that_fails_is_reported_and_the_others_go_on(make_experiment, small_set, store):
    failing = """
[[methods]]
name = "failing"
selector = "logged_selectors:Failing"
parameters = { first = 1 }
grid = { seed = [0, 1, 2] }
"""
    experiment = make_experiment(failing + THREE_METHODS, data=[small_set])
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


@pytest.mark.parametrize("kind", [Fit, Judgement])
def test_after_an_interruption_a_run_goes_on_where_it_was(
    make_experiment, small_set, store, tmp_path, monkeypatch, kind
):
    experiment = make_experiment(THREE_METHODS, data=[small_set])
    begun = run_until_interrupted(experiment, store, monkeypatch, kind, after=3)
    kept = pieces_in(tmp_path / "pieces.sqlite")
    assert [key in kept for key in begun] == [True, True, True, False]
    rest = run_until_interrupted(experiment, store, monkeypatch, kind, after=1000)
    assert not set(begun[:3]) & set(rest)
    assert len(rest) == len(set(rest))
    finished = pieces_in(tmp_path / "pieces.sqlite")
    assert {key: finished[key] for key in kept} == kept
    with Store(tmp_path / "other.sqlite") as other:
        assert run_experiment(experiment, other).rows == run_experiment(experiment, store).rows
    assert finished.keys() == pieces_in(tmp_path / "other.sqlite").keys()
