"""Neighbours of many samples: candidates in single precision, and exact neighbours nonetheless."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial import cKDTree

from ufselect._utils.policy import SMALLEST_BLOCKED_SEARCH
from ufselect.graphs.blocked_search import BlockedSearch
from ufselect.graphs.neighbors import nearest_others

N = SMALLEST_BLOCKED_SEARCH + 3


def points(kind, d=6):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, d))
    return {
        "clusters": X + 5.0 * rng.standard_normal((7, d))[rng.integers(0, 7, N)],
        "far from the origin": X + 1e6,
        "tiny": 1e-30 * X,
        "enormous": 1e30 * X,
        "with an outlier": np.vstack([X[:-1], np.full(d, 1e9)]),
        "with far clusters": X * 1e-3 + 1e3 * rng.integers(0, 2, (N, 1)),
    }[kind]


@pytest.mark.parametrize(
    "kind", ["clusters", "far from the origin", "tiny", "enormous", "with an outlier", "with far clusters"]
)
def test_neighbours_are_exact(kind):
    X = points(kind)
    expected = cKDTree(X).query(X, k=9)[1][:, 1:]
    compared = slice(N - 1)  # to the outlier, the last one, all others are at the same distance up to rounding
    assert_array_equal(np.sort(nearest_others(X, 8).index, axis=1)[compared], np.sort(expected, axis=1)[compared])


def test_copies_of_a_sample_are_neighbours_in_the_order_of_their_indices():
    X = points("clusters")
    X[100:200] = X[100]
    found = nearest_others(X, 8)
    assert_array_equal(found.index[100], np.arange(101, 109))
    assert_array_equal(found.index[150], np.arange(100, 108))
    assert_array_equal(found.squared_distances[100:200], np.zeros((100, 8)))


def test_whole_numbers_with_many_ties_have_the_neighbours_of_lowest_index():
    X = np.random.default_rng(0).integers(0, 3, (N, 4)).astype(float)
    found = nearest_others(X, 5)
    for i in (0, 17, N - 1):
        distances = np.sum((X - X[i]) ** 2, axis=1)
        distances[i] = np.inf
        assert_array_equal(found.index[i], np.lexsort((np.arange(N), distances))[:5])


def test_threads_change_nothing():
    X = points("clusters", d=30)
    one, two = nearest_others(X, 8, n_jobs=1), nearest_others(X, 8, n_jobs=2)
    assert_array_equal(one.index, two.index)
    assert_array_equal(one.squared_distances, two.squared_distances)


def test_candidates_are_without_the_sample_itself():
    search = BlockedSearch(points("clusters"))
    rows = np.array([5, 3, N - 1])
    found = search.candidates(rows, 10)
    assert not np.any(found == rows[:, None])
    assert all(len(set(each)) == 10 for each in found)
