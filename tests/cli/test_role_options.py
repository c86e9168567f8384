"""What the columns of a table are taken for, and what the user says instead."""

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, is_one_sentence


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file with columns of every role."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 80
    kind = rng.integers(0, 3, n)
    age = 30.0 + 12.0 * kind + rng.normal(0.0, 2.0, n)
    frame = pd.DataFrame(
        {
            "customer_id": rng.permutation(n) + 1000,
            "age": age,
            "age in months": 12.0 * age,
            "income": np.exp(8.0 + rng.normal(0.0, 2.0, n)).round(),
            "plan": np.array(["basic", "gold", "plus"])[kind],
            "score": rng.integers(1, 6, n),
            "since": pd.date_range("2021-01-01", periods=n).strftime("%Y-%m-%d"),
            "remark": [f"remark {number} of somebody" for number in rng.permutation(n)],
            "sparse": np.where(rng.random(n) < 0.2, rng.normal(size=n), np.nan),
            "flat": 1.0,
        }
    )
    frame.to_csv("customers.csv", index=False)
    return "customers.csv"


def roles_in(outcome):
    """Return role and reason of every column in the table that a command prints."""
    assert (outcome.code, outcome.stderr) == (0, "")
    header, _, *lines = outcome.stdout.splitlines()
    starts = [header.index(title) for title in ("role", "reason")]
    return {line[: starts[0]].strip(): (line[slice(*starts)].strip(), line[starts[1] :].strip()) for line in lines}


def test_all_columns_are_listed_with_their_roles_and_reasons_and_nothing_is_selected(table):
    assert roles_in(invoke("select", table, "--roles")) == {
        "age": ("numeric", ""),
        "income": ("amount", "logarithms taken: skew 7.1, now 0.9"),
        "score": ("numeric", ""),
        "plan": ("category", ""),
        "customer_id": ("id", "identifier, by its name"),
        "since": ("date", "dates such as 2021-01-01"),
        "remark": ("text", "80 different texts"),
        "sparse": ("incomplete", "81 % missing"),
        "flat": ("constant", "constant"),
        "age in months": ("copy", "near copy of age, r = 1"),
    }


def test_roles_are_overruled(table):
    given = ["--role", "category=score", "--role", "numeric=income,customer_id", "--role", "id=plan", "--aside", "age"]
    found = roles_in(invoke("select", table, *given, "--roles"))
    changed = {
        "income": "numeric",
        "customer_id": "numeric",
        "age in months": "numeric",  # what it copies is set aside
        "score": "category",
        "plan": "id",
        "age": "requested",
    }
    assert {name: role for name, (role, reason) in found.items() if reason in ("", "requested")} == changed


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("colour=plan", 2, "'colour=plan' is not ROLE=NAMES with one of the roles numeric, amount, category"),
        ("plan", 2, "'plan' is not ROLE=NAMES"),
        ("category=", 2, "'category=' is not ROLE=NAMES"),
        ("category=plam", 2, "there is no column 'plam'; did you mean 'plan'?"),
        ("numeric=remark", 1, "Column 'remark' is to be numeric, but has values such as 'remark "),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(table, given, code, message):
    outcome = invoke("select", table, "--role", given)
    assert (outcome.code, outcome.stdout) == (code, "")
    assert is_one_sentence(outcome.stderr)
    assert message in outcome.stderr
