"""Columns to keep and to exclude, and batches, from the shell."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import invoke

from ufselect import KernelFSASL, MaxVariance
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import compare_selectors
from ufselect.significance import column_significance

PLANTED = make_planted_clusters(60, 3, 6, 14, random_state=0)
NAMES = [*(f"CD{j}" for j in range(6)), *(f"MT-{j}" for j in range(5)), *(f"RPL{j}" for j in range(7)), "flat", "twin"]
SELECT = ["select", "cells.csv", "--no-test", "-m", "6"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("panel")
    X = PLANTED.X.copy()
    X[:, 18], X[:, 19] = 1.0, X[:, 3]
    frame = pd.DataFrame(X, columns=NAMES).assign(plate=np.arange(60) % 3, donor="one", single=[9, *[1, 2] * 29, 1])
    frame.to_csv(path / "cells.csv", index=False)
    (path / "ribosomal.txt").write_text("# ribosomal genes\nRPL0\nRPL1\n\nRPL[2-4]\n")
    (path / "nothing.txt").write_text("\n# none\n")
    (path / "kinds.csv").write_text("column,group\nCD0,surface\nCD1,surface\nRPL0, ribosome\nRPL1,ribosome\ndonor,x\n")
    (path / "twice.csv").write_text("CD0,surface\nCD0,ribosome\n")
    (path / "unknown.csv").write_text("CD33,surface\n")
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def chosen(*options):
    outcome = invoke(*SELECT, "--aside", "plate", "--aside", "single", "--names", *options)
    assert outcome.code == 0, outcome.stderr
    return outcome.stdout.split()


def test_a_panel_is_chosen_around_the_columns_to_keep(here):
    options = ["--keep", "MT-1,CD2", "--exclude", "RPL?,CD0", "--aside", "plate", "--aside", "single", "-o", "out.csv"]
    outcome = invoke(*SELECT, *options)
    assert outcome.code == 0, outcome.stderr
    assert "Kept regardless of their score: 2 columns." in outcome.stdout
    assert "Excluded: 8 columns." in outcome.stdout
    written = [name for name in pd.read_csv("out.csv").columns if name in NAMES]
    assert {"MT-1", "CD2"} < set(written)
    assert not any(name.startswith("RPL") or name == "CD0" for name in written)
    assert len(written) == 6


def test_names_come_from_files_too_and_columns_can_be_kept_apart(here):
    assert "MT-4" in chosen("--keep", "MT-4")
    assert not {"RPL0", "RPL1", "RPL2", "RPL3", "RPL4"} & set(chosen("--exclude-file", "ribosomal.txt", "-m", "12"))
    assert set(chosen("--keep-file", "ribosomal.txt")) > {"RPL0", "RPL1", "RPL2", "RPL3", "RPL4"}
    places = sorted(NAMES.index(name) for name in chosen("--min-distance", "3", "-m", "4"))
    assert np.diff(places).min() >= 3


def test_batches_are_those_of_the_library(here):
    X = pd.read_csv("cells.csv")
    expected = KernelFSASL(6, random_state=0).fit(X[NAMES].to_numpy(), batch=X["plate"]).top_features()
    outcome = invoke(*SELECT, "--aside", "single", "--names", "--batch", "plate")
    assert outcome.stdout.split() == [NAMES[column] for column in expected]
    tested = invoke("select", "cells.csv", "-m", "6", "--aside", "single", "--batch", "plate")
    found = column_significance(X[NAMES], batch=X["plate"])
    assert tested.stdout.startswith(found.verdict.removesuffix("."))


def test_what_is_kept_is_explained_and_a_report_draws_columns_in_their_order(here):
    options = ["-m", "6", "--aside", "single", "--keep", "MT-1", "--batch", "plate"]
    assert "MT-1: selected, rank 1 of 18" in invoke("explain", "cells.csv", "MT-1", *options).stdout
    outcome = invoke(*SELECT, "--aside", "plate", "--aside", "single", "--ordered", "--report", "page.html")
    assert outcome.code == 0, outcome.stderr
    assert ">Spectrum<" in Path("page.html").read_text(encoding="utf-8")


def test_groups_come_from_a_prefix_or_from_a_file_and_can_be_named(here):
    mitochondrial = {f"MT-{j}" for j in range(5)}
    assert mitochondrial < set(chosen("--groups", "prefix:-", "--keep", "MT", "-m", "2"))
    assert len(chosen("--groups", "prefix:-", "--keep", "MT-3", "-m", "3")) == 7
    assert not mitochondrial & set(chosen("--groups", "prefix:-", "--exclude", "MT", "-m", "8"))
    options = ["--aside=plate", "--aside=single", "--groups=kinds.csv", "--keep=surface", "--exclude=rib*"]
    outcome = invoke(*SELECT, *options)
    assert "Selected as a whole: 2 groups of columns." in outcome.stdout, outcome.stderr
    assert "Kept regardless of their score: 2 columns.\nExcluded: 2 columns.\n" in outcome.stdout
    explained = invoke("explain", "cells.csv", "CD1", *options[:-1], "-m", "3")
    assert "CD1: selected, rank" in explained.stdout, explained.stderr


def compared(*options):
    command = ["compare", "cells.csv", "-m", "4", "--repeats", "0", "--aside", "plate", "--aside", "single"]
    outcome = invoke(*command, "--methods", "KernelFSASL,MaxVariance", "-o", "compared.csv", *options)
    assert outcome.code == 0, outcome.stderr
    return outcome, pd.read_csv("compared.csv")


def test_a_comparison_keeps_excludes_and_respects_batches_in_every_fit(here):
    outcome, found = compared(
        "--keep", "MT-1", "--exclude", "RPL?,CD0", "--batch", "plate", "--exclude-file", "ribosomal.txt"
    )
    assert "Kept regardless of their score: 1 column.\nExcluded: 8 columns.\n" in outcome.stdout
    X = pd.read_csv("cells.csv")
    panel = {"keep": ["MT-1"], "exclude": ["CD0", *(f"RPL{j}" for j in range(7))], "fdr": 0.05}
    selectors = {"KernelFSASL": KernelFSASL(random_state=0, **panel), "MaxVariance": MaxVariance(**panel)}
    options = {"n_features_to_select": 4, "batch": X["plate"], "n_repeats": 0, "random_state": 0}
    expected = compare_selectors(selectors, X[NAMES[:18]], **options)  # flat and twin are set aside
    assert found["redundancy"].tolist() == pytest.approx([row.redundancy for row in expected.rows])
    assert found["redundancy"][0] != compared()[1]["redundancy"][0]


def test_methods_of_a_comparison_that_take_no_batch_or_panel_are_left_out(here, tmp_path):
    Path("rankings.py").write_text(PLAIN)
    methods = ["--methods", "MaxVariance,rankings:Peaks"]
    for option, reason in (
        ("--batch=plate", "the fit of Peaks takes no batch"),
        ("--keep=MT-1", "Peaks has no parameter keep"),
    ):
        outcome, found = compared(*methods, option)
        assert f"rankings:Peaks was skipped: {reason}." in outcome.stderr
        assert found["method"].tolist() == ["MaxVariance", "random"]
    outcome, found = compared(*methods, "--report", str(tmp_path / "page.html"))
    assert found["method"].tolist() == ["MaxVariance", "rankings:Peaks", "random"]
    outcome = invoke("compare", "cells.csv", "--methods", "rankings:Peaks", "-m", "4", "--exclude", "CD0")
    assert (outcome.code, outcome.stderr) == (1, "Error: no method could be fitted: Peaks has no parameter exclude.\n")


PLAIN = """
import numpy as np


