import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from ufselect import FSASL
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.self_expression import sparse_self_expression

BENCHMARK_SETS = ["JAFFE", "UMIST", "TOX", "USPS49", "MFEA", "COIL", "AR"]
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def more_samples_than_features(seed):
    return make_planted_clusters(80, 4, 10, 10, random_state=seed).X


def more_features_than_samples(seed):
    return make_planted_clusters(40, 4, 20, 60, random_state=seed).X


def rank_deficient(shape, seed):
    """Ten independent columns and combinations of them."""
    n, d = shape
    X = make_planted_clusters(n, 4, 6, 4, random_state=seed).X
    return np.hstack([X, X @ np.random.default_rng(seed).standard_normal((10, d - 10))])


DESCENT_DATA = {
    "n > d": more_samples_than_features,
    "d > n": more_features_than_samples,
    "n > d, rank 10": lambda seed: rank_deficient((80, 25), seed),
    "d > n, rank 10": lambda seed: rank_deficient((40, 70), seed),
}


@cache
def easy():
    return make_planted_clusters(200, 4, 40, 20, random_state=0)


@cache
def buried(seed, noise_scale=1.0):
    """90 informative columns among 10,090."""
    return make_planted_clusters(400, 6, 90, 10000, noise_scale=noise_scale, random_state=seed)


def informative_share(data, **params):
    selector = FSASL(30, **params).fit(data.X)
    return data.informative[selector.get_support()].mean()


def standardized(X):
    return Columns.prepared(X, center=True, scale="standard")


def moderately_scaled(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / (deviation + np.median(deviation))


def alignment(X, Y):
    """The cosine between the kernels XXᵀ and YYᵀ."""
    left, right = X @ X.T, Y @ Y.T
    return np.sum(left * right) / (np.linalg.norm(left) * np.linalg.norm(right))


# The exact route


@pytest.mark.no_cover  # another test of this route measures it
@may_stop_early
@pytest.mark.parametrize("spread", ["row", "mean"])
@pytest.mark.parametrize("structure", ["both", "local", "global"])
@pytest.mark.parametrize("data", DESCENT_DATA)
def test_exact_route_lowers_its_fixed_objective_at_every_step(data, structure, spread):
    for seed in range(2):
        selector = FSASL(
            5,
            n_clusters=4,
            structure=structure,
            spread=spread,
            w_solver="eigen",
            recalibrate=False,
            max_iter=12,
            tol=0,
        ).fit(DESCENT_DATA[data](seed))
        history = selector.half_step_history_.ravel()
        assert len(history) == 3 * 12
        assert history[-1] < history[0]
        assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))
        Z = selector.embedding_
        assert_allclose(Z.T @ Z, np.eye(3), rtol=0, atol=1e-8)


@may_stop_early
def test_exact_route_without_centring_has_a_dimension_for_every_cluster():
    data = easy()
    selector = FSASL(5, n_clusters=4, w_solver="eigen", center=False).fit(data.X)
    assert selector.embedding_.shape == (200, 4)
    assert_allclose(selector.embedding_.T @ selector.embedding_, np.eye(4), rtol=0, atol=1e-8)


# What a fit leaves behind


@may_stop_early
@pytest.mark.parametrize("w_solver", ["regression", "eigen"])
def test_embedding_is_the_image_of_the_scaled_data_under_the_weights(w_solver):
    X = easy().X
    selector = FSASL(5, n_clusters=4, w_solver=w_solver).fit(X)
    assert_allclose(selector.embedding_, moderately_scaled(X) @ selector.coef_, rtol=0, atol=1e-10)


@may_stop_early
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_history_has_a_value_for_every_iteration_and_for_every_half_step(max_iter):
    # Noise, as clear clusters are found at once, and even tol=0 stops if nothing changes.
    X = np.random.default_rng(0).standard_normal((80, 20))
    selector = FSASL(5, n_clusters=4, tol=0, max_iter=max_iter).fit(X)
    assert selector.n_iter_ == max_iter
    assert selector.half_step_history_.shape == (max_iter, 3)
    assert np.all(np.isfinite(selector.half_step_history_))
    assert_array_equal(selector.objective_history_, selector.half_step_history_[:, -1])


