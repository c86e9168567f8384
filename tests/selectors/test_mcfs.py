import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from problems import CLUSTERS, relative_width, samples
from sklearn.preprocessing import StandardScaler

from ufselect import MCFS
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.solvers.lars import lasso_of_size

# On digits an eigenvalue is repeated: any turn of its vectors is as good, and the scores depend on it.
where_vectors_are_unique = pytest.mark.parametrize("name", ["syn", "wide"])


def as_published(reference, name, size):
    """Raw columns and the width of the stored run."""
    X = samples(reference, name)
    width = relative_width(X, reference(f"mcfs_{name}")["t"])
    params = {"n_clusters": CLUSTERS[name], "n_nonzero": size, "width": width, "scale": None, "center": False}
    return MCFS(size, **params).fit(X)


def planted():
    return make_planted_clusters(120, 4, 20, 40, random_state=0)


# The authors' arrays


@where_vectors_are_unique
@pytest.mark.parametrize("size", [5, 10, 20])
def test_with_the_choices_of_the_authors_it_gives_their_scores(reference, name, size):
    stored = reference(f"mcfs_{name}")
    selector = as_published(reference, name, size)
    # They add a ridge of 0.001 to the Gram matrix, we none: that is 5e-5 in a score.
    assert_allclose(selector.scores_, stored[f"scores{size}"], rtol=0, atol=1e-4)
    assert len(set(selector.top_features()) & set(stored[f"idx{size}"])) >= size - 1


# Where it departs from them


def test_order_of_samples_does_not_matter_where_an_eigenvalue_is_repeated(reference):
    X = samples(reference, "digits200nc")
    order = np.random.default_rng(0).permutation(len(X))
    selector, permuted = (MCFS(10, n_clusters=10, n_nonzero=10).fit(values) for values in (X, X[order]))
    assert_allclose(permuted.scores_, selector.scores_, rtol=0, atol=1e-8)


# The sub-problems


@pytest.mark.parametrize(("name", "center"), [("syn", True), ("syn", False), ("wide", True), ("digits200nc", True)])
def test_every_regression_meets_its_optimality_conditions(reference, name, center):
    values = samples(reference, name)
    selector = MCFS(8, n_clusters=CLUSTERS[name], n_nonzero=8, center=center).fit(values)
    X, Y = StandardScaler(with_mean=center).fit_transform(values), selector.embedding_
    if center:
        Y = Y - Y.mean(axis=0)
    assert_allclose(np.linalg.norm(selector.coef_, axis=0), 1.0, rtol=1e-12)
    for y, u in zip(Y.T, selector.coef_.T, strict=True):
        used = u != 0.0
        signs = np.sign(u[used])
        # With w = su all used columns are equally steep: sign(xᵀy) − s·sign(xᵀXu) = λ, for two unknowns s and λ.
        system = np.column_stack([signs * (X[:, used].T @ (X @ u)), np.ones(used.sum())])
        target = signs * (X[:, used].T @ y)
        (length, steepness), *_ = np.linalg.lstsq(system, target)
        assert_allclose(system @ [length, steepness], target, rtol=0, atol=1e-9 * np.abs(target).max())
        assert length > 0.0
        assert np.abs(X.T @ (y - length * (X @ u))).max() <= steepness * (1.0 + 1e-9)


# What a fit leaves behind


@pytest.mark.parametrize(
    ("wanted", "n_nonzero", "size"),
    [(12, "auto", 4), (10, "auto", 3), (1, "auto", 1), ("auto", "auto", 17), (10, 25, 25)],
)
def test_coefficients_are_divided_among_the_eigenvectors_unless_their_number_is_given(wanted, n_nonzero, size):
    """There are three of them; where the number of features is open, fifty coefficients are divided."""
    selector = MCFS(wanted, n_clusters=4, n_nonzero=n_nonzero).fit(planted().X)
    assert_array_equal(np.count_nonzero(selector.coef_, axis=0), np.full(3, size))


def test_features_that_no_regression_uses_are_ranked_by_what_is_left_to_explain():
    X = planted().X
    selector = MCFS(5, n_clusters=4, n_nonzero=2).fit(X)
    order = selector.top_features(60)
    unused = order[selector.scores_[order] == 0.0]
    assert len(unused) >= 50
    Z, Y = StandardScaler().fit_transform(X), selector.embedding_ - selector.embedding_.mean(axis=0)
    W = np.column_stack([lasso_of_size(Columns(Z), y, 2) for y in Y.T])
    left = np.linalg.norm(Z.T @ (Y - Z @ W), axis=1)
    assert np.all(np.diff(left[unused]) <= 0.0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_of_a_column_and_its_opposite_the_first_is_chosen(form):
    rng = np.random.default_rng(0)
    flag = rng.integers(0, 2, 60)
    X = np.hstack([rng.standard_normal((60, 3)), np.eye(2)[flag], rng.standard_normal((60, 3)) + 3.0 * flag[:, None]])
    for seed in range(10):
        scores = MCFS(3, n_clusters=3).fit(form(X[np.random.default_rng(seed).permutation(60)])).scores_
        assert scores[3] > 0.0
        assert scores[4] == 0.0
