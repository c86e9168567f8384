"""The kernel of a graph as a target."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.smooth_target import directions, smooth_target, weights_of


def laplacian(n, seed=0):
    points = np.random.default_rng(seed).standard_normal((n, 3))
    points[: n // 2] += 3.0
    return structure_laplacian(None, adaptive_neighbors(points, 5).P, 1.0)


@pytest.mark.parametrize("n", [80, 600])
def test_the_kernel_is_that_of_the_smallest_eigenvalues(n):
    L = laplacian(n)
    T = smooth_target(L, nontrivial=True)
    values, vectors = np.linalg.eigh(L.toarray() + 10.0 / n)
    q = directions(n)
    expected = (vectors[:, :q] * weights_of(values[:q])) @ vectors[:, :q].T
    assert T.shape == (n, q)
    assert np.linalg.norm(T @ T.T - expected) <= 0.02 * np.linalg.norm(expected)
    assert_allclose(T.sum(axis=0), 0.0, rtol=0, atol=1e-8)


def test_directions_fade_and_none_is_cut_off():
    weights = weights_of(np.linspace(0.0, 2.0, 50))
    assert weights[0] == pytest.approx(1.0)
    assert np.all(np.diff(weights) < 0.0)
    assert weights[-1] > 0.0


def test_separate_parts_of_a_graph_count_fully():
    P = sp.block_diag([np.full((4, 4), 0.25)] * 5, format="csr")
    T = smooth_target(structure_laplacian(None, sp.csr_array(P), 1.0), nontrivial=True)
    assert_allclose(np.sort(np.linalg.norm(T, axis=0))[::-1][:4], 1.0, rtol=1e-12)


def test_few_samples_have_few_directions():
    assert [directions(n) for n in (3, 8, 40, 240, 10**6)] == [2, 2, 10, 60, 60]
