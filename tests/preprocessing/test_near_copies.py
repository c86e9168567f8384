"""Features that are nearly copies of others, and the one of each group that stays."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ufselect.preprocessing import TablePreparer
from ufselect.preprocessing import near_copies as module

N = 400


def copies(frame, **parameters):
    """Why columns are copies, by name."""
    found = TablePreparer(**parameters).fit(pd.DataFrame(frame)).roles_
    return {each.name: each.reason for each in found if each.role == "copy"}


def columns(seed=0, count=4):
    rng = np.random.default_rng(seed)
    return rng, [rng.normal(size=N) for _ in range(count)]


def test_linear_functions_are_copies_with_either_sign_and_the_reason_says_so():
    _, (x, noise, other, _) = columns()
    found = copies({"x": x, "copy": 5.0 - 2.0 * x, "near": x + 0.01 * noise, "far": x + 0.1 * noise, "other": other})
    assert found == {
        "x": "near copy of copy, r = -1",
        "near": f"near copy of copy, r = {np.corrcoef(-x, x + 0.01 * noise)[0, 1]:.6f}",
    }
    assert copies({"x": x, "near": x + 0.01 * noise}, near_copies=None) == {}
    assert copies({"x": x, "far": x + 0.1 * noise}) == {}
    assert len(copies({"x": x, "far": x + 0.1 * noise}, near_copies=0.98)) == 1


@pytest.mark.parametrize(
    ("names", "are_bands"),
    [
        ([f"{1100 + 4 * j} nm" for j in range(12)], True),
        ([f"{1699.95 - 2.5 * j:.1f}" for j in range(12)], True),
        ([str(j) for j in range(12)], False),
        ([str(j + 1) for j in range(12)], False),
        ([f"band {1100 + 4 * j}" for j in range(12)], False),
        ([str(1100 + j**2) for j in range(12)], False),
    ],
)
def test_neighbouring_wavelengths_are_no_copies(names, are_bands):
    _, (x, noise, other, _) = columns()
    bands = {name: x + 0.001 * j * noise for j, name in enumerate(names)}
    shuffled = {name: bands[name] for name in np.random.default_rng(0).permutation(names).tolist()}
    for spectra in (bands, shuffled):
        found = copies(spectra | {"water": other, "moisture": 2.0 * other})
        assert len(found.keys() & {"water", "moisture"}) == 1
        assert bool(found.keys() & set(names)) != are_bands


def test_the_column_with_the_fewest_missing_values_stays():
    rng, (x, *_) = columns()
    few, more = rng.random((2, N)) < [[0.02], [0.3]]
    found = copies({"a": np.where(more, np.nan, x), "b": np.where(few, np.nan, -x), "c": np.where(more, np.nan, 2 * x)})
    assert found == {"a": "near copy of b, r = -1", "c": "near copy of b, r = -1"}
    kept = copies({"a": np.where(more, np.nan, x), "b": np.where(few, np.nan, -x)}, keep=["a"])
    assert kept == {"b": "near copy of a, r = -1"}


def test_values_that_are_hardly_ever_known_together_prove_nothing():
    _, (x, *_) = columns()
    half = np.arange(N) % 2 == 0
    assert copies({"a": np.where(half, np.nan, x), "b": np.where(half, x, np.nan)}) == {}


def test_categories_and_numbers_that_divide_the_rows_into_the_same_groups():
    rng, (x, *_) = columns()
    group = rng.integers(0, 5, N)
    wrong = np.where(np.arange(N) < 20, rng.permutation(5)[group], group)
    one_wrong = np.where(np.arange(2000) == 7, 3, 2)
    frame = {
        "x": x,
        "name": np.array(["Ada", "Bob", "Cy", "Di", "Ed"])[group],
        "initial": np.array(list("EDCBA"))[group],
        "number": 10 - group,
        "nearly": np.array(list("vwxyz"))[wrong],
        "has_holes": np.where(np.arange(N) % 5, np.array(list("vwxyz"))[group], None),
        "coarser": np.array(list("vvxyz"))[group],
    }
    same = "near copy of initial: the same groups"
    assert copies(frame) == {"name": same, "number": same, "has_holes": same}
    rare = {"a": np.array(list("abcd"))[one_wrong], "b": np.array(list("abcd"))[np.roll(one_wrong, 9)]}
    assert copies(rare | {"x": rng.normal(size=2000)}) == {}  # in agreement by chance, since one level is frequent


def test_two_levels_are_compared_with_numbers():
    rng, (x, *_) = columns()
    flag = rng.random(N) < 0.4
    found = copies({"x": x, "flag": flag, "code": 3 - 2 * flag, "word": np.where(flag, "no", "yes")})
    assert set(found.values()) == {"near copy of code, r = -1", "near copy of code, r = 1"}


@settings(max_examples=40)
@given(st.integers(0, 20), st.sampled_from([0.999, 0.99, 0.9]))
def test_sketches_miss_no_pair(seed, above):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 40))
    for first, second in rng.permutation(40).reshape(-1, 2):
        noise = np.sqrt(1.0 / above**2 - 1.0) * rng.uniform(0.0, 1.3)
        X[:, second] = X[:, first] + noise * rng.normal(size=60)
    pairs = np.triu(np.abs(np.corrcoef(X.T)) >= above, 1)
    found = TablePreparer(near_copies=above).fit(X).roles_
    assert sum(each.role == "copy" for each in found) == np.count_nonzero(pairs.any(axis=0))


def test_columns_too_many_to_compare_where_they_are_known_have_the_mean_instead(monkeypatch):
    _, (x, other, *_) = columns()
    frame = {"x": np.where(x > 2.0, np.nan, x), "copy": np.where(x > 2.0, np.nan, 1.0 - x), "other": other}
    expected = copies(frame)
    monkeypatch.setattr(module, "_MOST_OPERATIONS", 0.0)
    assert copies(frame) == expected
    assert len(expected) == 1


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_neither_tiny_nor_huge_values_overflow(scale):
    _, (x, other, *_) = columns()
    x[3] = np.nan
    assert set(copies({"x": scale * x, "y": -x, "z": 1e200 * other})) in ({"x"}, {"y"})
