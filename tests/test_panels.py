"""Columns to keep, to exclude and to hold apart, in all selectors."""

import itertools

import numpy as np
import pandas as pd
import pytest
from every_selector import make, may_stop_early, of_every_selector
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ufselect import KernelFSASL, LaplacianScore, MaxVariance
from ufselect.base import Constraints
from ufselect.datasets import make_planted_clusters

PLANTED = make_planted_clusters(90, 3, 12, 18, random_state=0)


def fitted(name, count=8, X=PLANTED.X, **params):
    return make(name, count, **{"n_clusters": 3, "max_iter": 3, **params}).fit(X)


@may_stop_early
@of_every_selector
def test_kept_columns_come_first_excluded_ones_last_and_the_others_in_between(name):
    keep, exclude = [25, 3], [0, 1, 29]
    selector = fitted(name, keep=keep, exclude=exclude)
    assert set(selector.ranking_[keep]) == {1, 2}
    assert set(selector.ranking_[exclude]) == {28, 29, 30}
    assert sorted(selector.ranking_) == list(range(1, 31))
    assert selector.get_support().sum() == 8
    assert np.all(selector.scores_[exclude] <= selector.scores_.min())


@may_stop_early
@pytest.mark.parametrize("name", ["KernelFSASL", "MCFS", "LaplacianScore"])
def test_an_excluded_column_does_not_count_at_all(name):
    without = fitted(name, 5, X=PLANTED.X[:, 4:])
    excluded = fitted(name, 5, exclude=[0, 1, 2, 3])
    assert_array_equal(excluded.top_features(), without.top_features() + 4)


@may_stop_early
@pytest.mark.parametrize("name", ["FSASL", "KernelFSASL"])
def test_the_curve_follows_the_ranking_with_kept_columns(name):
    selector = fitted(name, 8, keep=[25, 3])
    order = selector.top_features()
    again = fitted(name, 8, keep=list(order))
    assert selector.alignment_curve_[7] == pytest.approx(again.alignment_curve_[7], rel=1e-9)


def test_a_kept_column_is_not_repeated_by_its_likes():
    rng = np.random.default_rng(0)
    informative = np.flatnonzero(PLANTED.informative)
    best = int(KernelFSASL(1).fit(PLANTED.X).top_features()[0])
    # Five columns that say nearly the same as the best one: once that is kept, none of them is worth its place.
    likes = PLANTED.X[:, [best]] + 1e-3 * rng.standard_normal((len(PLANTED.X), 5))
    X = np.hstack([PLANTED.X, likes])
    kept = KernelFSASL(6, keep=[best]).fit(X).top_features()
    assert kept[0] == best
    assert np.all(np.isin(kept, informative))


def test_all_that_is_kept_is_selected_even_by_auto():
    noise = np.flatnonzero(~PLANTED.informative)
    selector = KernelFSASL(keep=noise[:9]).fit(PLANTED.X)
    assert selector.n_features_ >= 9
    assert np.all(selector.get_support()[noise[:9]])


def test_names_masks_and_single_names_are_accepted():
    frame = pd.DataFrame(PLANTED.X, columns=[f"gene {j}" for j in range(30)])
    by_name = KernelFSASL(5, keep=["gene 25"], exclude="gene 0").fit(frame)
    by_mask = KernelFSASL(5, keep=np.arange(30) == 25, exclude=[0]).fit(PLANTED.X)
    assert_array_equal(by_name.ranking_, by_mask.ranking_)
    assert by_name.top_features()[0] == "gene 25"


@pytest.mark.parametrize("dtype", ["boolean", "bool[pyarrow]", "object"])
def test_masks_may_be_nullable_and_stand_beside_names_and_indices(dtype):
    frame = pd.DataFrame(PLANTED.X, columns=[f"gene {j}" for j in range(30)])
    mask = pd.Series(np.isin(np.arange(30), [25, 26]), index=frame.columns, dtype=dtype)
    expected = MaxVariance(5, exclude=[25, 26, 3, 4]).fit(PLANTED.X).ranking_
    assert_array_equal(MaxVariance(5, exclude=[mask, "gene 3", 4]).fit(frame).ranking_, expected)
    alone = MaxVariance(5, exclude=mask).fit(frame).ranking_
    assert_array_equal(alone, MaxVariance(5, exclude=[25, 26]).fit(frame).ranking_)
    mask.iloc[:2] = None
    with pytest.raises(ValueError, match=r"^exclude: a mask has 2 missing values where True or False is needed\.$"):
        MaxVariance(5, exclude=mask).fit(frame)


def test_a_kept_copy_stands_for_the_others_and_an_excluded_one_for_none():
    X = np.hstack([PLANTED.X, PLANTED.X[:, [2, 5]]])
    selector = KernelFSASL(5, keep=[30], exclude=[5]).fit(X)
    assert_array_equal(np.flatnonzero(selector.copies_ >= 0), [2, 5])
    assert_array_equal(selector.copies_[[2, 5]], [30, 31])
    assert selector.ranking_[30] == 1
    assert selector.ranking_[2] == 31
    assert selector.ranking_[5] == 32


