import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from ufselect.benchmark.protocol import kmeans_starts
from ufselect.solvers.kmeans import kmeans_labels


def squared_distances(X, centres):
    """‖xᵢ − cⱼ‖² at [i, j], added up in the order of the columns."""
    return sum((x[:, None] - c) ** 2 for x, c in zip(X.T, centres.T, strict=True))


def plain_lloyd(X, start, max_iter=100):
    centres, labels = X[start], np.full(len(X), -1)
    for _ in range(max_iter):
        distances, before = squared_distances(X, centres), labels
        labels = np.argmin(distances, axis=1)
        empty = np.setdiff1d(np.arange(len(centres)), labels)
        farthest = np.argsort(-distances[np.arange(len(X)), labels], kind="stable")
        labels[farthest[: len(empty)]] = empty
        if np.array_equal(labels, before):
            break
        for j in np.unique(labels):
            members = X[labels == j]
            centres[j] = np.cumsum(members, axis=0)[-1] / len(members)
    return labels


def assert_plain(X, starts, max_iter=100):
    plain = [plain_lloyd(np.asarray(X, dtype=np.float64), start, max_iter) for start in starts]
    assert_array_equal(kmeans_labels(X, starts, max_iter=max_iter), plain)


def some_starts(rng, n, c, n_runs=5):
    return np.array([rng.permutation(n)[:c] for _ in range(n_runs)])


def inertia(X, labels):
    return sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in np.unique(labels))


@st.composite
def samples_and_starts(draw, make):
    """Samples that ``make(rng, n, m)`` makes, and starts that may be the same sample twice."""
    n, m = draw(st.integers(1, 60)), draw(st.integers(1, 12))
    c = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    starts = rng.integers(n, size=(3, c)) if draw(st.booleans()) else some_starts(rng, n, c, 3)
    return make(rng, n, m), starts


@settings(deadline=None, max_examples=200)
@given(samples_and_starts(lambda rng, n, m: rng.standard_normal((n, m))))
def test_gaussian_samples(drawn):
    assert_plain(*drawn)


@settings(deadline=None, max_examples=400)
@given(samples_and_starts(lambda rng, n, m: rng.integers(rng.integers(1, 5), size=(n, m), endpoint=True)))
def test_ties_and_samples_many_times_over(drawn):
    assert_plain(*drawn)


@settings(deadline=None, max_examples=200)
@given(samples_and_starts(lambda rng, n, m: rng.integers(0, 4, size=(n, m)) / 10))
def test_ties_that_rounding_breaks(drawn):
    assert_plain(*drawn)


@settings(deadline=None, max_examples=200)
@given(samples_and_starts(lambda rng, n, m: rng.standard_normal((3, m))[rng.integers(3, size=n)]))
def test_fewer_distinct_samples_than_clusters(drawn):
    assert_plain(*drawn)

@settings(deadline=None, max_examples=200)
@given(samples_and_starts(lambda rng, n, m: 1e8 + 1e-7*rng.standard_normal((n, m))))
def test_offset7(drawn):
    assert_plain(*drawn)
@settings(deadline=None, max_examples=200)
@given(samples_and_starts(lambda rng, n, m: 1e8 + rng.standard_normal((n, m))))
def test_offset(drawn):
    assert_plain(*drawn)
@settings(deadline=None, max_examples=200)
@given(samples_and_starts(lambda rng, n, m: np.where(rng.random((n,m))<.05,1e16,1)*rng.standard_normal((n, m))))
def test_outl(drawn):
    assert_plain(*drawn)
@pytest.mark.parametrize("scale",[1e-300,1e-200,1e-165,1e-162,1e-161,1e-160,1e-158,1e-155,1e-150,1e-100,1e50,1e100,1e150])
@settings(deadline=None, max_examples=100)
@given(samples_and_starts(lambda rng, n, m: rng.standard_normal((n, m))))
def test_scale(scale,drawn):
    assert_plain(drawn[0]*scale,drawn[1])

@pytest.mark.parametrize("m", [5, 20, 50])
@pytest.mark.parametrize("name", ["JAFFE", "COIL", "USPS49", "MFEA"])
def test_benchmark_sets(benchmark_set, name, m):
    X, y = benchmark_set(name)
    for seed in range(3):
        columns = np.random.default_rng(seed).permutation(X.shape[1])[:m]
        assert_plain(X[:, columns], kmeans_starts(len(X), len(np.unique(y))))
