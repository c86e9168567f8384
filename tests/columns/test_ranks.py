"""Ranks of the values of columns, within strata and of sparse columns."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata

from ufselect.columns.ranks import centered_ranks

VALUES = arrays.arrays(np.float64, (9, 3), elements=st.sampled_from([-1e300, -2.0, 0.0, -0.0, 0.5, 3.0, 1e9]))


@given(VALUES, arrays.arrays(np.intp, 9, elements=st.integers(0, 2)))
def test_ranks_are_shares_of_a_stratum_less_their_mean_and_blind_to_increasing_functions(X, labels):
    strata = np.unique(labels, return_inverse=True)[1]
    found = centered_ranks(X, strata)
    for stratum in range(strata.max() + 1):
        members = strata == stratum
        assert_allclose(found[members], centered_ranks(X[members], np.zeros(members.sum(), dtype=int)))
        expected = [rankdata(column) / members.sum() for column in X[members].T]
        assert_allclose(np.diff(found[members], axis=0), np.diff(np.transpose(expected), axis=0), atol=1e-12)
        assert_allclose(found[members].sum(axis=0), 0.0, atol=1e-12)
    assert_array_equal(centered_ranks(np.cbrt(X) - 7.0, strata), found)


@given(VALUES, arrays.arrays(np.bool_, (9, 3)))
def test_missing_values_have_the_mean_of_the_ranks_of_the_others(X, missing):
    found = centered_ranks(np.where(missing, np.nan, X), np.zeros(9, dtype=int))
    assert_array_equal(found[missing], 0.0)
    for j in np.flatnonzero(~missing.all(axis=0)):
        known = X[~missing[:, j], j]
        assert_allclose(found[~missing[:, j], j], centered_ranks(known[:, None], np.zeros(len(known), dtype=int))[:, 0])


@given(VALUES)
def test_sparse_ranks_are_dense_ones_less_that_of_zero(X):
    stored = sp.csr_array(X)
    before = stored.data.copy()
    found = centered_ranks(stored, np.zeros(9, dtype=int)).toarray()
    dense = centered_ranks(X, np.zeros(9, dtype=int))
    assert_array_equal(np.sign(found), np.sign(X))
    assert_allclose(found - found[0], dense - dense[0], atol=1e-12)
    assert_array_equal(stored.data, before)
