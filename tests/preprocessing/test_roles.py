"""What each column of a table is, by its name and its values."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ufselect.preprocessing import Role, TablePreparer

N = 300
ROWS = np.arange(1, N + 1)
RNG = np.random.default_rng(0)
LOGNORMAL = np.exp(RNG.normal(10.0, 1.5, N))
SHUFFLED = RNG.permutation(ROWS)
GRADES = RNG.integers(1, 6, N)
WORDS = np.array(["never", "sometimes", "often"])[RNG.integers(0, 3, N)]


def roles(columns, **parameters):
    """The roles of these columns beside three of other units."""
    rng = np.random.default_rng(1)
    size = len(next(iter(columns.values())))
    beside = {"weight": rng.normal(70.0, 9.0, size), "visits": rng.integers(0, 40, size), "share": rng.random(size)}
    return {each.name: each for each in TablePreparer(**parameters).fit(pd.DataFrame(beside | columns)).roles_}


def many(kind):
    return [f"{kind}{number}" for number in range(N)]


@pytest.mark.parametrize(
    ("name", "values", "role", "reason"),
    [
        ("id", RNG.integers(0, 50, N), "id", "by its name"),
        ("customerID", RNG.integers(0, 10**6, N), "id", "by its name"),
        ("Unnamed: 0", ROWS - 1, "id", "by its name"),
        ("rownames", ROWS + 0.5, "id", "by its name"),
        ("id", ROWS % 2, "numeric", ""),
        ("order_no", RNG.permutation(10**6)[:N], "id", "a different number in nearly all rows"),
        ("v1", ROWS, "id", "row number"),
        ("v1", ROWS[::-1], "id", "row number"),
        ("v1", np.sort(RNG.permutation(2 * N)[:N]) + 1, "id", "row number"),
        ("v1", np.where(ROWS == 7, np.nan, ROWS), "id", "row number"),
        ("v1", SHUFFLED, "id", "up to 300"),
        ("rank", SHUFFLED, "numeric", ""),
        ("day", ROWS, "numeric", ""),
        ("v1", 1700 + ROWS, "numeric", ""),  # years
        ("v1", ROWS * 37, "numeric", ""),
        ("v1", np.sort(RNG.normal(size=N)), "numeric", ""),
        ("wavelength", 400.0 + 2.0 * ROWS, "numeric", ""),
        ("paid", RNG.integers(0, 5000, N), "numeric", ""),
        ("grid", GRADES, "numeric", ""),
        ("zip", [f"0{code}" for code in RNG.integers(1000, 9999, N)], "id", "code with"),
        ("zip", np.array(["01067", "04109", "09111"])[GRADES % 3], "category", ""),
        ("zip_code", RNG.integers(10_000, 99_999, N) // 3 * 3, "id", "a different number"),
        ("zip_code", RNG.integers(10_000, 10_200, N), "id", "code with"),
        ("part", many("A-"), "id", "code with 300 values"),
        ("mail", [f"{word}@example.org" for word in many("who")], "id", "code with"),
        ("comment", many("late again, thing "), "text", "300 different texts"),
        ("comment", ["fine"] * 200 + many("late, thing ")[:100], "category", ""),
        ("answer", WORDS, "category", ""),
        ("smoker", ROWS % 3 == 0, "category", ""),
        ("answer", pd.Categorical(GRADES), "category", ""),
        ("answer", GRADES.astype(str), "category", ""),
        ("MSSubClass", GRADES * 20, "category", "by its name"),
        ("area_code", GRADES, "category", "by its name"),
        ("ozone", GRADES, "numeric", ""),
        ("grade", GRADES, "numeric", ""),
        ("type", GRADES % 2, "numeric", ""),
        ("type", GRADES + 0.5, "numeric", ""),
        ("opened", pd.date_range("2024-01-01", periods=N), "date", "dates"),
        ("opened", [datetime.date(2024, 1, 1 + row % 28) for row in range(N)], "date", "2024-01-01"),
        ("opened", [f"{1 + row % 28}/12/2023" for row in range(N)], "date", "dates such as"),
        ("opened", np.array(["Jan-2018", "Feb-2018", "Mar-2018"])[GRADES % 3], "date", "Feb-2018"),
        ("opened", 20_240_100 + 1 + ROWS % 28, "date", "dates"),
        ("date", 45_000 + RNG.integers(0, 900, N), "date", "dates"),
        ("month", ROWS % 12, "numeric", ""),
        ("income", LOGNORMAL, "amount", "logarithms taken: skew"),
        ("income", np.round(LOGNORMAL), "amount", "logarithms taken"),
        ("debts", np.where(ROWS % 3, LOGNORMAL, 0.0), "amount", "logarithms taken"),
        ("gains", np.where(ROWS % 7, LOGNORMAL, -1.0), "numeric", ""),
        ("children", np.minimum(np.round(LOGNORMAL / 20_000), 60), "numeric", ""),
        ("gap", np.where(ROWS % 3, np.nan, LOGNORMAL), "incomplete", "67 % missing"),
        ("gap", np.where(ROWS % 3, "", "yes"), "incomplete", "67 % missing"),
        ("same", np.full(N, 3.0), "constant", "constant"),
        ("same", np.where(ROWS % 3, 3.0, np.nan), "constant", "constant"),
        ("same", ["x"] * N, "constant", "constant"),
        ("empty", [None] * N, "incomplete", "100 % missing"),
        ("serum", [f"{value:.3f}" if value % 1 > 0.1 else "." for value in LOGNORMAL % 9], "numeric", ""),
        ("level", np.array(["1", "2", "3", "?"])[GRADES % 4], "numeric", ""),
        ("mixed", np.array([1, "a", None, 2.5], dtype=object)[GRADES % 4], "category", ""),
        ("list", [[number] for number in GRADES], "category", ""),
        ("wait", pd.to_timedelta(GRADES, unit="h"), "numeric", ""),
    ],
)
def test_the_role_of_a_column(name, values, role, reason):
    found = roles({name: values})[name]
    assert found.role == role
    assert reason in found.reason
    assert bool(found.reason) == (bool(reason) or not found.is_feature)
    assert found.is_feature == (role in ("numeric", "amount", "category"))


@pytest.mark.parametrize(
    ("values", "role"), [(range(1, 13), "id"), (range(58, 70), "numeric"), (range(0, 24, 2), "numeric")]
)
def test_few_sorted_rows_are_numbered_only_from_one(values, role):
    assert roles({"v1": list(values)})["v1"].role == role


def test_row_numbers_need_five_rows():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.3, 0.1, 0.9, 0.2]})
    assert [each.role for each in TablePreparer().fit(frame).roles_] == ["numeric", "numeric"]


def test_logarithms_are_for_tables_of_unlike_units():
    pixels = np.exp(np.random.default_rng(0).normal(3.0, 1.5, (N, 30)))
    assert {each.role for each in TablePreparer().fit(pixels).roles_} == {"numeric"}
    assert {each.role for each in TablePreparer(logarithms=True).fit(pixels).roles_} == {"amount"}
    assert roles({"income": LOGNORMAL}, logarithms=False)["income"].role == "numeric"


def test_amounts_do_not_depend_on_their_unit():
    frame = pd.DataFrame({"income": np.where(ROWS % 4, LOGNORMAL, 0.0), "age": RNG.normal(40.0, 9.0, N)})
    in_cents = frame.assign(income=100.0 * frame["income"])
    first, second = (TablePreparer(logarithms=True).fit_transform(each) for each in (frame, in_cents))
    np.testing.assert_allclose(first, second, rtol=1e-12)
    np.testing.assert_array_equal(first[:, 0] == 0.0, ROWS % 4 == 0)


def test_roles_are_overruled():
    columns = {"zip": [f"0{code}" for code in RNG.integers(1000, 9999, N)], "id": ROWS, "gap": [1.5] + [None] * (N - 1)}
    wanted = {"weight": "id", "visits": Role.amount, "share": "text", "zip": "category"}
    found = roles(columns, roles=wanted, keep=["gap", "id"])
    assert {name: str(each.role) for name, each in found.items()} == wanted | {"id": "numeric", "gap": "numeric"}
    assert found["gap"].reason == "kept (100 % missing)"
    assert found["zip"].reason == "requested"


def test_dates_that_are_kept_are_days():
    frame = pd.DataFrame({"day": np.array(["1970-01-03", "NaT", "1970-01-02T12", "1970-01-09"], dtype="datetime64[s]")})
    days = TablePreparer(keep=["day"]).fit_transform(frame).ravel()
    np.testing.assert_allclose(days, [2.0, 11.5 / 3.0, 1.5, 8.0])  # the missing one is their mean


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"roles": {"wieght": "id"}}, "roles: there is no column named 'wieght'; did you mean 'weight'?"),
        ({"keep": ["wieght"]}, "keep: there is no column named 'wieght'; did you mean 'weight'?"),
        ({"roles": {"weight": "number"}}, "there is no role 'number'; the roles are numeric, amount, category, id"),
        ({"roles": {"answer": "numeric"}}, "Column 'answer' is to be numeric, but has values such as 'sometimes'"),
        ({"max_missing": 2}, "'max_missing' parameter"),
    ],
)
def test_requests_that_cannot_be_met(parameters, message):
    with pytest.raises(ValueError, match=message):
        roles({"answer": WORDS}, **parameters)


def table_of_many_kinds(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    holes = rng.random((N, 2)) < [0.1, 0.2]
    return pd.DataFrame(
        {
            "x": x,
            "minus_x": 3.0 - 2.0 * x,
            "some_x": np.where(holes[:, 0], np.nan, x + rng.normal(0.0, 0.003, N)),
            "fewer_x": np.where(holes[:, 1], np.nan, 0.01 * x),
            "other": rng.normal(size=N),
            "income": np.exp(rng.normal(9.0, 2.0, N)),
            "grade": rng.integers(0, 4, N),
            "letter": np.array(list("abcd"))[rng.integers(0, 4, N)],
            "who": rng.permutation(10**6)[:N],
            "note": [f"{value:.4f} and more" for value in rng.random(N)],
            "flag": rng.random(N) < 0.3,
        }
    ).assign(word=lambda frame: "w" + frame["grade"].astype(str), number=lambda frame: frame["flag"] * 5 + 1)


@settings(max_examples=15)
@given(st.integers(0, 5), st.randoms(use_true_random=False))
def test_roles_do_not_depend_on_the_order_of_rows_and_columns(seed, random):
    frame = table_of_many_kinds(seed)
    names, rows = list(frame), list(range(N))
    random.shuffle(names)
    random.shuffle(rows)
    first = {each.name: each for each in TablePreparer().fit(frame).roles_}
    assert first == {each.name: each for each in TablePreparer().fit(frame.iloc[rows][names]).roles_}
    assert {name for name, each in first.items() if each.role == "copy"} >= {"some_x", "fewer_x", "grade", "number"}
