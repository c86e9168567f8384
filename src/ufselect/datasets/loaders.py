"""Datasets by name or path: from a folder or scikit-learn, or generated."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.wording import listed, shortened
from ufselect.datasets.content import Dataset, dataset_from
from ufselect.datasets.planted import make_planted_clusters
from ufselect.datasets.registry import PublicSet, describe_dataset
from ufselect.files import Table, read_table
from ufselect.files.errors import check_file, errors_named
from ufselect.files.reading import read_arrays
from ufselect.files.registry import format_of, known_format

DATA_VARIABLE = "UFSELECT_DATA"
_IN_SCIKIT_LEARN = ("digits", "wine", "breast_cancer", "iris")
_USPS200_PER_CLASS = 100
_SUBFOLDER = "more"
_CLASS_COLUMNS = ("y", "class", "label", "target")
SUFFIXES = tuple(suffix for name in ("npz", "mat", "csv") for suffix in format_of(f"x.{name}").suffixes)
_CONTENTS = (  # by format
    ".npz with arrays X (samples × features) and y, or data, indices, indptr and shape for sparse X",
    ".mat (up to v7) with X and Y, or fea and gnd",
    f".csv or .csv.gz with a header and a column of classes named {', '.join(_CLASS_COLUMNS[:-1])} or target",
)
_ARRAY_NAMES = {".npz": (("X", "y"),), ".mat": (("X", "Y"), ("X", "y"), ("fea", "gnd"))}


def load_dataset(name: str | os.PathLike[str], *, verify: bool = True) -> Dataset:
    """Load a dataset by name, or your own from a file.

    Known datasets are searched for as ``NAME.npz``, ``.mat``, ``.csv`` or ``.csv.gz``, in this order, in the folder
    given by the environment variable ``UFSELECT_DATA``, by default ``ufselect`` in the user's cache folder, and in
    its subfolder ``more``. Datasets of scikit-learn and generated ones need no file. A file stays in memory until it
    changes.

    Parameters
    ----------
    name : str or path
        One of ``dataset_names()``, or a path with one of these suffixes. A file holds X and y (.npz; a sparse X as
        data, indices, indptr and shape of a CSR array), X and Y or fea and gnd (.mat), or a header with one column
        named y, class, label or target (.csv).
    verify : bool, default=True
        Whether to raise an error if the shape, the number of classes or the content of a known dataset is not as
        expected.

    Returns
    -------
    Dataset
        With read-only arrays; X is sparse if it is in the file. Classes are numbered in order of appearance.

    Raises
    ------
    FileNotFoundError
        If there is no file; the message says where to get one and where to put it.
    ValueError
        If the name is unknown, or a file is damaged or not as expected.

    Examples
    --------
    >>> from ufselect.datasets import load_dataset
    >>> wine = load_dataset("wine")
    >>> wine.X.shape, wine.n_classes
    ((178, 13), 3)
    """
    if isinstance(name, os.PathLike) or known_suffix(Path(name)):
        return _read(Path(name).expanduser().absolute())
    try:
        public = describe_dataset(name)
    except ValueError as error:
        raise ValueError(f"{error}; or pass the path of a file that ends in {', '.join(SUFFIXES)}") from None
    if name == "USPS200":
        whole = load_dataset("USPS49", verify=verify)
        first = [np.flatnonzero(whole.y == label)[:_USPS200_PER_CLASS] for label in range(whole.n_classes)]
        rows = np.sort(np.concatenate(first))
        return dataset_from(name, whole.X[rows], whole.y[rows])
    if name == "planted" or name in _IN_SCIKIT_LEARN:
        return _generated(name)
    return _read(_file_of(public, data_folder()), public if verify else None)


def data_folder() -> Path:
    """Return the folder given by ``UFSELECT_DATA``, or ``ufselect`` in the user's cache folder; it may not exist."""
    if named := os.environ.get(DATA_VARIABLE):
        return Path(named).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ufselect"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ufselect"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ufselect"


