"""Every command shows the same stability of the same selection."""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import invoke

from ufselect import KernelFSASL
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import stability_of


@pytest.mark.parametrize("test", [[], ["--no-test"]])
def test_it_is_the_same_in_all_commands_and_that_of_the_library(tmp_path, monkeypatch, test):
    monkeypatch.chdir(tmp_path)
    data = make_planted_clusters(200, 4, 10, 60, random_state=4)
    twins = data.X[:, data.informative] + 0.25 * np.random.default_rng(0).standard_normal((200, 10))
    X = np.hstack([data.X, twins])
    pd.DataFrame(X).add_prefix("c").to_csv("table.csv", index=False)
    (tmp_path / "list.txt").write_text("c0\nc1\nc2\nc3\nc4\nc5\n")
    selector = KernelFSASL(6, fdr=None if test else 0.05, random_state=3).fit(X)
    expected = stability_of(selector, X, random_state=3)
    assert expected.has_near_copies
    selected = invoke("select", "table.csv", "-m", "6", "--seed", "3", *test, "--report", "page.html")
    assert f"\n{expected.sentence}\n" in selected.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert expected.sentence in page.replace("\u00a0", " ")
    compared = invoke(
        "compare", "table.csv", "-m", "6", "--seed", "3", *test, "--methods", "KernelFSASL", "-o", "figures.csv"
    )
    row = pd.read_csv("figures.csv", float_precision="round_trip").iloc[0]
    told = (row["stability"], row["stability_by_chance"], row["stability_of_groups"])
    assert told == (expected.value, expected.by_chance, expected.value_of_groups)
    evaluated = invoke("evaluate", "table.csv", "--columns", "list.txt", "--seed", "3", *test)
    for outcome in (compared, evaluated):
        (line,) = re.findall(r"^KernelFSASL .*", outcome.stdout, flags=re.MULTILINE)[:1]
        assert f" {expected.value:.2f} " in line
        assert f"\nstability: agreement of the selections from {expected.subsets}; " in outcome.stdout
        assert f"always the same columns, by chance {expected.by_chance:z.2f}.\n" in outcome.stdout
        groups = f"KernelFSASL {expected.value_of_groups:.2f} (by chance {expected.groups_by_chance:.2f})"
        assert f" 0.9 or more count as one: {groups}.\n" in outcome.stdout
