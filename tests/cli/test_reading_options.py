"""Options for text files that are unlike others: ``--delimiter``, ``--decimal``, ``--na`` and ``--transpose``."""

import anndata
import numpy as np
import pandas as pd
import pytest
from command_line import CELLS, KINDS, NAMES, dense_numbers, fitted, frame, invoke, is_one_sentence, write_source

METHOD = ["--method", "MaxVariance", "-m", "5"]


def best(X=None, count=5):
    chosen = fitted("MaxVariance", dense_numbers() if X is None else X, count).top_features()
    return [NAMES[column] for column in chosen]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def selected(name, *options):
    outcome = invoke("select", name, *METHOD, "--names", *options)
    assert outcome.code == 0, outcome.stderr
    return outcome.stdout.splitlines()


@pytest.mark.parametrize(("written", "given"), [("|", "|"), ("\t", "tab"), ("\t", "\\t"), (" ", "space"), (";", ";")])
def test_the_delimiter_may_be_given(written, given):
    table = frame().drop(columns="cell").rename(columns=lambda name: name.replace(" ", "_"))
    table.to_csv("cells.csv", index=False, sep=written)
    wanted = [name.replace(" ", "_") for name in best()]
    assert selected("cells.csv", "--delimiter", given) == wanted
    assert selected("cells.csv", f"--delimiter={given}") == wanted


@pytest.mark.parametrize("given", ["", ";;", "comma"])
def test_a_delimiter_is_one_character(given):
    frame().to_csv("cells.csv", index=False)
    outcome = invoke("select", "cells.csv", "--delimiter", given)
    assert outcome.code == 2
    assert is_one_sentence(outcome.stderr)
    assert f"{given!r} is not a single character" in outcome.stderr


def test_the_decimal_mark_may_be_given():
    frame().to_csv("cells.csv", index=False, sep=";", decimal=",")
    assert selected("cells.csv", "--decimal", ",", "--delimiter", ";") == best()
    outcome = invoke("select", "cells.csv", "--decimal", "!")
    assert outcome.code == 2
    assert is_one_sentence(outcome.stderr)


@pytest.mark.parametrize("given", [["--na", "-", "--na", "unknown"], ["--na", "-,unknown"], ["--na=-, unknown"]])
def test_further_texts_may_mean_a_missing_value(given):
    table = frame().astype({"gene 2": object})
    table.loc[[3, 7], "gene 2"] = ["-", "unknown"]
    table.to_csv("holes.csv", index=False)
    X = dense_numbers()
    X[[3, 7], 2] = np.median(np.delete(X[:, 2], [3, 7]))
    assert selected("holes.csv", *given, "--impute", "median") == best(X)
    refused = invoke("select", "holes.csv", *given)
    assert refused.stderr == "Error: 2 missing values in gene 2 (2); --impute median fills them in.\n"
    kept_aside = invoke("select", "holes.csv", *METHOD).stdout
    assert "gene 2 (text" in kept_aside


def write_transposed():
    pd.DataFrame(dense_numbers().T, index=NAMES, columns=CELLS).to_csv("genes.csv")


def test_rows_may_be_features():
    write_transposed()
    assert selected("genes.csv", "--transpose") == best()
    outcome = invoke("explain", "genes.csv", "gene 1", "--transpose", *METHOD)
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.startswith("genes.csv: 60 samples × 12 numeric columns")
    assert "\ngene 1: " in outcome.stdout


def test_comparisons_read_the_same():
    write_transposed()
    given = ["--methods", "MaxVariance", "-m", "5", "--repeats", "0"]
    outcome = invoke("compare", "genes.csv", "--transpose", *given, "-o", "figures.csv")
    assert outcome.code == 0, outcome.stderr
    frame().to_csv("cells.csv", index=False, sep=";", decimal=",")
    assert invoke("compare", "cells.csv", "--delimiter", ";", "--decimal", ",", *given, "-o", "others.csv").code == 0
    figures, others = (pd.read_csv(name).drop(columns="seconds") for name in ("figures.csv", "others.csv"))
    pd.testing.assert_frame_equal(figures, others)


def test_the_columns_with_most_missing_values_come_first():
    table = frame()
    for index in range(10):
        table.loc[:index, NAMES[index]] = np.nan
    table.to_csv("holes.csv", index=False)
    outcome = invoke("select", "holes.csv")
    assert outcome.stderr.startswith("Error: 55 missing values in gene 9 (10), gene 8 (9), gene 7 (8), ")
    assert outcome.stderr.endswith("gene 2 (3) and 2 more; --impute median fills them in.\n")


def test_a_name_of_a_gene_and_of_an_annotation_keeps_both_aside(folder):
    source = write_source(folder, "cells.h5ad")
    data = anndata.read_h5ad(source.path)
    data.obs["gene 3"] = KINDS
    data.write_h5ad(source.path)
    outcome = invoke("select", "cells.h5ad", *METHOD, "--aside", "gene 3", "-o", "out.csv", "--report", "page.html")
    assert outcome.code == 0, outcome.stderr
    assert "60 samples × 11 numeric columns" in outcome.stdout
    written = pd.read_csv("out.csv")
    assert written["gene 3"].tolist() == KINDS
    assert np.allclose(dense_numbers()[:, 3], written.filter(like="gene 3_").to_numpy().ravel())
    labelled = ["--labels", "gene 3", "--methods", "MaxVariance", "-m", "4", "--repeats", "0", "-o", "figures.csv"]
    assert invoke("compare", "cells.h5ad", *labelled).code == 0
    by_kind = ["--labels", "kind", "--aside", "gene 3", *labelled[2:]]
    wanted = pd.read_csv("figures.csv").drop(columns="seconds")
    assert invoke("compare", "cells.h5ad", *by_kind).code == 0
    pd.testing.assert_frame_equal(pd.read_csv("figures.csv").drop(columns="seconds"), wanted)
