import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn import config_context

from ufselect.columns.dense import Columns
from ufselect.graphs.neighbors import NeighborSearch, nearest_others, neighbor_graph, squared_width

LAYOUTS = {"dense": np.asarray, "csr_array": sp.csr_array, "csc_matrix": sp.csc_matrix}


def brute_force(X, count):
    """Squared distances to the nearest others and their indices, the lower index first among equals."""
    distances = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    index = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(distances, index, axis=1), index


def assert_nearest(found, X, count, rtol=1e-12):
    distances, index = brute_force(X, count)
    assert_array_equal(found.index, index)
    assert_allclose(found.squared_distances, distances, rtol=rtol, atol=0)


@st.composite
def integer_samples(draw):
    """Few values, so that many distances are the same and many samples too."""
    n, d = draw(st.integers(3, 30)), draw(st.integers(1, 20))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(0, 2).map(float), fill=st.nothing()))
    return X, draw(st.integers(1, n - 1))


# Who is nearest


@pytest.mark.parametrize(("n", "count"), [(300, 1), (300, 30), (12, 11)])
@pytest.mark.parametrize("n_features", [1, 4, 20])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_nearest_are_those_of_a_full_search(n_features, n, count, layout):
    X = np.random.default_rng(0).standard_normal((n, n_features))
    assert_nearest(nearest_others(Columns(LAYOUTS[layout](X)), count), X, count)


@settings(max_examples=20)
@given(case=integer_samples(), layout=st.sampled_from(sorted(LAYOUTS)))
def test_ties_go_to_the_lower_index(case, layout):
    X, count = case
    assert_nearest(nearest_others(Columns(LAYOUTS[layout](X)), count), X, count)


