"""``ufselect dedupe``: columns that say the same as another, and a table without them."""

import re

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import CELLS, NAMES, dense_numbers, frame, invoke, is_one_sentence, read_back, run_alone, write_source

from ufselect.redundancy import redundant_columns


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_copies():
    """Twelve columns, two that say the same as gene 3, one that says the same as gene 7, and a constant one."""
    X = dense_numbers()
    noise = np.random.default_rng(1).standard_normal(60)
    more = {"near": X[:, 3] + 0.1 * noise, "falling": -X[:, 3], "scaled": 1.8 * X[:, 7] + 32.0, "same": np.ones(60)}
    return frame().assign(**more)


def test_groups_and_the_table_that_is_left(folder):
    with_copies().to_csv("cells.csv", index=False)
    outcome = invoke("dedupe", "cells.csv", "-o", "left.csv")
    assert (outcome.code, outcome.stderr) == (0, "")
    first, *lines = outcome.stdout.splitlines()
    assert first == "3 of 16 columns say the same as another (|r| ≥ 0.95); 13 are left."
    assert "1 column is constant: it correlates with no other and is left." in lines
    assert any(line.startswith("cells.csv: 60 samples × 16 numeric columns (") for line in lines)
    assert "Set aside: cell (text), kind (dates)." in lines
    rows = [line.split(maxsplit=1) for line in lines if line.startswith(("falling", "gene 7"))]
    assert [row[0] for row in rows] == ["falling", "gene"]
    assert "gene 3 (-1.000), near (-0.99" in rows[0][1]
    assert rows[1][1].strip().endswith("1  scaled (+1.000)")
    assert lines[-1] == "Wrote left.csv."
    left = pd.read_csv("left.csv")
    assert left.columns.tolist() == [
        "cell", "kind", *(name for name in NAMES if name != "gene 3"), "falling", "same"
    ]  # fmt: skip
    assert left["cell"].tolist() == CELLS
    again = invoke("dedupe", "left.csv")
    assert again.stdout.startswith("No two of 13 columns say the same (|r| ≥ 0.95).\n")


def test_another_order_of_columns_leaves_the_same(folder):
    table = with_copies()
    left = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(table.shape[1])
        table.iloc[:, order].to_csv("cells.csv", index=False)
        outcome = invoke("dedupe", "cells.csv", "--names", "--above", "0.3")
        assert outcome.code == 0
        assert " of 16 columns say the same as another (|r| ≥ 0.3)" in outcome.stderr
        names = outcome.stdout.splitlines()
        assert names == [name for name in table.columns[order] if name in names]
        left.append(set(names))
    assert left[0] == left[1] == left[2] == left[3]
    assert 1 < len(left[0]) < 13


@pytest.mark.parametrize("name", ["cells.parquet", "sparse.npz", "cells.mat"])
def test_other_formats_as_by_the_library(folder, name):
    source = write_source(folder, name)
    found = redundant_columns(source.X, 0.3, names=source.names)
    assert 1 < len(found.representatives) < 12
    outcome = invoke("dedupe", name, "--above", "0.3", "-o", f"left.{name.partition('.')[2]}")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith(found.summary)
    written = read_back(folder / f"left.{name.partition('.')[2]}")
    assert written.names == [source.names[column] for column in found.representatives]
    chosen = source.X[:, found.representatives]
    assert abs(written.X - chosen).sum() == 0.0
    assert written.aside == source.aside


def test_an_annotated_file_keeps_all_columns_and_says_which_are_left(folder):
    X = with_copies().drop(columns=["cell", "kind"])
    anndata.AnnData(sp.csr_matrix(X.to_numpy()), var=pd.DataFrame(index=X.columns)).write_h5ad("cells.h5ad")
    outcome = run_alone(folder, "dedupe", "cells.h5ad", "--counts", "no", "-o", "left.h5ad", "-j", "2")
    assert (outcome.code, outcome.stderr) == (0, "")
    written = anndata.read_h5ad("left.h5ad")
    assert written.shape == X.shape
    assert set(X.columns) - set(written.var_names[written.var["ufselect_selected"]]) == {"gene 3", "near", "scaled"}
    assert written.var.loc["falling", ["ufselect_score", "ufselect_rank"]].tolist() == [3.0, 1.0]
    record = written.uns["ufselect"]
    assert record["method"] == "dedupe"
    assert dict(zip(X.columns, record["representative_of"], strict=True))["near"] == "falling"


