"""Methods over data sets: by brute force, by SciPy, and by hand."""

from itertools import combinations
from statistics import mean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from ufselect.benchmark import tables as comparisons

DATA = ("a", "b", "c", "d", "e", "f", "g")


# The best of as many random rankings


@given(
    values=st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.25, 0.5, 0.75])), min_size=1, max_size=7),
    share=st.floats(0, 1),
)
def test_the_expected_best_is_the_mean_over_all_subsets(values, share):
    table = np.array(values)
    n_drawn = 1 + round(share * (len(table) - 1))
    every = [table[list(rows)].max(axis=0) for rows in combinations(range(len(table)), n_drawn)]
    np.testing.assert_allclose(
        comparisons.expected_best(table, n_drawn), np.mean(every, axis=0), rtol=1e-12, atol=1e-15
    )


def of_settings(figures):
    """A row for each data set, metric, method and setting; a column for each of the counts 5 and 10."""
    index = pd.MultiIndex.from_tuples(figures, names=["data", "metric", "method", "setting"])
    return pd.DataFrame(list(figures.values()), index=index, columns=[5, 10])


def test_each_method_has_as_many_random_rankings_as_settings():
    random = {"0": [10.0, 40.0], "1": [20.0, 50.0], "2": [60.0, 30.0]}
    table = of_settings(
        {("a", "acc", "random", setting): figures for setting, figures in random.items()}
        | {("a", "acc", "m", setting): [70.0, 80.0] for setting in "01"}
        | {("a", "acc", "large", setting): [1.0, 1.0] for setting in "0123"}
        | {("b", "acc", "m", "0"): [70.0, 80.0]}
    )
    found = comparisons.as_many_random(table, "random", {"a": (5, 10, 10), "b": (5, 10)})
    of_5, of_10 = mean([20.0, 60.0, 60.0]), mean([50.0, 40.0, 50.0])  # the pairs of random rankings
    assert found["a", "acc", "m"] == pytest.approx(mean([of_5, of_10, of_10]))  # 10 is listed twice
    assert found["a", "acc", "random"] == pytest.approx(mean([60.0, 50.0, 50.0]))
    assert np.isnan(found["a", "acc", "large"])
    assert np.isnan(found["b", "acc", "m"])


# Means, ranks and tests over data sets


def summary_of(values, published=None, metric="acc"):
    """A summary with the given means of each method over the data sets; None for a missing one."""
    rows = []
    for method, means in values.items():
        of_paper = (published or {}).get(method, [None] * len(means))
        for data, value, theirs in zip(DATA, means, of_paper, strict=False):
            if value is not None:
                row = {"data": data, "metric": metric, "method": method, "mean": value, "published": theirs}
                rows.append({**row, "single": value - 1.0, "median": 50.0, "above_random": value - 40.0})
    return pd.DataFrame(rows)


MEANS = {
    "ours": [80.0, 70.0, 60.0, None],
    "mid": [70.0, 70.0, 50.0, 90.0],
    "low": [60.0, 50.0, 40.0, 80.0],
    "own": [85.0, 10.0, 20.0, 30.0],
}


def test_means_and_ranks_are_over_the_data_sets_that_all_methods_have():
    published = {"ours": [79.0, 69.0, 59.0, 99.0], "mid": [71.0, 72.0, 40.0, 99.0], "low": [1.0, 2.0, 60.0, 99.0]}
    summary = summary_of(MEANS, published)
    assert comparisons.shared_data(summary, list(MEANS)) == ["a", "b", "c"]
    table = comparisons.means_and_ranks(summary, "acc", list(MEANS))
    assert table["mean"].to_dict() == pytest.approx({"ours": 70.0, "mid": 190 / 3, "low": 50.0, "own": 115 / 3})
    assert table["rank"].to_dict() == pytest.approx(
        {"ours": mean([2, 1.5, 1]), "mid": mean([3, 1.5, 2]), "low": mean([4, 3, 3]), "own": mean([1, 4, 4])}
    )
    assert table["rank_in_paper"].dropna().to_dict() == pytest.approx({"ours": 3.5 / 3, "mid": 5.5 / 3, "low": 3.0})
    assert table["published"].dropna().to_dict() == pytest.approx({"ours": 69.0, "mid": 61.0, "low": 21.0})
    assert table["published_rank"].dropna().to_dict() == pytest.approx({"ours": 5 / 3, "mid": 2.0, "low": 7 / 3})


@pytest.fixture
def seven():
    rng = np.random.default_rng(3)
    values = {name: (60.0 + 10.0 * rng.standard_normal(7)).tolist() for name in ("ours", "other", "third")}
    return summary_of({**values, "below": [value - 1.0 - index for index, value in enumerate(values["ours"])]})


def test_the_reference_is_compared_with_every_other_by_the_signed_rank_test(seven):
    methods = ["ours", "other", "third", "below"]
    table = comparisons.comparisons(seven, "acc", methods, "ours").set_index(["reading", "method"])
    assert len(table) == 3 * 4
    values = seven.pivot(index="method", columns="data", values="mean")
    for method in methods[1:]:
        differences = values.loc["ours"] - values.loc[method]
        for reading in ("mean", "single", "above_random"):
            row = table.loc[reading, method]
            assert row.difference == pytest.approx(differences.mean())
            assert row.p_value == pytest.approx(wilcoxon(differences, method="exact").pvalue)
            assert (row.better, row.n_data) == ((differences > 0).sum(), 7)
    assert table.loc["mean", "below"].p_value == pytest.approx(2 / 2**7)  # the smallest that seven data sets allow
    assert table.loc["median", "other"].tolist()[1:] == [7, 0, 0.0, 1.0]


def test_differences_of_zero_or_of_rounding_are_no_differences():
    assert comparisons.signed_rank_p_value([0.0, 1e-12, -1e-12]) == 1.0
    assert comparisons.signed_rank_p_value([1.0, 2.0, 0.0, 3.0]) == pytest.approx(2 / 2**3)
