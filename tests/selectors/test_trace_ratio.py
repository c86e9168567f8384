from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import DATA, on_every_data_set, relative_width, samples

from ufselect import TraceRatio
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import neighbor_scatters
from ufselect.graphs.neighbors import nearest_others, neighbor_graph
from ufselect.selectors.trace_ratio import best_ratio

SIZES = [5, 10, 20]


def on_raw_columns(reference, name, size):
    """The method on the columns as they are, with the authors' width."""
    X = samples(reference, name)
    width = relative_width(X, reference(f"lapscore_{name}")["t"])
    return TraceRatio(size, scale=None, center=False, width=width).fit(X)


def scatters(X):
    return neighbor_scatters(Columns(X), neighbor_graph(Columns(X), nearest_others(X, 5)))


def indicators(sizes, seed):
    """Columns that tell groups apart without fail, and as many of noise."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    told = 10.0 * np.eye(len(sizes))[group]
    return np.hstack([told, 0.1 * np.random.default_rng(seed).standard_normal(told.shape)])


# The authors' program, and the global optimum


@pytest.mark.parametrize("name", [*DATA, "digits200"])
@pytest.mark.parametrize("size", SIZES)
def test_the_set_is_the_global_optimum(reference, name, size):
    stored = reference(f"traceratio_{name}")
    selector = on_raw_columns(reference, name, size)
    assert_allclose(selector.trace_ratio_, stored[f"exact_ratio{size}"], rtol=1e-10)
    assert_array_equal(np.flatnonzero(selector.get_support()), np.sort(stored[f"exact_set{size}"]))
    if name in DATA:  # the authors' program with the right scatter
        assert selector.trace_ratio_ >= stored[f"fixed_ratio{size}"] * (1.0 - 1e-12)


# The optimum


@settings(max_examples=20)
@given(d=st.integers(1, 9), spread=st.sampled_from([0.1, 3.0]), seed=st.integers(0, 2**16))
def test_no_other_set_has_a_larger_ratio(d, spread, seed):
    between, within = np.exp(spread * np.random.default_rng(seed).standard_normal((2, d)))
    for size in range(1, d + 1):
        best = best_ratio(between, within, size)
        sets = np.array(list(combinations(range(d), size)))
        ratios = between[sets].sum(axis=1) / within[sets].sum(axis=1)
        assert len(set(best.chosen)) == size
        assert_allclose(best.ratio, ratios.max(), rtol=1e-12)
        assert_allclose(between[best.chosen].sum() / within[best.chosen].sum(), best.ratio, rtol=1e-12)


@on_every_data_set
def test_scores_are_differences_over_the_mean_scatter(reference, name):
    X = samples(reference, name)
    selector = TraceRatio(5, scale=None, center=False).fit(X)
    between, within = scatters(X)
    assert_allclose(selector.scores_, (between - selector.trace_ratio_ * within) / between.mean(), rtol=0, atol=1e-10)


def test_auto_takes_features_whose_own_ratio_is_above_that_of_all(reference):
    X = samples(reference, "syn")
    selector = TraceRatio(scale=None).fit(X)
    between, within = scatters(X)
    expected = np.count_nonzero(between / within > between.sum() / within.sum())
    assert selector.n_features_ == expected == selector.get_support().sum()


# Features without local scatter


@pytest.mark.parametrize("size", [1, 3, 5, "auto"])
def test_features_that_never_vary_between_neighbours_come_first(size):
    # Their ratio is infinite, or as large as rounding lets it be.
    selector = TraceRatio(size, scale=None).fit(indicators([30, 25, 20], 0))
    if size in (1, 3):
        assert np.all(selector.top_features(size) < 3)
        assert selector.trace_ratio_ > 1e12
    else:
        assert np.all(selector.get_support()[:3])
    assert not np.any(np.isnan(selector.scores_))