@settings(max_examples=20)
@given(case=integer_samples(), seed=st.integers(0, 2**16))
def test_ties_that_rounding_has_broken_go_to_the_lower_index_too(case, seed):
    X, count = case
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((X.shape[1], X.shape[1])))
    _, expected = brute_force(X, count)
    assert_array_equal(nearest_others(Columns(0.1 * X), count).index, expected)
    assert_array_equal(nearest_others(Columns((X + 1.0) @ turn), count).index, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_features", [2, 20])
def test_a_sample_with_many_duplicates_is_never_its_own_neighbour(layout, n_features):
    one, other = np.random.default_rng(0).standard_normal((2, n_features))
    X = np.repeat([one, other], [40, 3], axis=0)
    found = nearest_others(Columns(LAYOUTS[layout](X)), 5)
    assert_nearest(found, X, 5)
    assert_array_equal(found.index[0], [1, 2, 3, 4, 5])
    assert_array_equal(found.index[20], [0, 1, 2, 3, 4])
    assert_array_equal(found.index[42], [40, 41, 0, 1, 2])


@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_a_large_offset_does_not_change_who_is_nearest(n_features, offset):
    # Multiples of 1/64, so that the offset changes no digit of a difference.
    X = np.round(64.0 * np.random.default_rng(0).standard_normal((300, n_features))) / 64.0
    assert_nearest(nearest_others(Columns(X + offset), 5), X, 5, rtol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_single_precision_finds_the_same_neighbours(layout):
    X = np.random.default_rng(0).standard_normal((300, 20)).astype(np.float32)
    found = nearest_others(Columns(LAYOUTS[layout](X)), 6)
    distances, index = brute_force(X.astype(np.float64), 6)
    assert_array_equal(found.index, index)
    assert found.squared_distances.dtype == np.float64
    assert_allclose(found.squared_distances, distances, rtol=1e-6)


@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("n", [60, 1100])
def test_some_rows_can_be_asked_for(n, n_features):
    X = np.random.default_rng(0).standard_normal((n, n_features))
    rows = np.array([41, 3, 58])
    found = NeighborSearch(X + 2.0**20).nearest(4, rows)
    distances, index = brute_force(X + 2.0**20, 4)
    assert_array_equal(found.index, index[rows])
    assert_allclose(found.squared_distances, distances[rows], rtol=1e-12)


def test_centring_a_sparse_matrix_does_not_change_its_distances():
    rng = np.random.default_rng(0)
    X = sp.random_array((80, 30), density=0.2, random_state=rng, format="csc") + sp.eye_array(80, 30)
    plain, centred = (Columns.prepared(sp.csc_array(X), center=c, scale="standard") for c in (False, True))
    one, other = nearest_others(plain, 5), nearest_others(centred, 5)
    assert_array_equal(one.index, other.index)
    assert_array_equal(one.squared_distances, other.squared_distances)


# The graphs


@settings(max_examples=20)
@given(
    n=st.integers(4, 40),
    d=st.integers(1, 6),
    weights=st.sampled_from(["heat", "binary", "cosine"]),
    seed=st.integers(0, 2**16),
)
def test_two_samples_are_joined_where_one_is_near_the_other(n, d, weights, seed):
    rng = np.random.default_rng(seed)
    X = Columns(rng.standard_normal((n, d)))
    nearest = nearest_others(X, int(rng.integers(1, n)))
    A = neighbor_graph(X, nearest, weights=weights)
    directed = np.zeros((n, n), dtype=bool)
    np.put_along_axis(directed, nearest.index, True, axis=1)
    assert sp.issparse(A)
    assert_array_equal(A.toarray() > 0.0, directed | directed.T)
    assert weights != "binary" or set(A.data) == {1.0}
    assert_array_equal(A.toarray(), A.toarray().T)
    assert_array_equal(A.diagonal(), np.zeros(n))


@pytest.mark.parametrize("width", [0.3, 1.0, 4.0])
def test_heat_weights_follow_the_formula(width):
    X = np.random.default_rng(0).standard_normal((40, 4))
    A = neighbor_graph(Columns(X), nearest_others(X, 5), width=width).tocoo()
    distances = cdist(X, X, "sqeuclidean")
    squared = width**2 * distances.mean()
    assert_allclose(squared_width(Columns(X), width), squared, rtol=1e-12)
    assert_allclose(A.data, np.exp(-distances[A.coords] / (2.0 * squared)), rtol=1e-11)


def test_cosines_are_cut_off_at_the_faintest_weight():
    X = np.array([[1.0, 0.0], [-1.0, 0.1], [0.5, 0.5], [3.0, -0.2], [0.0, 0.0]])
    A = neighbor_graph(Columns(X), nearest_others(X, 4), weights="cosine").toarray()
    lengths = np.linalg.norm(X[:4], axis=1)
    expected = np.maximum(X[:4] @ X[:4].T / np.outer(lengths, lengths), 1e-10)
    np.fill_diagonal(expected, 0.0)
    assert_allclose(A[:4, :4], expected, rtol=1e-12)
    assert_allclose(A[4, :4], 1e-10)


def test_no_sample_drops_out_of_the_graph_however_narrow_the_width():
    X = np.vstack([np.random.default_rng(0).standard_normal((20, 3)), np.full((1, 3), 1e4)])
    A = neighbor_graph(Columns(X), nearest_others(X, 3), width=1e-3)
    assert A.sum(axis=1).min() >= 3e-10
    assert A.data.min() == 1e-10


@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
@pytest.mark.parametrize("center", [False, True])
def test_sparse_data_give_the_same_graph(weights, center):
    values = np.random.default_rng(0).integers(0, 3, (60, 25)).astype(np.float64)
    graphs = []
    for layout in LAYOUTS.values():
        X = Columns.prepared(layout(values), center=center, scale="standard")
        graphs.append(neighbor_graph(X, nearest_others(X, 5), weights=weights).toarray())
    for graph in graphs[1:]:
        assert_allclose(graph, graphs[0], rtol=0, atol=1e-12)


def test_many_ties_need_no_more_memory_than_is_allowed():
    """Binary data: every sample is as near to a quarter of all others, which are looked at some rows at a time."""
    X = np.random.default_rng(0).integers(0, 2, (3000, 2)).astype(np.float64)
    tracemalloc.start()
    with config_context(working_memory=4):
        found = nearest_others(Columns(X), 5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6  # all rows at once would take 450 MB
    assert_array_equal(found.squared_distances, np.zeros((3000, 5)))
    same = [np.flatnonzero((row == X).all(axis=1)) for row in X[:20]]
    assert_array_equal(found.index[:20], [others[others != i][:5] for i, others in enumerate(same)])


# Many samples: candidates in single precision, and exact neighbours nonetheless

N = 5003


MANY = np.random.default_rng(0).standard_normal((N, 6))
CLUSTERED = MANY + 5.0 * np.random.default_rng(1).standard_normal((7, 6))[np.arange(N) % 7]
KINDS = {
    "clusters": CLUSTERED,
    "far from the origin": MANY + 1e6,
    "tiny": 1e-30 * MANY,
    "enormous": 1e30 * MANY,
    "with an outlier": np.vstack([MANY[:-1], np.full(6, 1e9)]),
    "with far clusters": MANY * 1e-3 + 1e3 * (np.arange(N) % 2)[:, None],
}


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_of_many_samples_are_exact(kind):
    X = KINDS[kind]
    expected = cKDTree(X).query(X, k=9)[1][:, 1:]
    compared = slice(N - 1)  # to the outlier, the last one, all others are at the same distance up to rounding
    assert_array_equal(np.sort(nearest_others(X, 8).index, axis=1)[compared], np.sort(expected, axis=1)[compared])


def test_whole_numbers_with_many_ties_have_the_neighbours_of_lowest_index():
    X = np.random.default_rng(0).integers(0, 3, (N, 4)).astype(float)
    found = nearest_others(X, 5)
    for i in (0, 17, N - 1):
        distances = np.sum((X - X[i]) ** 2, axis=1)
        distances[i] = np.inf
        assert_array_equal(found.index[i], np.lexsort((np.arange(N), distances))[:5])


def test_threads_change_nothing_for_many_samples():
    X = np.hstack([CLUSTERED] * 5)
    one, two = nearest_others(X, 8, n_jobs=1), nearest_others(X, 8, n_jobs=2)
    assert_array_equal(one.index, two.index)
    assert_array_equal(one.squared_distances, two.squared_distances)
