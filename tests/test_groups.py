"""Groups of columns that are selected, kept, excluded and found as a whole, in all selectors."""

import itertools

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_selector import assert_identical, make, may_stop_early, of_every_selector
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect import KernelFSASL, LaplacianScore, MaxVariance
from ufselect.columns.constraints import Constraints
from ufselect.columns.dense import Columns
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import compare_selectors, evaluate, explain_features, gains_of, stability_of
from ufselect.significance import column_significance
from ufselect.solvers.alignment import POWER, alignment_path

PLANTED = make_planted_clusters(90, 3, 12, 18, random_state=0)
GROUPS = np.array([*np.repeat(list("abc"), 3), *"defghi", *np.repeat(list("jkl"), 4), *"mno"])
SIZES = {name: np.count_nonzero(name == GROUPS) for name in GROUPS}


def fitted(name, count=5, X=PLANTED.X, groups=GROUPS, **params):
    return make(name, count, groups=groups, **{"n_clusters": 3, "max_iter": 3, **params}).fit(X)


def in_order(selector, groups=GROUPS):
    """The groups by rank, each of which stands in one place."""
    labels = groups[np.argsort(selector.ranking_)]
    runs = [label for label, _ in itertools.groupby(labels)]
    assert len(runs) == len(set(runs))
    return runs


# Which columns are selected


@may_stop_early
@of_every_selector
def test_whole_groups_are_selected_and_counted(name):
    selector = fitted(name)
    chosen = in_order(selector)[:5]
    assert set(GROUPS[selector.get_support()]) == set(chosen)
    assert selector.n_groups_ == 5
    assert selector.n_features_ == selector.get_support().sum() == sum(SIZES[group] for group in chosen)
    assert_array_equal(selector.group_names_[selector.groups_], GROUPS)
    for count in (0.5, "auto"):
        selector = fitted(name, count)
        best = set(GROUPS[selector.get_support()])
        assert len(best) == selector.n_groups_
        assert selector.n_features_ == sum(SIZES[group] for group in best)
        assert count == "auto" or selector.n_groups_ == 8  # of fifteen, rounded to an even number


@may_stop_early
@of_every_selector
def test_groups_of_single_columns_change_nothing(name):
    for count in (4, "auto"):
        alone = fitted(name, count, groups=[f"group {column}" for column in range(30)])
        without = fitted(name, count, groups=None)
        assert_identical(alone, without)
        assert alone.n_groups_ == alone.n_features_ == without.n_features_
        assert not hasattr(without, "n_groups_")


@may_stop_early
@of_every_selector
def test_kept_groups_come_first_and_excluded_ones_last(name):
    runs = in_order(selector := fitted(name, keep=[16, "m"], exclude=["a", 5]))
    assert set(runs[:2]) == {"j", "m"}
    assert set(runs[-2:]) == {"a", "b"}
    assert selector.n_groups_ == 5
    auto = fitted(name, "auto", keep=["o", "g"])
    assert auto.n_features_ == sum(SIZES[group] for group in set(GROUPS[auto.get_support()]) | {"o", "g"})


@may_stop_early
@pytest.mark.parametrize("name", ["KernelFSASL", "MCFS", "NDFS", "LaplacianScore", "SPFS"])
def test_neither_the_order_of_columns_nor_the_names_of_groups_matter(name):
    runs = in_order(fitted(name))
    order = np.random.default_rng(0).permutation(30)
    assert in_order(fitted(name, X=PLANTED.X[:, order], groups=GROUPS[order]), GROUPS[order]) == runs
    numbers = 100 - np.unique(GROUPS, return_inverse=True)[1]
    assert_array_equal(fitted(name, groups=numbers).ranking_, fitted(name).ranking_)


def test_constant_columns_and_copies_rank_last_and_the_rest_of_their_group_counts():
    X = PLANTED.X.copy()
    X[:, 0], X[:, 9], X[:, 16] = 7.0, X[:, 3], X[:, 15]  # of a; alone, copy of one of b; both of j
    selector = KernelFSASL(1.0, groups=GROUPS).fit(X)
    assert set(selector.ranking_[[9, 16]]) == {28, 29}
    assert selector.ranking_[0] == 30
    assert set(np.flatnonzero(~selector.get_support())) <= {0, 16}
    best = KernelFSASL(13, groups=GROUPS, keep="a", exclude="o").fit(X)
    assert set(best.ranking_[[1, 2]]) == {1, 2}
    assert (best.n_groups_, best.n_features_) == (13, 26)
    everything = KernelFSASL(14, groups=GROUPS, exclude="o").fit(X)
    assert_array_equal(np.flatnonzero(~everything.get_support()), [0, 16, 29])