class Peaks:
    def fit(self, X):
        self.scores_ = np.abs(X).max(axis=0)
"""

HOSTILE = {
    "Invalid value for --keep: column 'MT-1' is in --exclude as well.": ["--keep", "MT-1", "--exclude", "MT-*"],
    "Invalid value for --snv: spectra are no counts; leave out --counts yes.": ["--snv", "--counts", "yes"],
    "Invalid value for --snv: column 'donor' is a category and no band of a spectrum.": [
        "--snv",
        "--role=category=donor",
    ],
    "Invalid value for --keep: column 'flat' is constant.": ["--keep", "flat"],
    "Invalid value for --keep: column 'twin' is an exact copy of 'CD3'; keep one of them.": ["--keep", "CD3,twin"],
    "Invalid value for --exclude: no column matches 'XX-*'.": ["--exclude", "XX-*"],
    "Invalid value for --keep: there is no column 'CD33'; did you mean 'CD3'?": ["--keep", "CD33"],
    "Invalid value for --keep: column 'donor' is constant.": ["--keep", "donor"],
    "Invalid value for --keep: no column is given.": ["--keep", " , "],
    "Invalid value for --exclude-file: nothing.txt contains no names.": ["--exclude-file", "nothing.txt"],
    "Invalid value for --keep-file: missing.txt cannot be read: No such file or directory.": [
        "--keep-file",
        "missing.txt",
    ],
    "Invalid value for --groups: twice.csv has two groups for 'CD0'.": ["--groups", "twice.csv"],
    "Invalid value for --groups: nothing.txt contains no names.": ["--groups", "nothing.txt"],
    "Invalid value for --groups: ribosomal.txt has the line 'RPL0' instead of COLUMN,GROUP.": [
        "--groups",
        "ribosomal.txt",
    ],
    "Invalid value for --groups: missing.csv cannot be read: No such file or directory.": ["--groups", "missing.csv"],
    "Invalid value for --groups: there is no column named 'CD33'; did you mean 'CD3'?": ["--groups", "unknown.csv"],
    "Invalid value for --groups: groups='prefix:=' finds no group: no column has '=' within its name.": [
        "--groups",
        "prefix:=",
    ],
    "All samples are in batch 'one': fit without batch.": ["--batch", "donor"],
    "Batch '9' has only one sample, which leaves nothing within it": ["--batch", "single"],
    "has no column named 'plates'; the closest names are 'plate'": ["--batch", "plates"],
    "n_features_to_select=6 selects 6 features, but keep contains 7.": ["--keep", "RPL*"],
    "6 is more than the 0 columns to select from; 18 are excluded and 5 are set aside.": ["--exclude", "*"],
}


@pytest.mark.parametrize("message", HOSTILE)
def test_what_cannot_be_done_is_one_sentence(here, message):
    outcome = invoke(*SELECT, "--aside", "plate", "--aside", "single", *HOSTILE[message])
    assert outcome.code in (1, 2)
    assert message in " ".join(outcome.stderr.split())
    assert len(outcome.stderr.strip().splitlines()) == 1
    assert "Traceback" not in outcome.stderr
