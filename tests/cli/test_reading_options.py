"""Options for files that are unlike others, standard input, and several files."""

import io
import os
import pty
from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import pytest
from command_line import (
    CELLS,
    KINDS,
    NAMES,
    dense_numbers,
    fitted,
    frame,
    invoke,
    is_one_sentence,
    run_alone,
    write_source,
)

METHOD = ["--method", "MaxVariance", "-m", "5"]


def best(X=None, count=5, **parameters):
    chosen = fitted("MaxVariance", dense_numbers() if X is None else X, count, **parameters).top_features()
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
    for options in (["--delimiter", given], [f"--delimiter={given}"]):
        assert selected("cells.csv", *options) == [name.replace(" ", "_") for name in best()]


@pytest.mark.parametrize("given", [["--na", "-", "--na", "unknown"], ["--na", "-,unknown"], ["--na=-, unknown"]])
def test_further_texts_may_mean_a_missing_value(given):
    table = frame().astype({"gene 2": object})
    table.loc[[3, 7], "gene 2"] = ["-", "unknown"]
    table.to_csv("holes.csv", index=False)
    X = dense_numbers()
    X[[3, 7], 2] = np.median(np.delete(X[:, 2], [3, 7]))
    assert selected("holes.csv", *given, "--impute", "median") == best(X)
    filled = invoke("select", "holes.csv", *METHOD, *given)
    assert "2 missing values in gene 2 (2), filled in from the other columns.\n" in filled.stdout
    assert "2 missing values in gene 2 (2)" in invoke("select", "holes.csv", *METHOD).stdout  # two texts in a column


def test_rows_may_be_features():
    pd.DataFrame(dense_numbers().T, index=NAMES, columns=CELLS).to_csv("genes.csv")
    assert selected("genes.csv", "--transpose") == best()
    outcome = invoke("explain", "genes.csv", "gene 1", "--transpose", *METHOD)
    assert outcome.code == 0, outcome.stderr
    assert "\ngenes.csv: 60 samples × 13 columns" in outcome.stdout
    assert "\ngene 1: " in outcome.stdout


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


# Encodings, comments, sheets


def test_the_encoding_may_be_given():
    table = frame().rename(columns={"kind": "Größe"})
    table.to_csv("cells.csv", index=False, encoding="cp1252")
    refused = invoke("select", "cells.csv", *METHOD)
    latin = "encoding='latin-1' (--encoding latin-1).\n"
    assert refused.stderr.endswith("cells.csv is not UTF-8 text; pass its encoding, for example " + latin)
    assert is_one_sentence(refused.stderr)
    assert selected("cells.csv", "--encoding", "latin-1") == best()
    table.to_csv("cells.csv", index=False, encoding="utf-16")
    assert selected("cells.csv") == best()
    for given in ("latin-99", "hex", ""):
        outcome = invoke("select", "cells.csv", "--encoding", given)
        assert outcome.code == 2
        assert is_one_sentence(outcome.stderr)
        assert "--encoding" in outcome.stderr
        assert f": {given!r} is not known; examples are 'utf-8', 'latin-1'" in outcome.stderr


# Standard input


@pytest.mark.parametrize(
    "arguments",
    [
        ["select", "-", *METHOD, "-o", "out.csv", "--report", "page.html", "--no-test"],
        ["explain", "-", "gene 1", *METHOD],
        ["compare", "-", "--methods", "MaxVariance", "-m", "5", "--repeats", "0", "--labels", "kind"],
    ],
)
def test_every_command_reads_standard_input(monkeypatch, arguments):
    buffer = io.BytesIO(frame().to_csv(index=False).encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=buffer, closed=False, isatty=lambda: False))
    outcome = invoke(*arguments)
    assert "standard input: 60 samples × 14 columns (0.0 MB)." in outcome.stdout.splitlines(), outcome
    if "-o" in arguments:
        assert sorted(set(pd.read_csv("out.csv").columns) & set(NAMES)) == sorted(best(fdr=None))


