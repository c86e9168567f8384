"""Principal components on columns of any kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from ufselect.columns.dense import Columns
from ufselect.graphs.components import principal_components


def columns(shape, seed=0, layout=np.asarray):
    """A few strong components and noise."""
    rng = np.random.default_rng(seed)
    n, d = shape
    X = rng.standard_normal((n, 5)) * [50, 40, 30, 20, 10] @ rng.standard_normal((5, d)) / np.sqrt(d)
    X += 0.1 * rng.standard_normal(shape)
    return Columns.prepared(layout(X), center=True, scale=None)


@pytest.mark.parametrize("with_gram", [False, True])
@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (700, 600), (600, 700)], ids=str)
def test_distances_are_those_of_the_singular_vectors(shape, with_gram):
    X = columns(shape)
    left, size, _ = np.linalg.svd(X.values, full_matrices=False)
    expected = left[:, :5] * size[:5]
    found = principal_components(X, 5, gram=X.gram() if with_gram else None)
    assert_allclose(np.abs(found), np.abs(expected), rtol=0, atol=1e-6 * size[0])


def test_there_are_no_more_components_than_samples_or_columns():
    assert principal_components(columns((40, 12)), 30).shape == (40, 12)
    assert principal_components(columns((12, 40)), 30).shape == (12, 11)  # the twelfth has no variance


def test_sparse_columns_have_the_same_components_and_stay_sparse():
    values = sp.random_array((700, 900), density=0.05, random_state=np.random.default_rng(0))
    values = sp.csc_array(values + sp.csc_array(np.outer(np.arange(700) < 50, np.arange(900) < 40) * 3.0))
    sparse = Columns.prepared(values, center=True, scale="moderate")
    dense = Columns.prepared(values.toarray(), center=True, scale="moderate")
    assert sp.issparse(sparse.values)
    assert_allclose(principal_components(sparse, 3), principal_components(dense, 3), rtol=0, atol=1e-8)


def test_the_order_of_the_columns_matters_by_rounding_only():
    X = columns((600, 700))
    order = np.random.default_rng(0).permutation(700)
    turned = principal_components(X.subset(order), 5)
    assert_allclose(np.abs(turned), np.abs(principal_components(X, 5)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_array])
def test_components_that_tie_with_the_last_are_included(layout):
    X = Columns.prepared(layout(np.eye(60)), center=True, scale=None)
    found = principal_components(X, 30)
    assert found.shape == (60, 59)
    apart = found[:, None] - found
    assert_allclose(np.sum(apart**2, axis=2), 2.0 * X.squared_norms()[0] / (1.0 - 1.0 / 60.0) * (1.0 - np.eye(60)))


@pytest.mark.parametrize("shape", [(12, 200), (12, 20)], ids=str)
def test_equal_samples_have_equal_components(shape):
    values = np.repeat(np.random.default_rng(0).standard_normal(shape), 6, axis=0)
    found = principal_components(Columns.prepared(values, center=True, scale=None), 30)
    assert_allclose(found, np.repeat(found[::6], 6, axis=0), rtol=0, atol=0)
    assert found.shape == (72, 11)  # others have no variance
