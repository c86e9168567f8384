"""Counts divided by the sum of their sample, and logarithms of them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from ufselect.preprocessing import LogNormalize

SPARSE = [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array]
OTHER_SPARSE = [sp.coo_array, sp.lil_matrix, sp.dok_array, sp.bsr_array]
COUNTS = np.array([[1.0, 3.0, 0.0], [10.0, 30.0, 0.0], [0.0, 2.0, 6.0], [0.0, 0.0, 0.0]])

values = st.integers(0, 2**40) | st.floats(1e-12, 1e12)
samples = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=values)
targets = st.none() | st.floats(1e-3, 1e9)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@parametrize_with_checks([LogNormalize(), LogNormalize(target_sum=1e4)])
def test_the_rules_of_scikit_learn_are_kept(estimator, check):
    assert check(estimator) is None


@given(samples, targets)
def test_rows_sum_to_the_target_before_the_logarithm(X, target):
    transformer = LogNormalize(target).fit(X)
    totals = np.expm1(transformer.transform(X)).sum(axis=1)
    assert_allclose(totals, np.where(X.any(axis=1), transformer.target_sum_, 0.0), rtol=1e-9)


@given(samples, targets, st.sampled_from(SPARSE + OTHER_SPARSE))
def test_sparse_equals_dense(X, target, form):
    stored = form(X)
    result = LogNormalize(target).fit_transform(stored)
    assert result.format == (stored.format if form in SPARSE else "csr")
    assert isinstance(result, sp.sparray) == isinstance(stored, sp.sparray)
    assert_allclose(result.toarray(), LogNormalize(target).fit_transform(X), rtol=1e-12)


@given(samples, st.data())
def test_the_scale_of_a_row_changes_nothing(X, data):
    factors = data.draw(arrays(np.float64, (len(X), 1), elements=st.floats(1e-6, 1e6)))
    transformer = LogNormalize(1e4)
    assert_allclose(transformer.fit_transform(X * factors), transformer.fit_transform(X), rtol=1e-9)


@given(samples, st.sampled_from([np.array, *SPARSE]), st.sampled_from([np.float32, np.float64, np.int64]))
def test_the_data_of_the_caller_are_left_alone(X, form, dtype):
    data = form(np.floor(X).astype(dtype))
    before = data.copy()
    result = LogNormalize().fit_transform(data)
    assert data.dtype == dtype
    assert_array_equal(dense(data), dense(before))
    if sp.issparse(data):
        assert not np.shares_memory(result.indices, data.indices)
        assert_array_equal(data.data, before.data)
        assert_array_equal(data.indices, before.indices)


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.csc_matrix])
def test_single_precision_stays_and_is_rounded_once_and_integers_become_double(form):
    for dtype in (np.float64, np.int8, np.uint32):
        assert LogNormalize().fit_transform(form(COUNTS.astype(dtype))).dtype == np.float64
    X = np.random.default_rng(0).poisson(3.0, (40, 500)).astype(np.float32)
    exact = LogNormalize().fit_transform(X.astype(np.float64))
    assert_array_equal(dense(LogNormalize().fit_transform(form(X))), exact.astype(np.float32), strict=True)


def test_the_target_is_the_median_of_sums_that_are_not_zero():
    assert LogNormalize().fit(COUNTS).target_sum_ == 8.0
    assert LogNormalize(100).fit(COUNTS).target_sum_ == 100.0
    assert LogNormalize().fit(np.zeros((3, 2))).target_sum_ == 1.0
    many_empty = np.vstack([COUNTS, np.zeros((9, 3))])
    assert LogNormalize().fit(many_empty).target_sum_ == 8.0


def test_names_of_a_frame_are_kept():
    frame = pd.DataFrame(COUNTS, columns=["a", "b", "c"], index=["w", "x", "y", "z"])
    result = LogNormalize().set_output(transform="pandas").fit_transform(frame)
    expected = pd.DataFrame(LogNormalize().fit_transform(COUNTS), columns=frame.columns, index=frame.index)
    pd.testing.assert_frame_equal(result, expected)
    assert_array_equal(LogNormalize().fit(frame).get_feature_names_out(), ["a", "b", "c"])


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.csc_matrix])
def test_negative_values_are_refused(form):
    X = form(np.array([[1.0, 0.0], [2.0, -0.5]]))
    with pytest.raises(ValueError, match="Negative values in data"):
        LogNormalize().fit(X)
    with pytest.raises(ValueError, match="Negative values in data"):
        LogNormalize().fit(abs(X)).transform(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(value):
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        LogNormalize().fit([[1.0, value]])


@pytest.mark.parametrize("target", [0, -1.0, np.inf, np.nan, "median"])
def test_targets_that_make_no_sense_are_refused(target):
    with pytest.raises(ValueError, match="'target_sum' parameter of LogNormalize"):
        LogNormalize(target).fit(COUNTS)


def test_the_smallest_and_the_largest_values():
    tiny = np.full((2, 2), 5e-324)
    assert_allclose(LogNormalize(4.0).fit_transform(tiny), np.log1p(np.full((2, 2), 2.0)))
    large = np.full((2, 2), np.finfo(np.float32).max)  # a sum beyond single precision
    assert_allclose(LogNormalize(4.0).fit_transform(large), np.log1p(np.full((2, 2), 2.0)), rtol=1e-6)
    assert LogNormalize().fit_transform(large).dtype == np.float32
    with pytest.raises(ValueError, match="The sum of row 1 of X is too large"):
        LogNormalize().fit([[1.0, 2.0], [1e308, 1e308]])


@given(samples, st.sampled_from([np.array, sp.csr_matrix, sp.csc_array]), st.sampled_from([np.float32, np.float64]))
def test_without_a_copy_the_values_are_replaced(X, form, dtype):
    data = form(X.astype(dtype))
    expected = LogNormalize().fit_transform(data)
    result = LogNormalize(copy=False).fit_transform(data)
    assert result is data
    assert_array_equal(dense(result), dense(expected))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
def test_blocks_of_entries_do_not_change_the_result(form, monkeypatch):
    X = np.random.default_rng(0).poisson(0.4, (30, 7)).astype(float)
    X[[0, 11, 29]] = 0.0
    expected = LogNormalize().fit_transform(X)
    for size in (1, 5, 1000):
        monkeypatch.setattr("ufselect.preprocessing.counts._BLOCK", size)
        assert_allclose(LogNormalize().fit_transform(form(X)).toarray(), expected, rtol=1e-14)
        assert_allclose(LogNormalize().fit_transform(X), expected, rtol=1e-14)
