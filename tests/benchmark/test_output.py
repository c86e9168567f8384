"""The files of a run, each complete or not there."""

import pandas as pd
import pytest
from tried import experiment_of

from ufselect.benchmark.experiment import Method
from ufselect.benchmark.output import write_results
from ufselect.benchmark.runner import run_experiment
from ufselect.benchmark.store import Store

FAILING = Method("failing", "logged_selectors:Failing")
# A method that works, a random one, one for some data only, and one that always fails.
METHODS = (
    Method("varied", "logged_selectors:Keen", grid={"n_clusters": [2, 3]}),
    Method("random", "RandomRanking", grid={"random_state": [0, 1]}),
    Method("for one", "AllFeatures", data=("iris",)),
    FAILING,
)
ALWAYS = {"figures.parquet", "fits.parquet", "data.parquet", "summary.csv", "tables.md", "made_by.json"}


def pictures(*names):
    return {f"{name}.{ending}" for name in names for ending in ("png", "svg")}


MEASURES, PICTURES = ("acc", "nmi"), ("beside_published", "curves")
OF_PUBLISHED = {f"{name}{file}" for name in MEASURES for file in (".tex", "_comparisons.csv", "_over_data.tex")}


@pytest.fixture
def run(tmp_path):
    def run_methods(*methods, counts=(1, 2), **fields):
        experiment = experiment_of(*methods, counts=counts, **fields)
        with Store(tmp_path / "store.sqlite") as store:
            return experiment, run_experiment(experiment, store)

    return run_methods


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        ("published", OF_PUBLISHED | pictures(*(f"{name}_{kind}" for name in MEASURES for kind in PICTURES))),
        (
            "no-labels",
            {"acc.tex", "nmi.tex", "seconds.tex", "megabytes.tex"} | pictures("acc_beside_random", "nmi_beside_random"),
        ),
        ("sensitivity", pictures("acc_sensitivity", "nmi_sensitivity")),
        ("convergence", {"iterations.csv", "courses.parquet"} | pictures("objective")),
    ],
)
def test_every_protocol_writes_its_files_and_says_what_failed(run, tmp_path, protocol, more):
    experiment, results = run(*METHODS, protocol=protocol, data=["iris", "wine"])
    written = write_results(experiment, results, tmp_path / "folder" / "out")
    folder = tmp_path / "folder" / "out"
    assert {path.name for path in folder.iterdir()} == ALWAYS | more
    assert sorted(written) == sorted(folder.iterdir())
    assert all(path.stat().st_size > 0 for path in written)
    if protocol == "no-labels":  # the same results give the same files, pictures and all
        for path in write_results(experiment, results, tmp_path / "again"):
            assert path.read_bytes() == (folder / path.name).read_bytes(), path.name
    text = (folder / "tables.md").read_text(encoding="utf-8")
    assert "Failed: failing on iris with {}: ValueError: out of luck\n" in text
    assert "Failed: failing on wine with {}: ValueError: out of luck\n" in text
    assert "nan" not in text
    fits = pd.read_parquet(folder / "fits.parquet")
    assert fits[fits.error.notna()].method.tolist() == ["failing"] * 2


def test_a_file_that_cannot_be_finished_leaves_all_old_ones(run, tmp_path, monkeypatch):
    experiment, results = run(*METHODS, protocol="no-labels")
    folder = tmp_path / "out"
    write_results(*run(*METHODS, protocol="no-labels", counts=(2,)), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def write_half(frame, path, **options):
        path.write_text("data,metr")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", write_half)
    with pytest.raises(KeyboardInterrupt):
        write_results(experiment, results, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
