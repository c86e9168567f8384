"""Counts are log-normalised by every command, and columns that may be codes are asked about."""

import re
import tracemalloc

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import fitted, invoke, is_one_sentence, read_back, run_alone

from ufselect.cli.options import Impute, ReadOptions
from ufselect.cli.reading import load_table
from ufselect.files import read_table
from ufselect.preprocessing import LogNormalize

TYPES = np.repeat([0, 1, 2], 20)
GENES = [f"gene {column}" for column in range(40)]
NOTE = (
    "Raw counts are detected (non-negative integers, {} % zeros) and log-normalised; use "
    "--counts no to keep the values unchanged.\n"
)
REQUESTED = "Values are log-normalised as raw counts, as requested.\n"


def cell_counts():
    """60 cells of three types and of different sizes in 40 genes, the first six of which tell the types apart."""
    rng = np.random.default_rng(0)
    rates = np.tile(rng.lognormal(-0.5, 1.2, 40), (3, 1))
    for kind in range(3):
        rates[kind, 2 * kind : 2 * kind + 2] += 5.0
    return rng.poisson(rates[TYPES] * rng.lognormal(0.0, 0.7, (60, 1))).astype(np.float64)


X = cell_counts()
ZEROS = f"{100 * np.mean(X == 0):.0f}"


def normalized(values=X):
    return LogNormalize().fit_transform(values)


