import numpy as np
import pytest
import scipy.sparse as sp
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


@pytest.mark.parametrize("name", DATA)
def test_the_width_of_the_harness_is_as_good_as_binary_weights(reference, name):
    # Its t is a squared distance where a distance is meant.
    X, stored = samples(reference, name), reference(f"lapscore_{name}")
    binary = on_raw_columns(X, weights="binary").laplacian_scores_
    assert_allclose(1.0 - stored["scores_1_minus_ls_t2"], binary, rtol=0, atol=2e-3)
    assert np.abs(on_raw_columns(X, stored["t"]).laplacian_scores_ - binary).max() > 5e-3


@pytest.mark.parametrize("name", ["syn", "wide"])
def test_small_scores_are_the_good_ones(reference, name):
    X, informative = samples(reference, name), reference(f"data_{name}")["informative"]
    selector = on_raw_columns(X, reference(f"lapscore_{name}")["t"])
    assert np.isin(selector.top_features(len(informative)), informative).sum() >= len(informative) - 1
    assert_array_equal(np.argsort(selector.laplacian_scores_, kind="stable"), np.argsort(selector.ranking_))


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


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda X: X + 100.0, id="translation"),
        pytest.param(lambda X: X + 100.0 * np.arange(X.shape[1]), id="translation by column"),
        pytest.param(lambda X: 1e-7 * X, id="small units"),
        pytest.param(lambda X: 1e7 * X, id="large units"),
        pytest.param(lambda X: X * np.where(np.arange(X.shape[1]) % 2, 1.0, -1.0), id="sign"),
    ],
)
@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("name", DATA)
def test_scores_do_not_see(reference, name, scale, changed):
    X = samples(reference, name)
    before, after = (LaplacianScore(5, scale=scale).fit(values).scores_ for values in (X, changed(X)))
    assert_allclose(after, before, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", DATA)
def test_with_the_graph_held_fixed_the_scale_of_a_column_does_not_matter(reference, name):
    X = samples(reference, name)
    A = neighbor_graph(Columns(X), nearest_others(X, 5))
    scale = np.random.default_rng(0).uniform(1e-3, 1e3, X.shape[1])
    before, after = (neighbor_scatters(Columns(values), A) for values in (X, X * scale))
    assert_allclose(after[1] / after[0], before[1] / before[0], rtol=1e-11)


@pytest.mark.parametrize("name", DATA)
def test_only_the_graph_depends_on_the_scaling(reference, name):
    X = samples(reference, name)
    standardised = StandardScaler().fit_transform(X)
    one, other = LaplacianScore(5).fit(X), on_raw_columns(standardised)
    assert_allclose(one.scores_, other.scores_, rtol=0, atol=1e-11)
    A = neighbor_graph(Columns(standardised), nearest_others(standardised, 5))
    between, within = neighbor_scatters(Columns(X), A)
    assert_allclose(one.laplacian_scores_, within / between, rtol=0, atol=1e-11)


def test_centring_only_matters_to_cosines(reference):
    X = samples(reference, "syn")
    differences = {}
    for weights in ("heat", "binary", "cosine"):
        one, other = (LaplacianScore(5, weights=weights, center=center).fit(X).scores_ for center in (True, False))
        differences[weights] = np.abs(one - other).max()
    assert max(differences["heat"], differences["binary"]) < 1e-12
    assert differences["cosine"] > 1e-3


def test_neither_constants_nor_copies_change_the_other_scores(reference):
    X = samples(reference, "syn")
    before = on_raw_columns(X)
    with_constant = on_raw_columns(np.insert(X, 3, 7.0, axis=1))
    assert_allclose(np.delete(with_constant.scores_, 3), before.scores_, rtol=0, atol=1e-12)
    assert with_constant.ranking_[3] == X.shape[1] + 1
    copied = on_raw_columns(np.column_stack([X, X[:, 4]]))
    assert_allclose(copied.scores_[:-1], before.scores_, rtol=0, atol=1e-12)
    assert copied.ranking_[-1] == X.shape[1] + 1


# What comes out


@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_never_varies_between_neighbours_scores_two(seed):
    selector = on_raw_columns(indicators([30, 25, 20], seed))
    assert_allclose(selector.scores_[:3], 2.0, rtol=1e-14)
    assert_array_equal(np.sort(selector.ranking_[:3]), [1, 2, 3])
    assert selector.laplacian_scores_.min() >= 0.0


@pytest.mark.parametrize("name", DATA)
def test_scores_lie_between_zero_and_two(reference, name):
    selector = LaplacianScore().fit(samples(reference, name))
    assert selector.laplacian_scores_.min() >= 0.0
    assert selector.laplacian_scores_.max() <= 2.0
    assert_array_equal(selector.get_support(), selector.scores_ > selector.scores_.mean())


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
@pytest.mark.parametrize("center", [False, True])
def test_sparse_data_give_the_same_scores(reference, layout, weights, center):
    X = samples(reference, "digits200")
    dense, sparse = (LaplacianScore(5, weights=weights, center=center).fit(values) for values in (X, layout(X)))
    assert_allclose(sparse.scores_, dense.scores_, rtol=0, atol=1e-11)
    assert_array_equal(sparse.ranking_, dense.ranking_)


@pytest.mark.parametrize("name", DATA)
def test_single_precision_gives_the_scores_to_its_digits(reference, name):
    X = samples(reference, name).astype(np.float32)
    single, double = LaplacianScore(5).fit(X), LaplacianScore(5).fit(X.astype(np.float64))
    assert single.scores_.dtype == np.float32
    assert_allclose(single.scores_, double.scores_, rtol=0, atol=2e-6)


def test_more_neighbours_than_samples_are_refused(reference):
    with pytest.raises(ValueError, match="n_neighbors=40 must be less than the number of samples, 40"):
        LaplacianScore(n_neighbors=40).fit(samples(reference, "wide"))
