import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import CLUSTERS, on_every_data_set, relative_width, row_norms, row_sparse_gap, samples
from sklearn.preprocessing import StandardScaler

from ufselect import FSSL, MCFS
from ufselect.columns.dense import Columns
from ufselect.graphs.neighbors import nearest_others, neighbor_graph
from ufselect.solvers.penalties import smallest_penalty_for_zero

MU = {"0p1": 0.1, "1": 1.0, "100": 100.0}
where_weights_are_unique = pytest.mark.parametrize("name", ["syn", "digits200nc"])
for_every_mu = pytest.mark.parametrize("mu", MU)


def as_published(reference, name, **params):
    """Raw columns and the width of the stored run; its weights in units of the raw columns."""
    X = samples(reference, name)
    width = relative_width(X, reference(f"fssl_{name}")["t"])
    selector = FSSL(5, n_clusters=CLUSTERS[name], width=width, scale=None, center=False, **params).fit(X)
    return selector, selector.coef_


# The authors' arrays


@on_every_data_set
@for_every_mu
def test_a_fit_with_the_choices_of_the_authors_gives_the_stored_scores(reference, name, mu):
    X, stored = samples(reference, name), reference(f"fssl_{name}")
    share = 1.0 / MU[mu] / smallest_penalty_for_zero(Columns(X), stored["Y"])
    selector, A = as_published(reference, name, row_penalty=share)
    assert_allclose(selector.embedding_ @ selector.embedding_.T, stored["Y"] @ stored["Y"].T, rtol=0, atol=1e-8)
    expected = stored[f"exact_scores_mu{mu}"]
    # A violation of 1e-4 γ/2 moves a weight by 1e-4 γ/(2‖xⱼ‖²), whatever its size.
    moved = 0.5 / MU[mu] / np.sum(X[:, expected > 0.0] ** 2, axis=0).min()
    assert_allclose(row_norms(A), expected, rtol=0, atol=1e-4 * max(expected.max(), moved))
    # Scores are in units of the columns.
    assert_allclose(selector.scores_, row_norms(A) * np.sqrt(np.mean(X**2)), rtol=1e-10)


# The sub-problems


@on_every_data_set
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("row_penalty", [0.05, 0.3])
def test_a_fit_solves_its_problem(reference, name, center, row_penalty):
    values = samples(reference, name)
    selector = FSSL(5, n_clusters=CLUSTERS[name], row_penalty=row_penalty, center=center).fit(values)
    X, Y = StandardScaler(with_mean=center).fit_transform(values), selector.embedding_
    if center:
        Y = Y - Y.mean(axis=0)
    penalty = row_penalty * 2.0 * row_norms(X.T @ Y).max()
    assert row_sparse_gap(X, Y, selector.coef_, penalty) <= 1e-4


@on_every_data_set
@pytest.mark.parametrize("cls", [FSSL, MCFS])
@pytest.mark.parametrize("center", [True, False])
def test_the_embedding_solves_the_generalised_eigenproblem(reference, name, center, cls):
    values = samples(reference, name)
    selector = cls(5, n_clusters=CLUSTERS[name], center=center).fit(values)
    X = Columns(StandardScaler(with_mean=center).fit_transform(values))
    A = neighbor_graph(X, nearest_others(X, 5)).toarray()
    degrees, Y = A.sum(axis=1), selector.embedding_
    assert Y.shape[1] == CLUSTERS[name] - center
    assert_allclose(Y.T @ (degrees[:, None] * Y), np.eye(Y.shape[1]), rtol=0, atol=1e-10)
    assert_allclose(degrees @ Y, 0.0, rtol=0, atol=1e-10)
    image = degrees[:, None] * Y - A @ Y
    assert_allclose(image, degrees[:, None] * (Y @ (Y.T @ image)), rtol=0, atol=1e-9)
    root = np.sqrt(degrees)
    smallest = np.linalg.eigvalsh(np.eye(len(A)) - A / np.outer(root, root))[: Y.shape[1] + 1]
    assert_allclose(np.trace(Y.T @ image), smallest.sum(), rtol=0, atol=1e-10)


# Exact


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("center", [True, False])
def test_an_exact_fit_gives_the_embedding(reference, scale, center):
    values = samples(reference, "wide")
    selector = FSSL(5, n_clusters=4, exact=True, scale=scale, center=center).fit(values)
    X = StandardScaler(with_mean=center, with_std=scale == "standard").fit_transform(values)
    Y = selector.embedding_
    if center:
        Y = Y - Y.mean(axis=0)
    assert_allclose(X @ selector.coef_, Y, rtol=0, atol=1e-10)


@where_weights_are_unique
def test_an_exact_fit_is_refused_where_there_are_too_few_features(reference, name):
    with pytest.raises(ValueError, match=r"equals the embedding: the relative error is \d"):
        FSSL(5, n_clusters=CLUSTERS[name], exact=True).fit(samples(reference, name))