def test_neighbours_are_on_the_simplex_and_nobody_is_its_own():
    P = FSASL(5, n_clusters=4, n_neighbors=7).fit(easy().X).neighbor_graph_
    assert_array_equal(np.diff(P.indptr), np.full(200, 7))
    assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert P.min() >= 0.0
    assert np.all(P.diagonal() == 0.0)


def test_no_sample_expresses_itself():
    S = FSASL(5, n_clusters=4, structure="both").fit(easy().X).self_expression_
    assert S.nnz > 0
    assert np.all(S.diagonal() == 0.0)


@may_stop_early
@pytest.mark.parametrize("size", [1, 2, 3])
def test_self_expression_size_is_the_number_of_nonzeros_of_every_column(size):
    S = FSASL(5, n_clusters=5, structure="both", self_expression_size=size).fit(easy().X).self_expression_
    assert_array_equal(np.count_nonzero(S.toarray(), axis=0), np.full(200, size))


def test_local_structure_has_no_self_expression():
    selector = FSASL(5, n_clusters=4, structure="local").fit(easy().X)
    assert selector.self_expression_ is None
    assert selector.neighbor_graph_.shape == (200, 200)


def test_global_structure_has_no_neighbours():
    selector = FSASL(5, n_clusters=4, structure="global").fit(easy().X)
    assert selector.neighbor_graph_ is None
    assert selector.self_expression_.shape == (200, 200)


# Without adaptation


def test_structure_that_does_not_adapt_is_that_of_the_original_features():
    X = easy().X
    params = {"graph_components": None, "structure": "both", "scale": "standard"}
    selector = FSASL(5, n_clusters=4, adaptive=False, **params).fit(X)
    original = standardized(X)
    assert selector.n_iter_ == 1
    assert selector.half_step_history_.shape == (1, 3)
    assert_allclose(selector.neighbor_graph_.toarray(), adaptive_neighbors(original, 5).P.toarray(), rtol=1e-12)
    expected = sparse_self_expression(original, selector.self_expression_penalty).S
    assert_allclose(selector.self_expression_.toarray(), expected.toarray(), rtol=1e-12)


@pytest.mark.parametrize("structure", ["local", "global"])
@pytest.mark.parametrize("w_solver", ["regression", "eigen"])
def test_one_part_of_the_structure_alone_can_stay_that_of_the_original_features(structure, w_solver):
    X = easy().X
    params = {"graph_components": None, "structure": structure, "scale": "standard", "w_solver": w_solver}
    selector = FSASL(5, n_clusters=4, adaptive=False, **params).fit(X)
    assert selector.n_iter_ == 1
    if structure == "local":
        assert selector.self_expression_ is None
        expected, found = adaptive_neighbors(standardized(X), 5).P, selector.neighbor_graph_
    else:
        assert selector.neighbor_graph_ is None
        expected = sparse_self_expression(standardized(X), selector.self_expression_penalty).S
        found = selector.self_expression_
    assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)


# Convergence


def test_too_few_iterations_are_reported_by_the_name_of_their_parameter():
    with pytest.warns(ConvergenceWarning, match=r"FSASL did not converge after max_iter=1 iterations"):
        FSASL(5, n_clusters=6, max_iter=1, tol=0.05).fit(make_planted_clusters(100, 6, 10, 300, random_state=0).X)


def test_the_warning_points_at_the_line_that_called_fit():
    X = make_planted_clusters(100, 6, 10, 300, random_state=0).X
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        FSASL(5, n_clusters=6, max_iter=1, tol=0.05).fit(X)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_settled_structure_takes_two_iterations():
    X = easy().X
    assert FSASL(5).fit(X).n_iter_ == 2
    assert FSASL(5, max_iter=1).fit(X).n_iter_ == 1


