"""What must not change the result, for any selector: order, scale, sign, storage, threads, constants, copies, ties."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from every_selector import METHODS, assert_identical, has, make
from numpy.testing import assert_allclose, assert_array_equal

from ufselect._utils.policy import LARGEST_DENSE_SPECTRUM
from ufselect.datasets.planted import make_planted_clusters

# Some iterations for certain, so that structure is learned from selected features, too.
ALWAYS_THREE = {"tol": 0.0, "max_iter": 3}
# Of methods with many iterations, some are enough: a difference grows from one to the next.
VARIANTS = {
    **{name: (name, {}) for name in METHODS},
    "CGSSL": ("CGSSL", {"max_iter": 15}),
    "JELSR": ("JELSR", {"max_iter": 15}),
    "LLCFS": ("LLCFS", {"max_iter": 4}),
    "NDFS": ("NDFS", {"max_iter": 15}),
    "RUFS": ("RUFS", {"max_iter": 15}),
    "FSASL": ("FSASL", ALWAYS_THREE),
    "FSASL eigen": ("FSASL", {**ALWAYS_THREE, "w_solver": "eigen", "scale": "moderate", "center": True}),
    "FSASL local": ("FSASL", {**ALWAYS_THREE, "structure": "local", "spread": "row", "scale": "moderate"}),
    "SPEC kernel": ("SPEC", {"affinity": "kernel", "criterion": "phi2", "power": 2}),
    "EVSC neighbors": ("EVSC", {"affinity": "neighbors", "normalized": False}),
    "SPFS nes": ("SPFS", {"solver": "nes"}),
    "SPFS lar": ("SPFS", {"solver": "lar"}),
    "GLSPFS ltsa": ("GLSPFS", {"local_model": "ltsa", "scale": None}),
    "JELSR lpp": ("JELSR", {"local_model": "lpp", "scale": None, "max_iter": 15}),
    "LLCFS mutual": ("LLCFS", {"neighborhood": "mutual", "max_iter": 4}),
    "NDFS published": ("NDFS", {"update": "published", "scale": None, "max_iter": 15}),
}
# Row-sparse regression stops at violations of 1e-4, and which it leaves depends on the order of the columns.
SOLVED_BY_REGRESSION = {"FSASL", "KernelFSASL", "FSSL", "GLSPFS", "MRSF", "SPFS"}
REGRESSION_PRECISION = 1e-3
# The iterative eigensolver stops at a residual of 1e-7, which leaves this much where the gap in the spectrum is small.
ITERATIVE_PRECISION = 1e-3
# RUFS maps columns onto [0, 1], where x and 1 − x are not alike.
BLIND_TO_SIGNS = [variant for variant in VARIANTS if variant != "RUFS"]
# RUFS maps columns onto [0, 1], which serves as well.
STANDARDISED = [name for name, (_, own) in VARIANTS.items() if "scale" not in own and name != "MaxVariance"]
in_every_variant = pytest.mark.parametrize("variant", VARIANTS)
# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def planted(seed, n_samples=90):
    """Clusters far apart, so that no decision is made by the last digit."""
    return make_planted_clusters(n_samples, 3, 12, 8, separation=5.0, random_state=seed).X


def large(seed):
    """More samples than are decomposed densely."""
    return planted(seed, n_samples=LARGEST_DENSE_SPECTRUM + 20)


def selector_of(variant, **params):
    name, own = VARIANTS[variant]
    usual = {"max_iter": METHODS[name]().get_params().get("max_iter"), "n_clusters": 3}
    return make(name, **{**usual, **params, **own})


def fitted(X, variant, **params):
    return selector_of(variant, **params).fit(X)


@cache
def original_fit(variant, seed, form=np.asarray):
    """The fit with which tests compare; it is fitted once and must not be changed."""
    return fitted(form(planted(seed)), variant)


@cache
def original_fit_of_many(variant):
    """The fit of many samples, likewise."""
    return fitted(large(0), variant)


def assert_same(selector, expected, rtol=1e-6):
    """The same scores, and the same features on top."""
    assert_allclose(selector.scores_, expected.scores_, rtol=rtol, atol=rtol * np.abs(expected.scores_).max())
    assert_array_equal(selector.top_features(), expected.top_features())


@in_every_variant
def test_order_of_the_samples_does_not_matter(variant):
    X = planted(0)
    order = np.random.default_rng(0).permutation(len(X))
    # Lassos of the self-expression stop at a duality gap of 1e-4.
    rtol = REGRESSION_PRECISION if variant == "FSASL eigen" else 1e-6
    assert_same(fitted(X[order], variant), original_fit(variant, 0), rtol)


@in_every_variant
def test_order_of_many_samples_matters_less_than_the_precision_of_the_eigensolver(variant):
    X = large(0)
    order = np.random.default_rng(0).permutation(len(X))
    assert_same(fitted(X[order], variant), original_fit_of_many(variant), rtol=ITERATIVE_PRECISION)


@in_every_variant
def test_features_take_their_scores_along_when_permuted(variant):
    X = planted(0)
    order = np.random.default_rng(0).permutation(X.shape[1])
    original, permuted = original_fit(variant, 0), fitted(X[:, order], variant)
    regression = VARIANTS[variant][0] in SOLVED_BY_REGRESSION and variant != "FSASL eigen"
    rtol = REGRESSION_PRECISION if regression else 1e-6
    largest = np.abs(original.scores_).max()
    assert_allclose(permuted.scores_, original.scores_[order], rtol=rtol, atol=rtol * largest)
    clear = original.ranking_[order] <= 5
    if VARIANTS[variant][0] == "FSASL":  # which ranks features of no weight in the order of the columns
        clear &= original.scores_[order] > 0.0
        assert clear.sum() >= 3
    assert_array_equal(permuted.ranking_[clear], original.ranking_[order][clear])


@in_every_variant
def test_a_common_factor_does_not_matter(variant):
    factor = 1e6
    original, scaled = original_fit(variant, 0), fitted(factor * planted(0), variant)
    assert_array_equal(scaled.top_features(), original.top_features())
    if variant == "MaxVariance":  # is meant to depend on the unit
        scaled.scores_ /= factor**2
    assert_same(scaled, original)


@pytest.mark.parametrize("variant", STANDARDISED)
def test_units_and_origins_of_standardised_columns_do_not_matter(variant):
    X = planted(0)
    rng = np.random.default_rng(0)
    units, origins = 10.0 ** rng.integers(-4, 5, X.shape[1]), rng.normal(scale=10.0, size=X.shape[1])
    prepared = {"scale": "standard", "center": True}
    assert_same(fitted((X + origins) * units, variant, **prepared), fitted(X, variant, **prepared))


@pytest.mark.parametrize("variant", BLIND_TO_SIGNS)
def test_the_sign_of_a_feature_does_not_matter(variant):
    X = planted(0)
    signs = np.where(np.random.default_rng(0).random(X.shape[1]) < 0.5, -1.0, 1.0)
    assert_same(fitted(signs * X, variant), original_fit(variant, 0))


@in_every_variant
@pytest.mark.parametrize(("form", "center"), [(sp.csr_array, True), (sp.csc_array, False)])
def test_sparse_storage_does_not_matter(variant, form, center):
    X = planted(1)
    X = np.where(X > 2.0, X, 0.0)
    assert 0.1 < np.mean(X > 0.0) < 0.5
    expected = fitted(X, variant, center=center)
    if VARIANTS[variant][0] in ("FSASL", "KernelFSASL"):
        # Where more samples than neighbours coincide in the learned space, rounding decides who are neighbours.
        assert len(np.unique(expected.embedding_.round(8), axis=0)) == len(X)
    assert_same(fitted(form(X), variant, center=center), expected)


@in_every_variant
def test_single_precision_finds_the_same_features(variant):
    X = planted(0)
    single, double = fitted(X.astype(np.float32), variant), original_fit(variant, 0)
    assert single.scores_.dtype == np.float32
    assert set(single.top_features()) == set(double.top_features())
    rtol = 1e-2 if variant == "RUFS" else 1e-3  # RUFS may stop an iteration earlier or later
    assert_allclose(single.scores_, double.scores_, rtol=rtol, atol=rtol * np.abs(double.scores_).max())


@in_every_variant
@pytest.mark.parametrize("data", [planted, large])
def test_neither_threads_nor_another_fit_change_a_bit(variant, data):
    original = original_fit(variant, 0) if data is planted else original_fit_of_many(variant)
    again = fitted(data(0), variant, n_jobs=2)
    assert_identical(again, original)
    if data is planted:
        if has(VARIANTS[variant][0], "n_jobs"):
            again.set_params(n_jobs=1)
        assert_identical(again.fit(planted(1)), original_fit(variant, 1))
        sparse = sp.csr_array(planted(0))
        assert_identical(fitted(sparse, variant, n_jobs=2), original_fit(variant, 0, sp.csr_array))


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if has(VARIANTS[variant][0], "random_state")])
def test_the_start_of_iterations_does_not_matter(variant):
    X = large(0)
    assert_same(fitted(X, variant, random_state=1), original_fit_of_many(variant), rtol=ITERATIVE_PRECISION)


# Where a feature scores by itself, or by weights that start equal and stay so, its mirror image scores the same. A
# lasso, a greedy choice and block descent may give all to the first.
@in_every_variant
@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_copies_change_nothing_and_rank_behind_all_others(variant, form):
    X = planted(0)
    once = original_fit(variant, 0, form)
    # Copies of the worst feature and, twice, of the best; and a constant column.
    best, worst = int(np.argmin(once.ranking_)), int(np.argmax(once.ranking_))
    several = fitted(form(np.hstack([np.ones((len(X), 1)), X, X[:, [worst, best, best]]])), variant)
    assert_array_equal(several.copies_, [*[-1] * 21, worst + 1, best + 1, best + 1])
    assert_array_equal(several.ranking_, [24, *once.ranking_, 23, 21, 22])
    assert_array_equal(several.scores_[1:21], once.scores_)
    assert np.all(several.scores_[21:] <= once.scores_.min())
    if hasattr(once, "alignments_"):
        assert_array_equal(several.alignments_[1:], [*once.alignments_, *once.alignments_[[worst, best, best]]])
        assert several.alignments_[0] == 0.0


@pytest.mark.parametrize("variant", ["MaxVariance", "LaplacianScore", "SPEC", "TraceRatio"])
def test_of_features_that_tie_the_first_ranks_first(variant):
    X = planted(0)
    selector = fitted(np.hstack([X[:, :5], -X[:, :5]]), variant)
    assert_array_equal(selector.ranking_[5:] - selector.ranking_[:5], np.ones(5))
