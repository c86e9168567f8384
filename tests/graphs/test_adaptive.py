import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from ufselect import KernelFSASL
from ufselect.columns.dense import Columns
from ufselect.graphs.adaptive import adaptive_neighbors


def random_samples(n, c, seed=0):
    return np.random.default_rng(seed).standard_normal((n, c))


def distances_to_others(Z):
    """Squared distances, infinite on the diagonal."""
    distances = cdist(Z, Z, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    return distances


def spread_of(distances, k):
    nearest = np.sort(distances, axis=1)[:, : k + 1]
    return 0.5 * (k * nearest[:, k] - nearest[:, :k].sum(axis=1))


def projection(a):
    """The point of the simplex nearest to a, by sorting."""
    falling = np.sort(a)[::-1]
    shift = (1.0 - np.cumsum(falling)) / np.arange(1, len(a) + 1)
    return np.maximum(a + shift[falling + shift > 0.0][-1], 0.0)


def projected(distances, spread):
    """Every row of −d/(2μ) projected over all the other samples."""
    n = len(distances)
    P = np.zeros((n, n))
    for i in range(n):
        others = np.arange(n) != i
        P[i, others] = projection(-distances[i, others] / (2.0 * spread[i]))
    return P


def assert_projected(Z, neighborhoods, spread):
    P = neighborhoods.P
    assert_allclose(neighborhoods.spread, spread, rtol=1e-8)
    assert_allclose(P.toarray(), projected(distances_to_others(Z), spread), rtol=0, atol=1e-8)
    assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert_array_equal(P.diagonal(), 0.0)
    assert P.data.min() > 0.0


def assert_all_spreads_projected(Z, k, samples=None):
    samples = Z if samples is None else samples
    by_row = spread_of(distances_to_others(Z), k)
    assert_projected(Z, adaptive_neighbors(samples, k), by_row)
    assert_projected(Z, adaptive_neighbors(samples, k, spread="mean"), np.full(len(Z), by_row.mean()))
    given_ = by_row.mean() * np.geomspace(0.1, 8.0, len(Z))
    assert_projected(Z, adaptive_neighbors(samples, k, spread=given_), given_)


@settings(max_examples=25)
@given(n=st.integers(4, 50), c=st.integers(1, 30), k=st.integers(1, 8), seed=st.integers(0, 2**16))
def test_every_row_is_the_projection_over_all_samples_with_its_k_nearest_for_neighbours(n, c, k, seed):
    k = min(k, n - 2)
    Z = random_samples(n, c, seed)
    assert_all_spreads_projected(Z, k)
    P = adaptive_neighbors(Z, k).P
    nearest = np.argsort(distances_to_others(Z), axis=1)[:, :k]
    assert_array_equal(np.diff(P.indptr), k)
    assert_array_equal(P.indices.reshape(n, k), np.sort(nearest, axis=1))


@pytest.mark.parametrize("name", ["JAFFE", "TOX", "USPS49"])
def test_every_row_of_benchmark_data_is_the_projection_over_all_samples(learned_space, name):
    space = learned_space(name)
    assert_all_spreads_projected(space.Z, 5)
    assert_all_spreads_projected(space.X.values, 5, space.X)


def test_one_spread_for_all_gives_dense_regions_more_neighbours():
    Z = np.vstack([0.1 * random_samples(40, 3), 3.0 + random_samples(40, 3, 1)])
    counts = np.diff(adaptive_neighbors(Z, 5, spread="mean").P.indptr)
    assert counts[:40].min() > 5 > counts[40:].min()


@pytest.mark.parametrize("c", [3, 40])
@pytest.mark.parametrize("spread", ["row", "mean"])
def test_samples_with_more_copies_than_neighbours_choose_among_their_copies(c, spread):
    Z = np.repeat(random_samples(6, c), 10, axis=0)
    P = adaptive_neighbors(Z, 4, spread=spread).P
    rows, columns = P.nonzero()
    assert_array_equal(rows // 10, columns // 10)
    assert np.all(rows != columns)
    assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert P.data.min() > 0.0


def test_without_spread_all_goes_to_the_nearest():
    Z = np.array([[0.0], [1.0], [3.0], [3.5], [10.0]])
    P = adaptive_neighbors(Z, 2, spread=np.zeros(5)).P.toarray()
    expected = np.zeros((5, 5))
    expected[[0, 1, 2, 3, 4], [1, 0, 3, 2, 3]] = 1.0
    assert_array_equal(P, expected)


@pytest.mark.parametrize("n", [3, 9])
@pytest.mark.parametrize("spread", ["row", "mean"])
def test_all_others_may_be_neighbours(n, spread):
    # Without a (k+1)-th other sample the k-th stands in for it, and gets nothing.
    Z = random_samples(n, 4)
    distances = distances_to_others(Z)
    nearest = np.sort(distances, axis=1)[:, : n - 1]
    by_row = 0.5 * ((n - 1) * nearest[:, -1] - nearest.sum(axis=1))
    neighborhoods = adaptive_neighbors(Z, n - 1, spread=spread)
    assert_projected(Z, neighborhoods, by_row if spread == "row" else np.full(n, by_row.mean()))
    if spread == "row":
        assert_array_equal(np.diff(neighborhoods.P.indptr), n - 2)


# Ties


def one_hot(*sizes):
    """Groups of equal samples, one column a group."""
    return np.repeat(np.eye(len(sizes)), sizes, axis=0)


def prepared(X, form=np.asarray):
    return Columns.prepared(form(X), center=True, scale="standard")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("spread", ["row", "mean"])
@pytest.mark.parametrize("n", [6, 60])
def test_samples_at_equal_distances_share_evenly(n, spread, form):
    found = adaptive_neighbors(prepared(np.eye(n), form), 5, spread=spread)
    assert_array_equal(found.spread, 0.0)
    assert_allclose(found.P.toarray(), (1.0 - np.eye(n)) / (n - 1), rtol=0, atol=1e-15)


def test_differences_that_are_rounding_are_not_divided_by_their_sum():
    # All distances are the same, but sums in another order differ in the last digit.
    X = np.hstack([np.eye(20), 3.0 * np.eye(20)])
    P = KernelFSASL(3, adaptive=False).fit(X).neighbor_graph_
    assert_allclose(P.toarray(), (1.0 - np.eye(20)) / 19.0, rtol=0, atol=1e-12)


def test_a_neighbour_as_far_as_the_next_one_gets_nothing():
    # From 0: one neighbour at 1 and six at 3, of which two are among the three nearest.
    angles = np.arange(6) * np.pi / 3.0
    Z = np.vstack([[0.0, 0.0], [0.6, 0.8], 3.0 * np.column_stack([np.cos(angles), np.sin(angles)])])
    found = adaptive_neighbors(Z, 3)
    assert_array_equal(found.P.toarray()[0], [0, 1, 0, 0, 0, 0, 0, 0])
    assert_allclose(found.spread[0], 4.0, rtol=1e-12)


@pytest.mark.parametrize("spread", ["row", "mean"])
def test_equal_samples_share_evenly_however_many_they_are(spread):
    X = one_hot(4, 9, 12)
    P = adaptive_neighbors(prepared(X), 3, spread=spread).P.toarray()
    same = X @ X.T - np.eye(25)
    assert_allclose(P, same / same.sum(axis=1, keepdims=True), rtol=0, atol=1e-15)


def test_of_too_many_equal_samples_those_with_the_lowest_indices_share(monkeypatch):
    monkeypatch.setattr("ufselect.graphs.neighbors.LARGEST_TIED_GRAPH", 25 * 10)
    P = adaptive_neighbors(one_hot(4, 9, 12), 3).P.toarray()
    assert_array_equal(np.count_nonzero(P, axis=1), np.repeat([3, 8, 4], [4, 9, 12]))
    assert_array_equal(np.flatnonzero(P[20]), [13, 14, 15, 16])
    assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
