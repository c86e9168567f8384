"""Columns that may be codes: commands ask, and nothing is done."""

import numpy as np
import pandas as pd
import pytest
from command_line import invoke


def customers(n=60):
    rng = np.random.default_rng(0)
    spent = rng.normal(size=(n, 9)) + 4.0 * rng.integers(0, 2, (n, 1))
    return pd.DataFrame(spent, columns=[f"spent {week}" for week in range(9)])


@pytest.mark.parametrize(
    "command",
    [
        ["select", "--method", "MaxVariance", "--no-test"],
        ["compare", "--methods", "MaxVariance", "--repeats", "0"],
        ["explain", "spent 1", "--method", "MaxVariance"],
    ],
    ids=["select", "compare", "explain"],
)
def test_a_column_that_may_be_a_code_is_asked_about(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    customers().assign(segment=np.resize(range(1, 6), 60)).to_csv("customers.csv", index=False)
    name, *arguments = command
    found = invoke(name, "customers.csv", *arguments)
    assert found.code == 0, found.stderr
    question = "segment has 5 different whole numbers: if it is a code, keep it aside (--aside segment).\n"
    assert question in found.stdout
    answered = invoke(name, "customers.csv", *arguments, "--aside", "segment")
    assert "whole numbers" not in answered.stdout
    assert "Kept aside: segment (requested)." in answered.stdout


def test_several_codes_are_named_as_a_shell_takes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    codes = {"post code": np.resize([101, 102, 103], 60), "plan": np.resize(range(4), 60)}
    customers().assign(**codes).to_csv("customers.csv", index=False)
    found = invoke("select", "customers.csv", "--names", "-m", "2", "--method", "MaxVariance")
    assert found.stderr.splitlines()[-1] == (
        "Few different whole numbers in post code (3), plan (4): if they are codes, keep them aside "
        "(--aside 'post code' --aside plan)."
    )
    assert len(found.stdout.splitlines()) == 2
