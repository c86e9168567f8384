"""Neighbours among samples of which many are equal."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.equal_samples import equal_samples
from ufselect.graphs.neighbors import NeighborSearch

SEEDS = st.integers(0, 2**32 - 1)


def pairs(tied):
    return set(zip(*(each.tolist() for each in tied), strict=True))


@given(seed=SEEDS, n=st.integers(4, 40), d=st.integers(1, 3), levels=st.integers(1, 4), count=st.integers(1, 6))
def test_they_are_those_of_a_search_among_all_samples(seed, n, d, levels, count):
    rng = np.random.default_rng(seed)
    points, count = rng.integers(levels, size=(n, d)) / 4.0, min(count, n - 1)
    among_all, among_different = NeighborSearch(points), NeighborSearch(points)
    among_all.__dict__["_equal"] = None
    among_different.__dict__["_equal"] = equal_samples(points, 0)
    one, other = (search.nearest(count, with_ties=True) for search in (among_all, among_different))
    assert_array_equal(other.squared_distances, one.squared_distances)
    assert_array_equal(other.index, one.index)
    assert pairs(other.tied) == pairs(one.tied)
    some = np.flatnonzero(rng.random(n) < 0.5)
    assert_array_equal(among_different.nearest(count, some).index, one.index[some])


def test_sets_are_numbered_by_their_first_sample():
    points = np.array([[2.0, 0.0], [-0.0, 1.0], [2.0, -0.0], [0.0, 1.0], [2.0, 0.0]])
    equal = equal_samples(points, 2)
    assert_array_equal(equal.codes, [0, 1, 0, 1, 0])
    assert_array_equal(equal.firsts, [0, 1])
    assert_array_equal(equal.of(1), [1, 3])
    assert equal_samples(points, 3) is None


@pytest.mark.parametrize("sparse", [False, True])
def test_many_cells_without_any_of_a_few_genes_have_a_graph(sparse):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.05, (3000, 10)).astype(float)  # more than half of the rows are zero
    P = adaptive_neighbors(sp.csr_array(X) if sparse else X, 15).P
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    rows, columns = P.nonzero()
    assert_array_equal(X[rows[X[rows].sum(axis=1) == 0]], X[columns[X[rows].sum(axis=1) == 0]])
