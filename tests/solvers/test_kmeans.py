import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ufselect.metrics import kmeans_starts
from ufselect.solvers.kmeans import kmeans_labels


def squared_distances(X, centres):
    """‖xᵢ − cⱼ‖² at [i, j], added up in the order of the columns."""
    return sum((x[:, None] - c) ** 2 for x, c in zip(X.T, centres.T, strict=True))


def plain_lloyd(X, start, max_iter=100):
    centres, labels = X[start], np.full(len(X), -1)
    for _ in range(max_iter):
        before, distances = labels, squared_distances(X, centres)
        labels = distances.argmin(axis=1)
        empty = np.setdiff1d(np.arange(len(centres)), labels)
        if len(empty):
            farthest = np.argsort(-distances.min(axis=1), kind="stable")
            labels[farthest[: len(empty)]] = empty
        if np.array_equal(labels, before):
            break
        for j in np.unique(labels):
            members = X[labels == j]
            centres[j] = members.cumsum(axis=0)[-1] / len(members)  # added up in the order of the samples
    return labels


def assert_plain(X, starts, max_iter=100):
    expected = [plain_lloyd(np.array(X, dtype=np.float64), start, max_iter) for start in starts]
    assert_array_equal(kmeans_labels(X, starts, max_iter=max_iter), expected)


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


@pytest.mark.no_cover  # other tests measure the solver; the plain loop would take twice as long
class TestPlainLoop:
    @settings(max_examples=200)
    @given(samples_and_starts())
    def test_gaussian_samples(self, drawn):
        assert_plain(*drawn)

    @settings(max_examples=200)
    @given(samples_and_starts(lambda rng, n, m: rng.integers(1 + rng.integers(5), size=(n, m))))
    def test_ties_and_repeated_samples(self, drawn):
        assert_plain(*drawn)

    @settings(max_examples=200)
    @given(samples_and_starts(lambda rng, n, m: rng.integers(4, size=(n, m)) / 10))
    def test_ties_that_rounding_decides(self, drawn):
        assert_plain(*drawn)

    @settings(max_examples=50)
    @given(samples_and_starts(lambda rng, n, m: rng.standard_normal((3, m))[rng.integers(3, size=n)]))
    def test_fewer_distinct_samples_than_clusters(self, drawn):
        assert_plain(*drawn)

    @pytest.mark.parametrize("spread", [1.0, 1e-5, 1e-7, 1e-8])
    @settings(max_examples=50)
    @given(drawn=samples_and_starts())
    def test_samples_far_from_zero(self, spread, drawn):
        X, starts = drawn
        assert_plain(1e8 + spread * X, starts)

    @settings(max_examples=200)
    @given(
        samples_and_starts(lambda rng, n, m: rng.standard_normal((n, m)) * rng.choice([1, 1e16], (n, 1), p=[0.9, 0.1]))
    )
    def test_samples_far_from_all_others(self, drawn):
        assert_plain(*drawn)

    # Squares of 1e-162 are 0 or the least number there is; those of 1e-155 are a few bits short.
    @pytest.mark.parametrize("scale", [1e-300, 1e-162, 1e-160, 1e-155, 1e-150, 1e-139, 1e150])
    @settings(max_examples=50)
    @given(drawn=samples_and_starts())
    def test_small_and_large_units(self, scale, drawn):
        X, starts = drawn
        assert_plain(scale * X, starts)

    @settings(max_examples=100)
    @given(samples_and_starts(), st.integers(1, 3))
    def test_before_the_end(self, drawn, max_iter):
        assert_plain(*drawn, max_iter)

    @pytest.mark.parametrize("n", [1, 7, 3000])
    def test_one_column(self, n):
        rng = np.random.default_rng(0)
        assert_plain(rng.standard_normal((n, 1)), distinct_starts(rng, n, min(n, 6)))

    @pytest.mark.parametrize("value", [0.0, 0.1, 1e8])
    def test_constant_samples(self, value):
        assert_plain(np.full((9, 4), value), distinct_starts(np.random.default_rng(0), 9, 4))

    @pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64])
    def test_types(self, dtype):
        rng = np.random.default_rng(0)
        assert_plain((50 * rng.random((80, 5))).astype(dtype), distinct_starts(rng, 80, 7))

    @pytest.mark.parametrize("view", [lambda X: X[::2], lambda X: X[:, ::-3], lambda X: X.T, np.asfortranarray])
    def test_views(self, view):
        rng = np.random.default_rng(0)
        X = view(rng.standard_normal((60, 30)))
        assert_plain(X, distinct_starts(rng, len(X), 5))

    @pytest.mark.parametrize("m", [5, 20, 50])
    @pytest.mark.parametrize("name", ["JAFFE", "COIL", "USPS49", "MFEA"])
    def test_benchmark_sets(self, benchmark_set, name, m):
        X, y = benchmark_set(name)
        columns = np.random.default_rng(0).permutation(X.shape[1])[:m]
        assert_plain(X[:, columns], kmeans_starts(len(X), len(np.unique(y))))


def test_one_cluster_holds_all_samples():
    X = np.random.default_rng(0).standard_normal((20, 3))
    assert_array_equal(kmeans_labels(X, np.array([[4], [9]])), np.zeros((2, 20)))


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
def test_runs_do_not_see_each_other(drawn):
    X, starts = drawn
    assert_array_equal(kmeans_labels(X, starts), np.vstack([kmeans_labels(X, start[None]) for start in starts]))


@settings(max_examples=50)
@given(samples_and_starts())
def test_inertia_never_rises(drawn):
    X, starts = drawn

    def inertia(labels):
        groups = [X[labels == j] for j in np.unique(labels)]
        return sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups)

    inertias = [[inertia(labels) for labels in kmeans_labels(X, starts, max_iter=t)] for t in range(1, 8)]
    assert np.all(np.diff(inertias, axis=0) <= 1e-12 * np.sum(X**2))


def test_the_arguments_are_left_as_they_were():
    rng = np.random.default_rng(0)
    X, starts = rng.standard_normal((30, 4)), distinct_starts(rng, 30, 5)
    before = X.copy(), starts.copy()
    kmeans_labels(X, starts)
    assert_array_equal(X, before[0])
    assert_array_equal(starts, before[1])


@pytest.mark.parametrize("start", [-1, 4])
def test_a_start_outside_the_data_is_refused(start):
    with pytest.raises(ValueError, match="from 0 to 3"):
        kmeans_labels(np.eye(4), np.array([[0, start]]))
