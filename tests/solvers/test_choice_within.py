"""The best set of units within requirements, against all sets, and the sets that meet them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.columns.unit_requirements import UnitRequirements
from ufselect.solvers import choice_within
from ufselect.solvers.choice_within import UnitsOfColumns, best_choice

WISHES = ("budget", "families", "distances", "required", "number")


def drawn_units(seed, n_units):
    """What units carry of a structure, and their products, of correlated columns of different size."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((40, 3))
    X = Z @ (rng.standard_normal((3, n_units)) * (rng.random(n_units) < 0.7))
    X += rng.standard_normal(X.shape) * rng.uniform(0.3, 2.0, n_units)
    X *= rng.uniform(0.3, 2.0, n_units)
    T = np.linalg.qr(Z)[0]
    return np.sum((X.T @ T) ** 2, axis=1), (X.T @ X) ** 2


def drawn_wishes(rng, n_units, wishes):
    wanted = {"costs": np.round(rng.lognormal(0.0, 1.0, n_units), 2)}
    if "budget" in wishes:
        wanted["budget"] = rng.uniform(0.05, 0.7) * wanted["costs"].sum()
    if "families" in wishes:
        n_families = rng.integers(1, 4)
        least = rng.integers(0, 2, n_families)
        wanted["families"] = rng.integers(0, n_families + 1, n_units)
        wanted["at_least"] = np.append(least, 0)
        wanted["at_most"] = np.append(least + rng.integers(0, 3, n_families), np.inf)
    if "distances" in wishes:
        wanted["positions"] = rng.permutation(n_units) + rng.uniform(0.0, 0.5, n_units)
        wanted["min_distance"] = rng.uniform(0.5, 4.0)
    if "required" in wishes:
        wanted["required"] = rng.choice(n_units, rng.integers(1, 3), replace=False)
    if "number" in wishes:
        wanted["most"] = int(rng.integers(1, n_units // 2 + 2))
        wanted["fewest"] = 1 if "budget" in wishes else wanted["most"]
    return UnitRequirements(**wanted)


def meets(units, wanted):
    """Whether a set meets the requirements, one after the other."""
    inside = np.array(units)
    counts = [np.sum(wanted.families[inside] == family) for family in range(len(wanted.at_least))]
    positions = wanted.positions
    near = positions is not None and any(
        abs(positions[one] - positions[other]) < wanted.min_distance and not {one, other} <= set(wanted.required)
        for one, other in combinations(units, 2)
    )
    return (
        wanted.fewest <= len(units) <= wanted.most
        and all(low <= count <= high for low, count, high in zip(wanted.at_least, counts, wanted.at_most, strict=True))
        and wanted.costs[inside].sum() <= wanted.budget
        and set(wanted.required) <= set(units)
        and not near
    )


def alignment(units, a, H):
    return a[list(units)].sum() / np.sqrt(H[np.ix_(units, units)].sum())


def best_by_hand(a, H, wanted):
    sets = (units for size in range(1, len(a) + 1) for units in combinations(range(len(a)), size))
    return max((alignment(units, a, H) for units in sets if meets(units, wanted)), default=None)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_units=st.integers(2, 7), wishes=st.sets(st.sampled_from(WISHES)))
def test_a_choice_is_the_best_of_all_sets_that_meet_the_requirements_and_the_search_finds_it_too(seed, n_units, wishes):
    a, H = drawn_units(seed, n_units)
    wanted = drawn_wishes(np.random.default_rng(seed), n_units, wishes)
    best = best_by_hand(a, H, wanted)
    for enumerate_up_to, share in ((15, 1.0), (0, 0.98)):
        found = best_choice(a, H, wanted, enumerate_up_to=enumerate_up_to).tolist()
        assert bool(found) == (best is not None)
        if found:
            assert meets(found, wanted)
            assert alignment(found, a, H) >= share * best * (1.0 - 1e-9)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_units=st.integers(2, 7), wishes=st.sets(st.sampled_from(WISHES)))
def test_units_taken_best_first_meet_the_requirements_if_any_set_does(seed, n_units, wishes):
    rng = np.random.default_rng(seed)
    wanted, order = drawn_wishes(rng, n_units, wishes), rng.permutation(n_units)
    taken = wanted.best_first(order).tolist()
    sets = (units for size in range(1, n_units + 1) for units in combinations(range(n_units), size))
    assert meets(taken, wanted) if taken else not any(meets(units, wanted) for units in sets)
    if taken and wanted.fewest == 1:  # fewer of them meet them as well
        assert meets(taken[: wanted.fewest_possible], wanted)


def test_the_search_among_some_candidates_finds_what_the_search_among_all_does(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((60, 4))
    X = Z @ rng.standard_normal((4, 300)) * (rng.random(300) < 0.2) + rng.standard_normal((60, 300))
    columns, T = Columns(X - X.mean(axis=0), centered=True), np.linalg.qr(Z - Z.mean(axis=0))[0]
    a = np.sum(columns.transposed_matmul(T) ** 2, axis=1)
    H = columns.gram() ** 2
    groups = np.arange(300) // 2
    for codes in (None, groups):
        n_units = 300 if codes is None else 150
        wanted = UnitRequirements(rng.uniform(1.0, 5.0, n_units), 20.0)
        units = UnitsOfColumns(columns, a, codes)
        among_all = units.best(wanted)
        monkeypatch.setattr(choice_within, "_MOST_CANDIDATES", 40)
        among_some = units.best(wanted)
        monkeypatch.undo()
        one, other = (alignment(units.columns_of(each), a, H) for each in (among_some, among_all))
        assert one >= 0.99 * other
        assert wanted.cost(among_some) <= 20.0


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_a_choice_does_not_depend_on_the_unit_of_money_or_length(factor):
    a, H = drawn_units(1, 20)
    wanted = drawn_wishes(np.random.default_rng(3), 20, {"budget", "distances"})
    scaled = UnitRequirements(
        wanted.costs * factor, wanted.budget * factor, positions=wanted.positions * factor,
        min_distance=wanted.min_distance * factor,
    )  # fmt: skip
    assert_array_equal(best_choice(a, H, scaled), best_choice(a, H, wanted))


def test_sums_may_be_rounded():
    tenths = UnitRequirements(np.full(3, 0.1), 0.3, positions=np.array([0.0, 0.1, 0.3]), min_distance=0.1, fewest=3)
    assert_array_equal(best_choice(np.ones(3), np.eye(3), tenths), [0, 1, 2])
