import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from numpy.testing import assert_allclose
from problems import samples
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from ufselect import EVSC, SPEC
from ufselect.columns.dense import Columns
from ufselect.graphs.neighbors import nearest_others, neighbor_graph, squared_width

FORMS = [pytest.param(True, id="normalised"), pytest.param(False, id="unnormalised")]


def groups(n, d, count=3, apart=3.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + apart * np.eye(count, d)[np.arange(n) % count]


def affinity(X, weights, squared_sigma, edges):
    """exp(−Σᵣ wᵣ(xⱼᵣ−xₗᵣ)²/(2σ²)) on the edges."""
    return np.exp(-cdist(X * np.sqrt(weights), X * np.sqrt(weights), "sqeuclidean") / (2.0 * squared_sigma)) * edges


def positive_eigenvalues(S, normalized, count):
    D = np.diag(S.sum(axis=1))
    values = scipy.linalg.eigvalsh(D - S, D if normalized else None)
    components, _ = connected_components(sp.csr_array(S), directed=False)
    return values[components : components + count]


def sensitivities_by_differences(X, squared_sigma, edges, normalized, count, step=1e-4):
    """Σᵢ |∂λᵢ/∂wᵣ| at w = 1 from central differences."""
    scores = np.empty(X.shape[1])
    for r in range(X.shape[1]):
        ends = []
        for sign in (-1.0, 1.0):
            weights = np.ones(X.shape[1])
            weights[r] += sign * step
            ends.append(positive_eigenvalues(affinity(X, weights, squared_sigma, edges), normalized, count))
        scores[r] = np.abs(ends[1] - ends[0]).sum() / (2.0 * step)
    return scores


# The derivative


@pytest.mark.parametrize("normalized", FORMS)
@pytest.mark.parametrize("count", [1, 4])
def test_scores_of_the_kernel_are_derivatives_of_eigenvalues(normalized, count):
    X = groups(30, 5)
    sigma2 = cdist(X, X, "sqeuclidean").mean()
    selector = EVSC(2, n_clusters=count, normalized=normalized, scale=None).fit(X)
    expected = sensitivities_by_differences(X, sigma2, 1.0 - np.eye(30), normalized, count)
    assert_allclose(selector.scores_, expected, rtol=0, atol=1e-6 * expected.max())


@pytest.mark.parametrize("normalized", FORMS)
@pytest.mark.parametrize("apart", [2.0, 30.0])
@pytest.mark.parametrize("count", [1, 4])
def test_scores_of_a_neighbour_graph_are_derivatives_with_its_edges_held_fixed(normalized, apart, count):
    # Far apart the graph has three components: the smallest positive eigenvalues come after three zeros.
    X = groups(36, 5, apart=apart)
    S = neighbor_graph(Columns(X), nearest_others(X, 4))
    components, _ = connected_components(S, directed=False)
    assert components == (3 if apart > 10.0 else 1)
    edges = (S.toarray() > 0.0).astype(np.float64)
    selector = EVSC(2, n_clusters=count, normalized=normalized, affinity="neighbors", n_neighbors=4, scale=None).fit(X)
    expected = sensitivities_by_differences(X, squared_width(Columns(X), 1.0), edges, normalized, count)
    assert_allclose(selector.scores_, expected, rtol=0, atol=1e-6 * expected.max())


# Repeated eigenvalues


def square(repeats):
    """Samples at the corners of a square: the eigenvalue of left and right is that of top and bottom."""
    return np.repeat([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], repeats, axis=0)


@pytest.mark.parametrize("normalized", FORMS)
@pytest.mark.parametrize("count", [1, 2, 3])  # the first two are the same: the first one alone has no derivative
@pytest.mark.parametrize("repeats", [1, 6])
def test_derivatives_of_a_repeated_eigenvalue_are_summed(normalized, count, repeats):
    X = square(repeats)
    scores = EVSC(1, n_clusters=count, normalized=normalized).fit(X).scores_
    assert_allclose(scores[0], scores[1], rtol=1e-10)
    shuffled = np.random.default_rng(0).permutation(len(X))
    again = EVSC(1, n_clusters=count, normalized=normalized).fit(X[shuffled]).scores_
    assert_allclose(again, scores, rtol=1e-9)


# At the edges


@pytest.mark.parametrize("normalized", FORMS)
def test_an_outlier_out_of_reach_of_the_kernel_leaves_finite_scores(normalized):
    # All weights of its edges are zero in double precision; the others still have their structure.
    X = np.vstack([groups(119, 5), np.full((1, 5), 1e4)])
    scores = EVSC(2, n_clusters=3, width=0.2, scale=None, normalized=normalized).fit(X).scores_
    assert np.all(np.isfinite(scores))


@pytest.mark.parametrize("selector", [EVSC(), SPEC(affinity="kernel")])
def test_a_kernel_that_does_not_fit_is_refused_before_anything_else_is_computed(reference, monkeypatch, selector):
    def searched(*args, **kwargs):
        raise AssertionError("neighbours were searched for first")

    X = samples(reference, "syn")
    monkeypatch.setattr("ufselect._utils.memory.memory_limit", lambda: 1e4)
    assert EVSC(n_clusters=4, affinity="neighbors").fit(X).n_features_ >= 1
    monkeypatch.setattr("ufselect.base.graph_selectors.nearest_others", searched)
    with pytest.raises(MemoryError, match=r'80 samples would need .* use affinity="neighbors" or fewer samples'):
        selector.fit(X)