def _file_of(public: PublicSet, folder: Path) -> Path:
    for each in (folder, folder / _SUBFOLDER):
        for suffix in SUFFIXES:
            if (path := each / f"{public.name}{suffix}").is_file():
                return path
    files = ", ".join(f"{public.name}{suffix}" for suffix in SUFFIXES)
    where = f"{folder} or its subfolder {_SUBFOLDER}" if folder.is_dir() else f"{folder}, which is not a folder"
    raise FileNotFoundError(
        f"{public.name} is not available: none of the files {files} is in {where}."
        f" It must have {public.size}, as {'; '.join(_CONTENTS)}."
        f" Set the environment variable {DATA_VARIABLE} to the folder with the file."
        f" Source: {public.source}."
    )


def _read(path: Path, expected: PublicSet | None = None) -> Dataset:
    if known_suffix(path) is None:
        raise ValueError(f"{path} has an unknown suffix; supported are {'; '.join(_CONTENTS)}.")
    check_file(path)
    with errors_named(path), path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return _read_once(path, content, expected)


@lru_cache(maxsize=16)
def _read_once(path: Path, _content: str, expected: PublicSet | None) -> Dataset:
    """Read a file, once for the same content: time and size may be the same after it is rewritten."""
    dataset = _read_file(path)
    if expected is not None and (difference := expected.difference_to(dataset)):
        raise ValueError(
            f"{path} is not the expected dataset: {difference}. It may be damaged, or a different version of the data:"
            f" delete it and get the right one ({expected.source}), or load it anyway with"
            f" load_dataset({expected.name!r}, verify=False)."
        )
    return dataset


@cache
def _generated(name: str) -> Dataset:
    if name == "planted":
        planted = make_planted_clusters(random_state=0)
        return dataset_from(name, planted.X, planted.clusters)
    from sklearn import datasets

    return dataset_from(name, *getattr(datasets, f"load_{name}")(return_X_y=True))


def _read_file(path: Path) -> Dataset:
    """Read samples and classes from a file; the dataset is named after it, without the suffix."""
    suffix = known_suffix(path) or ""
    stored = read_arrays(path) if suffix in (".npz", ".mat") else read_table(path)
    try:
        if isinstance(stored, Table):
            X, labels = _features_and_classes(stored)
        else:
            X, labels = _arrays_named(stored, _ARRAY_NAMES[suffix])
        return dataset_from(path.name[: -len(suffix)], X, labels)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as samples and classes: {error}.") from error


def known_suffix(path: Path) -> str | None:
    """Return the suffix that gives the format of a file, or None if datasets are not read from such files."""
    known = known_format(path)
    suffix = known.suffix_of(path) if known else None
    return suffix if suffix in SUFFIXES else None


def _arrays_named(arrays: Mapping[str, Any], pairs: tuple[tuple[str, str], ...]) -> tuple[Any, Any]:
    """Return the samples and the classes, by the first pair of names that is there."""
    for names in pairs:
        if all(name in arrays for name in names):
            if objects := [name for name in names if arrays[name] is None]:
                raise ValueError(f"{objects[0]} holds Python objects, which are never unpickled")
            return arrays[names[0]], arrays[names[1]]
    wanted = " or ".join(" and ".join(names) for names in pairs)
    raise ValueError(f"it has no arrays {wanted}, only {listed(sorted(arrays), quoted=True) or 'nothing'}")


def _features_and_classes(table: Table) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the numeric columns without the column of classes, and that column."""
    columns = [*table.names, *table.aside]
    found = [name for name in columns if name.strip().casefold() in _CLASS_COLUMNS]
    if len(found) != 1:
        wanted = " or ".join(_CLASS_COLUMNS)
        raise ValueError(
            f"one column must be named {wanted}, but {len(found)} are; its columns are {listed(columns, quoted=True)}"
        )
    for name, reason in table.reasons.items():
        if name != found[0]:
            raise ValueError(f"column {shortened(name)!r} is not numeric ({reason})")
    if found[0] in table.aside:
        labels = table.aside[found[0]]
        if labels.dtype == object:
            labels = np.array([(label or "").strip() or None for label in labels], dtype=object)
        return table.X, labels
    index = table.names.index(found[0])
    return np.delete(table.X, index, axis=1), table.X[:, index]
