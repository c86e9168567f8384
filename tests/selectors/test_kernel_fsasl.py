from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from ufselect import KernelFSASL
from ufselect.datasets.planted import make_planted_clusters
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.smooth_target import smooth_target
from ufselect.solvers.alignment import kernel_alignment

BENCHMARK_SETS = ["JAFFE", "UMIST", "TOX", "USPS49", "MFEA", "COIL", "AR"]


@cache
def easy():
    return make_planted_clusters(200, 4, 40, 20, random_state=0)


def moderately_scaled(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / (deviation + np.median(deviation))


def log_counts(n_samples=600, n_features=900, seed=0):
    """Log counts of a few kinds of cells, as single-cell tools store them: sparse, in single precision."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(3, size=n_samples)
    profile = np.tile(rng.lognormal(-1.0, 1.3, n_features), (3, 1))
    for kind in range(3):
        profile[kind, 10 * kind : 10 * kind + 10] *= 5.0
    mean = profile[kinds] * rng.lognormal(0.0, 0.4, (n_samples, 1))
    counts = rng.poisson(rng.gamma(2.0, mean / 2.0)).astype(np.float64) + np.eye(n_samples, n_features)
    return sp.csr_array(np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e4).astype(np.float32))


def test_w_is_the_row_sparse_regression_of_the_kernel_of_the_graph():
    X = easy().X
    selector = KernelFSASL(5, max_iter=1).fit(X)
    used, W, P = moderately_scaled(X), selector.coef_, selector.neighbor_graph_
    assert_allclose(used @ W, selector.embedding_, rtol=0, atol=1e-10)
    assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    # The target is known up to a rotation, which the weights tell.
    T = smooth_target(adaptive_neighbors(used @ W, 5).laplacian(), nontrivial=True)
    assert kernel_alignment(selector.embedding_, T) >= 0.6
    in_use = np.flatnonzero(W.any(axis=1))
    assert 0 < len(in_use) < 60
    assert easy().informative[in_use].all()


def test_a_settled_structure_takes_two_iterations_and_one_that_keeps_turning_all_of_them_in_silence():
    assert KernelFSASL(5).fit(easy().X).n_iter_ == 2
    noise = np.random.default_rng(1).standard_normal((300, 300))
    assert KernelFSASL(5, max_iter=3).fit(noise).n_iter_ == 3  # warnings are errors
    assert KernelFSASL(5).fit(noise).n_iter_ == 4


@pytest.mark.parametrize("name", BENCHMARK_SETS)
@pytest.mark.no_cover
def test_defaults_fit_a_benchmark_set_in_silence(benchmark_set, name):
    X = benchmark_set(name)[0][:720]
    assert 1 <= KernelFSASL().fit(X).n_features_ < X.shape[1]


def test_auto_selects_useful_features_only():
    data = make_planted_clusters(400, 6, 90, 910, random_state=0)
    selector = KernelFSASL().fit(data.X)
    assert selector.n_features_ >= 6
    assert data.informative[selector.get_support()].all()


def test_the_first_graph_is_that_of_the_components():
    X = make_planted_clusters(100, 4, 20, 80, random_state=0).X
    selector = KernelFSASL(5, adaptive=False, graph_components=3).fit(X)
    left, size, _ = np.linalg.svd(moderately_scaled(X), full_matrices=False)
    expected = adaptive_neighbors(left[:, :3] * size[:3], 5).P
    assert_allclose(selector.neighbor_graph_.toarray(), expected.toarray(), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("asked", "given"), [(0.25, 15), (1.0, 60), (0.001, 1), (7, 7)])
def test_a_number_or_a_fraction_of_the_features_is_selected(asked, given):
    selector = KernelFSASL(asked).fit(easy().X)
    assert selector.n_features_ == given
    assert selector.transform(easy().X).shape == (200, given)
    assert_array_equal(np.sort(selector.ranking_), np.arange(1, 61))
    assert np.all(np.diff(selector.scores_[selector.top_features(60)]) <= 0.0)
    assert np.all(selector.scores_ >= 0.0)


def test_fewer_features_are_the_first_of_more():
    five, ten = (KernelFSASL(m).fit(easy().X) for m in (5, 10))
    assert_array_equal(five.top_features(), ten.top_features()[:5])
    assert (len(five.alignment_curve_), len(ten.alignment_curve_)) == (10, 20)  # what more of them would bring
    assert_allclose(five.alignment_curve_[:5], ten.alignment_curve_[:5], rtol=1e-12)


@pytest.mark.parametrize("n_copies", [1, 3])
def test_selection_passes_over_near_copies_of_what_it_has(n_copies):
    X = easy().X
    best = KernelFSASL(1).fit(X).top_features()[0]
    rng = np.random.default_rng(0)
    copies = X[:, [best]] + 1e-6 * rng.standard_normal((200, n_copies))
    selector = KernelFSASL(4).fit(np.hstack([X, copies]))
    assert np.isin(selector.top_features(), [best, *range(60, 60 + n_copies)]).sum() <= 1


@pytest.mark.parametrize(("noise_scale", "params"), [(1.0, {}), (10.0, {"scale": "standard"})])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.no_cover
def test_informative_columns_are_found_among_many_noise_columns_even_of_larger_variance(noise_scale, params, seed):
    data = make_planted_clusters(400, 6, 90, 10000, noise_scale=noise_scale, random_state=seed)
    assert data.informative[KernelFSASL(30, **params).fit(data.X).get_support()].all()


def test_a_selection_hardly_depends_on_a_few_samples():
    X, _ = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    chosen = set(KernelFSASL(15).fit(X).top_features())
    common = []
    for _ in range(4):
        rows = np.sort(rng.choice(len(X), size=round(0.99 * len(X)), replace=False))
        common.append(len(chosen & set(KernelFSASL(15).fit(X[rows]).top_features())))
    assert np.mean(common) >= 13


def test_sparse_data_in_single_precision_are_solved_as_well_as_in_double():
    X = log_counts()
    params = {"n_features_to_select": 20, "scale": None, "n_neighbors": 20}
    single, double = KernelFSASL(**params).fit(X), KernelFSASL(**params).fit(X.astype(np.float64))
    assert single.scores_.dtype == np.float32
    assert_array_equal(single.ranking_, double.ranking_)


def test_a_penalty_near_the_largest_leaves_something():
    X = make_planted_clusters(90, 3, 12, 8, random_state=0).X
    assert KernelFSASL(5, row_penalty=0.97).fit(X).coef_.any()
