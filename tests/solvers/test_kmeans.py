import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ufselect.solvers.kmeans import kmeans_labels


def distinct_starts(rng, n, c, n_runs=3):
    return np.array([rng.permutation(n)[:c] for _ in range(n_runs)])


@st.composite
def samples_and_starts(draw, make=lambda rng, n, m: rng.standard_normal((n, m))):
    """Samples from ``make``, and starts, among them the same sample twice, which leaves a cluster empty."""
    n, m = draw(st.integers(1, 60)), draw(st.integers(1, 12))
    c = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    starts = rng.integers(n, size=(3, c)) if draw(st.booleans()) else distinct_starts(rng, n, c)
    return make(rng, n, m), starts


def test_as_many_clusters_as_samples_hold_one_each():
    rng = np.random.default_rng(0)
    starts = distinct_starts(rng, 20, 20)
    assert_array_equal(kmeans_labels(rng.standard_normal((20, 3)), starts), np.argsort(starts, axis=1))


def test_the_first_of_equally_near_centres_gets_the_sample():
    assert_array_equal(kmeans_labels(np.array([[1.0], [0.0], [2.0]]), np.array([[1, 2], [2, 1]]), max_iter=1)[:, 0], 0)


def test_empty_clusters_get_the_farthest_samples():
    X = np.array([[0.0], [0.0], [0.0], [10.0], [11.0]])
    assert_array_equal(kmeans_labels(X, np.array([[0, 1, 2]])), [[0, 0, 0, 2, 1]])


def test_a_cluster_that_gives_away_its_only_sample_keeps_its_centre():
    # Sample 0 goes from cluster 1 to the empty cluster 2, then back, for 1 is as near, and once more to 2.
    X = np.array([[5.0], [3.0], [3.0]])
    assert_array_equal(kmeans_labels(X, np.array([[2, 0, 2]])), [[2, 0, 0]])


@settings(max_examples=50)
@given(samples_and_starts())
def test_inertia_never_rises(drawn):
    X, starts = drawn

    def inertia(labels):
        groups = [X[labels == j] for j in np.unique(labels)]
        return sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups)

    inertias = [[inertia(labels) for labels in kmeans_labels(X, starts, max_iter=t)] for t in range(1, 8)]
    assert np.all(np.diff(inertias, axis=0) <= 1e-12 * np.sum(X**2))


@pytest.mark.parametrize("start", [-1, 4])
def test_a_start_outside_the_data_is_refused(start):
    with pytest.raises(ValueError, match="from 0 to 3"):
        kmeans_labels(np.eye(4), np.array([[0, start]]))
