"""Permutation p-values: those of all permutations, exact for columns without structure, and as small as needed."""

from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare, false_discovery_control

from ufselect.solvers.permutation_test import (
    Hypothesis,
    benjamini_hochberg,
    permutation_p_values,
    permutations_within,
)

SEEDS = st.integers(0, 10**6)
P_VALUES = st.lists(st.floats(1e-9, 1.0) | st.sampled_from([0.001, 0.01, 0.04, 1.0]), min_size=1, max_size=30)
LAYOUTS = pytest.mark.parametrize("layout", [np.array, sp.csr_array])
# Columns of each unit, strata, and dimensions of T; if these are more than the columns, columns are permuted.
PROBLEMS = pytest.mark.parametrize(
    ("widths", "strata", "q"),
    [
        pytest.param([1] * 6, [0, 0, 0, 0, 0, 0, 0], 2, id="columns"),
        pytest.param([1] * 6, [0, 1, 1, 0, 1, 0, 0, 1], 2, id="strata"),
        pytest.param([1] * 3, [2, 0, 1, 1, 2, 0, 1, 0], 5, id="many dimensions"),
        pytest.param([1, 3, 2], [0, 1, 1, 0, 1, 0, 0, 1], 3, id="groups"),
    ],
)


def centered_within(T, strata):
    return T - np.array([T[strata == stratum].mean(axis=0) for stratum in strata])


def drawn(widths, strata, q, seed=0, rare=True):
    """Columns, every second one with ties; the first one has structure. T, strata and the first column of each unit."""
    rng = np.random.default_rng(seed)
    strata = np.asarray(strata)
    T = centered_within(rng.standard_normal((len(strata), q)), strata)
    X = rng.standard_normal((len(strata), sum(widths)))
    X[:, 0] += T[:, 0]
    if rare:
        X[:, 1::2] = X[:, 1::2] > 0.8
    return X, T, strata, np.cumsum([0, *widths[:-1]])


def statistics(X, T, starts, order):
    return np.add.reduceat(np.sum((X[order].T @ T) ** 2, axis=1), starts)


def orders_within(strata):
    """All permutations of the samples that leave each in its stratum."""
    members = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    for images in product(*(permutations(each) for each in members)):
        order = np.empty(len(strata), dtype=int)
        order[np.concatenate(members)] = np.concatenate(images)
        yield order


def p_values_of(X, T, strata, starts, *, seed=0, fdr=0.05, **options):
    hypothesis = Hypothesis(np.arange(len(starts)), T, strata)
    rng = np.random.default_rng(seed)
    return permutation_p_values(X, [hypothesis], unit_starts=starts, fdr=fdr, rng=rng, **options)


# Values


@LAYOUTS
@PROBLEMS
def test_p_values_are_the_shares_of_all_permutations(widths, strata, q, layout):
    X, T, strata, starts = drawn(widths, strata, q)
    least = statistics(X, T, starts, np.arange(len(X))) * (1.0 - 1e-6)
    exact = np.mean([statistics(X, T, starts, order) >= least for order in orders_within(strata)], axis=0)
    assert exact.min() > 0.01
    found = np.array([p_values_of(layout(X), T, strata, starts, seed=seed, fdr=1e-3).values for seed in range(200)])
    # If the tenth exceedance is that of permutation b, p = 10/b, and 9/(b − 1) is p on average.
    unbiased = 9.0 / (10.0 / found - 1.0)
    error = unbiased.std(axis=0) / np.sqrt(200)
    assert np.all(np.abs(unbiased.mean(axis=0) - exact) <= 4.0 * error + 1e-12)


@pytest.mark.parametrize("q", [2, 9])
def test_observed_values_are_permuted_among_the_rows_where_there_are_any(q):
    X, T, strata, starts = drawn([1] * 6, [0, 1, 1, 0, 1, 0, 0, 1], q)
    observed = np.random.default_rng(2).random(X.shape) < 0.7
    observed[:, 3] = True
    known = np.where(observed, X, 0.0)
    least = statistics(known, T, starts, np.arange(8)) * (1.0 - 1e-6)
    exact = [
        np.mean(
            [statistics(known, T, starts, order)[j] >= least[j] for order in orders_within(2 * strata + observed[:, j])]
        )
        for j in range(6)
    ]
    found = np.array([p_values_of(X, T, strata, starts, seed=seed, observed=observed).values for seed in range(200)])
    unbiased = 9.0 / (10.0 / found - 1.0)
    assert np.all(np.abs(unbiased.mean(axis=0) - exact) <= 4.0 * unbiased.std(axis=0) / np.sqrt(200) + 1e-12)


