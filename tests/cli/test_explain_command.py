"""``ufselect explain``: what columns contribute, and which selected columns resemble them."""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import NAMES, dense_numbers, fitted, invoke, run_alone, write_source

from ufselect.inspection import explain_features

# Processes start slowly: one format is enough to see that a command works in one.
IN_A_PROCESS = "cells.h5ad"


def check_told(text, explanation, names):
    """The sentences on one column agree with the library."""
    rank = f"rank {explanation.rank} of {len(names)}, score {explanation.score:.4g}.\n"
    verdict = "selected" if explanation.selected else "not selected"
    assert text.startswith(f"{names[explanation.feature]}: {verdict}, {rank}")
    told = {
        "alone": re.search(r"Alignment with the learned structure by itself: ([01]\.\d{3}) of 1\.", text),
        "gain": re.search(r"It raises the alignment of the columns ranked before it by ([01]\.\d{3})\.", text),
        "loss": re.search(r"It lowers the alignment of the columns ranked before it by ([01]\.\d{3})\.", text),
        "covered": re.search(r"selected columns together explain (\d+) % of its variance\.", text),
    }
    gain = explanation.gain if explanation.rank > 1 else None
    expected = {
        "alone": None if explanation.alone is None else f"{explanation.alone:.3f}",
        "gain": None if gain is None or gain < 0.0 else f"{gain:.3f}",
        "loss": None if gain is None or gain >= 0.0 else f"{-gain:.3f}",
        "covered": None if explanation.covered is None else f"{100.0 * explanation.covered:.0f}",
    }
    assert {key: found and found[1] for key, found in told.items()} == expected
    assert ("learns no structure" in text) == (explanation.alone is None)
    most_similar = re.findall(r"(\w[^,]*) \(([+-]\d\.\d\d)\)", text.partition("selected columns: ")[2])
    assert most_similar == [(names[column], f"{value:+.2f}") for column, value in explanation.most_similar]


@pytest.mark.parametrize(
    ("name", "method"), [("cells.csv", "KernelFSASL"), ("cells.npz", "LaplacianScore"), (IN_A_PROCESS, "MCFS")]
)
def test_columns_are_explained_as_by_the_library(tmp_path, monkeypatch, name, method):
    monkeypatch.chdir(tmp_path)
    source = write_source(tmp_path, name)
    selector = fitted(method, source.X)
    places = [int(selector.top_features()[0]), int(np.argmax(selector.ranking_))]
    arguments = ["explain", name, *(source.names[place] for place in places), "-m", "5", "--method", method]
    outcome = run_alone(tmp_path, *arguments) if name == IN_A_PROCESS else invoke(*arguments)
    assert outcome.code == 0, outcome.stderr
    assert name != IN_A_PROCESS or outcome.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == [name]
    head, *told = outcome.stdout.split("\n\n")
    assert f"{name}: 60 samples × 1" in head
    assert "Columns: 5, as requested." in head
    for text, explanation in zip(told, explain_features(selector, source.X, places), strict=True):
        check_told(text, explanation, source.names)


@pytest.fixture
def cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_source(tmp_path, "cells.csv")


def test_a_copy_of_a_selected_column_is_covered_by_it_and_an_exact_one_is_told(cells):
    table = pd.DataFrame(dense_numbers(), columns=NAMES)
    table.assign(copy=-2.0 * table["gene 3"] + 0.7 * np.random.default_rng(0).standard_normal(60)).to_csv(
        "scaled.csv", index=False
    )
    chosen = invoke("select", "scaled.csv", "-m", "4", "--method", "MCFS", "--names").stdout.splitlines()
    left_out, kept = ("copy", "gene 3") if "gene 3" in chosen else ("gene 3", "copy")
    assert kept in chosen
    assert left_out not in chosen
    told = invoke("explain", "scaled.csv", left_out, "-m", "4", "--method", "MCFS").stdout
    assert "The selected columns together explain 98 % of its variance." in told
    assert f"Most correlated selected columns: {kept} (-0.99), " in told
    np.savez("copies.npz", X=table.assign(copy=table["gene 3"]), names=np.array([*NAMES, "copy"]))
    original, copy = invoke("explain", "copies.npz", "gene 3", "copy", "-m", "4").stdout.split("\n\n")[1:]
    assert "copy" not in original
    assert copy.startswith("copy: not selected, rank 13 of 13, score 0.\n  It is an exact copy of gene 3.\n")
    alone = [re.search(r"by itself: (.*) of 1", text)[1] for text in (original, copy)]
    assert alone[0] == alone[1] != "0.000"


def test_a_column_that_is_selected_alone(cells):
    best = NAMES[fitted("MaxVariance", cells.X, 1).top_features()[0]]
    told = invoke("explain", "cells.csv", best, "-m", "1", "--method", "MaxVariance").stdout
    assert told.endswith("  No other column is selected.\n")


def test_the_same_options_as_for_a_selection(cells):
    options = ["--method", "MCFS", "-m", "4", "-c", "5", "--n-neighbors", "8", "--scale", "none", "--aside", "gene 11"]
    chosen = invoke("select", "cells.csv", *options, "--names").stdout.splitlines()
    told = invoke("explain", "cells.csv", *chosen, *options).stdout
    assert re.findall(r"^(gene \d+): selected, rank (\d) of 11", told, flags=re.MULTILINE) == [
        (name, str(rank)) for rank, name in enumerate(chosen, start=1)
    ]
