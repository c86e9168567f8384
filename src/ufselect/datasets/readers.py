"""Files of samples and classes, by format."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from ufselect.datasets.content import Dataset, dataset_from

CLASS_COLUMNS = ("y", "class", "label", "target")
_MATLAB_NAMES = (("X", "Y"), ("X", "y"), ("fea", "gnd"))

FORMATS = (
    ".npz with arrays X (samples × features) and y",
    ".mat (up to v7) with X and Y, or fea and gnd",
    f".csv or .csv.gz with a header and a column of classes named {', '.join(CLASS_COLUMNS[:-1])} or target",
)

_Reader = Callable[[IO[bytes]], tuple[Any, Any]]


def read_file(path: Path) -> Dataset:
    """Read samples and classes from a file.

    Parameters
    ----------
    path : Path
        Its suffix tells the format, see ``FORMATS``. Nothing is ever unpickled.

    Returns
    -------
    Dataset
        Named after the file, without the suffix.

    Raises
    ------
    OSError
        Where the file cannot be opened.
    ValueError
        Where it does not hold what it should; names the file and the cause.
    """
    suffix = known_suffix(path)
    if suffix is None:
        raise ValueError(f"{path} has a suffix that is not known; files may be {', '.join(FORMATS)}")
    with path.open("rb") as file:
        # Readers of broken files fail with whatever they stumble on: BadZipFile, EOFError, OSError, KeyError …
        try:
            X, labels = _READERS[suffix](file)
            return dataset_from(path.name[: -len(suffix)], X, labels)
        except MemoryError:
            raise
        except Exception as error:
            raise ValueError(f"{path} cannot be read as samples and classes: {_cause(error)}") from error


def known_suffix(path: Path) -> str | None:
    """The suffix that tells the format of the file, None where there is no reader for it."""
    name = path.name.casefold()
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix) and name != suffix), None)


def _cause(error: Exception) -> str:
    return str(error) or type(error).__name__


def _read_npz(file: IO[bytes]) -> tuple[Any, Any]:
    stored = np.load(file, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError("it holds one array; a .npz file with arrays X and y is wanted")
    with stored:
        missing = [name for name in ("X", "y") if name not in stored]
        if missing:
            raise ValueError(f"there is no array {' and no array '.join(missing)}, only {sorted(stored.files)}")
        return stored["X"], stored["y"]


def _read_mat(file: IO[bytes]) -> tuple[Any, Any]:
    from scipy.io import loadmat

    try:
        stored = loadmat(file)
    except NotImplementedError as error:
        raise ValueError("MATLAB files of version 7.3 are not read; save it again with -v7") from error
    for samples, classes in _MATLAB_NAMES:
        if samples in stored and classes in stored:
            return stored[samples], stored[classes]
    names = sorted(name for name in stored if not name.startswith("__"))
    raise ValueError(f"there is neither X with Y or y, nor fea with gnd, only {names}")


def _read_csv(file: IO[bytes] | gzip.GzipFile) -> tuple[Any, Any]:
    # A mark of byte order, which spreadsheets write, is no part of the first name.
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        header = next(csv.reader(text), [])
        place = _class_column(header)
        classes: dict[str, int] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # raised where there are no rows
            table = np.loadtxt(
                text,
                delimiter=",",
                quotechar='"',
                comments=None,
                ndmin=2,
                converters={place: lambda label: _class_number(label, classes)},
            )
    if table.shape[1] != len(header):
        raise ValueError(f"the header names {len(header)} columns, but there are {table.shape[1]}")
    return np.delete(table, place, axis=1), table[:, place]


def _read_csv_gz(file: IO[bytes]) -> tuple[Any, Any]:
    with gzip.open(file) as unpacked:
        return _read_csv(unpacked)


def _class_column(header: list[str]) -> int:
    places = [place for place, name in enumerate(header) if name.strip().casefold() in CLASS_COLUMNS]
    if len(places) != 1:
        found = ", ".join(header[:5]) + (", …" if len(header) > 5 else "")
        raise ValueError(
            f"one column must be named {' or '.join(CLASS_COLUMNS)}, but {len(places)} are; the header begins: {found}"
        )
    return places[0]


def _class_number(label: str, classes: dict[str, int]) -> int:
    if not label.strip():
        raise ValueError("a sample has no class")  # NumPy adds the row and column
    return classes.setdefault(label.strip(), len(classes))


_READERS: dict[str, _Reader] = {
    ".npz": _read_npz,
    ".mat": _read_mat,
    ".csv": _read_csv,
    ".csv.gz": _read_csv_gz,
}
SUFFIXES = tuple(_READERS)