@LAYOUTS
@pytest.mark.parametrize("widths", [[1] * 8, [1, 3, 2, 2]])
def test_a_test_stops_after_ten_exceedances_and_others_count_themselves(widths, layout):
    X, T, strata, starts = drawn(widths, np.arange(40) // 10, 3, rare=False)
    X[:, 0] += 5.0 * T[:, 0]
    found = p_values_of(layout(X), T, strata, starts, seed=3)
    sizes = np.bincount(strata)
    orders = permutations_within(sizes, found.n_permutations, np.random.default_rng(3))
    least = statistics(X, T, starts, np.arange(40))
    counts = np.cumsum([statistics(X, T, starts, np.argsort(order)) >= least for order in orders], axis=0)
    for unit, value in enumerate(found.values):
        if counts[-1, unit] < 10:
            assert value == (1 + counts[-1, unit]) / (1 + len(orders))
        else:
            assert value == 10 / (1 + np.argmax(counts[:, unit] == 10))
    assert counts[-1, 0] < 10 <= counts[-1].max()


@pytest.mark.parametrize("widths", [[1] * 120, [1, 2, 3] * 20], ids=["columns", "groups"])
@pytest.mark.parametrize("layout", [np.array, sp.csr_array])
@pytest.mark.parametrize("rare", [False, True])
def test_p_values_of_columns_without_structure_are_exact(widths, layout, rare):
    """P(p ≤ a) ≤ a, with equality if there are no ties, up to 4 standard errors of the mean of independent sets."""
    shares = []
    for seed in range(50):
        X, T, strata, starts = drawn(widths, np.arange(24) % 3, 3, seed=[5, seed], rare=rare)
        X[:, 0] -= T[:, 0]
        values = p_values_of(layout(X), T, strata, starts, seed=seed).values
        shares.append([np.mean(values <= level) for level in (0.02, 0.05, 0.2, 0.5)])
    excess = np.mean(shares, axis=0) - (0.02, 0.05, 0.2, 0.5)
    error = 4.0 * np.std(shares, axis=0) / np.sqrt(50)
    assert np.all(excess <= error)
    assert rare or np.all(excess >= -error)


def test_ten_columns_among_twenty_thousand_are_found():
    rng = np.random.default_rng(0)
    T = centered_within(rng.standard_normal((40, 2)), np.zeros(40, dtype=int))
    X = rng.standard_normal((40, 20_000), dtype=np.float32)
    X[:, :10] += 3.0 * T @ rng.standard_normal((2, 10))
    found = p_values_of(X, T, np.zeros(40, dtype=int), np.arange(20_000))
    q_values = benjamini_hochberg(found.values)
    # The Benjamini–Hochberg procedure needs p ≤ 0.05 · 10/20,000 of them.
    assert found.values[:10].max() < 0.05 * 10 / 20_000
    assert q_values[:10].max() <= 0.05
    assert np.count_nonzero(q_values <= 0.05) <= 14  # on average half of one other column; of Poisson(0.6), 1 − 4e-4


# What changes nothing


@settings(max_examples=20)
@given(seed=SEEDS, groups=st.booleans(), q=st.sampled_from([2, 6]), rare=st.booleans())
def test_sparse_columns_have_the_p_values_of_dense_ones_for_any_number_of_threads(seed, groups, q, rare):
    X, T, strata, starts = drawn([1, 2, 3] if groups else [1] * 5, np.arange(30) % 2, q, seed=seed, rare=rare)
    dense = p_values_of(X, T, strata, starts).values
    assert_array_equal(p_values_of(sp.csc_array(X), T, strata, starts).values, dense)
    assert_array_equal(p_values_of(sp.csr_array(X), T, strata, starts, n_jobs=2).values, dense)
    assert_array_equal(p_values_of(X, T, strata, starts, n_jobs=2).values, dense)


@settings(max_examples=20)
@given(seed=SEEDS, shift=st.floats(-5.0, 5.0), scale=st.floats(1e-6, 1e6), sign=st.sampled_from([-1.0, 1.0]))
def test_scale_and_shift_of_columns_and_scale_and_rotation_of_the_structure_do_not_matter(seed, shift, scale, sign):
    X, T, strata, starts = drawn([1] * 6, np.arange(30) % 2, 2, seed=seed)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    found = p_values_of(sign * scale * (X + shift), sign * scale * T @ turn, strata, starts).values
    # Ties of values stay ties; other statistics that agree to 1e-5 are too few to matter.
    assert_array_equal(found, p_values_of(X, T, strata, starts).values)


@given(seed=SEEDS)
def test_the_order_of_columns_and_their_division_among_hypotheses_do_not_matter(seed):
    X, T, strata, starts = drawn([1] * 8, np.arange(30) % 3, 2, seed=seed)
    expected = p_values_of(X, T, strata, starts)
    order = np.random.default_rng(seed).permutation(8)
    assert_array_equal(p_values_of(X[:, order], T, strata, starts).values, expected.values[order])
    both = [Hypothesis(order[:3], T, strata), Hypothesis(order[3:], T, strata)]
    divided = permutation_p_values(X, both, unit_starts=starts, fdr=0.05, rng=np.random.default_rng(0))
    assert_array_equal(divided.values, expected.values)
    assert divided.n_permutations == expected.n_permutations


@LAYOUTS
def test_columns_that_no_permutation_changes_have_one(layout):
    strata = np.arange(20) // 10
    X, T, strata, starts = drawn([1] * 3, strata, 2)
    X[:, 1], X[:, 2] = 0.0, 2.0 * strata + 1.0  # constant, and constant within strata
    assert_array_equal(p_values_of(layout(X), T, strata, starts).values[1:], 1.0)


def test_every_unit_is_reported_once_and_a_result_can_be_repeated():
    X, T, strata, starts = drawn([1, 2, 3, 1], np.arange(30) % 2, 2)
    reported = []
    first, again, other = (p_values_of(X, T, strata, starts, seed=seed, advance=reported.append) for seed in (0, 0, 1))
    assert sum(reported) == 3 * len(starts)
    assert_array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values)


