from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from problems import CLUSTERS, on_every_data_set, row_norms, samples, worst_violation
from sklearn.preprocessing import StandardScaler

from ufselect import GLSPFS
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import kernel_factor
from ufselect.graphs.local_models import local_laplacian
from ufselect.graphs.neighbors import nearest_others
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero

PENALTIES = {
    "r1_0p1_r2_0p1": (0.1, 0.1),
    "r1_0p1_r2_10": (0.1, 10.0),
    "r1_1_r2_0p1": (1.0, 0.1),
    "r1_1_r2_10": (1.0, 10.0),
}
with_every_penalty = pytest.mark.parametrize("penalties", PENALTIES)
in_every_model = pytest.mark.parametrize("model", ["lpp", "lle", "ltsa"])


def objective(X, Y, W, L, row_penalty, local_weight):
    Z = X @ W
    return np.sum((Z - Y) ** 2) + local_weight * np.sum(Z * (L @ Z)) + row_penalty * row_norms(W).sum()


@cache
def stored_factor(reference, name):
    """All eigenvectors of the kernel of the stored run."""
    X = Columns(samples(reference, name))
    width = reference(f"glspfs_{name}")["t_kernel"] / np.sqrt(X.mean_squared_distance())
    return kernel_factor(X, width, count=None)


@cache
def stored_solution(reference, name, model, penalties):
    """W for the local model, kernel and penalties of the stored run."""
    X, (row_penalty, local_weight) = samples(reference, name), PENALTIES[penalties]
    metric = sp.csr_array(np.eye(len(X)) + local_weight * reference(f"glspfs_{name}")[f"L_{model}"])
    return l21_regression(Columns(X), stored_factor(reference, name), row_penalty, metric=metric)


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


# The authors' arrays


@on_every_data_set
def test_all_eigenvectors_make_up_the_stored_kernel(reference, name):
    X, t = samples(reference, name), reference(f"glspfs_{name}")["t_kernel"]
    squared = np.sum(X**2, axis=1)[:, None] + np.sum(X**2, axis=1) - 2.0 * X @ X.T
    Y = stored_factor(reference, name)
    assert_allclose(Y @ Y.T, np.exp(-squared / (2.0 * t**2)), rtol=0, atol=1e-10)


@on_every_data_set
@with_every_penalty
@pytest.mark.parametrize("model", ["LPP", "LLE", "LTSA2"])
def test_the_objective_is_no_higher_than_the_stored_optimum_and_scores_agree(reference, name, model, penalties):
    stored = reference(f"glspfs_{name}")
    solution = stored_solution(reference, name, model, penalties)
    assert solution.objective <= stored[f"exact_obj_{model}_{penalties}"] * (1.0 + 1e-6)
    X, Y = samples(reference, name), stored_factor(reference, name)
    written = objective(X, Y, solution.coef, stored[f"L_{model}"], *PENALTIES[penalties])
    assert_allclose(solution.objective, written, rtol=1e-9)
    expected = stored[f"exact_scores_{model}_{penalties}"]
    assert_allclose(row_norms(solution.coef), expected, rtol=0, atol=1e-4 * expected.max())


@on_every_data_set
@with_every_penalty
@pytest.mark.parametrize("model", ["LPP", "LLE"])
def test_the_authors_stop_earlier_with_mostly_the_same_features_on_top(reference, name, model, penalties):
    stored = reference(f"glspfs_{name}")
    solution = stored_solution(reference, name, model, penalties)
    assert stored[f"obj_{model}_{penalties}"][-1] >= solution.objective * (1.0 - 1e-9)
    best = np.argsort(-row_norms(solution.coef), kind="stable")[:20]
    assert len(set(best) & set(stored[f"idx_{model}_{penalties}"][:20])) >= 18


# Where it departs from them


def test_tangent_spaces_of_too_high_a_dimension_made_the_stored_objective_negative(reference):
    stored = reference("glspfs_digits200nc")
    assert stored["obj_LTSA_r1_0p1_r2_0p1"][-1] < 0.0  # a sum of what should be squares
    assert np.diff(stored["obj_LTSA_r1_0p1_r2_10"])[-1] > 0.0  # and it rises
    X = samples(reference, "digits200nc")
    selector = GLSPFS(5, n_clusters=10, local_model="ltsa").fit(X)
    values, L = pieces(X, selector)
    assert np.linalg.eigvalsh(L)[0] >= -1e-12
    row_penalty = 0.3 * smallest_penalty_for_zero(Columns(values), selector.embedding_)
    found = objective(values, selector.embedding_, selector.coef_, L, row_penalty, 1.0)
    assert 0.0 < found < np.sum(selector.embedding_**2)  # that of W = 0


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
