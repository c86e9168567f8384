"""Large CSV files: read and selected with a progress bar, in little more memory than their numbers take."""

import os
import re
import subprocess
import sys

import numpy as np
import pyarrow.csv
import pytest


def write_csv(path, n_samples, n_columns):
    """Whole numbers: clusters in every second column, noise in all; and an id."""
    rng = np.random.default_rng(0)
    centres = rng.integers(-1000, 1000, size=(6, n_columns)) * (np.arange(n_columns) % 2 == 0)
    values = centres[np.arange(n_samples) % 6] + rng.integers(1000, size=(n_samples, n_columns))
    columns = {f"c{column}": values[:, column] for column in range(n_columns)}
    pyarrow.csv.write_csv(pyarrow.table({"id": [f"s{sample}" for sample in range(n_samples)], **columns}), path)


@pytest.mark.parametrize(
    ("n_samples", "n_columns", "options"),
    [
        # The test of structure fits a part of the samples again and needs less memory.
        # Were any array of 12,000 × 12,000, or 20,000 columns copied a few times more, the limit would be exceeded.
        (12_000, 50, ["--no-test"]),
        (600, 20_000, ["-m", "50", "--no-test"]),
    ],
)
def test_peak_memory_is_told_and_within_six_times_the_matrix(tmp_path, n_samples, n_columns, options):
    write_csv(tmp_path / "data.csv", n_samples, n_columns)
    done = subprocess.run(
        [sys.executable, "-m", "ufselect", "select", "data.csv", *options, "-o", "chosen.csv"],
        cwd=tmp_path,
        env={**os.environ, "TQDM_DELAY": "0"},  # bars from the start, however quick the machine
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"Reading data.csv: +\d+%", done.stderr), done.stderr
    assert re.search(r"KernelFSASL: +\d+%", done.stderr), done.stderr
    peak = float(re.search(r"and ([\d,]+) MB of memory", done.stdout)[1].replace(",", ""))
    assert peak <= 6 * 8e-6 * n_samples * n_columns + 500
    with (tmp_path / "chosen.csv").open(encoding="utf-8") as file:
        assert file.readline().startswith("id,c")
        assert sum(1 for _ in file) == n_samples
