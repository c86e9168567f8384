"""Choices that are kept: what chance changes, near-copies, and columns that have drifted."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from ufselect import KernelFSASL, MaxVariance
from ufselect.files import read_choice, summaries_of, write_choice
from ufselect.files.summaries import summarized
from ufselect.inspection import column_drift, compare_choices, recorded_choice, resampled_selections, selector_of
from ufselect.significance import fit_tested

NAMES = ["normal", "skewed", "zeros", "flag", "code", "holes"]


def table(rng, n):
    """Columns of every kind, none of which depends on the row."""
    X = np.column_stack(
        [
            rng.standard_normal(n),
            rng.lognormal(3.0, 1.5, n),
            np.where(rng.random(n) < 0.6, 0.0, rng.gamma(2.0, 1.0, n)),
            rng.random(n) < 0.1,
            rng.poisson(1.5, n),
            rng.standard_normal(n),
        ]
    )
    X[rng.random(n) < 0.2, 5] = np.nan
    return X


def drift_between(before, after, names=NAMES):
    known = summaries_of(before, names, range(len(names)))
    return column_drift(known, summaries_of(after, names, range(len(names)), like=known))


# Drift


def test_without_drift_few_tables_have_columns_that_have_drifted():
    """At a false discovery rate of 5 %, at most 5 % of tables without drift: 17 of 200 or more have a chance of 2 %."""
    rng = np.random.default_rng(0)
    exact = bounds = 0
    for _ in range(200):
        before, after = table(rng, 150), table(rng, 100)
        exact += bool(drift_between(before, after).drifted)
        own = [summaries_of(each, NAMES, range(6)) for each in (before, after)]
        bounds += bool(column_drift(*own).drifted)
    assert exact < 17
    assert bounds < 17


@pytest.mark.parametrize("column", range(6))
def test_a_column_that_has_shifted_is_found_and_no_other(column):
    rng = np.random.default_rng(column)
    before, after = table(rng, 600), table(rng, 400)
    if column == 3:
        after[:80, 3] = 1.0
    elif column == 5:
        after[:200, 5] = np.nan
    else:
        after[:, column] += 1.0 + 20.0 * (column == 1)
    found = drift_between(before, after)
    assert found.sentence == f"1 of 6 columns has drifted: {NAMES[column]}."
    assert found.columns[0].q_value == pytest.approx(6 * found.columns[0].p_value)
    what = {3: "'0'", 4: "'0'", 5: "missing"}.get(column, "median")
    assert found.columns[0].change.startswith(what)
    own = column_drift(*(summaries_of(each, NAMES, range(6)) for each in (before, after)))
    assert [each.name for each in own.drifted] == [NAMES[column]]


@given(st.integers(0, 2**32 - 1), st.integers(30, 200), st.integers(30, 200), st.booleans())
def test_the_difference_is_at_most_that_at_all_values(seed, n, m, rounded):
    rng = np.random.default_rng(seed)
    before, after = rng.standard_normal(n), rng.standard_normal(m) * 1.5
    if rounded:
        before, after = before.round(1), after.round(1)
    known = {"a": summarized(before)}
    assert known["a"].kind == "quantiles"
    whole = ks_2samp(before, after).statistic
    (at_points,) = column_drift(known, {"a": summarized(after, known["a"])}).columns
    (by_bounds,) = column_drift(known, {"a": summarized(after)}).columns
    assert whole - max(known["a"].counts) / n - 1e-12 <= at_points.difference <= whole + 1e-12
    assert by_bounds.difference <= whole + 1e-12


@given(st.lists(st.one_of(st.floats(allow_infinity=False, width=32), st.integers(-3, 3)), min_size=1, max_size=80))
def test_summaries_count_every_value(values):
    column = np.array(values, dtype=np.float64)
    summary = summarized(column)
    assert (summary.n_rows, summary.n_missing) == (len(values), np.isnan(column).sum())
    known = column[~np.isnan(column)]
    if summary.kind == "values":
        assert [np.sum(known == point) for point in summary.points] == list(summary.counts)
        assert summary.n_others == 0
    else:
        until = np.cumsum(summary.counts)
        assert [np.sum(known <= point) for point in summary.points] == until.tolist()
    assert summarized(column, summary).counts == summary.counts


def test_categories_are_compared_by_their_shares():
    rng = np.random.default_rng(0)
    before, after = (
        rng.choice(["red", "green", None], 300, p=p).astype(object) for p in ([0.5, 0.4, 0.1], [0.8, 0.1, 0.1])
    )
    known = {"colour": summarized(before)}
    drift = column_drift(known, {"colour": summarized(after, known["colour"])})
    assert drift.drifted[0].change.startswith("'")
    assert drift.drifted[0].difference == pytest.approx(0.33, abs=0.06)
    assert not column_drift(known, {"colour": summarized(before[:200], known["colour"])}).drifted
    new = {"colour": summarized(np.array(["blue"] * 50, dtype=object), known["colour"])}
    assert column_drift(known, new).drifted[0].change == "'blue' 0 % → 100 %"
    assert not column_drift(known, {"colour": summarized(np.arange(50.0))}).columns  # numbers beside texts


def test_sparse_summaries_are_those_of_dense_ones():
    X = np.round(np.maximum(np.random.default_rng(0).standard_normal((70, 5)), 0.0), 1)
    dense = summaries_of(X, "abcde", [4, 0, 2])
    assert list(dense) == ["e", "a", "c"]
    assert (
        summaries_of(sp.csr_array(X), "abcde", [4, 0, 2]) == summaries_of(sp.csc_array(X), "abcde", [4, 0, 2]) == dense
    )


# Chance


def test_chance_alone_is_rarely_more_than_chance():
    """Variances without any order, where halves of one table have more in common than two tables if they overlap."""
    rng = np.random.default_rng(0)
    alike, expected, same = 0, [], []
    for _ in range(40):
        choices = []
        for _ in range(2):
            X = rng.standard_normal((80, 40)) * np.r_[np.full(12, 1.4), np.ones(28)]
            choices.append(recorded_choice(MaxVariance(8).fit(X), X, n_splits=5))
        found = compare_choices(*choices)
        alike += found.is_more_than_chance
        expected.append(found.expected)
        same.append(found.n_same)
    assert alike <= 4
    assert np.mean(expected) == pytest.approx(np.mean(same), abs=0.5)


def test_as_many_columns_are_expected_as_of_random_selections_of_other_numbers():
    """Of noise, the mean is that of a hypergeometric distribution: 3 × 15 of 25 columns."""
    rng, expected, same = np.random.default_rng(0), [], []
    for _ in range(40):
        X, Y = rng.standard_normal((2, 40, 25))
        before, after = (recorded_choice(MaxVariance(m).fit(Z), Z, n_splits=2) for m, Z in ((3, X), (15, Y)))
        for found in (compare_choices(before, after), compare_choices(after, before)):
            expected.append(found.expected)
            same.append(found.n_same)
    assert np.mean(same) == pytest.approx(1.8, abs=0.3)
    assert np.mean(expected) == pytest.approx(1.8, abs=0.3)


def test_another_structure_is_more_than_chance():
    rng = np.random.default_rng(0)
    scales = np.linspace(3.0, 1.0, 30)
    X, Y = rng.standard_normal((200, 30)) * scales, rng.standard_normal((300, 30)) * scales[::-1]
    before, after = (recorded_choice(MaxVariance(6).fit(each), each, n_splits=5) for each in (X, Y))
    found = compare_choices(before, after)
    assert found.is_more_than_chance
    assert found.sentence.startswith("0 of 6 columns are the same; by chance from samples of this size alone ")
    assert found.sentence.endswith(", so more has changed than by chance (p < 0.01).")
    assert set(found.went_out) == set(before.selected)
    assert set(found.came_in) == set(after.selected)
    halved = compare_choices(before, recorded_choice(MaxVariance(6).fit(X[:100]), X[:100], n_splits=2))
    assert not halved.is_more_than_chance


def test_near_copies_count_as_the_same():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((100, 6)) * [6, 5, 4, 3, 2, 1], columns=list("abcdef"))
    X["copy"] = -X["b"] * 0.9 + 0.1 * rng.standard_normal(100)
    Y = X.assign(b=X["b"] * 0.1, copy=X["copy"] * 1.5)
    before, after = (recorded_choice(MaxVariance(3).fit(each), each) for each in (X, Y))
    assert (before.selected, after.selected) == (("a", "b", "copy"), ("copy", "a", "c"))
    before, after = (recorded_choice(MaxVariance(2).fit(each), each) for each in (X, Y))
    found = compare_choices(before, after)
    assert (found.kept, found.replaced, found.came_in, found.went_out) == (("a",), {"b": "copy"}, (), ())
    assert found.sentence.startswith("2 of 2 columns are the same, 1 of them as near-copies; how many would be by")
    assert before.near_copies == {"copy": "b"}


def test_the_same_data_or_another_method_are_no_matter_of_chance():
    X = np.random.default_rng(0).standard_normal((60, 8)) * np.arange(1, 9)
    before = recorded_choice(MaxVariance(3).fit(X), X, n_splits=2)
    after = recorded_choice(KernelFSASL(3).fit(X), X)
    assert "; the methods or their parameters differ, so it is not" in compare_choices(before, after).sentence
    fewer = recorded_choice(MaxVariance(2).fit(X), X)
    assert compare_choices(before, fewer).expected is not None
    assert " (2 are selected now)" in compare_choices(before, fewer).sentence


def test_parts_of_the_samples_are_disjoint():
    X = np.random.default_rng(0).standard_normal((41, 8)) * np.arange(1, 9)
    found = resampled_selections(MaxVariance(3).fit(X), X, n_splits=4, random_state=1)
    assert [len(split) for split in (*found.halves, *found.quarters)] == [2] * 4 + [4] * 2
    assert {len(part) for split in (*found.halves, *found.quarters) for part in split} == {8}
    with pytest.raises(ValueError, match="n_splits"):
        resampled_selections(MaxVariance(3).fit(X), X, n_splits=1)


# Again on other data


def test_columns_are_tested_in_parts_where_they_are_observed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 20))
    X[:, 6:12] += 3.0 * rng.integers(0, 2, (240, 1))
    missing = np.zeros(X.shape, dtype=bool)
    missing[np.ix_(rng.random(240) < 0.5, range(6))] = True
    X[missing] = 4.0
    selector = KernelFSASL(6, fdr=0.05)
    fit_tested(selector, X, 0.05, missing=missing)
    found = resampled_selections(selector, X, n_splits=2, missing=missing)
    picks = [column for split in found.halves for part in split for column in part[:6]]
    assert sum(column < 6 for column in picks) <= 1  # 14 of them where filled values count as observed


def test_a_choice_is_made_again_from_its_file(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((80, 9)), columns=list("abcdefghi"))
    selector = KernelFSASL(4, n_neighbors=6, keep=["c"], exclude=["a", "d"]).fit(X)
    write_choice(tmp_path / "choice.json", recorded_choice(selector, X, n_splits=2))
    choice = read_choice(tmp_path / "choice.json")
    assert choice.selected == tuple(selector.top_features())
    again = selector_of(choice, X.columns)
    assert again.fit(X.to_numpy()).ranking_.tolist() == selector.ranking_.tolist()
    with pytest.raises(ValueError, match="keeps 'c', which the data do not have"):
        selector_of(choice, ["a", "b"])
    choice.record["params"]["colour"] = 3
    with pytest.raises(ValueError, match="has the parameter colour, which KernelFSASL has not"):
        selector_of(choice, X.columns)
    choice.record["method"] = "os:system"
    with pytest.raises(ValueError, match="os:system, which is no method of ufselect"):
        selector_of(choice, X.columns)


def test_what_json_cannot_hold_is_refused():
    X = np.random.default_rng(0).standard_normal((30, 4))
    selector = KernelFSASL(2, random_state=np.random.RandomState(0)).fit(X)
    with pytest.raises(ValueError, match=r"params\.random_state=RandomState.* cannot be saved"):
        recorded_choice(selector, X)
