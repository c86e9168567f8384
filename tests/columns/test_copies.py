"""Columns that are exact copies."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ufselect.columns.dense import canonical
from ufselect.columns.in_memory import first_equal_columns
from ufselect.columns.moments import column_extremes

LAYOUTS = [np.asarray, sp.csr_array, sp.csc_array]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_the_first_equal_column_is_found(layout, dtype, seed):
    X = np.random.default_rng(seed).integers(-1, 2, (4, 30)).astype(dtype)
    X[X == 0.0] *= np.random.default_rng(seed).choice([-1, 1], np.sum(X == 0.0))  # minus zero is zero
    expected = [next(i for i in range(30) if np.array_equal(X[:, i], X[:, j])) for j in range(30)]
    given_ = canonical(layout(X))
    assert_array_equal(first_equal_columns(given_, column_extremes(given_)), expected)
