"""Data sets as experiments prepare and evaluate them, and files that change."""

import os
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from tried import experiment_of

from ufselect import MaxVariance
from ufselect.benchmark.data import Preparation, current_version, load_version, prepared
from ufselect.benchmark.experiment import Method
from ufselect.benchmark.fits import evaluation_of, fit_of
from ufselect.benchmark.runner import run_experiment
from ufselect.benchmark.store import Store
from ufselect.datasets.content import dataset_from
from ufselect.inspection import compare_selectors
from ufselect.inspection.adapter import best_features
from ufselect.preprocessing import LogNormalize


def counts_of_three_classes(n_samples=60, n_features=12):
    """Counts whose first four columns tell three classes apart, with totals that differ much between samples."""
    rng = np.random.default_rng(0)
    classes = np.arange(n_samples) % 3
    rates = np.ones((3, n_features))
    rates[:, :4] = [[9, 1, 1, 4], [1, 9, 1, 4], [1, 1, 9, 4]]
    return rng.poisson(rates[classes] * rng.lognormal(1.0, 1.0, n_samples)[:, None]) + 0.0, classes


@pytest.fixture
def counts(tmp_path):
    X, y = counts_of_three_classes()
    stored = sp.csr_array(X)
    parts = {"data": stored.data, "indices": stored.indices, "indptr": stored.indptr}
    np.savez(tmp_path / "counts.npz", **parts, shape=np.array(stored.shape), y=y)
    return str(tmp_path / "counts.npz")


# Values


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_samples_without_any_count_and_small_classes_are_left_out(make):
    X, y = counts_of_three_classes()
    X[[0, 7]] = 0.0
    y = np.where(np.arange(60) == 5, 3, y)
    data = prepared(dataset_from("mine", make(X), y), Preparation("counts", smallest_class=2))
    kept = np.setdiff1d(np.arange(60), [0, 5, 7])
    assert data.X.shape == (57, 12)
    assert_array_equal(data.raw.toarray() if sp.issparse(data.raw) else data.raw, X[kept])
    assert len(set(zip(data.y, y[kept], strict=True))) == data.n_classes == 3


def test_of_many_samples_some_are_drawn_always_the_same():
    X, y = counts_of_three_classes()
    dataset = dataset_from("mine", X, y)
    rows = np.sort(np.random.default_rng(0).choice(60, 25, replace=False))
    assert_array_equal(prepared(dataset, Preparation(most_samples=25)).X, X[rows])
    assert_array_equal(prepared(dataset, Preparation(most_samples=60)).X, X)


def test_negative_values_are_not_counts_and_two_classes_must_be_left():
    with pytest.raises(ValueError, match="mine has negative values, which cannot be counts"):
        prepared(dataset_from("mine", [[1.0], [-1.0]], [0, 1]), Preparation("counts"))
    with pytest.raises(ValueError, match="fewer than two classes with 3 samples or more"):
        prepared(dataset_from("mine", np.eye(5), [0, 0, 0, 1, 1]), Preparation(smallest_class=3))


# Fits and evaluations


def test_prepared_data_have_keys_of_their_own(counts):
    ways = [Preparation(), Preparation("counts"), Preparation("unlike")]
    ways += [Preparation(most_samples=20), Preparation(smallest_class=2)]
    versions = [current_version(counts, way) for way in ways]
    fits = [fit_of(version, "MaxVariance", "{}", 3) for version in versions]
    fits += [replace(fits[1], raw=True)]
    evaluations = [evaluation_of(version, [0, 1, 2], 2, ("acc",), 2) for version in versions]
    assert len({task.key for task in (*fits, *evaluations)}) == len(fits) + len(evaluations)


def test_methods_see_the_logs_of_counts_or_the_values_of_the_file(counts):
    X, _ = counts_of_three_classes()
    seen = fit_of(current_version(counts, Preparation("counts")), "MaxVariance", "{}", 12)
    on_logs, on_counts = (
        best_features(MaxVariance(12).fit(values), 12) for values in (LogNormalize().fit_transform(X), X)
    )
    assert seen.run()["order"] == on_logs.tolist()
    assert replace(seen, raw=True).run()["order"] == on_counts.tolist()
    assert not np.array_equal(on_logs, on_counts)


def test_columns_of_unlike_units_are_judged_as_compare_judges_them(tmp_path):
    X, y = counts_of_three_classes()
    X = X * np.logspace(0, 6, 12)
    path = tmp_path / "unlike.npz"
    np.savez(path, X=X, y=y)
    compared = compare_selectors({"variance": MaxVariance()}, X, n_features_to_select=4, labels=y, n_repeats=0)
    row, measures = compared.rows[0], ("acc", "nmi", "preservation")
    plain, unlike = (
        evaluation_of(current_version(str(path), Preparation(values)), row.chosen, 4, measures, 20).run()
        for values in ("plain", "unlike")
    )
    assert {name: unlike[name] for name in ("acc", "nmi")} == pytest.approx(row.agreement)
    assert unlike["preservation"] == pytest.approx(row.neighborhoods)
    assert plain["acc"] != pytest.approx(row.agreement["acc"])


def test_sparse_and_dense_files_of_the_same_counts_share_their_keys(counts, tmp_path):
    X, y = counts_of_three_classes()
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    sparse, dense = (current_version(path, Preparation("counts")) for path in (counts, str(tmp_path / "dense.npz")))
    judged = [
        evaluation_of(version, [3, 0, 2], 3, ("acc", "redundancy", "preservation"), 3) for version in (sparse, dense)
    ]
    assert judged[0].key == judged[1].key
    assert judged[0].run() == pytest.approx(judged[1].run())
    assert sp.issparse(load_version(sparse).X)


# Files that are rewritten


def write_data(path, seed):
    """Write a file of the same size and time whatever the seed; the best column is the one with number ``seed``."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6))
    X[:, seed] *= 50.0
    np.savez(path, X=X, y=np.repeat([0, 1, 2], 10))
    os.utime(path, ns=(10**18, 10**18))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_file_rewritten_between_two_runs_gives_the_figures_of_its_new_content(tmp_path, n_jobs):
    path = tmp_path / "own.npz"
    measures = ("acc", "redundancy", "preservation", "nearest_neighbor")
    experiment = experiment_of(Method("variance", "MaxVariance"), data=[path], counts=(2, 4, 6), measures=measures)
    found = {}
    with Store(tmp_path / "store.sqlite") as store:
        for seed in (1, 4, 1):
            write_data(path, seed)
            found.setdefault(seed, []).append(run_experiment(experiment, store, n_jobs=n_jobs))
    assert [found[seed][0].fits[0][1]["order"][0] for seed in (1, 4)] == [1, 4]
    assert found[1][0].rows == found[1][1].rows
    write_data(path, 4)
    with Store(tmp_path / "fresh.sqlite") as fresh:
        assert run_experiment(experiment, fresh).rows == found[4][0].rows


def test_work_refuses_a_file_that_changed_since_it_was_planned(tmp_path):
    path = tmp_path / "own.npz"
    write_data(path, 1)
    data = current_version(str(path))
    write_data(path, 4)
    for task in (fit_of(data, "MaxVariance", "{}", 2), evaluation_of(data, [0, 1], 1, ("acc",), 1)):
        with pytest.raises(ValueError, match=r"own\.npz changed during the run"):
            task.run()
