"""The test of columns: what does not change its result."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from ufselect.significance import column_significance

rng = np.random.default_rng(0)
GROUPED = rng.poisson(0.4, (90, 60)).astype(float)
GROUPED[:45, :8] += rng.poisson(3.0, (45, 8))


@pytest.mark.parametrize("n_features", [8, 25, 60])
def test_sparse_columns_have_the_p_values_of_dense_ones(n_features):
    """With few columns and many dimensions of structure, dense columns are permuted rather than the structure."""
    X = GROUPED[:, :n_features]
    dense, sparse = column_significance(X), column_significance(sp.csr_array(X))
    assert dense.n_found > 0
    assert_array_equal(dense.p_values, sparse.p_values)


def test_an_excluded_copy_is_not_found():
    X = np.column_stack([GROUPED, GROUPED[:, 3], GROUPED[:, 5]])
    tested = column_significance(X, exclude=[3, 61])
    assert tested.found[60]
    assert_array_equal(tested.q_values[[3, 61]], 1.0)
    assert not tested.tested[[3, 61]].any()
