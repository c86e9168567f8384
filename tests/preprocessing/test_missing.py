"""Missing values: what filling leaves alone, what it recovers, and what it does not invent."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.preprocessing import MissingValues, missing

NAN = np.nan
VALUES = st.floats(-1e9, 1e9) | st.sampled_from([0.0, 1.0, NAN, NAN, NAN, 1e200, -1e200])
TABLES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=VALUES)


def filled(X):
    return MissingValues().fit(X).transform(X)


def three_factors(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.3 * rng.standard_normal((n, d))


def at_random(shape, share=0.2):
    return np.random.default_rng(1).random(shape) < share


def in_a_block(shape, share=0.2):
    rng = np.random.default_rng(1)
    return (rng.random(shape[0]) < share**0.5)[:, None] & (rng.random(shape[1]) < share**0.5)


PATTERNS = pytest.mark.parametrize("holes", [at_random, in_a_block])
SHAPES = pytest.mark.parametrize("shape", [(200, 30), (60, 150)], ids=["long", "wide"])


@given(TABLES, st.sampled_from([np.float64, np.float32]))
def test_observed_values_stay_and_others_are_within_the_range_of_their_column(X, dtype):
    X = np.clip(X, -1e30, 1e30).astype(dtype) if dtype is np.float32 else X
    before, holes = X.copy(), np.isnan(X)
    found = filled(X)
    assert found.dtype == dtype
    assert_array_equal(X, before)
    assert_array_equal(found[~holes], X[~holes])
    for column, values in zip(found.T, X.T, strict=True):
        known = values[~np.isnan(values)]
        if len(known):
            assert known.min() <= column.min() <= column.mean(dtype=np.longdouble) <= column.max() <= known.max()
        else:
            assert_array_equal(column, 0.0)


def test_complete_data_come_back_as_they_are_and_new_holes_are_filled_by_what_was_learned():
    X = three_factors(200, 30)
    learned = MissingValues().fit(X)
    assert learned.transform(X) is X
    new, holes = three_factors(200, 30), at_random((200, 30))
    new[holes] = NAN
    found = learned.transform(new)
    assert np.mean((found - X)[holes] ** 2) < 0.1 * X.var()
    assert_allclose(learned.transform(new[7:8]), found[7:8], rtol=1e-3)
    assert_array_equal(pickle.loads(pickle.dumps(learned)).transform(new), found)
    assert_array_equal(MissingValues().fit(X).transform(new), found)
    nothing = np.full((1, 30), NAN)
    assert_allclose(learned.transform(nothing)[0], X.mean(axis=0))


@PATTERNS
@SHAPES
def test_what_columns_share_is_recovered(shape, holes):
    X, gone = three_factors(*shape), holes(shape)
    found = filled(np.where(gone, NAN, X))
    assert np.mean((found - X)[gone] ** 2) < 0.15 * np.mean((X - X.mean(axis=0))[gone] ** 2)


@PATTERNS
@SHAPES
def test_independent_columns_get_values_near_their_means(shape, holes):
    X = np.random.default_rng(0).standard_normal(shape)
    gone = holes(shape)
    means = np.mean(X, axis=0, where=~gone)
    assert np.mean((filled(np.where(gone, NAN, X)) - means)[gone] ** 2) < 0.03


def test_a_column_that_others_do_not_predict_gets_its_mean_and_predicts_nothing():
    noise = np.random.default_rng(3).standard_normal((200, 3))
    X = np.hstack([three_factors(200, 30), noise])
    X[:50, 28:] = NAN
    found = filled(X)
    unpredicted = np.ptp(found[:50, 30:], axis=0) == 0.0
    assert unpredicted.any()
    assert np.ptp(found[:50, 28:30], axis=0).min() > 1.0
    X[:, 30:][:, unpredicted] *= np.linspace(-1, 1, 200)[:, None]
    assert_allclose(filled(X)[:50, 28:30], found[:50, 28:30], rtol=1e-3, atol=1e-3)


@SHAPES
@given(order=st.randoms(use_true_random=False), factor=st.floats(1e-6, 1e6), shift=st.floats(-1e3, 1e3))
def test_the_order_and_the_units_of_columns_do_not_matter(shape, order, factor, shift):
    X = np.where(at_random(shape), NAN, three_factors(*shape))
    expected, columns = filled(X), order.sample(range(shape[1]), shape[1])
    assert_allclose(filled(X[:, columns]), expected[:, columns], atol=2e-3)
    assert_allclose(filled(factor * (X + shift)) / factor - shift, expected, atol=2e-3)


@pytest.mark.parametrize("X", [[[1.0], [NAN], [3.0]], [[NAN, 2.0]], [[NAN, NAN]], [[5.0, 1.0], [NAN, 2.0], [5.0, 3.0]]])
def test_too_little_to_learn_from_leaves_the_mean(X):
    X = np.array(X)
    expected = [0.0 if np.isnan(column).all() else np.nanmean(column) for column in X.T]
    assert_array_equal(filled(X), np.where(np.isnan(X), expected, X))


# What it solves


@SHAPES
def test_filled_values_are_conditional_means(shape):
    """Σₘₒ Σₒₒ⁻¹ zₒ, the minimum of zᵀΣ⁻¹z over what is missing."""
    gone = at_random(shape)
    Z = np.where(gone, 0.0, three_factors(*shape)).astype(np.float32)
    own = np.linspace(0.1, 1.0, shape[1]).astype(np.float32)
    G = np.float64(Z) * np.sqrt((1.0 - own) / len(Z))
    covariance = G.T @ G + np.diag(np.maximum(1.0 - np.sum(G**2, axis=0), own))
    precision = missing._Precision.of(Z, own)
    assert_allclose(precision.times(covariance.astype(np.float32)), np.eye(shape[1]), atol=1e-4)
    assert_allclose(precision.diagonal, np.diag(np.linalg.inv(covariance)), rtol=1e-4)
    found = missing._most_likely(Z, gone, precision, 50)
    for row, m in zip(found, gone, strict=True):
        expected = covariance[np.ix_(m, ~m)] @ np.linalg.solve(covariance[np.ix_(~m, ~m)], row[~m])
        assert_allclose(row[m], expected, atol=5e-3)


@pytest.mark.parametrize("shape", [(25, 6), (12, 30)], ids=["long", "wide"])
def test_errors_are_those_of_ridge_regressions_without_the_row(shape):
    n, d = shape
    gone = at_random(shape)
    Z = np.where(gone, 0.0, three_factors(n, d))
    Z = np.where(gone, 0.0, Z - Z.sum(axis=0) / (~gone).sum(axis=0))
    found = missing._prediction_errors(Z.astype(np.float32), gone)
    for errors, share in zip(found, missing._OWN_SHARES, strict=True):
        penalty, residuals = share * n / (1.0 - share), np.zeros(shape)
        for i, j in np.argwhere(~gone):
            rest = np.delete(np.delete(Z, i, 0), j, 1)
            A = rest - (means := rest.mean(axis=0))
            target = np.delete(Z[:, j], i)
            weights = np.linalg.solve(A.T @ A + penalty * np.eye(d - 1), A.T @ (target - target.mean()))
            residuals[i, j] = Z[i, j] - target.mean() - (np.delete(Z[i], j) - means) @ weights
        assert_allclose(errors, np.sum(residuals**2, axis=0) / np.sum(Z**2, axis=0), rtol=1e-3)