def test_kept_columns_are_left_even_if_they_say_the_same(folder):
    with_copies().to_csv("cells.csv", index=False)
    outcome = invoke("dedupe", "cells.csv", "--keep", "near,gene 3", "--keep", "scal*", "--names")
    assert outcome.code == 0
    assert "Kept as requested: 3 columns, of which 1 says the same as another." in outcome.stderr
    left = outcome.stdout.splitlines()
    assert {"near", "gene 3", "scaled"} < set(left)
    assert not {"falling", "gene 7"} & set(left)


def test_missing_values_are_an_error_or_replaced(folder):
    table = with_copies()
    table.loc[3, "near"] = np.nan
    table.to_csv("cells.csv", index=False)
    refused = invoke("dedupe", "cells.csv")
    assert refused == (1, "", "Error: 1 missing value in near (1); use --impute median to replace them.\n")
    outcome = invoke("dedupe", "cells.csv", "--impute", "median", "-o", "left.csv")
    assert outcome.code == 0
    assert "1 missing value in near (1), replaced by the median of the column." in outcome.stdout


def test_many_groups_are_cut(folder):
    x = np.random.default_rng(0).standard_normal((40, 25))
    np.save("many.npy", np.hstack([x] * 7))
    outcome = invoke("dedupe", "many.npy")
    assert len(re.findall(r" and 2 more *\n", outcome.stdout)) == 20
    assert outcome.stdout.endswith("… and 5 more groups; --names lists the columns that are left, -o writes them.\n")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--above", "0"], 2, "0 is not above 0 and at most 1"),
        (["--above", "nan"], 2, "nan is not above 0 and at most 1"),
        (["--above", "high"], 2, "Invalid value for '--above'"),
        (["--keep", "gene 99"], 2, "there is no column 'gene 99'"),
        (["--keep", "kind"], 2, "column 'kind' is set aside"),
        (["--jobs", "0"], 2, "the number of threads cannot be 0"),
        (["-o", "cells.csv"], 2, "cells.csv is the input file"),
        (["-o", "left.xyz"], 2, "has an unknown suffix"),
        (["-o", "gone/left.csv"], 1, "there is no folder gone"),
        (["--aside", "nix"], 1, "has no column named 'nix'"),
        (["-m", "5"], 2, "No such option"),
    ],
)
def test_mistakes_are_told_in_one_sentence(folder, options, code, message):
    write_source(folder, "cells.csv")
    outcome = invoke("dedupe", "cells.csv", *options)
    assert (outcome.code, outcome.stdout) == (code, "")
    assert is_one_sentence(outcome.stderr)
    assert message in outcome.stderr
    assert [path.name for path in folder.iterdir()] == ["cells.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("a,b\n1,inf\n2,3\n", "infinite value"), ("a,b\nx,y\n", "no numeric column")],
)
def test_hostile_files_are_refused_in_one_sentence(folder, text, message):
    (folder / "table.csv").write_text(text)
    outcome = invoke("dedupe", "table.csv")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert is_one_sentence(outcome.stderr)
    assert message in outcome.stderr


def test_the_smallest_tables(folder):
    for text, summary in {
        "a\n1\n": "There is only one column.",
        "a,b\n1,2\n": "No two of 2 columns say the same (|r| ≥ 0.95).",
        "a,b\n1,2\n2,1\n": "1 of 2 columns says the same as another (|r| ≥ 0.95); 1 is left.",
    }.items():
        (folder / "table.csv").write_text(text)
        outcome = invoke("dedupe", "table.csv", "--counts", "no")
        assert (outcome.code, outcome.stdout.splitlines()[0]) == (0, summary)
