import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from ufselect import SPEC, LaplacianScore
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import NormalizedLaplacian, neighbor_scatters
from ufselect.graphs.neighbors import nearest_others, neighbor_graph

DATA = ["syn", "wide", "digits200nc"]


def samples(reference, name):
    """X of a stored data set; digits200nc is digits200 without its constant columns."""
    stored = reference(f"data_{name.removesuffix('nc')}")
    X = stored["X"].astype(np.float64)
    return X[:, stored["nonconstant"]] if name.endswith("nc") else X


def on_raw_columns(X, t=None, **params):
    """The score on the columns as they are, with t the width itself."""
    width = 1.0 if t is None else float(t) / np.sqrt(Columns(X).mean_squared_distance())
    return LaplacianScore(5, scale=None, center=False, width=width, **params).fit(X)


def indicators(sizes, seed):
    """Columns that tell groups apart without fail, and as many of noise."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    told = 10.0 * np.eye(len(sizes))[group]
    return np.hstack([told, 0.1 * np.random.default_rng(seed).standard_normal(told.shape)])


# The authors' program


@pytest.mark.parametrize("name", [*DATA, "digits200"])
def test_scores_are_those_of_the_authors(reference, name):
    X, stored = samples(reference, name), reference(f"lapscore_{name}")
    informative = np.ptp(X, axis=0) > 0.0
    for t, scores in (("t", "scores_1_minus_ls"), ("t2", "scores_1_minus_ls_t2")):
        ours = on_raw_columns(X, stored[t]).laplacian_scores_
        assert_allclose(1.0 - ours[informative], stored[scores][informative], rtol=0, atol=1e-9)
    ours = on_raw_columns(X, stored["t"]).laplacian_scores_
    assert_allclose(ours[informative], stored["exact_ls"][informative], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", DATA)
def test_the_ranking_is_that_of_the_authors(reference, name):
    X, stored = samples(reference, name), reference(f"lapscore_{name}")
    assert_array_equal(np.argsort(on_raw_columns(X, stored["t"]).ranking_), stored["ranking"])


def test_constants_come_last_where_the_authors_rank_them_as_neutral(reference):
    X, stored = samples(reference, "digits200"), reference("lapscore_digits200")
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0.0)
    selector = on_raw_columns(X, stored["t"])
    assert_array_equal(np.sort(selector.ranking_[constant]), np.arange(54, 65))
    assert_array_equal(selector.scores_[constant], 0.0)
    assert_array_equal(selector.laplacian_scores_[constant], 2.0)
    assert_array_equal(stored["scores_1_minus_ls"][constant], 0.0)
    assert np.all(np.isnan(stored["exact_ls"][constant]))
    assert not np.isin(stored["ranking"][-3:], constant).any()


# Identities


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
def test_the_score_is_the_second_criterion_of_spec(reference, name, scale, weights):
    X = samples(reference, name)
    ours = LaplacianScore(5, scale=scale, weights=weights).fit(X)
    other = SPEC(5, criterion="phi2", n_clusters=3, scale=scale, weights=weights).fit(X)
    assert_allclose(ours.scores_, other.scores_, rtol=0, atol=1e-12)
    assert_array_equal(ours.ranking_, other.ranking_)


@pytest.mark.parametrize("name", DATA)
def test_the_mean_over_a_basis_is_the_mean_eigenvalue(reference, name):
    # Of D-orthonormal columns that are D-orthogonal to the constant: tr(Lₙ)/(n − 1).
    X = Columns(samples(reference, name))
    A = neighbor_graph(X, nearest_others(X, 5))
    L = NormalizedLaplacian(A)
    n = X.shape[0]
    start = np.column_stack([L.trivial_vector(), np.random.default_rng(0).standard_normal((n, n - 1))])
    basis = np.linalg.qr(start)[0][:, 1:] / np.sqrt(L.degrees)[:, None]
    between, within = neighbor_scatters(Columns(basis), A)
    assert_allclose(between, 1.0, rtol=1e-10)
    assert_allclose(np.mean(within / between), np.trace(L.toarray()) / (n - 1), rtol=1e-10)


@pytest.mark.parametrize("name", DATA)
def test_scores_follow_the_formula_sample_by_sample(reference, name):
    X = samples(reference, name)
    A = neighbor_graph(Columns(X), nearest_others(X, 5)).toarray()
    D = A.sum(axis=1)
    deviations = X - D @ X / D.sum()
    expected = [
        0.5 * np.sum(A * np.subtract.outer(f, f) ** 2) / (D @ deviation**2)
        for f, deviation in zip(X.T, deviations.T, strict=True)
    ]
    assert_allclose(on_raw_columns(X).laplacian_scores_, expected, rtol=0, atol=1e-12)


# Invariances


@pytest.mark.parametrize("name", DATA)
def test_only_the_graph_depends_on_the_scaling(reference, name):
    X = samples(reference, name)
    standardised = StandardScaler().fit_transform(X)
    one, other = LaplacianScore(5).fit(X), on_raw_columns(standardised)
    assert_allclose(one.scores_, other.scores_, rtol=0, atol=1e-11)
    A = neighbor_graph(Columns(standardised), nearest_others(standardised, 5))
    between, within = neighbor_scatters(Columns(X), A)
    assert_allclose(one.laplacian_scores_, within / between, rtol=0, atol=1e-11)


# What comes out


@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_never_varies_between_neighbours_scores_two(seed):
    selector = on_raw_columns(indicators([30, 25, 20], seed))
    assert_allclose(selector.scores_[:3], 2.0, rtol=1e-14)
    assert_array_equal(np.sort(selector.ranking_[:3]), [1, 2, 3])
    assert selector.laplacian_scores_.min() >= 0.0


def test_more_neighbours_than_samples_are_refused(reference):
    with pytest.raises(ValueError, match="n_neighbors=40 must be less than the number of samples, 40"):
        LaplacianScore(n_neighbors=40).fit(samples(reference, "wide"))
