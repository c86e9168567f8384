"""What a user requires of a choice: a budget, quotas, weights, limits and distances."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_selector import METHODS
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from ufselect import KernelFSASL, LaplacianScore, MaxVariance, Requirements
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import LearnedStructure, budget_curve
from ufselect.inspection.stability import stability_of

SENSORS = {"camera": 4.0, "lidar": 5.0, "both": 20.0, "thermometer": 3.0, "noise": 1.0, "clock": 1.0}
PLANTED = make_planted_clusters(90, 3, 8, 16, random_state=0).X
D = PLANTED.shape[1]
COSTS = np.random.default_rng(0).uniform(1.0, 5.0, D)
FAMILIES = np.arange(D) % 4
CHEAP = [pytest.param(name, id=name) for name in ("KernelFSASL", "LaplacianScore", "MaxVariance", "MCFS", "TraceRatio")]


def sensors(seed):
    """Six sensors of several channels each: two see one of two groupings of the samples, one dear sensor sees both."""
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, 3, (2, 120))

    def channels(labels, n_channels, distance=3.0):
        return distance * rng.standard_normal((3, n_channels))[labels] + rng.standard_normal((120, n_channels))

    parts = [
        channels(one, 4),
        channels(two, 4),
        np.hstack([channels(one, 3), channels(two, 3)]),
        channels(one, 2, 1.0),
        rng.standard_normal((120, 4)),
        rng.standard_normal((120, 3)),
    ]
    return np.hstack(parts), np.repeat(list(SENSORS), [part.shape[1] for part in parts]).tolist()


def named(X=PLANTED):
    return pd.DataFrame(X, columns=[f"g{column}" for column in range(X.shape[1])])


def selected(selector):
    return np.flatnonzero(selector.get_support())


def fitted(wanted, X=PLANTED, n_features="auto", **params):
    return KernelFSASL(n_features, requirements=wanted, **params).fit(X)


def best_by_hand(selector, X, meets, sizes, weights=None):
    """The largest alignment of all sets of columns that meet a condition."""
    part, carried = LearnedStructure(selector, X).part(np.arange(X.shape[1]))
    H, a = part.gram() ** 2, carried if weights is None else carried * weights

    def alignment(columns):
        return a[list(columns)].sum() / np.sqrt(H[np.ix_(columns, columns)].sum())

    sets = (columns for size in sizes for columns in combinations(range(X.shape[1]), size))
    return max(alignment(columns) for columns in sets if meets(list(columns))), alignment


def test_the_right_sensors_within_the_budget_are_as_good_as_the_best_of_all_subsets():
    for seed in range(20):
        X, groups = sensors(seed)
        selector = fitted({"costs": SENSORS, "budget": 9}, X, groups=groups)
        assert set(np.array(groups)[selector.get_support()]) == {"camera", "lidar"}
        assert (selector.cost_, selector.n_groups_) == (9.0, 2)

        sets = [names for size in range(1, 7) for names in combinations(SENSORS, size)]
        affordable = [names for names in sets if sum(map(SENSORS.get, names)) <= 9]
        best = LearnedStructure(selector, X).alignments_of(
            [np.flatnonzero(np.isin(groups, each)) for each in affordable]
        )
        assert_allclose(selector.alignment_curve_[selector.n_features_ - 1], best.max(), rtol=1e-9)


@pytest.mark.parametrize(
    ("wanted", "meets"),
    [
        ({"costs": COSTS[:10], "budget": 8}, lambda columns: COSTS[columns].sum() <= 8),
        (
            {"families": FAMILIES[:10], "at_most": 1, "at_least": {3: 1}},
            lambda columns: np.bincount(FAMILIES[columns], minlength=4).max() == 1 and 3 in FAMILIES[columns],
        ),
        (
            {"costs": COSTS[:10], "budget": 9, "positions": np.arange(10) % 7 * 2.5, "min_distance": 5},
            lambda columns: (
                COSTS[columns].sum() <= 9
                and all(abs(one % 7 - other % 7) >= 2 for one, other in combinations(columns, 2))
            ),
        ),
    ],
    ids=["budget", "quotas", "distances"],
)
def test_a_choice_of_columns_is_the_best_of_all_sets_that_meet_the_wish(wanted, meets):
    X = PLANTED[:, [0, 1, 2, 3, 10, 11, 12, 13, 14, 15]]
    selector = fitted(wanted, X)
    best, alignment = best_by_hand(selector, X, meets, range(1, 11))
    assert meets(selected(selector).tolist())
    assert_allclose(alignment(selected(selector)), best, rtol=1e-9)
    assert_allclose(selector.alignment_curve_[selector.n_features_ - 1], best, rtol=1e-9)
    assert np.all(np.diff(selector.scores_[np.argsort(selector.ranking_)]) <= 1e-12)


def test_weights_multiply_what_columns_carry():
    X = PLANTED[:, [0, 1, 2, 3, 10, 11, 12, 13]]
    weights = np.array([1.0, 0.1, 1.0, 0.1, 1.0, 30.0, 1.0, 1.0])
    selector = fitted({"weights": weights, "costs": np.ones(8), "budget": 3}, X)
    best, alignment = best_by_hand(selector, X, lambda columns: len(columns) <= 3, range(1, 4), weights)
    assert_allclose(alignment(selected(selector)), best, rtol=1e-9)
    true = LearnedStructure(selector, X).alignments_of([selected(selector)])[0]
    assert_allclose(selector.alignment_curve_[selector.n_features_ - 1], true)  # the curve does not count weights

    assert KernelFSASL(1, requirements={"weights": {2: 1e6}}).fit(X).top_features().tolist() == [2]
    equal = KernelFSASL(3, requirements={"weights": np.full(8, 7.0)}).fit(X)
    assert_array_equal(equal.ranking_, KernelFSASL(3).fit(X).ranking_)
    with pytest.raises(ValueError, match=r"by which MaxVariance does not select; use KernelFSASL\."):
        MaxVariance(requirements={"weights": weights}).fit(X)


@pytest.mark.parametrize("X", [PLANTED**2, sp.csr_array(PLANTED**2 * (PLANTED > 0))], ids=["dense", "sparse"])
def test_columns_outside_limits_take_no_part_unless_they_are_kept(X):
    dense = X.toarray() if sp.issparse(X) else X
    statistics = {
        "mean": dense.mean(axis=0), "deviation": dense.std(axis=0), "min": dense.min(axis=0), "max": dense.max(axis=0),
        "nonzero": np.mean(dense != 0, axis=0),
    }  # fmt: skip
    for name, values in statistics.items():
        low, high = np.quantile(values, [0.2, 0.7])
        outside = np.flatnonzero((values < low) | (values > high))
        kept, others = outside[:1].tolist(), outside[1:]
        selector = LaplacianScore(3, keep=kept, requirements={"limits": {name: (low, high)}}).fit(X)
        assert_array_equal(selector.outside_limits_, others)
        assert kept == [] or kept[0] in selected(selector)
        plain = LaplacianScore(3, keep=kept, exclude=others.tolist() or None).fit(X)
        assert_array_equal(selector.ranking_, plain.ranking_)
    one_sided = MaxVariance(1, requirements={"limits": {"max": (None, 0.0)}})
    with pytest.raises(ValueError, match=r"^limits: no column has a maximum of at most 0\.$"):
        one_sided.fit(PLANTED**2 + 1.0)


@pytest.mark.parametrize("name", ["KernelFSASL", "LaplacianScore"])
def test_distances_are_in_the_unit_of_the_positions_in_any_order(name):
    positions = np.random.default_rng(1).permutation(D) * 2.5
    wanted = Requirements(positions=positions, min_distance=10.0)
    chosen = np.sort(positions[selected(METHODS[name](5, requirements=wanted).fit(PLANTED))])
    assert len(chosen) == 5
    assert np.diff(chosen).min() >= 10.0
    by_index = METHODS[name](5, min_distance=4).fit(PLANTED)
    in_order = METHODS[name](5, requirements={"positions": np.arange(D) * 2.5, "min_distance": 10}).fit(PLANTED)
    assert_array_equal(in_order.ranking_, by_index.ranking_)


@pytest.mark.parametrize("name", CHEAP)
def test_every_selector_meets_a_budget_and_quotas_together(name):
    wanted = {"costs": COSTS, "budget": 16, "families": FAMILIES, "at_most": 2, "at_least": {0: 1, 3: 2}}
    for n_features in ("auto", 5):
        params = {"n_clusters": 3} if "n_clusters" in METHODS[name]().get_params() else {}
        selector = METHODS[name](n_features, keep=[6], requirements=wanted, **params).fit(PLANTED)
        counts = np.bincount(FAMILIES[selected(selector)], minlength=4)
        assert COSTS[selected(selector)].sum() == pytest.approx(selector.cost_)
        assert selector.cost_ <= 16
        assert counts.max() <= 2
        assert (counts[0] >= 1, counts[3]) == (True, 2)
        assert 6 in selected(selector)
        assert selector.n_features_ <= (5 if n_features == 5 else D)
        assert_array_equal(np.sort(selector.ranking_), np.arange(1, D + 1))


def test_a_number_without_a_budget_is_exact_and_the_best_come_first():
    selector = MaxVariance(6, requirements={"families": FAMILIES, "at_most": 2}).fit(PLANTED)
    counts, expected = np.zeros(4, dtype=int), []
    for column in np.argsort(-PLANTED.var(axis=0)):
        if len(expected) < 6 and counts[FAMILIES[column]] < 2:
            counts[FAMILIES[column]] += 1
            expected.append(column)
    assert selector.top_features().tolist() == expected


def test_neither_the_order_of_columns_nor_how_they_are_named_nor_sparsity_changes_a_choice():
    X, rng = named(np.maximum(PLANTED, 0.0)), np.random.default_rng(2)
    costs, families = dict(zip(X, COSTS, strict=True)), dict(zip(X, FAMILIES.tolist(), strict=True))
    wanted = {"costs": costs, "budget": 15, "families": families, "at_most": 2, "limits": {"nonzero": (0.2, 1.0)}}
    expected = set(fitted(wanted, X).get_feature_names_out())
    shuffled = X[rng.permutation(X.columns)]
    other = {**wanted, "costs": pd.Series(costs)[rng.permutation(X.columns)], "families": pd.Series(families)}
    assert set(fitted(other, shuffled).get_feature_names_out()) == expected
    arrays = {**wanted, "costs": COSTS, "families": [None if label is None else str(label) for label in FAMILIES]}
    for matrix in (X.to_numpy(), sp.csr_array(X.to_numpy())):
        assert {f"g{column}" for column in selected(fitted(arrays, matrix))} == expected


def test_costs_of_groups_are_sums_unless_they_are_given_and_families_are_those_of_their_columns():
    X, groups = sensors(0)
    each = np.array([SENSORS[name] / groups.count(name) for name in groups])
    for costs in (each, dict(enumerate(each)), list(SENSORS.values()), SENSORS):
        selector = fitted({"costs": costs, "budget": 9}, X, groups=groups)
        assert selector.cost_ == pytest.approx(9)
    families = {name: "dear" if cost > 3 else "cheap" for name, cost in SENSORS.items()}
    quotas = {"families": families, "at_most": 1, "at_least": 1, "costs": SENSORS}
    assert fitted(quotas, X, groups=groups).n_groups_ == 2


def test_of_copies_the_cheapest_stands_for_the_others():
    X = np.column_stack([PLANTED, PLANTED[:, 0]])
    costs = np.append(COSTS, 0.5)
    costs[0] = 4.0
    selector = fitted({"costs": costs}, X)
    assert (selector.copies_[0], selector.copies_[D]) == (D, -1)
    assert D in selected(fitted({"costs": costs, "budget": 0.5}, X))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"costs": [1.0]}, r"^costs has 1 numbers, but X has 24 columns\.$"),
        ({"costs": {"g0": 1.0}}, r"^costs: no cost for column 'g1'\.$"),
        ({"costs": {"g99": 1.0}}, r"^costs: there is no column named 'g99'; did you mean"),
        ({"costs": {"g0": "a lot"}}, r"^costs: 'a lot' is not a number\.$"),
        ({"costs": -COSTS}, r"^costs: that of column 'g0' must be a number of at least 0, got -"),
        ({"costs": COSTS * np.nan}, r"^costs: that of column 'g0' must be a number of at least 0, got nan\.$"),
        ({"costs": COSTS + 1.5, "budget": 1}, r"^budget=1 is less than the 2\.\d+ that the cheapest column costs\.$"),
        ({"budget": 3}, r"^budget needs costs\.$"),
        ({"costs": COSTS, "budget": -3}, r"^budget=-3 must be a finite number of at least 0\.$"),
        ({"at_most": 3}, r"^at_most needs families\.$"),
        ({"families": FAMILIES}, r"^families needs at_most or at_least\.$"),
        ({"families": FAMILIES, "at_least": 7}, r"^at_least: family '0' has 6 columns, but 7 are required\.$"),
        ({"families": {"g0": "HLA"}, "at_least": 2}, r"^at_least: family 'HLA' has 1 column, but 2 are required\.$"),
        ({"families": FAMILIES, "at_least": 2, "at_most": 1}, r"^at_least=2 of family '0' is more than at_most=1\.$"),
        ({"families": FAMILIES, "at_most": {"7": 1}}, r"^at_most: there is no family '7'"),
        ({"families": FAMILIES, "at_most": 0}, r"^at_most leaves no column to select\.$"),
        ({"families": FAMILIES, "at_most": 1.5}, r"^at_most: 1\.5 is not a whole number of at least 0\.$"),
        ({"families": "prefix:_", "at_most": 1}, r"^families='prefix:_' finds no group"),
        (
            {"families": FAMILIES, "at_least": 1, "costs": COSTS, "budget": 4},
            r"^budget=4 is less than the [\d.]+ that the cheapest columns for at_least cost\.$",
        ),
        (
            {"families": FAMILIES, "at_least": 2, "positions": np.arange(D), "min_distance": 12},
            r"^min_distance=12: no columns so far apart also meet at_least\.$",
        ),
        ({"positions": np.arange(D)}, r"^positions needs min_distance\.$"),
        ({"min_distance": 2}, r"^min_distance needs positions\.$"),
        ({"limits": {"mean": (1e5, 1e6)}}, r"^limits: no column has a mean between 100000 and 1e\+06\.$"),
        ({"limits": {"mean": (2, 1)}}, r"^limits: mean has a low of 2 above its high of 1\.$"),
        ({"limits": {"means": (1, 2)}}, r"^limits: 'means' is none of 'mean', 'deviation'"),
        ({"weights": {"g0": 0.0}}, r"^weights: that of column 'g0' must be a positive number, got 0\.$"),
        ({"cost": COSTS}, r"^requirements: there is no 'cost'; did you mean 'costs'\?$"),
    ],
)
def test_an_impossible_wish_gets_one_sentence_that_names_it(wanted, message):
    with pytest.raises(ValueError, match=message) as refused:
        fitted(wanted, named())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("wanted", "params", "message"),
    [
        (
            {"families": FAMILIES, "at_most": 1}, {"n_features_to_select": 5},
            r"^n_features_to_select=5 is more than the 4 columns that at_most allows\.$",
        ),
        (
            {"families": FAMILIES, "at_least": 1}, {"n_features_to_select": 3},
            r"^n_features_to_select=3 is less than the 4 columns that at_least needs\.$",
        ),
        ({"families": FAMILIES, "at_most": 1}, {"keep": [0, 4]}, r"^at_most: family '0' may have 1 column, but keep"),
        ({"costs": COSTS, "budget": 2}, {"keep": [0, 4]}, r"^budget=2 is less than the [\d.]+ that the cheap"),
        (
            {"positions": np.arange(D), "min_distance": 2.0}, {"min_distance": 3},
            r"^min_distance=3 and min_distance=2 of the requirements are both given; use one of them\.$",
        ),
        (
            {"positions": np.arange(D), "min_distance": 2.0}, {"groups": FAMILIES.tolist()},
            r"^min_distance holds columns apart, so it cannot go with groups\.$",
        ),
        (
            {"positions": np.arange(D), "min_distance": 12.0}, {"n_features_to_select": 3},
            r"^Only 2 columns are at least min_distance=12 apart, but 3",
        ),
        ({"costs": {"0": 1.0}}, {"groups": FAMILIES.tolist()}, r"^costs: no cost for group '1'\.$"),
        (
            {"families": np.arange(D), "at_most": 1}, {"groups": FAMILIES.tolist()},
            r"^families: columns of group '0' are in different families, '0' and '\d+'\.$",
        ),
    ],
)  # fmt: skip
def test_a_wish_that_other_parameters_make_impossible_gets_one_sentence(wanted, params, message):
    with pytest.raises(ValueError, match=message):
        LaplacianScore(requirements=wanted, **params).fit(PLANTED)


def test_requirements_are_a_parameter_like_any_other():
    wanted = Requirements(costs=COSTS, budget=9.0)
    selector = KernelFSASL(requirements=wanted)
    again = pickle.loads(pickle.dumps(clone(selector))).fit(PLANTED)
    assert_array_equal(again.ranking_, selector.fit(PLANTED).ranking_)
    assert selector.get_params()["requirements"] is wanted
    selector.set_params(requirements=None).fit(PLANTED)
    assert not hasattr(selector, "cost_")
    with pytest.raises(ValueError, match="requirements"):
        KernelFSASL(requirements=3).fit(PLANTED)


def test_clones_for_subsets_of_the_samples_meet_what_the_fit_does():
    X = named()
    wanted = {"costs": dict(zip(X, COSTS, strict=True)), "budget": 9, "limits": {"mean": (-0.5, 0.5)}}
    selector = fitted(wanted, X)
    found = stability_of(selector, X, n_draws=3)
    assert found.frequencies[selector.outside_limits_].max(initial=0.0) == 0.0


def test_a_choice_is_among_the_columns_found_in_a_test():
    wanted = {"costs": COSTS, "budget": 12, "families": FAMILIES, "at_most": 1}
    selector = fitted(wanted, fdr=0.05)
    assert selector.significance_.found[selected(selector)].all()
    assert selector.cost_ <= 12
    with pytest.raises(ValueError, match=r"^at_least: family 'noise' has 0 columns found in the test, but 1 is"):
        fitted({"families": {23: "noise"}, "at_least": 1}, fdr=0.05)


def test_more_money_buys_no_worse_a_choice_and_the_curve_has_the_choice_of_the_fit():
    X = named()
    selector = fitted({"costs": COSTS, "budget": 8.0}, X)
    rows = budget_curve(selector, X)
    alignments = [row.alignment for row in rows]
    assert len(rows) == 20
    assert np.all(np.diff(alignments) >= -1e-9)
    assert all(row.cost <= row.budget * (1 + 1e-9) for row in rows)
    assert rows[0].cost == COSTS.min()
    assert rows[-1].cost == pytest.approx(rows[-1].budget)
    (row,) = budget_curve(selector, X, [8.0])
    assert set(row.selected) == set(selector.get_feature_names_out())
    assert (row.cost, row.n_selected) == (pytest.approx(selector.cost_), selector.n_features_)
    assert row.alignment == pytest.approx(selector.alignment_curve_[selector.n_features_ - 1])

    S, groups = sensors(3)
    of_sensors = budget_curve(fitted({"costs": SENSORS}, S, groups=groups), S, [9])[0]
    assert of_sensors.selected == ("camera", "lidar")
    with pytest.raises(ValueError, match=r"^budget=0\.5 is less than the 1 that the cheapest group costs\.$"):
        budget_curve(fitted({"costs": SENSORS}, S, groups=groups), S, [0.5])
    with pytest.raises(ValueError, match=r"^budget_curve needs costs"):
        budget_curve(KernelFSASL().fit(X), X)
