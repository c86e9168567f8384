"""Costs, families, weights, limits and positions of columns, from the shell."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, is_one_sentence

from ufselect import KernelFSASL
from ufselect.datasets import make_planted_clusters

_PLANTED = make_planted_clusters(80, 3, 6, 6, random_state=0)
X = _PLANTED.X[:, np.argsort(~_PLANTED.informative, kind="stable")]
NAMES = ["flow rate", 'the "hot" end', "speed, left", "torque", "drift", "level", *(f"noise {j}" for j in range(6))]
COSTS = dict(zip(NAMES, [60, 25, 90, 140, 30, 45, 5, 5, 5, 5, 5, 5], strict=True))
SELECT = ["select", "line.csv", "--no-test"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("line")
    frame = pd.DataFrame(X, columns=NAMES)
    frame.assign(day=pd.date_range("2024-01-01", periods=80).astype(str)).to_csv(path / "line.csv", index=False)
    pd.DataFrame(X, columns=[f"{900 + 7.5 * j} nm" for j in range(12)]).to_csv(path / "bands.csv", index=False)
    pd.Series(COSTS).to_csv(path / "costs.csv", header=False)
    # As a spreadsheet in Europe writes it: with a mark, a header, semicolons and \r\n
    lines = [
        "column;price",
        *(f'"{name.replace(chr(34), 2 * chr(34))}";{cost}' for name, cost in COSTS.items()),
        "day;3",
    ]
    (path / "prices.csv").write_bytes("\r\n".join(["", *lines]).replace("\r\n", "\ufeff", 1).encode())
    (path / "families.csv").write_text("column,family\ntorque,mechanical\ndrift,mechanical\nlevel,tank\n")
    (path / "part.csv").write_text("torque,1\n")
    (path / "unknown.csv").write_text("torqe,1\n")
    (path / "text.csv").write_text("torque,1\nlevel,cheap\n")
    (path / "first.csv").write_text("torque,cheap\nlevel,1\n")
    (path / "negative.csv").write_text("\n".join(f'"{name.replace(chr(34), 2 * chr(34))}",-1' for name in NAMES))
    (path / "twice.csv").write_text("torque,1\ntorque,2\n")
    (path / "three.csv").write_text("torque,1,2\n")
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_a_budget_selects_what_the_library_selects_and_says_what_it_costs(here, tmp_path):
    saved = tmp_path / "choice.json"
    outcome = invoke(*SELECT, "--costs", "costs.csv", "--budget", "240", "--save", saved)
    assert outcome.code == 0, outcome.stderr
    costs = list(COSTS.values())
    selector = KernelFSASL(requirements={"costs": costs, "budget": 240}, random_state=0).fit(X)
    chosen = [NAMES[column] for column in selector.top_features()]
    assert f"The {len(chosen)} selected columns cost {selector.cost_:g} of 240.\n" in outcome.stdout
    printed = outcome.stdout.partition("gain  alignment  cost")[2].splitlines()[2:]
    for name, line in zip(chosen, printed, strict=False):
        assert f" {name} " in line
        assert line.endswith(f" {COSTS[name]}")
    record = json.loads(saved.read_text())["record"]
    assert record["requirements"]["cost"] == selector.cost_ <= record["requirements"]["budget"] == 240
    applied = invoke("apply", saved, "line.csv", "-o", tmp_path / "applied.csv")
    assert applied.code == 0, applied.stderr
    assert set(pd.read_csv(tmp_path / "applied.csv").columns) - {"day"} == set(chosen)
    again = invoke("diff", saved, "line.csv")
    assert again.code == 1
    assert "The choice had requirements" in again.stderr


def test_the_next_larger_budget_that_buys_more_is_named(here):
    outcome = invoke(*SELECT, "--costs", "costs.csv", "--budget", "100")
    (sentence,) = [line for line in outcome.stdout.splitlines() if line.startswith("A budget of ")]
    budget = float(sentence.split()[3])
    richer = invoke(*SELECT, "--costs", "costs.csv", "--budget", budget)
    assert f"cost {budget:g} of {budget:g}." in richer.stdout
    poorer = invoke(*SELECT, "--costs", "costs.csv", "--budget", budget - 1, "--names")
    assert poorer.stdout == invoke(*SELECT, "--costs", "costs.csv", "--budget", "100", "--names").stdout


def test_files_of_spreadsheets_say_the_same(here):
    plain, exported = (
        invoke(*SELECT, "--costs", file, "--budget", "200", "--names") for file in ("costs.csv", "prices.csv")
    )
    assert exported.code == 0, exported.stderr
    assert plain.stdout == exported.stdout


def chosen(*options, command=SELECT):
    outcome = invoke(*command, "--names", *options)
    assert outcome.code == 0, outcome.stderr
    return outcome.stdout.splitlines()


def test_families_weights_limits_and_positions_hold(here):
    best = chosen("-m", "4")
    pd.Series(dict.fromkeys(best, "alike"), name="family").to_csv("alike.csv", index_label="sensor")
    assert len({*best} & {*chosen("-m", "4", "--families", "alike.csv", "--at-most", "alike=1")}) == 1
    quotas = ["--families", "prefix: ", "--at-least", "noise=2"]
    assert sum(name.startswith("noise") for name in chosen("-m", "4", *quotas)) >= 2
    Path("weights.csv").write_text("noise 3,1000\n")
    assert chosen("-m", "2", "--weights", "weights.csv")[0] == "noise 3"
    means = pd.read_csv("line.csv")[NAMES].mean()
    low, high = means.quantile([0.3, 0.7])
    within = {name for name in NAMES if low <= means[name] <= high}
    assert set(chosen("-m", "3", "--limit", f"mean={low}:{high}")) <= within
    places = [float(name.split()[0]) for name in chosen("-m", "4", "--positions", "names", "--min-distance", "15.5",
                                                       command=["select", "bands.csv", "--no-test"])]  # fmt: skip
    assert np.diff(sorted(places)).min() >= 15.5


def test_groups_have_costs_and_a_category_has_one(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sensors = {f"sensor{j // 3}__{'abc'[j % 3]}": X[:, j] for j in range(12)}
    pd.DataFrame(sensors).to_csv("windows.csv", index=False)
    Path("costs.csv").write_text("sensor,price\nsensor0,10\nsensor1,20\nsensor2,1\nsensor3,1\n")
    outcome = invoke(
        "select", "windows.csv", "--no-test", "--groups", "prefix:__", "--costs", "costs.csv", "--budget", "12"
    )
    assert outcome.code == 0, outcome.stderr
    assert "The selected group costs 10 of 12." in outcome.stdout
    assert "sensor1" not in outcome.stdout.split("alignment")[1].split("Alignment")[0]
    kind = np.where(X[:, 0] > 0, "a", np.where(X[:, 1] > 0, "b", "c"))
    pd.DataFrame(X[:, 2:5], columns=list("xyz")).assign(kind=kind).to_csv("mixed.csv", index=False)
    Path("prices.csv").write_text("x,3\ny,5\nz,7\nkind,11\n")
    outcome = invoke(
        "select", "mixed.csv", "--no-test", "--keep", "x,y,z,kind", "--costs", "prices.csv", "--budget", "26"
    )
    assert "The 4 selected columns cost 26 of 26." in outcome.stdout, outcome.stderr


HOSTILE = {
    "--costs: unknown.csv: there is no column named 'torqe'; did you mean 'torque'?": ["--costs=unknown.csv"],
    "--costs: part.csv: no cost for column 'flow rate'.": ["--costs=part.csv"],
    "--costs: text.csv has 'cheap' for 'level', not a number.": ["--costs=text.csv"],
    "--costs: first.csv: that of 'torque' is 'cheap', not a number.": ["--costs=first.csv"],
    "--costs: negative.csv: that of column 'flow rate' must be a number of at least 0": ["--costs=negative.csv"],
    "--costs: twice.csv has two costs for 'torque'.": ["--costs=twice.csv"],
    "--costs: three.csv has the line 'torque,1,2' instead of COLUMN,COST.": ["--costs=three.csv"],
    "--costs: missing.csv cannot be read: No such file or directory.": ["--costs=missing.csv"],
    "--costs: line.csv is no .h5ad file, so it has no var.": ["--costs=var:price"],
    "--budget: add --costs, with what each column costs.": ["--budget=3"],
    "--budget: nan is not a number from 0 on.": ["--budget=nan", "--costs=costs.csv"],
    "budget=3 is less than": ["--budget=3", "--costs=costs.csv"],
    "--at-most: add --families, with the family of each column.": ["--at-most=2"],
    "--families: add --at-most or --at-least.": ["--families=families.csv"],
    "--at-most: there is no family 'tanc'; did you mean 'tank'?": ["--families=families.csv", "--at-most=tanc=1"],
    "--at-least: 'tank' is not a number or FAMILY=NUMBER.": ["--families=families.csv", "--at-least=tank"],
    "--families: families='prefix:=' finds no": ["--families=prefix:=", "--at-most=1"],
    "--limit: 'median=1:2' is not STATISTIC=LOW:HIGH with one of mean, deviation, min, max, nonzero.": [
        "--limit=median=1:2"
    ],
    "--limit: 'mean=1' is not STATISTIC=LOW:HIGH": ["--limit=mean=1"],
    "--limit: no column has a mean of at least 1000.": ["--limit=mean=1000:"],
    "--positions: add --min-distance, in their unit.": ["--positions=names"],
    "--positions: the name 'flow rate' has no single number between the same texts": [
        "--positions=names",
        "--min-distance=3",
    ],
    "--min-distance: -1 is not a number above 0.": ["--positions=names", "--min-distance=-1"],
    "--significant: does not work with --budget.": ["--significant", "--costs=costs.csv", "--budget=100"],
}


@pytest.mark.parametrize("message", HOSTILE)
def test_what_cannot_be_done_is_one_sentence(here, message):
    outcome = invoke("select", "line.csv", *HOSTILE[message])
    assert outcome.code in (1, 2)
    assert message in outcome.stderr
    assert is_one_sentence(outcome.stderr) or outcome.stderr.rstrip().endswith("?")