HOSTILE = {
    "keep: there is no column named 'x': the columns of X have no names.": {"keep": ["x"]},
    "exclude: there is no column 30: X has 30 columns, counted from 0.": {"exclude": [30]},
    "Column 3 is in keep and in exclude.": {"keep": [3], "exclude": [3, 4]},
    "exclude contains all 30 columns.": {"exclude": range(30)},
    "keep contains column 7, a constant column.": {"keep": [7]},
    "keep contains column 9, an exact copy of column 8: keep one of them.": {"keep": [8, 9]},
    "n_features_to_select=5 selects 5 features, but keep contains 6.": {"keep": [0, 1, 2, 3, 4, 5]},
    "n_features_to_select=5 must not exceed the number of features that are not excluded, 4.": {"exclude": range(26)},
    "keep: a mask of 2 values does not fit 30 columns.": {"keep": [True, False]},
    "keep: columns are given in one dimension, got 2.": {"keep": np.eye(30, dtype=bool)},
    "Only 2 columns are at least min_distance=15 apart, but 5 are to be selected.": {"min_distance": 15},
    "All columns that are not excluded are constant.": {
        "exclude": [j for j in range(30) if j != 7],
        "n_features_to_select": 1,
    },
}


@pytest.mark.parametrize("message", HOSTILE)
def test_what_cannot_be_respected_is_one_sentence(message):
    X = PLANTED.X.copy()
    X[:, 7], X[:, 9] = 1.0, X[:, 8]
    with pytest.raises(ValueError, match=f"^{message}"):
        LaplacianScore(**{"n_features_to_select": 5, **HOSTILE[message]}).fit(X)


def sets_apart(positions, first, min_distance):
    """All sets of columns that contain the first ones and of which all others are apart, by trying every subset."""
    others = [column for column in range(len(positions)) if column not in first]
    found = []
    for size in range(len(others) + 1):
        for more in itertools.combinations(others, size):
            distances = [abs(positions[a] - positions[b]) for a in more for b in {*more, *first} - {a}]
            if min(distances, default=min_distance) >= min_distance:
                found.append({*first, *more})
    return found


def best_first(order, first, possible, count):
    """Columns in their order, each only if a set of the given size still contains it with those before it."""
    chosen = [column for column in order if column in first]
    for column in order:
        wanted = {*chosen, column}
        if column not in chosen and len(chosen) < count and any(len(s) == count and wanted <= s for s in possible):
            chosen.append(column)
    return chosen


@given(st.data())
def test_as_many_columns_as_wanted_are_selected_best_first_wherever_so_many_are_apart(data):
    positions = np.array(sorted(data.draw(st.sets(st.integers(0, 15), min_size=1, max_size=9))))
    d = len(positions)
    order = np.array(data.draw(st.permutations(range(d))))
    first = np.array(sorted(data.draw(st.sets(st.integers(0, d - 1), max_size=2))), dtype=int)
    min_distance = data.draw(st.integers(2, 6))
    count = data.draw(st.integers(max(1, len(first)), d))
    possible = sets_apart(positions, set(first), min_distance)
    constraints = Constraints(count, first, positions, min_distance)
    assert constraints.most_apart(d) == max(len(columns) for columns in possible)
    arranged, n_open = constraints.arranged(order)
    assert sorted(arranged) == list(range(d))
    if count <= constraints.most_apart(d):
        assert list(arranged[:count]) == best_first(order, set(first), possible, count)
    assert set(arranged[:n_open]) in possible
    assert not any(set(arranged[:n_open]) < columns for columns in possible)  # every further column is too near


@may_stop_early
@of_every_selector
def test_columns_that_leave_too_few_others_are_not_selected(name):
    # Of 13 columns only 0, 4, 8 and 12 are four that are at least four apart.
    assert sorted(fitted(name, 4, X=PLANTED.X[:, 6:19], min_distance=4).top_features()) == [0, 4, 8, 12]
    chosen = np.sort(fitted(name, 9, min_distance=3, keep=[3], exclude=[0, 1, 2, 29]).top_features())
    assert chosen[0] == 3
    assert np.diff(chosen).min() >= 3


@may_stop_early
@pytest.mark.parametrize("name", ["FSASL", "KernelFSASL"])
@pytest.mark.parametrize("count", [5, 10])
def test_every_way_to_select_finds_columns_apart_if_there_are(name, count):
    selector = fitted(name, count, min_distance=3, keep=[9])
    assert selector.top_features()[0] == 9
    assert np.diff(np.sort(selector.top_features())).min() >= 3
    assert len(selector.alignment_curve_) >= count


