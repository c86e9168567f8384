"""Columns that may be codes are recognised among quantities, and no other kind of data is taken for codes."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from test_recognized_counts import COUNTED, NOT_COUNTS, OTHERS, benchmark_table, table_of

from ufselect.files import codes_among

N = 300
RNG = np.random.default_rng(0)


def quantities(d=8, n=N):
    return np.random.default_rng(1).normal(size=(n, d))


def beside(*columns, d=8):
    """Quantities, then the given columns."""
    return table_of(np.column_stack([quantities(d, len(columns[0])), *columns]))


def evenly(values, n=N):
    """Values that occur as often as each other, in random order."""
    return np.random.default_rng(2).permutation(np.resize(values, n))


@pytest.mark.parametrize(
    "values", [[0, 1, 2], [-1, 0, 1, 2], [10115, 20095, 80331], range(20)], ids=["clusters", "noise", "zips", "many"]
)
def test_codes_of_all_kinds(values):
    assert codes_among(beside(evenly(values))) == {"x8": len(values)}


NO_CODES = {
    "two values": evenly([0, 1]),
    "fractions": evenly([0.5, 1.0, 1.5]),
    "many values": evenly(range(21)),
    "one fraction": np.append(evenly([1, 2, 3], N - 1), 2.5),
    "constant": np.full(N, 7.0),
    "all missing": np.full(N, np.nan),
    "children": RNG.poisson(1.0, N),
    "visits": RNG.geometric(0.3, N),
    "a pixel at the border": np.where(RNG.random(N) < 0.97, 0, RNG.choice([3, 80, 200], N)),
}


@pytest.mark.parametrize("name", NO_CODES)
def test_other_columns_among_quantities_are_not_codes(name):
    assert codes_among(beside(NO_CODES[name])) == {}


def test_a_table_may_have_several_codes_but_answers_on_one_scale_are_none():
    segment, region, answer = evenly(range(1, 11)), evenly(range(4)), evenly([1, 2, 3, 4, 5])
    assert codes_among(beside(segment, region)) == {"x8": 10, "x9": 4}
    assert codes_among(beside(answer, answer[::-1], region, d=16)) == {"x16": 5, "x17": 5, "x18": 4}
    assert codes_among(beside(answer, answer[::-1], np.roll(answer, 1), region, d=16)) == {"x19": 4}


def test_nothing_is_said_if_many_columns_are_of_that_kind():
    answers = [RNG.permutation(evenly(range(1, count))) for count in (4, 5, 6, 7)]
    assert codes_among(beside(*answers)) == {}
    assert codes_among(beside(*answers[:2], *([evenly([0, 1])] * 9))) == {}
    assert len(codes_among(beside(*answers, d=12))) == 4


@pytest.mark.parametrize("name", NOT_COUNTS)
def test_images_answers_indicators_and_genotypes_have_no_codes(name):
    assert codes_among(table_of(NOT_COUNTS[name])) == {}


@pytest.mark.parametrize("name", [*OTHERS, *COUNTED])
def test_benchmark_data_have_no_codes(name):
    assert codes_among(benchmark_table(name)) == {}


@given(
    order=st.permutations(range(10)),
    shift=st.integers(-50, 50),
    factor=st.integers(1, 9),
    seed=st.integers(0, 10),
    form=st.sampled_from([np.array, sp.csr_matrix]),
)
@settings(max_examples=30, deadline=None)
def test_neither_order_nor_numbering_matters(order, shift, factor, seed, form):
    X = np.column_stack([quantities(7), evenly(range(6)), NO_CODES["children"], np.arange(N)])
    X[:, 7] = factor * X[:, 7] + shift
    rows = np.random.default_rng(seed).permutation(N)
    found = codes_among(table_of(form(X[np.ix_(rows, order)])))
    assert found == {f"x{order.index(7)}": 6}
