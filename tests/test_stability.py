"""How often the same columns are selected from subsets of the samples, by chance and with near-copies as one."""

import zlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from ufselect import SPFS, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import draws_of_samples, stability_of
from ufselect.inspection.adapter import as_selector
from ufselect.inspection.refits import fit_within
from ufselect.metrics import selection_stability, stability_of_counts


@pytest.fixture(scope="module")
def planted():
    return make_planted_clusters(120, 4, 8, 32, random_state=0).X


class Lottery:
    """Scores columns at random, in another way for each subset of the samples."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X):
        digest = zlib.crc32(np.float64(X[:, [0]].sum()).tobytes())
        self.scores_ = np.random.default_rng([self.seed, digest]).random(X.shape[1])
        return self


def lottery(seed, count, X):
    return as_selector(Lottery(seed), "lottery").set_params(n_features_to_select=count).fit(X)


# Values


def test_frequencies_are_those_of_fits_to_the_subsets(planted):
    selector = KernelFSASL(8, verbose=1).fit(planted)
    found = stability_of(selector, pd.DataFrame(planted), random_state=2)
    fits = [KernelFSASL(8).fit(planted[rows]).get_support() for rows in draws_of_samples(120, 5, random_state=2)]
    np.testing.assert_array_equal(found.frequencies, np.mean(fits, axis=0))
    assert found.value == pytest.approx(selection_stability([np.flatnonzero(each) for each in fits], 40))
    assert (found.n_draws, found.n_samples, found.n_all_samples, found.candidates.sum()) == (5, 96, 120, 40)
    assert found.frequency_by_chance == pytest.approx(8 / 40)
    draws = draws_of_samples(120, 3, share=40 / 120, random_state=1)
    expected = np.mean([KernelFSASL(8).fit(planted[rows]).get_support() for rows in draws], axis=0)
    found = stability_of(selector, sp.csr_array(planted), n_draws=3, max_samples=40, random_state=1)
    np.testing.assert_allclose(found.frequencies, expected)
    assert found.subsets == "3 random subsets of 40 of 120 samples (33 %)"


@given(st.integers(2, 6), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_frequencies_are_shares_and_groups_are_selected_as_often_as_their_columns(n_draws, count, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 12)) + rng.standard_normal((30, 1)) * rng.choice([0.0, 5.0], 12)
    found = stability_of(MaxVariance(count).fit(X), X, n_draws=n_draws, share=0.5, random_state=seed)
    assert np.all((found.frequencies >= 0.0) & (found.frequencies <= found.group_frequencies))
    assert np.all(found.group_frequencies <= 1.0)
    assert found.frequencies.sum() == pytest.approx(count)
    assert found.value <= 1.0
    assert found.value_of_groups <= 1.0
    assert found.by_chance <= found.by_chance_95 <= 1.0


def test_the_same_selection_each_time_has_a_stability_of_one():
    X = np.random.default_rng(0).standard_normal((60, 20)) * 2.0 ** np.arange(20)
    found = stability_of(MaxVariance(4).fit(X), X)
    assert (found.value, found.value_of_groups, set(found.frequencies)) == (1.0, 1.0, {0.0, 1.0})
    assert found.sentence == (
        "The selections from 5 random subsets of 48 of 60 samples (80 %) have a stability of 1.00 "
        "(1 = always the same columns, by chance 0.00)."
    )


def test_random_selections_are_as_stable_as_by_chance(planted):
    found = [stability_of(lottery(seed, 10, planted), planted) for seed in range(60)]
    values = np.array([each.value for each in found])
    assert abs(values.mean() - found[0].by_chance) < 3.0 * values.std() / np.sqrt(60)
    assert 0.8 < np.mean(values <= found[0].by_chance_95) < 1.0
    assert "no more than by chance" in found[int(values.argmin())].sentence


def test_chance_is_that_of_drawn_selections():
    X = np.random.default_rng(0).standard_normal((40, 12))
    found = stability_of(lottery(0, 5, X), X, n_draws=3)
    rng = np.random.default_rng(1)
    values = [selection_stability([rng.permutation(12)[:5] for _ in range(3)], 12) for _ in range(3000)]
    assert found.by_chance == pytest.approx(np.mean(values), abs=0.03)
    assert found.by_chance_95 == pytest.approx(np.quantile(values, 0.95), abs=0.08)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_a_value_follows_from_how_often_columns_are_selected(times):
    selections = [[column for column, count in enumerate(times) if count > number] for number in range(5)]
    expected = selection_stability(selections, len(times))
    assert stability_of_counts(np.bincount(times, minlength=6)) == pytest.approx(expected, abs=1e-12)


def test_columns_in_another_order_are_as_stable(planted):
    order = np.random.default_rng(0).permutation(40)
    one, other = (stability_of(MaxVariance(8).fit(X), X) for X in (planted, np.ascontiguousarray(planted[:, order])))
    np.testing.assert_array_equal(one.frequencies[order], other.frequencies)
    np.testing.assert_array_equal(one.group_frequencies[order], other.group_frequencies)
    assert (one.value, one.value_of_groups, one.by_chance) == (other.value, other.value_of_groups, other.by_chance)


@pytest.mark.parametrize("batch", [None, np.arange(120) % 3])
def test_sparse_is_dense_and_the_selector_stays_as_it_is(planted, batch):
    X = np.where(planted > 0.5, planted, 0.0)
    selector = SPFS(8, n_clusters=4) if batch is None else KernelFSASL(8)
    selector.fit(X, batch=batch)
    before = selector.get_params(), selector.ranking_.copy()
    dense, sparse = (stability_of(selector, form(X), n_draws=3, batch=batch) for form in (np.array, sp.csc_matrix))
    assert (sparse.value, sparse.value_of_groups) == pytest.approx((dense.value, dense.value_of_groups))
    assert selector.get_params() == before[0]
    np.testing.assert_array_equal(selector.ranking_, before[1])


def test_a_selector_must_be_fitted(planted):
    with pytest.raises(NotFittedError):
        stability_of(MaxVariance(), planted)


# Near-copies


def twins(n=200, seed=0):
    """Six strong columns, each with a twin, beside noise."""
    rng = np.random.default_rng(seed)
    strong = 3.0 * rng.standard_normal((n, 6))
    return np.hstack([strong, strong + 0.05 * rng.standard_normal((n, 6)), rng.standard_normal((n, 28))])


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_of_twins_either_may_be_selected(form):
    class OneOfTwins(Lottery):
        def fit(self, X):
            super().fit(X)
            second = self.scores_[6:12] > 0.5
            self.scores_ = np.concatenate([2.0 - second, 1.0 + second, np.zeros(28)])
            return self

    X = form(twins())
    selector = as_selector(OneOfTwins(), "one").set_params(n_features_to_select=6).fit(X)
    found = stability_of(selector, X)
    assert found.value < 0.7
    assert found.value_of_groups == 1.0
    assert set(found.group_frequencies) == {0.0, 1.0}
    assert found.groups_by_chance < 0.3
    assert f"; 1.00 if near-copies count as one, by chance {found.groups_by_chance:z.2f})." in found.sentence


def test_a_chain_of_near_copies_is_one_group():
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.standard_normal((300, 1)) * 4.0 + rng.standard_normal((300, 6)) * 1.2, axis=1)
    chain = steps / np.arange(1, 7)
    X = np.hstack([chain, rng.standard_normal((300, 14)) * 1e-3])
    correlations = np.abs(np.corrcoef(chain.T))
    assert np.all(np.diag(correlations, 1) > 0.9)
    found = stability_of(MaxVariance(3).fit(X), X, share=0.3)
    assert set(found.group_frequencies[found.frequencies > 0.0]) == {1.0}
    assert found.value_of_groups == 1.0


def test_columns_that_only_batches_make_alike_are_no_near_copies():
    rng = np.random.default_rng(0)
    batch = np.arange(120) % 2
    X = rng.standard_normal((120, 20)) + 20.0 * batch[:, None]
    selector = MaxVariance(5).fit(X, batch=batch)
    assert not stability_of(selector, X, batch=batch).has_near_copies
    assert stability_of(MaxVariance(5).fit(X), X).value_of_groups == 1.0


# What a selector chooses among


def test_columns_are_not_tested_anew_and_chance_is_among_those_found():
    data = make_planted_clusters(200, 4, 10, 90, random_state=4)
    selector = LaplacianScore(5, fdr=0.05).fit(data.X)
    given = []

    def fit(clone, points, batches, significance):
        given.append(significance)
        return fit_within(clone, points, batches, significance)

    found = stability_of(selector, data.X, n_draws=3, fit=fit)
    assert all(each is selector.significance_ for each in given)
    np.testing.assert_array_equal(found.candidates, selector.significance_.found)
    assert not found.frequencies[~found.candidates].any()
    assert found.frequency_by_chance == pytest.approx(5 / found.candidates.sum())


def test_nothing_is_stable_where_there_is_nothing_to_choose():
    data = make_planted_clusters(200, 4, 10, 90, random_state=4)
    selector = LaplacianScore(20, fdr=0.05).fit(data.X)  # more than are found: all of these each time
    found = stability_of(selector, data.X, n_draws=3)
    assert (found.value, found.by_chance) == (1.0, 1.0)
    assert found.sentence.startswith("All candidate columns are selected")


def test_columns_that_cannot_be_chosen_do_not_count(planted):
    X = np.hstack([planted, planted[:, :2], np.ones((120, 3))])
    selector = MaxVariance(8, keep=[5], exclude=[1, 2]).fit(X)
    found = stability_of(selector, X)
    assert set(np.flatnonzero(~found.candidates)) == {1, 2, 5, 40, 42, 43, 44}  # column 41 stands for column 1
    assert found.frequencies[5] == 1.0
    alone = np.delete(np.arange(40), [1, 2, 5])
    expected = stability_of(MaxVariance(7).fit(X[:, [*alone, 41]]), X[:, [*alone, 41]])
    assert (found.value, found.by_chance) == (pytest.approx(expected.value), expected.by_chance)