# By which criterion


def brute_force(X, T, groups, first, n_steps):
    """The greedy choice of groups, then of their columns, by kernels of all samples; and the alignment."""
    K, kernels = T @ T.T, [np.outer(x, x) for x in X.T]

    def merit(columns):
        total = sum(kernels[column] for column in columns)
        return np.sum(total * K) ** POWER / np.sum(total**2)

    chosen, left = [], list(dict.fromkeys(groups.tolist()))
    while left and len(set(groups[chosen])) < n_steps:
        members = {each: np.flatnonzero(groups == each).tolist() for each in left}
        best = max([each for each in left if each in first] or left, key=lambda each: merit(chosen + members[each]))
        left.remove(best)
        while rest := [column for column in members[best] if column not in chosen]:
            chosen.append(max(rest, key=lambda column: merit([*chosen, column])))
    totals = np.cumsum([kernels[column] for column in chosen], axis=0)
    return chosen, [np.sum(total * K) / (np.linalg.norm(total) * np.linalg.norm(K)) for total in totals]


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_path_is_the_greedy_choice_of_groups(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 13))
    X, T = Columns(rng.standard_normal((9, d)) * rng.uniform(0.2, 2.0, d)), rng.standard_normal((9, 2))
    groups = np.unique(rng.integers(0, 5, d), return_inverse=True)[1]
    kept = int(rng.integers(groups.max() + 1))
    n_steps = int(rng.integers(1, groups.max() + 2))
    constraints = Constraints(n_steps, np.flatnonzero(groups == kept), groups=groups)
    order, curve = brute_force(X.values, T, groups, {kept}, n_steps)
    for gram in (None, X.gram()):
        path = alignment_path(X, T, n_steps, gram=gram, constraints=constraints)
        assert_array_equal(path.order, order)
        assert_allclose(path.curve, curve, rtol=1e-9)