# Parts


@given(p_values=P_VALUES, fdr=st.floats(0.001, 0.999))
def test_q_values_are_those_of_the_procedure_by_its_definition(p_values, fdr):
    p, count = np.array(p_values), len(p_values)
    q = benjamini_hochberg(p_values)
    plain = [min(1.0 * other * count / np.sum(p <= other) for other in p[p >= value]) for value in p]
    assert_allclose(q, plain, rtol=1e-12)
    assert_allclose(q, false_discovery_control(p), rtol=1e-12)
    ordered = np.sort(p)
    reached = np.flatnonzero(ordered <= fdr * np.arange(1, count + 1) / count * (1.0 + 1e-12))
    significant = p <= ordered[reached[-1]] if len(reached) else np.zeros(count, dtype=bool)
    assert_array_equal(q <= fdr * (1.0 + 1e-12), significant)


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), count=st.integers(0, 4), seed=SEEDS)
def test_each_stratum_is_permuted_in_itself(sizes, count, seed):
    found = permutations_within(np.array(sizes), count, np.random.default_rng(seed))
    assert found.shape == (count, sum(sizes))
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        part = np.sort(found[:, end - size : end], axis=1)
        assert_array_equal(part, np.tile(np.arange(end - size, end), (count, 1)))
    assert_array_equal(found, permutations_within(np.array(sizes), count, np.random.default_rng(seed)))


def test_all_orders_of_two_strata_are_equally_frequent():
    found = permutations_within(np.array([3, 1, 2]), 24_000, np.random.default_rng(0))
    orders, counts = np.unique(found, axis=0, return_counts=True)
    assert len(orders) == 12
    assert chisquare(counts).pvalue > 1e-4
