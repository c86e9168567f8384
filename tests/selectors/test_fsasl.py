from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import duality_gaps, worst_violation

import ufselect.selectors.fsasl as module
from ufselect import FSASL
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.self_expression import sparse_self_expression
from ufselect.solvers.alignment import kernel_alignment

may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rank_deficient(shape, seed):
    """Ten independent columns and combinations of them."""
    n, d = shape
    X = make_planted_clusters(n, 4, 6, 4, random_state=seed).X
    return np.hstack([X, X @ np.random.default_rng(seed).standard_normal((10, d - 10))])


DESCENT_DATA = {
    "n > d": lambda seed: make_planted_clusters(80, 4, 10, 10, random_state=seed).X,
    "d > n": lambda seed: make_planted_clusters(40, 4, 20, 60, random_state=seed).X,
    "n > d, rank 10": lambda seed: rank_deficient((80, 25), seed),
    "d > n, rank 10": lambda seed: rank_deficient((40, 70), seed),
}


@cache
def easy():
    return make_planted_clusters(200, 4, 40, 20, random_state=0)


def noise():
    """Clear clusters are found at once, and even tol=0 stops if nothing changes."""
    return np.random.default_rng(0).standard_normal((80, 20))


def test_the_defaults_are_the_choices_of_the_paper():
    params = FSASL().get_params()
    choices = {"structure": "both", "n_neighbors": 5, "spread": "mean", "scale": None, "center": False}
    assert {name: params[name] for name in choices} == choices


@pytest.mark.no_cover  # another test of this route measures it
@may_stop_early
@pytest.mark.parametrize("spread", ["row", "mean"])
@pytest.mark.parametrize("structure", ["both", "local", "global"])
@pytest.mark.parametrize("data", DESCENT_DATA)
def test_exact_route_lowers_its_fixed_objective_at_every_step(data, structure, spread):
    params = {"structure": structure, "spread": spread, "w_solver": "eigen", "recalibrate": False}
    selector = FSASL(5, n_clusters=4, max_iter=12, tol=0, **params).fit(DESCENT_DATA[data](0))
    history = selector.half_step_history_.ravel()
    assert len(history) == 3 * 12
    assert history[-1] < history[0]
    assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))
    Z = selector.embedding_
    assert_allclose(Z.T @ Z, np.eye(4), rtol=0, atol=1e-8)


@may_stop_early
def test_exact_route_with_centring_has_a_dimension_less_than_clusters():
    selector = FSASL(5, n_clusters=4, w_solver="eigen", center=True).fit(easy().X)
    assert selector.embedding_.shape == (200, 3)
    assert_allclose(selector.embedding_.T @ selector.embedding_, np.eye(3), rtol=0, atol=1e-8)


@may_stop_early
@pytest.mark.parametrize("size", [1, 3])
def test_self_expression_size_is_the_number_of_nonzeros_of_every_column(size):
    S = FSASL(5, n_clusters=5, self_expression_size=size).fit(easy().X).self_expression_
    assert_array_equal(np.count_nonzero(S.toarray(), axis=0), np.full(200, size))


@pytest.mark.parametrize(
    ("structure", "w_solver"), [("both", "regression"), ("local", "regression"), ("global", "eigen")]
)
def test_structure_that_does_not_adapt_is_that_of_the_original_features(structure, w_solver):
    X = easy().X
    params = {"structure": structure, "scale": "standard", "center": True, "spread": "row", "w_solver": w_solver}
    selector = FSASL(5, n_clusters=4, adaptive=False, **params).fit(X)
    original = Columns.prepared(X, center=True, scale="standard")
    assert selector.n_iter_ == 1
    assert selector.half_step_history_.shape == (1, 3)
    if structure == "global":
        assert selector.neighbor_graph_ is None
    else:
        assert_allclose(selector.neighbor_graph_.toarray(), adaptive_neighbors(original, 5).P.toarray(), rtol=1e-12)
    if structure == "local":
        assert selector.self_expression_ is None
    else:
        expected = sparse_self_expression(original, selector.self_expression_penalty).S
        assert_allclose(selector.self_expression_.toarray(), expected.toarray(), rtol=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 5, 9])