def test_without_a_tolerance_a_structure_that_keeps_turning_takes_all_iterations_in_silence():
    noise = np.random.default_rng(1).standard_normal((300, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FSASL(5, max_iter=3).fit(noise).n_iter_ == 3
        assert FSASL(5).fit(noise).n_iter_ == 4


@pytest.mark.parametrize("name", BENCHMARK_SETS)
@pytest.mark.no_cover
def test_defaults_fit_a_benchmark_set_in_silence(benchmark_set, name):
    X = benchmark_set(name)[0][:720]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = FSASL().fit(X)
    assert selector.n_clusters_ is None
    assert 1 <= selector.n_features_ < X.shape[1]


# What the data may decide


@pytest.mark.parametrize("n_clusters", [2, 5, 7, 9])
@pytest.mark.parametrize("seed", range(2))
def test_auto_finds_the_number_of_planted_clusters_if_there_are_five_or_more(n_clusters, seed):
    X = make_planted_clusters(200, n_clusters, 40, 20, random_state=seed).X
    found = FSASL(5, n_clusters="auto").fit(X).n_clusters_
    assert found == n_clusters if n_clusters >= 5 else found >= 5


@may_stop_early
@pytest.mark.parametrize(
    "params",
    [
        {"structure": "local"},
        {"structure": "global"},
        {"adaptive": False},
        {"structure": "global", "adaptive": False},
        {"w_solver": "eigen"},
        {"spread": "mean"},
        {"scale": None},
        {"center": False},
    ],
    ids=str,
)
def test_number_of_clusters_is_that_of_the_first_neighbour_graph_in_every_mode(params):
    X = make_planted_clusters(160, 6, 40, 20, random_state=0).X
    assert FSASL(5, n_clusters="auto", **params).fit(X).n_clusters_ == 6


def test_the_exact_route_needs_a_number_of_clusters():
    with pytest.raises(ValueError, match='w_solver="eigen" needs a number of clusters'):
        FSASL(w_solver="eigen").fit(easy().X)


@may_stop_early
@pytest.mark.parametrize("selection", ["alignment", "greedy", "norm"])
def test_auto_selects_up_to_the_peak_of_the_alignment(selection):
    X = DESCENT_DATA["n > d"](0)
    selector = FSASL(n_clusters=4, w_solver="eigen", accumulate=False, selection=selection).fit(X)
    values, Y = moderately_scaled(X), selector.embedding_  # Y is Z on the exact route
    best = selector.top_features(X.shape[1])
    curve = [alignment(values[:, best[:m]], Y) for m in range(1, X.shape[1] + 1)]
    assert_allclose(selector.alignment_curve_, curve[: len(selector.alignment_curve_)], rtol=1e-9)
    assert selector.n_features_ == np.argmax(curve) + 1
    assert_allclose(selector.alignments_, [alignment(values[:, [j]], Y) for j in range(X.shape[1])], rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_auto_selects_useful_features_only(seed):
    data = make_planted_clusters(400, 6, 90, 910, random_state=seed)
    selector = FSASL().fit(data.X)
    assert selector.n_features_ >= 6
    assert data.informative[selector.get_support()].all()


def test_the_structures_of_all_iterations_count():
    X = make_planted_clusters(100, 6, 10, 300, random_state=0).X
    every, last = (FSASL(10, accumulate=accumulate).fit(X) for accumulate in (True, False))
    assert_array_equal(every.embedding_, last.embedding_)
    assert not np.array_equal(every.alignment_curve_, last.alignment_curve_)


def test_the_first_graph_is_that_of_the_components():
    X = make_planted_clusters(100, 4, 20, 80, random_state=0).X
    selector = FSASL(5, adaptive=False, graph_components=3).fit(X)
    left, size, _ = np.linalg.svd(moderately_scaled(X), full_matrices=False)
    expected = adaptive_neighbors(left[:, :3] * size[:3], 5).P
    assert_allclose(selector.neighbor_graph_.toarray(), expected.toarray(), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("asked", "given"), [(0.25, 15), (1.0, 60), (0.001, 1), (7, 7), (60, 60)])
def test_a_number_or_a_fraction_of_the_features_is_selected(asked, given):
    selector = FSASL(asked, n_clusters=4).fit(easy().X)
    assert selector.n_features_ == given
    assert selector.transform(easy().X).shape == (200, given)


# Ranking


@pytest.mark.parametrize("selection", ["alignment", "greedy", "norm"])
def test_fewer_features_are_the_first_of_more(selection):
    five, ten = (FSASL(m, n_clusters=4, selection=selection).fit(easy().X) for m in (5, 10))
    assert_array_equal(five.top_features(), ten.top_features()[:5])
    assert (len(five.alignment_curve_), len(ten.alignment_curve_)) == (10, 20)  # what more of them would bring
    assert_allclose(five.alignment_curve_[:5], ten.alignment_curve_[:5], rtol=1e-12)


@pytest.mark.parametrize("selection", ["alignment", "greedy", "norm"])
@pytest.mark.parametrize("n_features", [1, 10, "auto", 1.0])
def test_scores_fall_along_the_ranking(n_features, selection):
    selector = FSASL(n_features, n_clusters=4, selection=selection).fit(easy().X)
    assert_array_equal(np.sort(selector.ranking_), np.arange(1, 61))
    assert np.all(np.diff(selector.scores_[selector.top_features(60)]) <= 0.0)
    assert np.all(selector.scores_ >= 0.0)


def test_norm_selection_scores_by_the_norms_of_the_weights():
    selector = FSASL(5, n_clusters=4, scale="standard", selection="norm").fit(easy().X)
    assert_allclose(selector.scores_, np.linalg.norm(selector.coef_, axis=1), rtol=1e-12)


@pytest.mark.parametrize("selection", ["alignment", "greedy"])
@pytest.mark.parametrize("n_copies", [1, 3])
def test_selection_passes_over_near_copies_of_what_it_has(n_copies, selection):
    X = easy().X
    best = FSASL(1, selection=selection).fit(X).top_features()[0]
    rng = np.random.default_rng(0)
    copies = X[:, [best]] + 1e-6 * rng.standard_normal((200, n_copies))
    selector = FSASL(4, selection=selection).fit(np.hstack([X, copies]))
    assert np.isin(selector.top_features(), [best, *range(60, 60 + n_copies)]).sum() <= 1


def test_exact_copies_count_once_and_rank_behind_everything_else():
    X = easy().X
    with_copies = np.hstack([X[:, [3, 3]], X, np.ones((200, 1))])
    once, selector = FSASL(5).fit(X[:, [3, *range(3), *range(4, 60)]]), FSASL(5).fit(with_copies)
    assert_array_equal(np.flatnonzero(selector.copies_ >= 0), [1, 5])
    assert_array_equal(selector.copies_[[1, 5]], [0, 0])
    assert_array_equal(selector.ranking_[[1, 5]], [61, 62])
    assert selector.ranking_[62] == 63
    originals = np.delete(np.arange(62), [1, 5])
    assert_array_equal(selector.ranking_[originals], once.ranking_)


# The published method


def test_published_takes_the_choices_of_the_paper():
    defaults = FSASL().get_params()
    published = FSASL.published().get_params()
    changed = {name: value for name, value in published.items() if value != defaults[name]}
    assert changed == {
        "n_clusters": "auto",
        "n_neighbors": 5,
        "graph_components": None,
        "structure": "both",
        "accumulate": False,
        "spread": "mean",
        "row_penalty": 0.05,
        "self_expression_penalty": 0.01,
        "scale": None,
        "center": False,
        "selection": "norm",
        "max_iter": 12,
        "tol": 0.05,
    }


def test_published_lets_every_choice_be_overridden():
    selector = FSASL.published(n_features_to_select=3, spread="row", center=True)
    assert (selector.n_features_to_select, selector.spread, selector.center) == (3, "row", True)
    assert (selector.scale, selector.selection) == (None, "norm")


def test_published_gives_weight_to_informative_columns_only_where_data_are_easy():
    data = easy()
    selector = FSASL.published(n_features_to_select=10, n_clusters=4).fit(data.X)
    assert selector.coef_.shape == (60, 4)
    in_use = selector.coef_.any(axis=1)
    assert in_use.sum() >= 10
    assert data.informative[in_use].all()
    assert in_use[selector.get_support()].all()


# Progress


def test_verbose_shows_a_progress_bar_on_standard_error(capfd):
    FSASL(5, n_clusters=4, verbose=1).fit(easy().X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "FSASL" in err
    assert "/4" in err


def test_a_fit_is_silent_by_default(capfd):
    FSASL(5, n_clusters=4).fit(easy().X)
    assert capfd.readouterr() == ("", "")


# The argument of the paper: structure tells the features, features tell the structure


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.no_cover
def test_structure_that_adapts_finds_columns_that_the_graph_of_all_columns_misses(seed):
    params = {"n_clusters": 6, "graph_components": None, "scale": "standard", "selection": "greedy", "max_iter": 12}
    fixed, adaptive = (informative_share(buried(seed), adaptive=adaptive, **params) for adaptive in (False, True))
    assert 0.25 <= fixed <= 0.80
    assert adaptive >= 0.9


@pytest.mark.parametrize("selection", ["alignment", "greedy", "norm"])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.no_cover
def test_informative_columns_are_found_among_many_noise_columns(seed, selection):
    assert informative_share(buried(seed), selection=selection) == 1.0


@pytest.mark.parametrize("seed", [0, 1])
def test_noise_of_larger_variance_does_not_hurt_standardised_columns(seed):
    assert informative_share(buried(seed, 10.0), scale="standard") == 1.0


def test_a_selection_hardly_depends_on_a_few_samples():
    X, _ = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    chosen = set(FSASL(15).fit(X).top_features())
    common = []
    for _ in range(4):
        rows = np.sort(rng.choice(len(X), size=round(0.99 * len(X)), replace=False))
        common.append(len(chosen & set(FSASL(15).fit(X[rows]).top_features())))
    assert np.mean(common) >= 13


def test_the_order_of_the_columns_does_not_matter():
    X, _ = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(64)
    assert set(order[FSASL(15).fit(X[:, order]).top_features()]) == set(FSASL(15).fit(X).top_features())


def test_features_that_are_left_out_rank_in_the_order_of_the_columns_by_norm():
    selector = FSASL.published(n_clusters=4, row_penalty=0.5).fit(easy().X)
    order = selector.top_features(60)
    left_out = order[selector.scores_[order] == 0.0]
    assert len(left_out) > 10
    assert np.all(np.diff(left_out) > 0)


def log_counts(n_samples=600, n_features=900, seed=0):
    """Log counts of a few kinds of cells, as single-cell tools store them: sparse, in single precision."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(3, size=n_samples)
    profile = np.tile(rng.lognormal(-1.0, 1.3, n_features), (3, 1))
    for kind in range(3):
        profile[kind, 10 * kind : 10 * kind + 10] *= 5.0
    mean = profile[kinds] * rng.lognormal(0.0, 0.4, (n_samples, 1))
    counts = rng.poisson(rng.gamma(2.0, mean / 2.0)).astype(np.float64) + np.eye(n_samples, n_features)
    return sp.csr_array(np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e4).astype(np.float32))


@pytest.mark.filterwarnings("ignore:FSASL did not converge")
def test_sparse_data_in_single_precision_are_solved_as_well_as_in_double():
    X = log_counts()
    params = {"n_features_to_select": 20, "n_clusters": 2, "scale": None, "n_neighbors": 20}
    single, double = FSASL(**params).fit(X), FSASL(**params).fit(X.astype(np.float64))
    assert single.scores_.dtype == np.float32
    assert_array_equal(single.ranking_, double.ranking_)


def test_a_penalty_near_the_largest_leaves_something():
    X = make_planted_clusters(90, 3, 12, 8, random_state=0).X
    assert FSASL(5, row_penalty=0.97).fit(X).coef_.any()