def test_a_terminal_is_not_waited_for(folder):
    controlling, terminal = pty.openpty()
    try:
        outcome = run_alone(folder, "select", "-", *METHOD, stdin=terminal)
    finally:
        os.close(controlling)
        os.close(terminal)
    assert outcome == (1, "", "Error: standard input is a terminal; pipe a file into the command, or give its name.\n")


# Several files


def test_several_parquet_files_are_one_table():
    os.mkdir("parts")
    for number, rows in enumerate([slice(0, 25), slice(25, 60)]):
        frame()[rows].to_parquet(f"parts/{number}.parquet", index=False)
    outcome = invoke("select", "parts/*.parquet", *METHOD, "--no-test", "-o", "out.parquet")
    assert outcome.stdout.splitlines()[:2] == [
        "parts/*.parquet: 60 samples × 14 columns (0.0 MB).",
        "2 files were read.",
    ]
    written = pd.read_parquet("out.parquet")
    expected = frame()[["cell", "kind", *(name for name in NAMES if name in best(fdr=None))]]
    pd.testing.assert_frame_equal(written, expected)
    for output in ("parts/1.parquet", "parts/0.parquet"):
        refused = invoke("select", "parts/*.parquet", *METHOD, "-o", output)
        assert refused.code == 2
        assert f"{output} is the input file" in refused.stderr
    refused = invoke("select", "none/*.parquet", *METHOD, "-o", "out.parquet")
    assert refused.stderr == "Error: No file matches none/*.parquet.\n"


# Percentages


@pytest.mark.parametrize("given", ["25%", "25 %", "25.0%", "0.25"])
def test_columns_may_be_a_percentage(given):
    frame().to_csv("cells.csv", index=False)
    outcome = invoke("select", "cells.csv", "--method", "MaxVariance", "-m", given, "--names")
    assert outcome.stdout.splitlines() == best(count=3)


@pytest.mark.parametrize("given", ["0%", "150%", "-5%", "%", "nan%", "1e999%"])
@pytest.mark.parametrize("command", ["select", "compare"])
def test_other_percentages_are_wrong_use(command, given):
    outcome = invoke(command, "cells.csv", f"--features={given}")
    assert outcome.code == 2
    assert is_one_sentence(outcome.stderr)
    assert f"{given!r} is not a percentage above 0% and of at most 100%" in outcome.stderr


# First lines of numbers


@pytest.mark.parametrize(
    ("command", "further"),
    [
        ("select", METHOD),
        ("explain", ["column 1", *METHOD]),
        ("compare", ["--methods", "MaxVariance", "-m", "4", "--repeats", "0"]),
        ("evaluate", ["--columns", "list.txt", "--repeats", "0", "--method", "JELSR"]),
        ("dedupe", []),
    ],
)
def test_every_command_takes_the_first_line_as_it_is_told(folder, command, further):
    np.savetxt("spectra.csv", dense_numbers(), "%.3f", delimiter=",")
    (folder / "list.txt").write_text("column 1\ncolumn 2\ncolumn 3\n")
    detected = invoke(command, "spectra.csv", *further)
    assert "spectra.csv: 60 samples × 12 " in detected.stdout
    note = "The first line holds numbers and was read as a sample; --header yes reads it as column names."
    assert note in detected.stdout
    told = invoke(command, "spectra.csv", *further, "--header", "no")
    assert "60 samples" in told.stdout
    assert "first line" not in told.stdout
    named = invoke(command, "spectra.csv", *further, "--header", "yes")
    assert "59 samples" in named.stdout or "column 1" in named.stderr


@pytest.mark.parametrize("given", ["yes", "no"])
def test_arrays_have_no_header(given):
    np.save("cells.npy", dense_numbers())
    outcome = invoke("select", "cells.npy", "--header", given)
    assert outcome.code == 1
    assert is_one_sentence(outcome.stderr)
    assert "does not apply to cells.npy: only .csv, .tsv and .xlsx files have a first line" in outcome.stderr
    blocks = invoke("select", "parts/*.parquet", "--dask", "local", "--header", given)
    assert blocks.code == 2
    assert "does not work with --dask" in blocks.stderr
