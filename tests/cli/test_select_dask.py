"""``ufselect select --dask``: Parquet files in parts, as one table."""

from contextlib import nullcontext

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import invoke, is_one_sentence, run_alone

from ufselect.cli import select_dask
from ufselect.datasets.planted import make_planted_clusters

PLANTED = make_planted_clusters(240, 3, 6, 14, random_state=0)
NAMES = [f"gene {column}" for column in range(20)]
FRAME = pd.DataFrame(PLANTED.X, columns=NAMES).assign(kind="cell")


def write_parts(folder, frame=FRAME, sizes=(100, 60, 80), row_group_size=30):
    """Write the rows of a frame to several files, in row groups, and return the pattern that matches them."""
    folder.mkdir(exist_ok=True)
    start = 0
    for number, size in enumerate(sizes):
        rows = pa.Table.from_pandas(frame.iloc[start : start + size], preserve_index=False)
        pq.write_table(rows, folder / f"part-{number}.parquet", row_group_size=row_group_size)
        start += size
    return folder / "*.parquet"


def test_parts_give_the_selection_of_the_whole_file(tmp_path):
    FRAME.to_parquet(tmp_path / "whole.parquet", index=False)
    write_parts(tmp_path / "parts")
    forked = {"DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver"}  # from a process that imported Dask
    of_parts = run_alone(tmp_path, "select", "parts/*.parquet", "-m", 6, "--dask", "local", environment=forked)
    assert of_parts.code == 0, of_parts.stderr
    of_whole = invoke("select", tmp_path / "whole.parquet", "-m", 6)
    ranking = [line for line in of_whole.stdout.splitlines() if "gene" in line]
    assert len(ranking) == 6
    assert of_parts.stdout.splitlines()[:2] == of_whole.stdout.splitlines()[:2]  # what is found, and what cannot be
    assert [line for line in of_parts.stdout.splitlines() if "gene" in line] == ranking
    assert "parts/*.parquet: 240 samples × 20 numeric columns (3 files, 3 blocks, 0.0 MB)." in of_parts.stdout
    assert "Set aside: kind (text)." in of_parts.stdout
    assert "Alignment of the selected columns with the learned structure: 0." in of_parts.stdout


@pytest.fixture
def this_process(monkeypatch):
    """Let Dask compute in this process, as a scheduler of its own would take seconds to start."""
    monkeypatch.setattr(select_dask, "_connected", lambda scheduler: nullcontext())
    with dask.config.set(scheduler="synchronous"):
        yield


def test_only_names_are_printed_if_asked_for(tmp_path, this_process):
    write_parts(tmp_path / "parts")
    FRAME.to_parquet(tmp_path / "whole.parquet", index=False)
    outcome = invoke("select", tmp_path / "parts", "-m", 5, "--names", "--dask", "local", "--aside", "gene 19")
    expected = invoke("select", tmp_path / "whole.parquet", "-m", 5, "--names", "--aside", "gene 19")
    assert outcome.stdout == expected.stdout
    assert "gene 19 (requested)" in outcome.stderr


def test_counts_are_normalized_as_in_one_file(tmp_path, this_process):
    rng = np.random.default_rng(1)
    rates = np.exp(rng.standard_normal((3, 40)) - 1.0)[rng.integers(0, 3, 300)]
    counts = rng.poisson(rates * rng.gamma(2.0, 1.0, (300, 1))).astype(float)
    counts[0, 0] = 50.0
    frame = pd.DataFrame(counts, columns=[f"gene {column}" for column in range(40)])
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    pattern = write_parts(tmp_path / "parts", frame, sizes=(200, 100))
    for options in ([], ["--counts", "no"], ["--counts", "yes"]):
        of_parts = invoke("select", pattern, "-m", 8, "--names", "--dask", "local", *options)
        of_whole = invoke("select", tmp_path / "whole.parquet", "-m", 8, "--names", *options)
        assert of_parts.stdout == of_whole.stdout
        assert ("log-normalised" in of_parts.stderr) == ("log-normalised" in of_whole.stderr)


def with_missing(folder):
    frame = FRAME.copy()
    frame.loc[150, "gene 4"] = np.nan
    return write_parts(folder, frame)


def with_part(content):
    """Write parts, of which the second or third is replaced by these bytes or this frame."""

    def write(folder):
        pattern = write_parts(folder)
        if isinstance(content, bytes):
            (folder / "part-1.parquet").write_bytes(content)
        else:
            content.to_parquet(folder / "part-2.parquet")
        return pattern

    return write


def csv(folder):
    folder.mkdir()
    FRAME.to_csv(folder / "cells.csv", index=False)
    return folder / "cells.csv"


OF_SINGLE_PRECISION = FRAME.astype(dict.fromkeys(NAMES, np.float32))
HOSTILE = [
    (with_missing, [], "Column gene 4 of X contains NaN or infinity."),
    (with_part(FRAME.rename(columns={"gene 3": "gene III"})), [], "has no numeric column 'gene 3', unlike"),
    (with_part(OF_SINGLE_PRECISION), [], "differ in precision; all files must have the same types."),
    (lambda folder: write_parts(folder, FRAME[["kind"]]), [], "has no numeric column."),
    (lambda folder: write_parts(folder, FRAME.iloc[:0], sizes=(0,)), [], "has columns but no rows."),
    (
        with_part(b"PAR1 and no more"),
        [],
        "part-1.parquet cannot be read as Parquet: the file is damaged or",
    ),
    (csv, [], "is not a Parquet file; only Parquet files are read together or in parts."),
    (lambda folder: folder / "*.parquet", [], "No file matches"),
    (write_parts, ["--aside", "gene 33"], "has no column named 'gene 33'"),
    (write_parts, ["-o", "out.csv"], "--output"),
    (write_parts, ["--transpose"], "--transpose"),
    (write_parts, ["--impute", "median"], "--impute"),
    (write_parts, ["--method", "MCFS"], "MCFS needs the whole table in memory; only KernelFSASL works with --dask"),
]


@pytest.mark.parametrize(("write", "options", "message"), HOSTILE, ids=[case[2] for case in HOSTILE])
def test_what_cannot_be_read_in_parts_is_said_in_a_sentence(tmp_path, this_process, write, options, message):
    outcome = invoke("select", write(tmp_path / "parts"), "-m", 5, "--dask", "local", *options)
    assert outcome.code != 0
    assert message in outcome.stderr
    assert is_one_sentence(outcome.stderr), outcome.stderr


def test_no_scheduler_at_an_address_is_said_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(select_dask, "_SECONDS_TO_CONNECT", 0.2)
    outcome = invoke("select", write_parts(tmp_path / "parts"), "--dask", "tcp://127.0.0.1:9")
    assert outcome.code != 0
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in outcome.stderr