class NeverFitted(LaplacianScore):
    def _learn(self, X, constraints):
        raise AssertionError


def test_the_largest_number_of_columns_apart_is_stated_before_the_fit():
    message = "^Only 5 columns are at least min_distance=4 apart, those in keep included, but 6 are to be selected"
    with pytest.raises(ValueError, match=message):
        NeverFitted(6, min_distance=4, keep=[0, 1, 2]).fit(PLANTED.X[:, :13])
    with pytest.raises(ValueError, match="Only 4 columns are at least min_distance=4 apart, but 5"):
        NeverFitted(5, min_distance=4).fit(PLANTED.X[:, :13])


def spread_by_hand(order, first, positions):
    """Take the first column of an order that is far enough from those before it, again and again."""
    chosen = [column for column in order if column in first]
    extent = positions[-1] - positions[0] + 1
    while len(chosen) < len(order):
        left = [column for column in order if column not in chosen]
        nearest = [min((abs(positions[j] - positions[k]) for k in chosen), default=extent) for j in left]
        least = min(extent // (2 * (len(chosen) + 1)), max(nearest))
        chosen.append(next(column for column, near in zip(left, nearest, strict=True) if near >= least))
    return chosen


@given(st.data())
def test_columns_are_spread_best_first_also_among_gaps(data):
    positions = np.array(sorted(data.draw(st.sets(st.integers(0, 25), min_size=1, max_size=12))))
    d = len(positions)
    order = np.array(data.draw(st.permutations(range(d))))
    first = np.array(sorted(data.draw(st.sets(st.integers(0, d - 1), max_size=3))), dtype=int)
    arranged, n_open = Constraints(None, first, positions, spread=True).arranged(order)
    assert list(arranged) == spread_by_hand(order, set(first), positions)
    assert n_open == d


@may_stop_early
@of_every_selector
def test_the_best_columns_of_an_order_are_spread_however_many_are_taken(name):
    best = fitted(name, 6, min_distance="auto").top_features(15)
    for k in range(2, 16):
        assert np.abs(best[: k - 1] - best[k - 1]).min() >= 30 // (2 * k)
    kept = fitted(name, 6, min_distance="auto", keep=[7, 8], exclude=[0, 29]).top_features()
    assert set(kept[:2]) == {7, 8}
    assert np.diff(np.sort(kept)).tolist().count(1) == 1


def test_two_columns_are_spread_as_by_the_distance_that_is_documented():
    auto, given = (MaxVariance(2, min_distance=distance).fit(PLANTED.X) for distance in ("auto", 7))  # ⌊30/4⌋
    assert_array_equal(auto.top_features(), given.top_features())
    assert not np.array_equal(auto.top_features(), MaxVariance(2).fit(PLANTED.X).top_features())


def test_bands_of_one_peak_are_not_chosen_again_and_again():
    bands, rng = np.arange(80), np.random.default_rng(0)
    peaks = np.exp(-(((bands - np.array([[15], [35], [60]])) / 9) ** 2)) * [[10.0], [1.0], [1.0]]
    X = rng.normal(size=(120, 3)) @ peaks + 1e-3 * rng.normal(size=(120, 80))
    chosen = KernelFSASL(3, scale=None, min_distance="auto").fit(X).top_features()
    assert_array_equal(np.abs(np.sort(chosen) - [15, 35, 60]) <= 9, True)
    assert np.abs(KernelFSASL(3, scale=None).fit(X).top_features() - 15).max() <= 9
    every = [KernelFSASL(3, scale=None, min_distance="auto").fit(X[:, ::step].astype(np.float32)) for step in (1, 2)]
    assert_array_equal(every[0].top_features(), chosen)
    assert_array_equal(np.abs(np.sort(2 * every[1].top_features()) - [15, 35, 60]) <= 9, True)


@may_stop_early
@pytest.mark.parametrize("name", ["FSASL", "KernelFSASL", "LaplacianScore"])
def test_columns_of_an_order_that_are_not_found_follow_those_that_are(name):
    selector = fitted(name, "auto", min_distance="auto", fdr=0.05)
    n_found = selector.significance_.n_found
    assert n_found < 30
    assert selector.significance_.found[selector.top_features(n_found)].all()


def test_a_column_that_is_kept_and_excluded_is_called_by_its_name():
    import pandas as pd

    frame = pd.DataFrame(PLANTED.X, columns=[f"gene {j}" for j in range(30)])
    with pytest.raises(ValueError, match=r"^Column 'gene 3' is in keep and in exclude\.$"):
        KernelFSASL(5, keep=["gene 3"], exclude=["gene 3", "gene 4"]).fit(frame)
    with pytest.raises(ValueError, match=r"^Column 3 is in keep and in exclude\.$"):
        KernelFSASL(5, keep=[3], exclude=[3]).fit(PLANTED.X)
