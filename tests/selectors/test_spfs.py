import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import CLUSTERS, on_every_data_set, relative_width, row_norms, samples, worst_violation
from sklearn.preprocessing import StandardScaler

from ufselect import MRSF, SPFS
from ufselect.base.ranking import from_best_to_worst
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import kernel_factor
from ufselect.selectors.spfs import similarity_gains


def published_order(reference, name):
    """Twenty greedy steps on raw columns and the whole kernel, as in the stored run."""
    X = Columns(samples(reference, name))
    factor = kernel_factor(X, relative_width(X.values, np.sqrt(reference(f"spfs_{name}")["t"] / 2.0)), count=None)
    return from_best_to_worst(similarity_gains(X, factor, 20))[:20]


def naive_greedy(X, K, n_steps):
    """Each time the column that lowers ‖Σfⱼfⱼᵀ − K‖² most, by forming what is left."""
    left, chosen, gains = K.copy(), [], []
    for _ in range(n_steps):
        falls = [
            np.sum(left**2) - np.sum((left - np.outer(f, f)) ** 2) if j not in chosen else -np.inf
            for j, f in enumerate(X.T)
        ]
        best = int(np.argmax(falls))
        chosen.append(best)
        gains.append(falls[best])
        left -= np.outer(X[:, best], X[:, best])
    return chosen, gains


def small_problem(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, 3))


# The authors' arrays


@pytest.mark.parametrize("name", ["syn", "wide"])
def test_greedy_steps_are_the_stored_ones(reference, name):
    assert_array_equal(published_order(reference, name), reference(f"spfs_{name}")["sfs"])


# Where it departs from them


@on_every_data_set
def test_about_as_many_rows_are_used_as_features_are_wanted(reference, name):
    for wanted in (5, 10, 20):
        selector = SPFS(wanted, solver="nes", n_clusters=CLUSTERS[name]).fit(samples(reference, name))
        assert abs(np.count_nonzero(selector.coef_.any(axis=1)) - wanted) <= wanted / 10.0


# Greedy steps


@settings(max_examples=20)
@given(n=st.integers(3, 12), d=st.integers(2, 15), seed=st.integers(0, 999), scale=st.floats(0.1, 5.0))
def test_steps_are_those_of_the_naive_search(n, d, seed, scale):
    X, factor = small_problem(n, d, seed)
    factor *= scale
    n_steps = max(d // 2, 1)
    chosen, gains = naive_greedy(X, factor @ factor.T, n_steps)
    found = similarity_gains(Columns(X), factor, n_steps)
    assert_array_equal(np.argsort(-found, kind="stable")[:n_steps], chosen)
    assert_allclose(found[chosen], gains, rtol=1e-9, atol=1e-9 * np.abs(gains).max())


def test_features_beyond_the_steps_have_their_gain_after_the_last():
    X, factor = small_problem(12, 10, 0)
    gains = similarity_gains(Columns(X), factor, 4)
    order = np.argsort(-gains)
    left = factor @ factor.T - X[:, order[:4]] @ X[:, order[:4]].T
    for j in order[4:]:
        fall = np.sum(left**2) - np.sum((left - np.outer(X[:, j], X[:, j])) ** 2)
        assert_allclose(gains[j], fall, rtol=1e-9)
        assert gains[j] <= gains[order[3]]


@on_every_data_set
def test_the_fit_is_greedy_for_a_kernel_of_as_much_trace_as_the_wanted_features(reference, name):
    values = samples(reference, name)
    selector = SPFS(6, n_clusters=CLUSTERS[name], scale="standard").fit(values)
    X, Y = StandardScaler().fit_transform(values), selector.embedding_
    X /= np.sqrt(len(X))  # of unit norm
    chosen, gains = naive_greedy(X, 6.0 * Y @ Y.T / np.sum(Y**2), 6)
    assert_array_equal(selector.top_features(), chosen)
    assert_allclose(selector.scores_[chosen], gains, rtol=1e-8)


# The relaxation


@on_every_data_set
@pytest.mark.parametrize("center", [True, False])
def test_weights_meet_the_optimality_conditions_of_their_penalty(reference, name, center):
    values = samples(reference, name)
    selector = SPFS(10, solver="nes", n_clusters=CLUSTERS[name], scale="standard", center=center).fit(values)
    X = StandardScaler(with_mean=center).fit_transform(values)
    W, Y = selector.coef_, selector.embedding_
    slope = X.T @ (Y - X @ W)
    half = row_norms(slope[W.any(axis=1)]).mean()
    assert worst_violation(slope, W, half) <= 2e-4
    assert_allclose(selector.scores_, row_norms(W) * np.sqrt(np.mean(X**2)), rtol=1e-10)  # in units of the columns


# All solvers


@pytest.mark.parametrize("solver", ["sfs", "nes", "lar"])
@on_every_data_set
def test_the_embedding_is_that_of_the_centred_kernel_and_following_the_path_is_what_mrsf_does(reference, name, solver):
    X = samples(reference, name)
    selector, other = (cls.fit(X) for cls in (SPFS(10, solver=solver, n_clusters=4), MRSF(10, n_clusters=4)))
    assert selector.embedding_.shape == (len(X), 3)
    assert_allclose(selector.embedding_.sum(axis=0), 0.0, rtol=0, atol=1e-9)
    assert_allclose(selector.embedding_, other.embedding_, rtol=0, atol=1e-12)
    if solver == "lar":
        assert_array_equal(selector.scores_, other.scores_)
        assert_array_equal(selector.ranking_, other.ranking_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_of_a_column_and_its_opposite_the_first_is_chosen(form):
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(4)[rng.integers(0, 4, 60)], np.eye(2)[rng.integers(0, 2, 60)]])
    for seed in range(10):
        scores = SPFS(3, n_clusters=3).fit(form(X[np.random.default_rng(seed).permutation(60)])).scores_
        assert scores[4] > scores[5]
