"""Counts are recognised by every command that reads data, divided by the sums of their rows, and logarithms taken."""

import re
import tracemalloc

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import fitted, invoke, is_one_sentence, read_back, run_alone
from sklearn.datasets import load_digits

from ufselect.cli import fitting
from ufselect.cli.options import Counts, Impute, Scale
from ufselect.files import read_table
from ufselect.preprocessing import LogNormalize

TYPES = np.repeat([0, 1, 2], 20)
GENES = [f"gene {column}" for column in range(40)]
NOTE = (
    "Raw counts are detected (non-negative whole numbers, {} % zeros) and log-normalised. "
    "--counts no uses the values as they are.\n"
)
REQUESTED = "The values are log-normalised as counts, as requested.\n"


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
    pd.DataFrame(X, columns=GENES).astype(int).to_csv("counts.csv", index=False)
    return tmp_path


def write_counts(folder, name, values=X):
    """Write the counts as a file of a name that says its form."""
    match name:
        case "counts.csv":
            pd.DataFrame(values, columns=GENES).astype(int).to_csv(folder / name, index=False)
        case "counts.npy":
            np.save(folder / name, values.astype(np.uint16))
        case "rows.npz":
            sp.save_npz(folder / name, sp.csr_matrix(values))
        case "columns.npz":
            sp.save_npz(folder / name, sp.csc_matrix(values))
        case "counts.h5ad":
            data = anndata.AnnData(sp.csr_matrix(values.astype(np.float32)), var=pd.DataFrame(index=GENES))
            data.write_h5ad(folder / name)


FILES = ["counts.csv", "counts.npy", "rows.npz", "columns.npz", "counts.h5ad"]
IN_A_PROCESS = "counts.h5ad"  # processes start slowly: one shows that they work alike