def test_the_curve_has_a_value_for_each_column_and_auto_ends_with_a_group():
    selector = KernelFSASL(groups=GROUPS).fit(PLANTED.X)
    ends = np.cumsum([SIZES[group] for group in in_order(selector)])
    shown = ends[ends <= len(selector.alignment_curve_)]
    assert selector.n_features_ == shown[np.argmax(selector.alignment_curve_[shown - 1])]
    assert_allclose(np.cumsum(gains_of(selector)), selector.alignment_curve_)
    wide = KernelFSASL(groups=np.arange(300) // 3).fit(make_planted_clusters(60, 3, 30, 270, random_state=0).X)
    assert wide.n_features_ == 3 * wide.n_groups_ < 300


@may_stop_early
@pytest.mark.parametrize("name", ["MaxVariance", "LaplacianScore", "SPEC", "EVSC"])
def test_other_methods_order_groups_by_the_mean_score_of_their_columns(name):
    selector = fitted(name)
    means = pd.Series(selector.scores_).groupby(GROUPS).mean()
    assert list(means.sort_values(ascending=False).index) == in_order(selector)


@pytest.mark.parametrize("X", [PLANTED.X, sp.csc_array(PLANTED.X), PLANTED.X.astype(np.float32)])
def test_a_group_counts_like_one_column_in_distances(X):
    """Copies of a column, up to a little noise, in one group: neighbours are those of the column alone."""
    dense = X.toarray() if sp.issparse(X) else X
    copies = dense[:, [0]] + 1e-7 * np.random.default_rng(0).standard_normal((90, 9))
    many = sp.csc_array(np.hstack([dense, copies])) if sp.issparse(X) else np.hstack([dense, copies.astype(X.dtype)])
    groups = np.append(np.arange(30), np.zeros(9, dtype=int))
    for components in (None, 5):
        settings = {"adaptive": False, "graph_components": components, "scale": "standard"}
        alone = KernelFSASL(5, **settings).fit(X).neighbor_graph_
        assert_allclose(
            KernelFSASL(5, groups=groups, **settings).fit(many).neighbor_graph_.toarray(), alone.toarray(), atol=1e-3
        )
        assert abs(KernelFSASL(5, **settings).fit(many).neighbor_graph_ - alone).max() > 0.1


def test_the_embedding_is_of_the_columns_as_they_are_scaled():
    selector = KernelFSASL(5, groups=GROUPS, scale="standard").fit(PLANTED.X)
    X = (PLANTED.X - PLANTED.X.mean(axis=0)) / PLANTED.X.std(axis=0)
    assert_allclose(selector.embedding_, X @ selector.coef_, atol=1e-10)


# Where X lives, and how groups are given


@may_stop_early
@of_every_selector
def test_sparse_and_dense_columns_give_the_same_groups(name):
    X = np.where(np.abs(PLANTED.X) > 0.8, PLANTED.X, 0.0)
    assert in_order(fitted(name, X=X))[:5] == in_order(fitted(name, X=sp.csr_array(X)))[:5]


def test_dask_arrays_give_the_same_groups():
    params = {"keep": "j", "exclude": [0], "graph_components": 8}
    expected = fitted("KernelFSASL", **params)
    found = fitted("KernelFSASL", X=da.from_array(PLANTED.X, chunks=(40, 30)), **params)
    assert_array_equal(found.ranking_, expected.ranking_)
    assert_allclose(found.alignment_curve_, expected.alignment_curve_, rtol=1e-8)


def test_groups_come_from_names_from_a_mapping_or_from_labels():
    names = [f"{group}={column}" if SIZES[group] > 1 else str(group) for column, group in enumerate(GROUPS)]
    frame = pd.DataFrame(PLANTED.X, columns=names)
    expected = fitted("KernelFSASL", keep="j", exclude="m")
    several = {name: group for name, group in zip(names, GROUPS, strict=True) if SIZES[group] > 1}
    by_index = {column: group for column, group in enumerate(GROUPS) if SIZES[group] > 1}
    for groups in ("prefix:=", several, by_index, pd.Series(GROUPS), pd.Categorical(GROUPS), GROUPS.tolist()):
        found = fitted("KernelFSASL", X=frame, groups=groups, keep="j", exclude="m")
        assert_identical(found, expected)
        assert_array_equal(found.group_names_[found.groups_], GROUPS)
    assert found.top_features()[0].startswith("j=")
    assert not hasattr(found.set_params(groups=None, keep=None, exclude=None).fit(frame), "groups_")


def test_a_column_alone_is_not_of_the_group_of_its_name():
    frame = pd.DataFrame(PLANTED.X[:, :4], columns=["size", "size_a", "size_b", "_c"])
    selector = MaxVariance(1, groups="prefix:_").fit(frame)
    assert_array_equal(selector.groups_, [0, 1, 1, 2])
    assert list(selector.group_names_) == ["size", "size", "_c"]


HOSTILE = {
    "groups has 3 labels, but X has 30 columns.": {"groups": ["a", "b", "c"]},
    "groups: the label of column 2 is missing.": {"groups": ["a", "b", None, *"c" * 27]},
    "groups: the label of column 1 is missing.": {"groups": [1.0, np.nan, *[2.0] * 28]},
    r"groups: the label of column 0 must be a text or a number, got \['a'\].": {"groups": [["a"]] * 30},
    "groups: there is no column named 'x': the columns of X have no names.": {"groups": {"x": "a"}},
    "groups: there is no column 30: X has 30 columns, counted from 0.": {"groups": {30: "a"}},
    "groups: the label of column 3 is missing.": {"groups": {3: None}},
    "groups='prefix:=' needs a name for each column, but the columns of X have no names.": {"groups": "prefix:="},
    'groups=\'sensor\' must be "prefix:" with the end of the prefix, such as "prefix:=".': {"groups": "sensor"},
    'groups must be one label for each column, a mapping or "prefix:=", got': {"groups": np.zeros((30, 2))},
    "min_distance=3 holds columns apart, so it cannot go with groups.": {"min_distance": 3},
    "min_distance='auto' holds columns apart, so it cannot go with groups.": {"min_distance": "auto"},
    "n_features_to_select=16 must not exceed the number of groups, 15.": {"n_features_to_select": 16},
    "n_features_to_select=15 must not exceed the number of groups that are not excluded, 14.": {
        "n_features_to_select": 15,
        "exclude": [0],
    },
    "n_features_to_select=1 selects 1 group, but keep contains 2.": {"n_features_to_select": 1, "keep": ["a", "b"]},
    "keep and exclude both contain columns of group 'a'.": {"keep": [0], "exclude": [2]},
    "keep: there is no column named 'z': the columns of X have no names.": {"keep": ["z"]},
    "keep contains column 9, a constant column.": {"keep": ["d"]},
}


@pytest.mark.parametrize("message", HOSTILE)
def test_what_cannot_be_done_is_one_sentence(message):
    X = PLANTED.X.copy()
    X[:, 9] = 1.0
    with pytest.raises(ValueError, match=f"^{message}"):
        LaplacianScore(**{"n_features_to_select": 3, "groups": GROUPS, **HOSTILE[message]}).fit(X)


def test_a_prefix_that_no_column_has_is_an_error():
    frame = pd.DataFrame(PLANTED.X[:, :2], columns=["a", "=b"])
    with pytest.raises(ValueError, match=r"^groups='prefix:=' finds no group: no column has '=' within its name\.$"):
        MaxVariance(1, groups="prefix:=").fit(frame)


# Tests of columns, and what comes after a fit


@pytest.mark.parametrize("method", ["KernelFSASL", "MaxVariance"])
def test_groups_are_found_or_not_as_a_whole(method):
    selector = fitted(method, "auto", fdr=0.05)
    tested = pd.DataFrame({"p": selector.significance_.p_values, "q": selector.q_values_}).groupby(GROUPS)
    assert (tested.nunique() == 1).all(axis=None)
    found = {group for group, q in tested["q"].first().items() if q <= 0.05}
    assert 0 < len(found) < 15
    assert set(in_order(selector)[: len(found)]) == found
    assert selector.n_groups_ <= len(found)
    again = fitted(method, "auto", fdr=0.05, X=PLANTED.X)
    given = make(method, "auto", groups=GROUPS).fit(PLANTED.X, significance=again.significance_)
    assert_identical(given, selector)


def test_a_test_of_single_columns_becomes_one_of_groups():
    single = column_significance(PLANTED.X)
    grouped = KernelFSASL(groups=GROUPS).fit(PLANTED.X, significance=single).significance_
    for group in set(GROUPS):
        members = group == GROUPS
        expected = min(1.0, members.sum() * single.p_values[members].min())
        assert_allclose(grouped.p_values[members], expected)
    assert_allclose(grouped.of_groups(GROUPS).q_values, grouped.q_values)


def test_inspection_knows_groups():
    names = [f"{group}={column}" for column, group in enumerate(GROUPS)]
    frame = pd.DataFrame(PLANTED.X, columns=names)
    selector = KernelFSASL(4, groups="prefix:=", keep="j").fit(frame)
    (explained,) = explain_features(selector, frame, [names[15]])
    assert explained.selected
    stable = stability_of(selector, frame, n_draws=3)
    frequencies = pd.Series(stable.frequencies).groupby(GROUPS)
    assert (frequencies.nunique() == 1).all()
    assert frequencies.first().sum() == pytest.approx(4)
    lists = {"five": names[:5], "more than groups": names[:20]}
    rows = evaluate(frame, lists, selector=KernelFSASL(groups="prefix:="), n_draws=2, n_random=2).rows
    chosen = [set(GROUPS[row.columns]) for row in rows]
    assert [len(groups) for groups in chosen] == [2] * 3 + [len(set(GROUPS[:20]))] * 3
    assert all(
        len(row.columns) == np.isin(GROUPS, list(groups)).sum() for row, groups in zip(rows, chosen, strict=True)
    )
    compared = compare_selectors({"a": MaxVariance(groups="prefix:="), "b": selector}, frame, n_repeats=0)
    assert len({len(set(GROUPS[row.chosen])) for row in compared.rows[:2]}) == 1
