"""Spectra less their means, divided by their standard deviations."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from ufselect.preprocessing import SNV

spectra = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=3, max_side=7), elements=st.integers(-1000, 1000)
).filter(lambda X: np.ptp(X, axis=1).min() > 0)


CONSTANT = {"check_estimators_dtypes": "its random integers have constant rows, which SNV refuses"}


@parametrize_with_checks([SNV()], expected_failed_checks=lambda _: CONSTANT)
def test_the_rules_of_scikit_learn_are_kept(estimator, check):
    assert check(estimator) is None


@given(spectra, st.data())
def test_neither_offset_nor_size_of_a_spectrum_is_left(X, data):
    found = SNV().fit_transform(X)
    assert_allclose(found.mean(axis=1), 0.0, atol=1e-12)
    assert_allclose(found.std(axis=1, ddof=1), 1.0)
    sizes = data.draw(arrays(np.float64, (len(X), 1), elements=st.floats(1e-3, 1e3)))
    offsets = data.draw(arrays(np.float64, (len(X), 1), elements=st.integers(-1000, 1000)))
    assert_allclose(SNV().fit_transform(sizes * (X + offsets)), found, atol=1e-9)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e300])
def test_tiny_and_huge_spectra_are_as_good_as_others(size):
    X = np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 2.0]])
    assert_allclose(SNV().fit_transform(X * size), SNV().fit_transform(X), rtol=1e-9)


def test_values_are_computed_in_double_precision_and_names_stay():
    X = np.random.default_rng(0).normal(1e4, 1.0, (50, 30)).astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"{band} nm" for band in range(30)])
    transformer = SNV().set_output(transform="pandas")
    found = transformer.fit_transform(frame)
    assert list(found) == list(frame)
    assert set(found.dtypes) == {np.dtype(np.float32)}
    assert_array_equal(found, SNV().fit_transform(X.astype(np.float64)).astype(np.float32))


def test_what_cannot_be_divided_is_one_sentence():
    X = np.random.default_rng(0).normal(size=(6, 5))
    X[[3, 5]] = 0.1
    with pytest.raises(
        ValueError, match=r"^Row 3 of X is constant, so SNV has nothing to divide it by; leave it out\.$"
    ):
        SNV().fit_transform(X)
    with pytest.raises(TypeError, match="Sparse data"):
        SNV().fit(sp.csr_array(X))