def test_auto_finds_the_number_of_planted_clusters_if_there_are_five_or_more(n_clusters):
    X = make_planted_clusters(200, n_clusters, 40, 20, random_state=0).X
    found = FSASL(5, n_clusters="auto").fit(X).n_clusters_
    assert found == n_clusters if n_clusters >= 5 else found >= 5


@may_stop_early
@pytest.mark.parametrize(
    "params",
    [{"structure": "local"}, {"structure": "global", "adaptive": False}, {"w_solver": "eigen"}, {"center": True}],
    ids=str,
)
def test_number_of_clusters_is_that_of_the_first_neighbour_graph_in_every_mode(params):
    X = make_planted_clusters(160, 6, 40, 20, random_state=0).X
    assert FSASL(5, n_clusters="auto", **params).fit(X).n_clusters_ == 6


@may_stop_early
def test_auto_selects_up_to_the_peak_of_the_alignment():
    X = DESCENT_DATA["n > d"](0)
    selector = FSASL(n_clusters=4, w_solver="eigen").fit(X)
    Y = selector.embedding_  # which is Z on the exact route
    best = selector.top_features(X.shape[1])
    curve = [kernel_alignment(X[:, best[:m]], Y) for m in range(1, X.shape[1] + 1)]
    assert_allclose(selector.alignment_curve_, curve[: len(selector.alignment_curve_)], rtol=1e-9)
    assert selector.n_features_ == np.argmax(curve) + 1
    assert_allclose(selector.alignments_, [kernel_alignment(X[:, [j]], Y) for j in range(X.shape[1])], rtol=1e-9)


def test_published_gives_weight_to_informative_columns_only_where_data_are_easy():
    data = easy()
    selector = FSASL(10, n_clusters=4).fit(data.X)
    assert selector.coef_.shape == (60, 4)
    in_use = selector.coef_.any(axis=1)
    assert in_use.sum() >= 10
    assert data.informative[in_use].all()
    assert in_use[selector.get_support()].all()


def test_features_that_are_left_out_rank_in_the_order_of_the_columns_by_norm():
    selector = FSASL(n_clusters=4, row_penalty=0.5).fit(easy().X)
    order = selector.top_features(60)
    left_out = order[selector.scores_[order] == 0.0]
    assert len(left_out) > 10
    assert np.all(np.diff(left_out) > 0)


@may_stop_early
def test_lassos_and_regressions_of_a_fit_meet_their_certificates(monkeypatch):
    express, regress = module.sparse_self_expression, module.l21_regression
    checked = []

    def expressed(Z, *arguments, **options):
        found = express(Z, *arguments, **options)
        values, gaps = duality_gaps(Z, found.S, found.penalties)
        checked.append(np.all(gaps <= 1e-4 * values + 1e-14 * np.sum(Z**2, axis=1)))
        return found

    def regressed(X, Y, penalty, **options):
        found = regress(X, Y, penalty, **options)
        assert isinstance(X, Columns)
        slope = X.transposed_matmul(Y - X @ found.coef)
        checked.append(worst_violation(slope, found.coef, penalty / 2.0) <= 1e-4 * (1.0 + 1e-6))
        return found

    monkeypatch.setattr(module, "sparse_self_expression", expressed)
    monkeypatch.setattr(module, "l21_regression", regressed)
    for penalty, share in ((0.01, 0.03), (0.1, 0.3)):
        FSASL(5, n_clusters=4, self_expression_penalty=penalty, row_penalty=share, max_iter=3, tol=0).fit(noise())
    assert len(checked) >= 10
    assert all(checked)
