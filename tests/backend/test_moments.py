"""Moments of blocks, joined, are those of all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal

from ufselect._backend.columns import constant_columns
from ufselect._backend.moments import ColumnMoments


@given(
    arrays.arrays(np.float64, (12, 3), elements=st.floats(-1e6, 1e6, width=32)),
    st.lists(st.integers(1, 11), unique=True, max_size=4),
)
def test_moments_of_blocks_are_those_of_all_rows(X, cuts):
    blocks = np.split(X, sorted(cuts))
    joined = ColumnMoments.joined([ColumnMoments.of_rows(block) for block in blocks], [len(block) for block in blocks])
    assert_array_equal(joined.smallest, X.min(axis=0))
    assert_array_equal(joined.largest, X.max(axis=0))
    size = np.abs(X).max()
    assert_allclose(joined.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12 * size)
    assert_allclose(joined.deviation, X.std(axis=0), rtol=1e-7, atol=1e-12 * size)


@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-300])
def test_squares_that_would_underflow_do_not(scale):
    X = np.random.default_rng(0).standard_normal((40, 2))
    blocks = np.split(scale * X, 4)
    joined = ColumnMoments.joined([ColumnMoments.of_rows(block) for block in blocks], [10] * 4)
    assert_allclose(joined.deviation, scale * X.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("scale", ["standard", "moderate", None])
def test_the_same_columns_are_constant_as_of_an_array(scale):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.standard_normal(50),
            np.full(50, 0.1),
            1e8 + 1e-9 * rng.standard_normal(50),
            1e8 + rng.standard_normal(50),
            1e-170 * rng.standard_normal(50),
            np.zeros(50),
        ]
    )
    found = ColumnMoments.of_rows(X).constant_columns(50, np.finfo(np.float64), scale)
    assert_array_equal(found, constant_columns(X, scale=scale))
