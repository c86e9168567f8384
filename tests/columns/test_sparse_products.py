"""Dense products of sparse matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.sparse_products import sparse_product, sparse_self_product


@pytest.mark.parametrize("density", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_they_equal_dense_products(density, dtype):
    rng = np.random.default_rng(0)
    A = sp.random_array((1100, 30), density=density, dtype=dtype, rng=rng).toarray()
    B = sp.random_array((30, 20), density=density, format="csc", dtype=dtype, rng=rng)
    A[:, 3] = 1.0  # a column that is filled
    A, dense = sp.csr_array(A), A.astype(np.float64)
    assert_allclose(sparse_product(A, B), dense @ B.toarray(), rtol=0, atol=1e-12 if dtype == np.float64 else 1e-5)
    found = sparse_self_product(A)
    assert_allclose(found, dense @ dense.T, rtol=0, atol=1e-12 if dtype == np.float64 else 1e-5)
    assert_array_equal(found, found.T)
