import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import CLUSTERS, on_every_data_set, row_norms, samples, worst_violation
from sklearn.preprocessing import StandardScaler

from ufselect import GLSPFS
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import kernel_factor
from ufselect.graphs.local_models import local_laplacian
from ufselect.graphs.neighbors import nearest_others
from ufselect.solvers.penalties import smallest_penalty_for_zero

in_every_model = pytest.mark.parametrize("model", ["lpp", "lle", "ltsa"])


def violation(values, selector):
    """By how much the worst row of a fit misses its optimality condition, as a share of r₁/2."""
    X, L = pieces(values, selector)
    Y, Z = selector.embedding_, X @ selector.coef_
    half = 0.3 * smallest_penalty_for_zero(Columns(X), Y) / 2.0
    return worst_violation(X.T @ (Y - Z - selector.local_weight * (L @ Z)), selector.coef_, half)


def pieces(values, selector):
    """Standardised columns and the local model of a fit."""
    X = StandardScaler(with_mean=selector.center).fit_transform(values)
    columns = Columns(X)
    L = local_laplacian(columns, nearest_others(columns, 5), selector.local_model, dimension=selector.n_clusters_)
    return X, L.toarray()


@pytest.mark.parametrize("center", [True, False])
def test_copies_of_samples_are_legal_with_tangent_spaces(center):
    X = np.repeat(np.random.default_rng(0).standard_normal((8, 12)), 4, axis=0)
    selector = GLSPFS(5, n_clusters=3, local_model="ltsa", center=center).fit(X)
    assert np.all(np.isfinite(selector.scores_))
    assert violation(X, selector) <= 2e-4


# The sub-problem


@on_every_data_set
@in_every_model
@pytest.mark.parametrize("center", [True, False])
def test_a_fit_meets_the_optimality_conditions(reference, name, model, center):
    values = samples(reference, name)
    selector = GLSPFS(5, n_clusters=CLUSTERS[name], local_model=model, local_weight=2.0, center=center).fit(values)
    X, _ = pieces(values, selector)
    assert selector.embedding_.shape == (len(X), CLUSTERS[name] - center)
    assert violation(values, selector) <= 1e-4 * (1.0 + 1e-3)
    assert_allclose(selector.scores_, row_norms(selector.coef_) * np.sqrt(np.mean(X**2)), rtol=1e-10)


# The columns of Y


@on_every_data_set
def test_all_components_carry_what_is_promised_and_no_more_than_needed(reference, name):
    values = samples(reference, name)
    Y = GLSPFS(5, n_clusters=CLUSTERS[name], n_components="all").fit(values).embedding_
    X = Columns(StandardScaler().fit_transform(values), centered=True)
    every = np.sum(kernel_factor(X, 1.0, count=None) ** 2)
    carried = np.cumsum(np.sum(Y**2, axis=0))
    assert carried[-1] >= 0.999 * every
    assert carried[-2] < 0.999 * every


@pytest.mark.parametrize(("n_components", "center"), [("all", True), ("all", False), (20, True)])
def test_a_fit_with_many_components_meets_the_optimality_conditions(reference, n_components, center):
    values = samples(reference, "wide")
    selector = GLSPFS(5, n_clusters=4, n_components=n_components, center=center).fit(values)
    assert violation(values, selector) <= 1e-4 * (1.0 + 1e-3)
