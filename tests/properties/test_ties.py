"""Tables full of ties: neither storage nor the order of the samples changes what is learned from them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import ufselect
from ufselect.columns.dense import Columns
from ufselect.graphs.adaptive import adaptive_neighbors

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

N_TABLES = 200
AT_ONCE = 20
# What ties leave open in the other methods is listed in docs/methods.md.
SAME_FROM_SPARSE = list(ufselect.__all__)
SAME_FROM_SPARSE_ONE_HOT = [name for name in SAME_FROM_SPARSE if name != "UDFS"]
SAME_IN_ANY_ORDER = ["EVSC", "KernelFSASL", "MRSF", "MaxVariance", "SPFS"]
# Row-sparse regression stops at violations of 1e-4; which it leaves depends on the basis of a repeated eigenvalue.
PRECISION = {"FSASL": 1e-3, "KernelFSASL": 1e-3, "GLSPFS": 1e-3}
some_tables = pytest.mark.parametrize("first", range(0, N_TABLES, AT_ONCE))


def one_hot(rng, n):
    sizes = rng.integers(2, 9, size=rng.integers(2, 6))
    return np.hstack([np.eye(size)[rng.integers(0, size, n)] for size in sizes])


def binary(rng, n):
    return (rng.random((n, rng.integers(4, 40))) < rng.uniform(0.1, 0.6)).astype(np.float64)


def integers(rng, n):
    return rng.integers(0, rng.integers(3, 6), size=(n, rng.integers(3, 40))).astype(np.float64)


def duplicated_rows(rng, n):
    """Every sample some times, so that some have more copies than neighbours."""
    samples = rng.standard_normal((max(n // 4, 6), rng.integers(4, 40)))
    return samples[rng.integers(0, len(samples), n) ** 2 // len(samples)]


KINDS = (one_hot, binary, integers, duplicated_rows)


def table(number):
    """A table by its number, with the order in which its samples are compared."""
    rng = np.random.default_rng(number)
    X = KINDS[number % 4](rng, int(rng.integers(24, 60)))
    X = X[:, np.ptp(X, axis=0) > 0.0]
    return X, rng.permutation(len(X))


def fitted(name, X):
    """Fit with those of the parameters that the method has; a difference shows after a few iterations."""
    selector = getattr(ufselect, name)(3)
    known = {"n_clusters": 3, "max_iter": 10}
    known = {key: value for key, value in known.items() if key in selector.get_params()}
    return selector.set_params(**known).fit(X)


def assert_same_scores(name, X, other):
    expected = fitted(name, X).scores_
    precision = PRECISION.get(name, 1e-6) * np.abs(expected).max()
    assert_allclose(fitted(name, other).scores_, expected, rtol=0, atol=precision, err_msg=name)


@some_tables
@pytest.mark.parametrize("spread", ["row", "mean"])
def test_neighbours_are_probabilities_that_depend_on_neither_storage_nor_order(first, spread):
    for number in range(first, first + AT_ONCE):
        X, order = table(number)
        forms = [X, sp.csr_array(X), X[order]]
        dense, sparse, turned = (
            adaptive_neighbors(Columns.prepared(form, center=True, scale="standard"), 5, spread=spread).P
            for form in forms
        )
        assert dense.data.min() >= 0.0
        assert dense.data.max() <= 1.0
        assert_allclose(dense.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert_allclose(sparse.toarray(), dense.toarray(), rtol=0, atol=1e-9)
        assert_allclose(turned.toarray(), dense.toarray()[order][:, order], rtol=0, atol=1e-9)


@some_tables
def test_scores_do_not_depend_on_storage(first):
    for number in range(first, first + AT_ONCE):
        X, _ = table(number)
        names = SAME_FROM_SPARSE_ONE_HOT if KINDS[number % 4] is one_hot else SAME_FROM_SPARSE
        assert_same_scores(names[number // 4 % len(names)], X, sp.csr_array(X))


@some_tables
def test_scores_do_not_depend_on_the_order_where_no_choice_among_ties_is_made(first):
    for number in range(first, first + AT_ONCE):
        X, order = table(number)
        assert_same_scores(SAME_IN_ANY_ORDER[number // 4 % len(SAME_IN_ANY_ORDER)], X, X[order])