def names_of(selector):
    return [GENES[column] for column in selector.top_features()]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, with the counts in a text file."""
    monkeypatch.chdir(tmp_path)
    write_counts(tmp_path, "counts.csv")
    return tmp_path


def write_counts(folder, name):
    """Write the counts as a file of a name that says its form."""
    match name:
        case "counts.csv":
            pd.DataFrame(X, columns=GENES).astype(int).to_csv(folder / name, index=False)
        case "rows.npz" | "columns.npz":
            sp.save_npz(folder / name, (sp.csr_matrix if name == "rows.npz" else sp.csc_matrix)(X))
        case "counts.h5ad":
            data = anndata.AnnData(sp.csr_matrix(X.astype(np.float32)), var=pd.DataFrame(index=GENES))
            data.write_h5ad(folder / name)


IN_A_PROCESS = "counts.h5ad"  # processes start slowly: one shows that they work alike


@pytest.mark.parametrize("name", ["counts.csv", "columns.npz", IN_A_PROCESS])
def test_counts_are_recognized_and_written_as_they_were(here, name):
    write_counts(here, name)
    output = f"chosen.{name.split('.')[1]}"
    arguments = ["select", name, "-m", "6", "--method", "LaplacianScore", "-o", output]
    outcome = run_alone(here, *arguments) if name == IN_A_PROCESS else invoke(*arguments)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.count(NOTE.format(ZEROS)) == 1
    stored = read_table(here / name)
    selector = fitted("LaplacianScore", normalized(stored.X), 6)
    written = read_back(here / output)
    chosen = slice(None) if name.endswith(".h5ad") else selector.get_support()
    values = written.X.toarray() if sp.issparse(written.X) else written.X
    np.testing.assert_array_equal(values, X[:, chosen])
    assert sp.issparse(written.X) == sp.issparse(stored.X)
    shown = re.findall(r"^ *\d+  (\S.*?) {2,}", outcome.stdout, flags=re.MULTILINE)
    assert shown == [stored.names[column] for column in selector.top_features()]


@pytest.mark.parametrize(
    ("arguments", "values", "sentence"),
    [
        ([], normalized(), NOTE.format(ZEROS)),
        (["--counts", "yes"], normalized(), REQUESTED),
        (["--counts", "no"], X, ""),
        (["--scale", "none"], normalized(), NOTE.format(ZEROS)),
        (["--image", "5x8"], X, ""),
        (["--image", "5x8", "--counts", "yes"], normalized(), REQUESTED),
    ],
)
def test_what_is_recognized_and_what_is_requested(here, arguments, values, sentence):
    scale = {"scale": None} if "none" in arguments else {}
    outcome = invoke("select", "counts.csv", "-m", "6", "--method", "MCFS", "--names", *arguments)
    assert outcome.code == 0
    assert outcome.stdout.splitlines() == names_of(fitted("MCFS", values, 6, **scale))
    assert sentence in outcome.stderr
    assert ("log-normalised" in outcome.stderr) == bool(sentence)


@pytest.mark.parametrize(
    "arguments",
    [
        ["select", "counts.csv", "--aside", "gene 39", "-m", "6", "--method", "MaxVariance"],
        ["compare", "counts.csv", "--methods", "MaxVariance,LaplacianScore", "-m", "6", "--repeats", "2"],
        ["explain", "counts.csv", "gene 0", "--method", "MaxVariance", "-m", "6"],
    ],
)
def test_what_happens_to_counts_is_said_before_the_size_and_on_the_page(here, arguments):
    report = ["--report", "page.html"] if arguments[0] != "explain" else []
    lines = invoke(*arguments, *report).stdout.splitlines()
    assert re.match(r"(\d+ of|No structure was found in) (39|40) columns ", lines[0])
    first, second = lines[2:4]  # after what the test found and what it cannot see
    assert first.startswith("Raw counts are detected")
    assert "--counts no" in first
    assert second.startswith("counts.csv: 60 samples")
    if report:
        page = (here / "page.html").read_text("utf-8")
        assert "Raw counts are detected" in page
        assert "counts.csv: 60 samples" not in page


def test_counts_are_recognized_in_the_layer_that_is_read(here):
    data = anndata.AnnData(normalized(), var=pd.DataFrame(index=GENES), layers={"counts": sp.csr_matrix(X)})
    data.write_h5ad("cells.h5ad")
    arguments = ["select", "cells.h5ad", "-m", "6", "--method", "MCFS"]
    assert "log-normalised" not in invoke(*arguments).stdout
    assert NOTE.format(ZEROS) in invoke(*arguments, "--layer", "counts").stdout
    names = [invoke(*arguments, "--names", *layer).stdout for layer in ([], ["--layer", "counts"])]
    assert names[0] == names[1] != ""


@pytest.mark.parametrize("command", [["select"], ["compare"], ["explain"]])
def test_negative_values_cannot_be_counts(here, command):
    values = X.copy()
    values[3, 17] = -2
    pd.DataFrame(values, columns=GENES).to_csv("negative.csv", index=False)
    columns = ["gene 0"] if command == ["explain"] else []
    outcome = invoke(*command, "negative.csv", *columns, "--counts", "yes")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert outcome.stderr == "Error: 1 negative value in gene 17 (1); --counts yes requires non-negative values.\n"
    assert is_one_sentence(outcome.stderr)
    assert "log-normalised" not in invoke("select", "negative.csv", "-m", "2", "--method", "MaxVariance").stdout


def test_a_column_of_halves_among_medians_does_not_hide_counts(here):
    values = X.copy()
    values[:3, 0] = np.nan
    values[3:, 0] = np.where(np.arange(57) % 2, 2, 3)
    values[59, 0] = np.nan
    pd.DataFrame(values, columns=GENES).to_csv("holes.csv", index=False)
    filled = pd.DataFrame(values).fillna(pd.DataFrame(values).median()).to_numpy()
    assert 2.5 in filled[:, 0]
    outcome = invoke("select", "holes.csv", "-m", "6", "--method", "MCFS", "--impute", "median", "--names")
    assert "Raw counts are detected" in outcome.stderr
    assert outcome.stdout.splitlines() == names_of(fitted("MCFS", normalized(filled), 6))


@pytest.mark.parametrize("name", ["rows.npz", "columns.npz", "counts.h5ad"])
def test_sparse_counts_stay_sparse(tmp_path, name):
    write_counts(tmp_path, name)
    numbers = load_table(tmp_path / name, ReadOptions(impute=Impute.median), keep_values=True)
    assert sp.issparse(numbers.X)
    assert numbers.X.format == numbers.table.X.format
    assert numbers.X.dtype == numbers.table.X.dtype
    np.testing.assert_array_equal(numbers.table.X.toarray(), X)
    np.testing.assert_allclose(numbers.X.toarray(), normalized(), rtol=1e-6)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_counts_take_no_second_copy_in_memory(tmp_path, monkeypatch, form, dtype):
    counts = np.random.default_rng(0).negative_binomial(0.3, 0.1, (2000, 300)).astype(dtype)
    anndata.AnnData(form(counts)).write_h5ad(tmp_path / "cells.h5ad")
    for module in ("preprocessing.counts", "files.values"):
        monkeypatch.setattr(f"ufselect.{module}._BLOCK", 10_000)
    load_table(tmp_path / "cells.h5ad")  # imports take memory, too
    tracemalloc.start()
    numbers = load_table(tmp_path / "cells.h5ad")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "Raw counts are detected" in numbers.notes[0]
    assert peak < 1.35 * numbers.table.memory
    as_read = load_table(tmp_path / "cells.h5ad", keep_values=True)
    np.testing.assert_array_equal(as_read.table.X.toarray(), counts)
    np.testing.assert_array_equal(as_read.X.toarray(), numbers.X.toarray())


# Codes


@pytest.fixture
def customers(here):
    rng = np.random.default_rng(0)
    spent = rng.normal(size=(60, 9)) + 4.0 * rng.integers(0, 2, (60, 1))
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
def test_a_column_that_may_be_a_code_is_asked_about(customers, command):
    customers.assign(lane=np.resize(range(1, 6), 60)).to_csv("customers.csv", index=False)
    name, *arguments = command
    found = invoke(name, "customers.csv", *arguments)
    assert found.code == 0, found.stderr
    question = "lane has only 5 distinct integer values: if it is a code, use --role category=lane.\n"
    assert question in found.stdout
    for answer in (["--aside", "lane"], ["--role", "category=lane"]):
        answered = invoke(name, "customers.csv", *arguments, *answer)
        assert answered.code == 0, answered.stderr
        assert "distinct integer values" not in answered.stdout


def test_several_codes_are_named_as_a_shell_takes_them(customers):
    codes = {"last lane": np.resize([101, 102, 103], 60), "wave": np.resize(range(4), 60)}
    customers.assign(**codes).to_csv("customers.csv", index=False)
    found = invoke("select", "customers.csv", "--names", "-m", "2", "--method", "MaxVariance")
    question = "Few distinct integer values in last lane (3), wave (4): if these columns are codes, use --role "
    assert f"{question}category='last lane,wave'.\n" in found.stderr
    assert len(found.stdout.splitlines()) == 2
