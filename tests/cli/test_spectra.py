"""Columns in an order are spread, and spectra corrected, by every command."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import fitted, invoke, is_one_sentence, run_alone
from numpy.testing import assert_array_equal

from ufselect.preprocessing import SNV

SPREAD = "Selected columns are spread over the order of all; --min-distance says otherwise."
BANDS = np.arange(60)
NAMES = [f"{900 + 10 * band} nm" for band in BANDS]


def spectra():
    """Smooth spectra of mixtures of two substances, of unlike size and offset."""
    rng = np.random.default_rng(0)
    pure = np.exp(-(((BANDS - np.array([[20], [42]])) / 8) ** 2))
    share = rng.choice([0.2, 0.8], (80, 1)) + rng.normal(0, 0.05, (80, 1))
    mixed = np.hstack([share, 1 - share]) @ pure + rng.normal(0, 0.005, (80, 60))
    return (rng.lognormal(0, 0.5, (80, 1)) * (mixed + 0.5)).round(4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("spectra")
    X = spectra()
    pd.DataFrame(X, columns=NAMES).to_csv(path / "spectra.csv", index=False)
    pd.DataFrame(X[:50], columns=NAMES).to_csv(path / "next.csv", index=False)
    X[6] = 0.25
    pd.DataFrame(X, columns=NAMES).to_csv(path / "flat.csv", index=False)
    sp.save_npz(path / "sparse.npz", sp.csr_array(np.where(X > 0.6, X, 0.0)))
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def chosen(*options):
    outcome = invoke("select", "spectra.csv", "-m", "4", "--names", "--no-test", *options)
    assert outcome.code == 0, outcome.stderr
    return outcome.stdout.splitlines(), SPREAD in outcome.stderr


def names_of(X, **parameters):
    return [
        NAMES[column] for column in fitted("KernelFSASL", X, 4, fdr=None, random_state=0, **parameters).top_features()
    ]


def test_columns_in_an_order_are_spread_unless_a_distance_is_given(here):
    X = spectra()
    assert chosen("--ordered") == (names_of(X, min_distance="auto"), True)
    assert chosen("--min-distance", "auto") == (names_of(X, min_distance="auto"), False)
    assert chosen("--ordered", "--min-distance", "3") == (names_of(X, min_distance=3), False)
    assert chosen("--ordered", "--min-distance=1") == (names_of(X), False)
    assert chosen("--ordered", "--method", "MaxVariance")[1]
    assert not chosen("--ordered", "--groups", "prefix: ")[1]  # the numbers are groups of one
    significant = invoke("select", "spectra.csv", "--ordered", "--significant")
    assert significant.code == 0, significant.stderr
    assert SPREAD not in significant.stdout


def test_every_method_is_spread_in_a_comparison_and_a_choice_is_explained(here):
    told = invoke("compare", "spectra.csv", "-m", "4", "--methods=KernelFSASL,MCFS", "--ordered", "--repeats=0").stdout
    assert SPREAD in told
    selected = chosen("--ordered")[0]
    explained = invoke("explain", "spectra.csv", *selected, "-m", "4", "--ordered", "--no-test").stdout
    assert all(f"{name}: selected, rank {rank} of 60" in explained for rank, name in enumerate(selected, 1))


def test_spectra_are_corrected_and_a_choice_remembers_it(folder):
    options = ["-m", "4", "--snv", "--scale", "none", "--ordered", "--no-test"]
    outcome = run_alone(folder, "select", "spectra.csv", *options, "--save", "choice.json", "-o", "chosen.csv")
    assert outcome.code == 0, outcome.stderr
    assert "Each sample less its mean, divided by its standard deviation, as requested (SNV)." in outcome.stdout
    expected = names_of(SNV().fit_transform(spectra()), min_distance="auto", scale=None)
    assert set(expected) != set(names_of(spectra(), min_distance="auto", scale=None))
    written = pd.read_csv(folder / "chosen.csv")
    assert set(written) == set(expected)
    assert_array_equal(written, pd.read_csv(folder / "spectra.csv")[list(written)])  # the values of the file
    applied = run_alone(folder, "apply", "choice.json", "next.csv", "-o", "applied.csv")
    assert applied.code == 0, applied.stderr
    assert_array_equal(pd.read_csv(folder / "applied.csv"), written[:50])
    compared = run_alone(folder, "diff", "choice.json", "next.csv")
    assert compared.code == 0, compared.stderr
    assert "(SNV)" in compared.stdout


@pytest.mark.parametrize(
    ("file", "reason"),
    {
        "flat.csv": "Row 6 of X is constant, so SNV has nothing to divide it by; leave it out.",
        "sparse.npz": "Invalid value for --snv: the values of sparse.npz are sparse, which SNV would not leave them",
    }.items(),
)
def test_what_cannot_be_corrected_is_one_sentence(here, file, reason):
    outcome = invoke("select", file, "--snv")
    assert outcome.code != 0
    assert is_one_sentence(outcome.stderr)
    assert outcome.stderr.startswith(f"Error: {reason}")