@pytest.mark.parametrize("name", FILES)
def test_counts_are_recognized_and_written_as_they_were(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_counts(tmp_path, name)
    output = "chosen.npz" if name.endswith(".npz") else f"chosen.{name.split('.')[1]}"
    arguments = ["select", name, "-m", "6", "--method", "LaplacianScore", "-o", output]
    outcome = run_alone(tmp_path, *arguments) if name == IN_A_PROCESS else invoke(*arguments)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.count(NOTE.format(ZEROS)) == 1
    stored = read_table(tmp_path / name)
    selector = fitted("LaplacianScore", normalized(stored.X), 6)
    written = read_back(tmp_path / output)
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


def test_the_selection_depends_on_it(here):
    assert names_of(fitted("MCFS", X, 6)) != names_of(fitted("MCFS", normalized(), 6))


@pytest.mark.parametrize(
    "arguments",
    [
        ["select", "counts.csv", "--aside", "gene 39", "-m", "6", "--method", "MaxVariance"],
        ["compare", "counts.csv", "--methods", "MaxVariance,LaplacianScore", "-m", "6", "--repeats", "2"],
        ["explain", "counts.csv", "gene 0", "--method", "MaxVariance", "-m", "6"],
    ],
)
def test_what_happens_to_counts_is_said_first(here, arguments):
    first, second, *_ = invoke(*arguments).stdout.splitlines()
    assert first.startswith("Raw counts are detected")
    assert "--counts no" in first
    assert second.startswith("counts.csv: 60 samples")


def test_a_page_says_what_happens_to_counts_and_not_twice_what_was_read(here):
    assert invoke("select", "counts.csv", "-m", "6", "--method", "MCFS", "--report", "page.html").code == 0
    methods = ["--methods", "LaplacianScore,MaxVariance", "-m", "6", "--repeats", "2"]
    assert invoke("compare", "counts.csv", *methods, "--report", "methods.html").code == 0
    for name in ("page.html", "methods.html"):
        page = (here / name).read_text("utf-8")
        assert "Raw counts are detected" in page
        assert "counts.csv: 60 samples" not in page


def test_neighbours_are_judged_on_the_same_values(here):
    def kept(*arguments):
        stdout = invoke("select", "counts.csv", "-m", "6", "--method", "MaxVariance", *arguments).stdout
        return re.search(r"preserve (.*) of the samples' nearest neighbours", stdout)[1]

    np.save("normalized.npy", normalized())
    other = invoke("select", "normalized.npy", "-m", "6", "--method", "MaxVariance").stdout
    assert f"preserve {kept()} of the samples' nearest neighbours" in other
    assert kept() != kept("--counts", "no")


def test_compare_and_explain_see_the_same_values(here):
    frame = pd.DataFrame(normalized(), columns=GENES)
    frame.to_csv("normalized.csv", index=False)

    def figures(*arguments):
        methods = ["--methods", "LaplacianScore,MaxVariance", "-m", "6", "--repeats", "2", "-o", "figures.csv"]
        outcome = invoke("compare", *arguments, *methods)
        assert outcome.code == 0
        return outcome.stdout, pd.read_csv("figures.csv").drop(columns="seconds")

    recognized, found = figures("counts.csv")
    assert NOTE.format(ZEROS) in recognized
    pd.testing.assert_frame_equal(found, figures("normalized.csv")[1], rtol=1e-9)
    plain, others = figures("counts.csv", "--counts", "no")
    assert "log-normalised" not in plain
    assert not found.equals(others)

    def explained(*arguments):
        return invoke("explain", *arguments, "gene 0", "gene 30", "-m", "6", "--method", "MCFS").stdout

    assert NOTE.format(ZEROS) in explained("counts.csv")
    last = slice(explained("counts.csv").index("gene 0"), None)
    of_normalized = explained("normalized.csv")
    assert explained("counts.csv")[last] == of_normalized[of_normalized.index("gene 0") :]


def test_the_report_says_it_and_shows_the_same_values(here):
    assert invoke("select", "counts.csv", "-m", "6", "--method", "MCFS", "--report", "page.html").code == 0
    page = (here / "page.html").read_text("utf-8")
    assert f"Raw counts are detected (non-negative whole numbers, {ZEROS} % zeros)" in page


def test_counts_are_recognized_in_the_layer_that_is_read(here):
    data = anndata.AnnData(normalized(), var=pd.DataFrame(index=GENES), layers={"counts": sp.csr_matrix(X)})
    data.write_h5ad("cells.h5ad")
    arguments = ["select", "cells.h5ad", "-m", "6", "--method", "MCFS"]
    assert "log-normalised" not in invoke(*arguments).stdout
    assert NOTE.format(ZEROS) in invoke(*arguments, "--layer", "counts").stdout
    names = [invoke(*arguments, "--names", *layer).stdout for layer in ([], ["--layer", "counts"])]
    assert names[0] == names[1] != ""


def test_columns_aside_are_not_part_of_the_sum(here):
    pd.DataFrame(X, columns=GENES).assign(plate=np.arange(60) * 1000).to_csv("plates.csv", index=False)
    outcome = invoke("select", "plates.csv", "--aside", "plate", "-m", "6", "--method", "MCFS", "--names")
    assert outcome.stdout.splitlines() == names_of(fitted("MCFS", normalized(), 6))


def test_images_are_not_taken_for_counts(here):
    np.save("digits.npy", load_digits().data[:200])
    outcome = invoke("select", "digits.npy", "-m", "6", "--method", "MaxVariance")
    assert outcome.code == 0
    assert "counts" not in outcome.stdout


def test_values_that_are_no_counts_may_be_treated_as_counts(here):
    shares = np.random.default_rng(0).gamma(2.0, size=(30, 5))
    np.save("shares.npy", shares)
    outcome = invoke("select", "shares.npy", "-m", "2", "--method", "MaxVariance", "--counts", "yes", "--names")
    best = fitted("MaxVariance", normalized(shares), 2).top_features()
    assert outcome.stdout.splitlines() == [f"x{column}" for column in best]
    assert REQUESTED in outcome.stderr


@pytest.mark.parametrize("command", [["select"], ["compare"], ["explain"]])
def test_negative_values_cannot_be_counts(here, command):
    values = X.copy()
    values[3, 17] = -2
    pd.DataFrame(values, columns=GENES).to_csv("negative.csv", index=False)
    columns = ["gene 0"] if command == ["explain"] else []
    outcome = invoke(*command, "negative.csv", *columns, "--counts", "yes")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert outcome.stderr == "Error: 1 negative value in gene 17 (1); --counts yes needs values of zero or more.\n"
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
    numbers = fitting.read_numbers(fitting.Source(tmp_path / name, impute=Impute.median))
    assert sp.issparse(numbers.X)
    assert numbers.X.format == numbers.table.X.format
    assert numbers.X.dtype == numbers.table.X.dtype
    np.testing.assert_array_equal(numbers.table.X.toarray(), X)
    np.testing.assert_allclose(numbers.X.toarray(), normalized(), rtol=1e-6)


def test_scale_and_counts_are_passed_on_as_given(tmp_path):
    write_counts(tmp_path, "counts.npy")
    plain = fitting.read_numbers(fitting.Source(tmp_path / "counts.npy", counts=Counts.no))
    assert plain.X is plain.table.X
    parameters = {scale: fitting.make_selector("MCFS", scale=scale).scale for scale in (Scale.standard, Scale.none)}
    assert parameters == {Scale.standard: "standard", Scale.none: None}


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_counts_take_no_second_copy_in_memory(tmp_path, monkeypatch, form, dtype):
    counts = np.random.default_rng(0).negative_binomial(0.3, 0.1, (2000, 300)).astype(dtype)
    anndata.AnnData(form(counts)).write_h5ad(tmp_path / "cells.h5ad")
    for module in ("preprocessing", "files.values"):
        monkeypatch.setattr(f"ufselect.{module}._BLOCK", 10_000)
    source = fitting.Source(tmp_path / "cells.h5ad", as_read=False)
    fitting.read_numbers(source)  # imports take memory, too
    tracemalloc.start()
    numbers = fitting.read_numbers(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "Raw counts are detected" in numbers.notes[0]
    assert peak < 1.35 * numbers.table.memory
    as_read = fitting.read_numbers(fitting.Source(tmp_path / "cells.h5ad"))
    np.testing.assert_array_equal(as_read.table.X.toarray(), counts)
    np.testing.assert_array_equal(as_read.X.toarray(), numbers.X.toarray())
