"""A constant added to the columns changes no neighbour and no score, as long as the data still have their digits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_selector import make, may_stop_early, of_every_selector
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from ufselect import FSASL, KernelFSASL, MaxVariance
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

# Multiples of 2⁻¹⁰: to add 2²⁷ ≈ 1.3e8 or 2³³ ≈ 8.6e9 to them is exact in double precision.
PLANTED = np.round(1024.0 * make_planted_clusters(60, 3, 10, 10, random_state=0).X) / 1024.0
OFFSETS = [2.0**27, 2.0**33]


def fit(name, X, **params):
    return make(name, **{"n_clusters": 3, "center": True, **params}).fit(X)


def true_neighbors(X, k):
    distances = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    return np.sort(np.argsort(distances, axis=1, kind="stable")[:, :k], axis=1)


def kept_neighbors(graph, k):
    return np.array([np.sort(graph.indices[a:b])[:k] for a, b in zip(graph.indptr, graph.indptr[1:], strict=False)])


@may_stop_early
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("n", "offset"), [(60, OFFSETS[1]), (1200, OFFSETS[1])])
def test_neighbours_of_data_that_are_not_centred(form, offset, n):
    X = np.round(1024.0 * make_planted_clusters(n, 3, 10, 10, random_state=0).X) / 1024.0
    found = FSASL(5, n_clusters=3, structure="local", spread="row", adaptive=False).fit(form(X + offset))
    assert_array_equal(kept_neighbors(found.neighbor_graph_, 5), true_neighbors(X, 5))


@may_stop_early
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_neighbours_of_single_precision_data_that_are_not_centred(form):
    X = np.round(4.0 * PLANTED) + np.arange(60)[:, None] % 7  # integers: to add 2²⁰ is exact in single precision
    found = FSASL(5, n_clusters=3, adaptive=False, structure="local", spread="row")
    far = found.fit(form((X + 2.0**20).astype(np.float32))).neighbor_graph_
    near = found.fit(form(X.astype(np.float32))).neighbor_graph_
    assert_allclose(far.toarray(), near.toarray(), rtol=0, atol=1e-6)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize(
    ("form", "scale"), [(np.asarray, "standard"), (sp.csr_array, "standard"), (sp.csr_array, None)]
)
def test_offsets_of_columns_change_no_score(name, form, scale):
    X = PLANTED.copy()
    X[:, ::2] *= PLANTED[:, ::2] > 0.0  # some columns with many zeros stay as they are
    shift = np.where(np.arange(20) % 2 == 1, OFFSETS[form is sp.csr_array], 0.0)
    expected, found = fit(name, form(X), scale=scale), fit(name, form(X + shift), scale=scale)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-5, atol=1e-6 * np.abs(expected.scores_).max())
    assert_array_equal(found.top_features(), expected.top_features())


@may_stop_early
@of_every_selector
def test_sparse_data_that_are_not_centred_give_the_dense_result(name):
    dense = fit(name, PLANTED + 100.0, center=False)
    sparse = fit(name, sp.csr_array(PLANTED + 100.0), center=False)
    assert_allclose(sparse.scores_, dense.scores_, rtol=1e-4, atol=1e-4 * np.abs(dense.scores_).max())


# Whole numbers: to add 2²³ or more to them, up to a sum of 2²⁴, is exact in single precision.
COUNTED = np.round(3.0 * PLANTED)
FAR = np.where(np.arange(20) % 2 == 1, 2.0**24 - 2.0**10, 0.0)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("params", [{"scale": None}, {"scale": "standard", "center": False}])
def test_whole_numbers_in_single_precision_keep_their_digits(name, form, params):
    X = COUNTED + FAR
    expected = fit(name, form(X), **params)
    found = fit(name, form(X.astype(np.float32)), **params)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-3, atol=1e-3 * np.abs(expected.scores_).max())


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_whole_numbers_in_single_precision_keep_their_digits_within_batches(name, form):
    form = np.asarray if name in ("MaxVariance", "RUFS") else form  # these refuse a sparse X with batches
    batch = np.arange(60) % 2
    X = COUNTED + FAR + 5.0 * batch[:, None]
    expected = make(name).fit(form(X), batch=batch)
    found = make(name).fit(form(X.astype(np.float32)), batch=batch)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-3, atol=1e-3 * np.abs(expected.scores_).max())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("steps", [np.arange(11), [0, 2, 4, 6, 8, 9, 10, 12, 12]])  # beyond 2²⁴, even numbers are exact
def test_a_column_around_16777212_in_single_precision_is_not_constant(form, steps):
    X = np.random.default_rng(0).standard_normal((200, 4))
    X[:, 2] = 16_777_206 + np.resize(steps, 200)
    assert_array_equal(X[:, 2].astype(np.float32), X[:, 2])
    selector = MaxVariance(1).fit(form(X.astype(np.float32)))
    assert_array_equal(selector.top_features(), [2])
    assert_allclose(selector.scores_, X.var(axis=0, ddof=1), rtol=1e-6)


def unix_seconds(span):
    return 1_700_000_000 + np.linspace(0.0, span, 300)


@pytest.mark.parametrize("column", [unix_seconds(3600.0), unix_seconds(86400.0), 1e6 + PLANTED[:, 0]])
def test_single_precision_that_still_resolves_a_column_keeps_it(column):
    others = np.random.default_rng(0).standard_normal((len(column), 2))
    selector = MaxVariance(1).fit(np.column_stack([others, column]).astype(np.float32))
    assert selector.scores_[2] == pytest.approx(column.var(ddof=1), rel=0.01)


def test_a_column_that_single_precision_cannot_resolve_is_reported():
    noise = np.random.default_rng(0).standard_normal((300, 3))
    X = pd.DataFrame(noise, columns=["a", "b", "seconds"]).assign(seconds=unix_seconds(300.0)).astype(np.float32)
    message = (
        "Column 'seconds' of X varies by no more than float32 resolves at 1.7e\\+09, where its values are 128 apart"
    )
    with pytest.warns(UserWarning, match=message):
        selector = MaxVariance(1).fit(X)
    assert selector.ranking_[2] == 3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rounding_that_left_nothing_is_said_instead_of_constant(form):
    X = np.random.default_rng(0).standard_normal((100, 6)) + 1e8
    message = "constant over 100 samples in float32, which holds no differences below 8 at 1e\\+08: pass X as float64"
    with pytest.raises(ValueError, match=message):
        KernelFSASL(2).fit(form(X.astype(np.float32)))
    MaxVariance(2).fit(X)
