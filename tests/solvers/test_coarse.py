import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.solvers.coarse import Projection, in_single_precision


def data():
    rng = np.random.default_rng(0)
    return Columns(rng.random((50, 80))), rng.random((3, 80)), rng.standard_normal((3, 80))


def test_a_copy_in_single_precision_is_near_and_sparse_columns_stay():
    X = data()[0].less_means()
    coarse = in_single_precision(X)
    assert coarse.dtype == np.float32
    assert coarse.centered
    assert_allclose(coarse.values, X.values, rtol=1e-6)
    assert in_single_precision(coarse) is coarse
    sparse = Columns(sp.csc_array(X.values))
    assert in_single_precision(sparse) is sparse


def test_errors_of_single_precision_are_those_of_the_changes_only():
    X, F, direction = data()
    projected = Projection(X, in_single_precision(X))
    assert_array_equal(projected(F), X @ F.T)
    for _ in range(10):
        F = F + 1e-4 * direction
        exact = X @ F.T
        assert np.abs(projected(F) - exact).max() < 1e-9 * np.abs(exact).max()
    assert np.abs(in_single_precision(X) @ F.T - exact).max() > 1e-9 * np.abs(exact).max()


def test_many_small_changes_end_in_a_product_of_full_precision():
    X, F, direction = data()
    projected = Projection(X, in_single_precision(X))
    projected(F)
    exact = []
    for _ in range(60):
        F = F + 1e-3 * direction
        exact.append(np.array_equal(projected(F), X @ F.T))
    assert 1 <= sum(exact) <= 10


def test_a_large_change_is_multiplied_in_full_precision():
    X, F, direction = data()
    projected = Projection(X, in_single_precision(X))
    projected(F)
    assert_array_equal(projected(F + direction), X @ (F + direction).T)


def test_without_a_copy_every_product_has_full_precision():
    X, F, direction = data()
    projected = Projection(X, X)
    for size in (0.0, 1e-6, 1.0):
        moved = F + size * direction
        assert_array_equal(projected(moved), X @ moved.T)
        assert projected(moved) is projected(moved)
