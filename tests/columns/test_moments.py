"""Statistics of columns, of blocks of rows as well, and which columns are constant up to rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.moments import ColumnMoments, column_moments, constant_columns

LAYOUTS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix]


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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_moments_keep_their_digits_beside_a_large_offset(layout, offset):
    values = np.round(np.random.default_rng(0).standard_normal((50, 3)) * 1024) / 1024 + offset
    mean, variance = column_moments(layout(values))
    assert_allclose(mean, offset + (values - offset).mean(axis=0), rtol=1e-14, atol=1e-14)
    assert_allclose(variance, (values - offset).var(axis=0), rtol=1e-6)


def columns_to_judge(dtype):
    """Columns by name, and whether they are constant."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(60)
    eps = np.finfo(dtype).eps
    return {
        "zeros": (np.zeros(60), True),
        "one value": (np.full(60, 0.1), True),
        "one negative value": (np.full(60, -7e8), True),
        "large offset with the rounding of its sum": (1e8 * (1.0 + eps * rng.integers(-1, 2, 60)), True),
        "tiny value with rounding": (1e-12 * (1.0 + eps * rng.integers(-1, 2, 60)), True),
        "noise": (noise, False),
        "tiny noise": (1e-12 * noise, False),
        "small changes beside a large offset": (1e8 * (1.0 + 1e3 * eps * noise), False),
        "one entry of many": (np.where(np.arange(60) == 17, 1.0, 0.0), False),
        "one tiny entry of many": (np.where(np.arange(60) == 17, 1e-12, 0.0), False),
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(columns_to_judge(np.float64)))
def test_a_column_is_constant_when_it_differs_by_rounding_only(layout, dtype, name):
    column, constant = columns_to_judge(dtype)[name]
    values = np.column_stack([np.arange(60.0), column]).astype(dtype)
    assert_array_equal(constant_columns(layout(values)), [False, constant])


@settings(max_examples=50)
@given(
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
    value=st.floats(-100, 100, allow_subnormal=False),
    seed=st.integers(0, 99),
)
def test_scaling_a_matrix_does_not_change_which_columns_are_constant(scale, value, seed):
    rng = np.random.default_rng(seed)
    values = scale * np.column_stack([np.full(12, value), rng.standard_normal(12), value + rng.standard_normal(12)])
    for layout in (np.asarray, sp.csr_array, sp.csc_array):
        assert_array_equal(constant_columns(layout(values)), [True, False, False])
