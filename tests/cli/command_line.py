"""The program in a process of its own or in this one, and a small table in every format that it reads."""

import gzip
import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import anndata
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp
from warm_python import warm_python

import ufselect
from ufselect.cli.app import run

SCRIPT = [str(Path(sys.executable).with_name("ufselect"))]
MODULE = [sys.executable, "-m", "ufselect"]

# tqdm shows bars at once in this process, where it was imported without a delay.
_PROGRESS_BAR = re.compile(r"[^\n]*\r[^\n]*\n?")

CLASSES = np.repeat([0, 1, 2], 20)
KINDS = np.array(["2021-03-01", "2021-03-02", "2021-03-03"])[CLASSES].tolist()  # dates are no features
CELLS = [f"cell {row}" for row in range(60)]
NAMES = [f"gene {column}" for column in range(12)]


class Outcome(NamedTuple):
    code: int
    stdout: str
    stderr: str


def started_at_once():
    """The program as a process that need not import anything."""
    return [*warm_python(), "-m", "ufselect"]


def run_alone(folder, *arguments, program=None, environment=None, **options):
    """Run the program as a process from that folder; the program is as installed only if it is given."""
    answer = subprocess.run(
        [*(program or started_at_once()), *map(str, arguments)],
        cwd=folder,
        # Without a delay of its own, a slow machine would show a progress bar in the middle of what a test compares.
        env={**os.environ, "TQDM_DELAY": "600", **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        **options,
    )
    return Outcome(answer.returncode, answer.stdout, answer.stderr)


def invoke(*arguments):
    """Run the program in this process, where everything is already imported."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = run([str(argument) for argument in arguments])
    return Outcome(code, output.getvalue(), _PROGRESS_BAR.sub("", errors.getvalue()))


def contents(folder):
    """Every file under a folder, hidden ones too, with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def is_one_sentence(stderr):
    """Whether an error is a single line without a traceback."""
    lines = stderr.splitlines()
    return len(lines) == 1 and lines[0].startswith("Error: ") and lines[0].endswith(".") and "Traceback" not in stderr


def fitted(method, X, count=5, *, fdr=0.05, **parameters):
    """The library, called directly, with the test that commands make."""
    return getattr(ufselect, method)(count, fdr=fdr, **parameters).fit(X)


def dense_numbers():
    """60 samples of three classes in 12 columns; the first four separate the classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    X[:, :4] += 3.0 * rng.standard_normal((3, 4))[CLASSES]
    return X


def sparse_numbers():
    X = dense_numbers()
    return sp.csr_matrix(np.where(X > 0.3, X, 0.0))


class Source(NamedTuple):
    """A file and its content."""

    path: Path
    X: Any
    names: list
    aside: dict


def frame():
    return pd.concat(
        [pd.DataFrame({"cell": CELLS, "kind": KINDS}), pd.DataFrame(dense_numbers(), columns=NAMES)], axis=1
    )


def write_source(folder, name):
    """Write a table of that name with the libraries that such files come from."""
    path = Path(folder) / name
    X = sparse_numbers() if name.startswith("sparse") else dense_numbers()
    numbered = [f"x{column}" for column in range(12)]
    match name.split(".", 1)[1]:
        case "csv" | "csv.gz" | "tsv" | "tsv.gz":
            return _write_text(path)
        case "parquet":
            frame().to_parquet(path, index=False)
            return Source(path, X, NAMES, {"cell": CELLS, "kind": KINDS})
        case "npy":
            np.save(path, X)
            return Source(path, X, numbered, {})
        case "npz" if sp.issparse(X):
            sp.save_npz(path, X)
            return Source(path, X, numbered, {})
        case "npz":
            np.savez(path, X=X, names=np.array(NAMES), kind=np.array(KINDS))
            return Source(path, X, NAMES, {"kind": KINDS})
        case "mat":
            scipy.io.savemat(path, {"fea": X, "gnd": CLASSES[:, None] + 1.0, "names": np.array(NAMES, dtype=object)})
            return Source(path, X, NAMES, {"gnd": (CLASSES + 1.0).tolist()})
        case "h5ad":
            obs = pd.DataFrame({"kind": pd.Categorical(KINDS)}, index=CELLS)
            anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=NAMES)).write_h5ad(path)
            return Source(path, X, NAMES, {"obs_names": CELLS, "kind": KINDS})


def _write_text(path):
    text = frame().to_csv(index=False, sep="\t" if ".tsv" in path.name else ",").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return Source(path, dense_numbers(), NAMES, {"cell": CELLS, "kind": KINDS})


class Written(NamedTuple):
    """The content of a file, read without ufselect; the names are None if it has none."""

    X: Any
    names: list | None
    aside: dict


def read_back(path):
    match path.name.split(".", 1)[1]:
        case "npy":
            return Written(np.load(path), None, {})
        case "npz":
            with np.load(path) as stored:
                return _from_arrays({key: stored[key] for key in stored.files})
        case "mat":
            stored = scipy.io.loadmat(path, squeeze_me=True)
            return _from_arrays({key: stored[key] for key in stored if not key.startswith("__")})
        case "h5ad":
            data = anndata.read_h5ad(path)
            aside = {"obs_names": data.obs_names.tolist()} | {name: data.obs[name].tolist() for name in data.obs}
            return Written(data.X, data.var_names.tolist(), aside)
        case "parquet":
            return _from_frame(pd.read_parquet(path))
        case ending:
            return _from_frame(
                pd.read_csv(path, sep="\t" if ending.startswith("tsv") else ",", float_precision="round_trip")
            )


def _from_arrays(arrays):
    if "X_data" in arrays:
        parts = tuple(arrays.pop(f"X_{part}") for part in ("data", "indices", "indptr"))
        X = sp.csr_matrix(parts, shape=tuple(arrays.pop("X_shape")))
    else:
        X = arrays.pop("X")
    names = arrays.pop("names").tolist()
    keys = np.atleast_1d(arrays.pop("aside_names", [])).tolist()
    values = [arrays.pop(key) if key in arrays else arrays.pop(f"aside_{place}") for place, key in enumerate(keys)]
    assert not arrays
    return Written(X, names, {key: column.tolist() for key, column in zip(keys, values, strict=True)})


def _from_frame(table):
    numbers = [name for name in table.columns if str(name).startswith(("gene ", "x")) or table[name].dtype.kind == "f"]
    numbers = [name for name in numbers if name != "gnd"]
    aside = {name: table[name].tolist() for name in table.columns if name not in numbers}
    return Written(table[numbers].to_numpy(), numbers, aside)
