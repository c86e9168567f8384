"""Moments of blocks, joined, are those of all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.moments import ColumnMoments, constant_columns


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


@pytest.mark.parametrize("scale", ["standard", "moderate", None])
def test_the_same_columns_of_single_precision_are_constant_as_of_an_array(scale):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.standard_normal(50),
            np.full(50, 0.1),
            16_777_200 + np.arange(50) % 11,
            8_000_000 + np.arange(50) % 2,
            1_700_000_000 + 72 * np.arange(50),
            1e6 + rng.standard_normal(50),
            1.0 + 1e-7 * rng.integers(-1, 2, 50),
            1_700_000_000 + 3 * np.arange(50),
        ]
    ).astype(np.float32)
    blocks = [ColumnMoments.of_rows(rows) for rows in np.split(X, 5)]
    with pytest.warns(UserWarning, match=r"Column 7 of X varies by no more than float32 resolves at 1.7e\+09"):
        found = ColumnMoments.joined(blocks, [10] * 5).constant_columns(50, np.finfo(np.float32), scale)
    assert_array_equal(found, [False, True, False, False, False, False, True, True])
    assert_array_equal(found, constant_columns(X, scale=scale))
