"""Datasets by name or path: from a folder, openml.org or scikit-learn, or generated."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from ufselect.datasets.content import Dataset, dataset_from
from ufselect.datasets.download import DownloadError, download
from ufselect.datasets.planted import make_planted_clusters
from ufselect.datasets.readers import FORMATS, SUFFIXES, checked_suffix, known_suffix, read_file
from ufselect.datasets.registry import PublicSet, describe_dataset

DATA_VARIABLE = "UFSELECT_DATA"
_IN_SCIKIT_LEARN = ("digits", "wine", "breast_cancer", "iris")
_USPS200_PER_CLASS = 100
_SUBFOLDER = "more"


def load_dataset(name: str | os.PathLike[str], *, verify: bool = True) -> Dataset:
    """Load a dataset by name, or your own from a file.

    Known datasets are searched for as ``NAME.npz``, ``.mat``, ``.csv`` or ``.csv.gz``, in this order, in the folder
    given by the environment variable ``UFSELECT_DATA``, by default ``ufselect`` in the user's cache folder, and in
    its subfolder ``more``. If there is no such file, datasets that are on openml.org are downloaded to that folder.
    Datasets of scikit-learn and generated ones need no file. A file stays in memory until it changes.

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
    public = _known_set(name)
    if name == "USPS200":
        return _first_of_each_class(load_dataset("USPS49", verify=verify), name, _USPS200_PER_CLASS)
    if name == "planted" or name in _IN_SCIKIT_LEARN:
        return _generated(name)
    return _read(_file_of(public, data_folder(), verify), public if verify else None)


def data_folder() -> Path:
    """Return the folder in which datasets are searched for and saved.

    Returns
    -------
    Path
        The folder given by ``UFSELECT_DATA``, or ``ufselect`` in the user's cache folder. It may not exist yet.
    """
    if named := os.environ.get(DATA_VARIABLE):
        return Path(named).expanduser().absolute()
    return _user_cache_folder() / "ufselect"


def _user_cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _known_set(name: str) -> PublicSet:
    try:
        return describe_dataset(name)
    except ValueError as error:
        raise ValueError(f"{error}; or pass the path of a file that ends in {', '.join(SUFFIXES)}") from None


def _file_of(public: PublicSet, folder: Path, verify: bool) -> Path:
    """Return the file of a dataset, downloaded if it is missing and on openml.org."""
    for each in (folder, folder / _SUBFOLDER):
        for suffix in SUFFIXES:
            if (path := each / f"{public.name}{suffix}").is_file():
                return path
    if public.openml_name is None:
        raise FileNotFoundError(_how_to_get(public, folder))
    try:
        return download(public, folder, verify=verify)
    except DownloadError as error:
        raise FileNotFoundError(f"{_how_to_get(public, folder)} {error}.") from error


def _how_to_get(public: PublicSet, folder: Path) -> str:
    files = ", ".join(f"{public.name}{suffix}" for suffix in SUFFIXES)
    where = f"{folder} or its subfolder {_SUBFOLDER}" if folder.is_dir() else f"{folder}, which is not a folder"
    return (
        f"{public.name} is not available: none of the files {files} is in {where}."
        f" It must have {public.size}, as {'; '.join(FORMATS)}."
        f" Set the environment variable {DATA_VARIABLE} to the folder with the file."
        f" Source: {public.source}."
    )


def _read(path: Path, expected: PublicSet | None = None) -> Dataset:
    checked_suffix(path)
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return _read_once(path, content, expected)


@lru_cache(maxsize=16)
def _read_once(path: Path, _content: str, expected: PublicSet | None) -> Dataset:
    """Read a file, once for the same content: time and size may be the same after it is rewritten."""
    dataset = read_file(path)
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


def _first_of_each_class(dataset: Dataset, name: str, n_each: int) -> Dataset:
    first = [np.flatnonzero(dataset.y == label)[:n_each] for label in range(dataset.n_classes)]
    rows = np.sort(np.concatenate(first))
    return dataset_from(name, dataset.X[rows], dataset.y[rows])
