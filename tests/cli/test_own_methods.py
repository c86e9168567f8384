"""``--method module:Class``: selectors of the user, from the current folder."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import NAMES, SCRIPT, dense_numbers, fitted, frame, invoke, is_one_sentence, run_alone

SPREAD = '''
import numpy as np
from ufselect import MaxVariance


class Spread(MaxVariance):
    """Keep the columns whose powers vary most.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of columns.
    power : float, default=1.0
        Exponent of the absolute values.
    layer : {"odd", "even"}, default="odd"
        A parameter with the name of an option.

    Attributes
    ----------
    power_ : float
        The exponent that was used.
    """

    def __init__(self, n_features_to_select="auto", *, power=1.0, layer="odd"):
        super().__init__(n_features_to_select)
        self.power = power
        self.layer = layer

    def fit(self, X, y=None):
        self.power_, self.layer_ = self.power, self.layer
        return super().fit(np.abs(X) ** self.power)


class Bare(MaxVariance):
    def __init__(self, n_features_to_select=4, *, power: "float | None" = None, turned=False, shape=(1, 2), **more):
        super().__init__(n_features_to_select)
        self.power, self.turned, self.shape = power, turned, shape

    @classmethod
    def _get_param_names(cls):
        return ["n_features_to_select", "power", "turned", "shape"]


class Demanding(MaxVariance):
    def __init__(self, n_features_to_select="auto", *, power):
        super().__init__(n_features_to_select)
        self.power = power


not_a_class = 3


class NotASelector:
    def fit(self, X):
        return self
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder with a module of the user in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine.py").write_text(SPREAD)
    yield tmp_path
    sys.modules.pop("mine", None)


@pytest.fixture
def cells(folder):
    frame().to_csv("cells.csv", index=False)


def spread_names(power, count):
    X = np.abs(dense_numbers()) ** power  # a fit that takes no test selects among all columns
    return [NAMES[column] for column in fitted("MaxVariance", X, count, fdr=None).top_features()]


def test_a_class_in_the_current_folder_selects_and_its_parameters_are_options(cells):
    for power, options in ((1.0, []), (3.0, ["--power", "3"])):
        outcome = invoke("select", "cells.csv", "--method=mine:Spread", "-m", "5", "--names", *options)
        assert outcome.code == 0, outcome.stderr
        assert outcome.stdout.splitlines() == spread_names(power, 5)
    assert spread_names(3.0, 5) != spread_names(1.0, 5)
    text = " ".join(invoke("select", "--method", "mine:Spread", "--help-all").stdout.split())
    assert "--power <float> Exponent of the absolute values. [default: 1.0]" in text
    assert "--own-layer <odd|even> A parameter with the name of an option. [default: odd]" in text
    assert "parameters of Spread" in text


def test_a_class_without_a_docstring_has_options_too(cells):
    text = " ".join(invoke("select", "--method", "mine:Bare", "--help-all").stdout.split())
    assert "--power <float|None> [default: None]" in text
    assert "--turned / --no-turned [default: no-turned]" in text
    assert re.search(r"--shape \S+ \[default: \(1, 2\)\]", text)
    assert "--more" not in text
    options = ["--turned", "--power", "2", "--report", "page.html"]
    outcome = invoke("select", "cells.csv", "--method", "mine:Bare", *options)
    assert outcome.code == 0, outcome.stderr
    assert "Columns: 4, the default of the method.\n" in outcome.stdout
    page = Path("page.html").read_text(encoding="utf-8")
    assert re.search(r"from mine import Bare\s+selector = Bare\(power=2, turned=True\)", page)


def test_a_parameter_without_a_default_is_required(cells):
    outcome = invoke("select", "cells.csv", "--method", "mine:Demanding")
    assert outcome.code == 2
    assert "Missing option '--power'" in outcome.stderr
    assert invoke("select", "cells.csv", "--method", "mine:Demanding", "--power", "2", "-m", "3").code == 0


def test_explanations_and_the_list_of_parameters(cells):
    outcome = invoke("explain", "cells.csv", "gene 1", "--method", "mine:Spread", "-m", "5", "--power", "3")
    assert outcome.code == 0, outcome.stderr
    rank = spread_names(3.0, 12).index("gene 1") + 1
    assert f"\ngene 1: {'selected' if rank <= 5 else 'not selected'}, rank {rank} of 12" in outcome.stdout
    shown = invoke("methods", "mine:Spread").stdout
    assert shown.startswith("Spread: Keep the columns whose powers vary most.\n")
    assert "power : float, default 1.0\n    Exponent of the absolute values.\n" in shown
    assert "power : required\n" in invoke("methods", "mine:Demanding").stdout


def test_a_comparison_takes_it_beside_others(cells):
    methods = "maxvariance,mine:Spread"
    outcome = invoke("compare", "cells.csv", "--methods", methods, "-m", "5", "--repeats", "0", "-o", "figures.csv")
    assert outcome.code == 0, outcome.stderr
    assert pd.read_csv("figures.csv")["method"].tolist() == ["MaxVariance", "mine:Spread", "random"]


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("mine:Other", "there is no selector 'mine:Other' in mine."),
        ("gone:Other", "there is no selector 'gone:Other' in gone: No module named 'gone'."),
        (":Other", "there is no selector ':Other'"),
        ("ufselect.base:BaseSelector", "BaseSelector cannot be created: Can't instantiate abstract class"),
    ],
)
def test_what_is_not_a_selector_is_refused(cells, method, sentence):
    for command, option in (("select", "--method"), ("compare", "--methods")):
        outcome = invoke(command, "cells.csv", option, method)
        assert outcome.code == 2
        assert is_one_sentence(outcome.stderr)
        assert f"Invalid value for {option}: " in outcome.stderr
        assert sentence in outcome.stderr


def test_a_selection_needs_a_selector_and_a_comparison_any_class_that_ranks(cells):
    for name, reason in (
        ("not_a_class", "Invalid value for --methods: mine:not_a_class is not a class with a method fit."),
        ("NotASelector", "no method could be fitted: the fit of NotASelector sets neither ranking_ nor scores_."),
    ):
        by_select = f"mine:{name} is not a subclass of ufselect.base.BaseSelector."
        for command, option, sentence in (("select", "--method", by_select), ("compare", "--methods", reason)):
            outcome = invoke(command, "cells.csv", option, f"mine:{name}")
            assert outcome.code in (1, 2)
            assert is_one_sentence(outcome.stderr)
            assert sentence in outcome.stderr


def test_other_modules_in_the_current_folder_replace_none(cells, folder):
    for name in ("queue.py", "pyarrow.py", "sklearn.py", "numpy.py", "sqlite3.py"):
        (folder / name).write_text("raise SystemExit('not to be imported')")
    outcome = run_alone(folder, "select", "cells.csv", "-m", "3", "--method", "mine:Spread", "--names", program=SCRIPT)
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.splitlines() == spread_names(1.0, 3)
