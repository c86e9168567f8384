"""Download datasets from openml.org."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError

import numpy as np
import numpy.typing as npt

from ufselect.datasets.content import Dataset, dataset_from
from ufselect.datasets.registry import PublicSet

_RETRIES = 2
_SECONDS_BETWEEN = 0.5


class DownloadError(OSError):
    """A dataset could not be downloaded."""


def download(public: PublicSet, folder: Path, *, verify: bool) -> Path:
    """Download a dataset from openml.org and save it as ``NAME.npz``, completely or not at all.

    Parameters
    ----------
    public : PublicSet
        A dataset with a name on OpenML.
    folder : Path
        Created if it does not exist.
    verify : bool
        Whether to raise an error if the dataset differs from ``public``.

    Returns
    -------
    Path
        The saved file.

    Raises
    ------
    DownloadError
        If there is no connection or no such dataset, or it is not a table of numbers.
    OSError
        If the folder is not writable, which is checked before the download.
    ValueError
        If the dataset is not the expected one.
    """
    target = folder / f"{public.name}.npz"
    with _scratch_folder_in(folder, public.name) as scratch:
        dataset = _fetch(public, scratch)
        if verify and (difference := public.difference_to(dataset)):
            raise ValueError(
                f"{public.openml_name}, version {public.openml_version}, on OpenML is not the expected dataset:"
                f" {difference}. Get the right one ({public.source}) and put it into {folder}, or load it anyway"
                f" with load_dataset({public.name!r}, verify=False)."
            )
        saved = Path(scratch, target.name)
        np.savez_compressed(saved, X=dataset.X, y=dataset.y)
        os.replace(saved, target)
    return target


def _scratch_folder_in(folder: Path, name: str) -> TemporaryDirectory[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return TemporaryDirectory(dir=folder, prefix=f".{name}-")
    except OSError as error:
        raise OSError(
            f"{name} cannot be downloaded from openml.org, because {folder} is not writable ({error});"
            " set the environment variable UFSELECT_DATA to another folder."
        ) from error


def _fetch(public: PublicSet, scratch: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    # The network, the answers of the server, the parser and the values can all fail, each in its own way.
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A network error occurred|Invalid cache, redownloading")
            found = fetch_openml(
                name=public.openml_name,
                version=public.openml_version,
                as_frame=False,
                parser="liac-arff",  # the other parser requires pandas
                data_home=scratch,
                n_retries=_RETRIES,
                delay=_SECONDS_BETWEEN,
            )
        X = _with_values_of_nominals(found.data, found.feature_names, found.categories)
        return dataset_from(public.name, X, found.target)
    except Exception as error:
        if isinstance(error, HTTPError):
            error.close()
        raise DownloadError(f"{public.openml_name} could not be downloaded from openml.org: {error}") from error


def _with_values_of_nominals(
    X: npt.NDArray[np.float64], names: list[str], categories: dict[str, Any]
) -> npt.NDArray[np.float64]:
    """Return X with the values of nominal columns, which OpenML gives as indices into the list of declared values."""
    if not np.isfinite(X).all():
        raise ValueError("values are missing")
    decoded = X.copy()
    for column, name in enumerate(names):
        if name in categories:
            declared = np.array(categories[name], dtype=np.float64)
            decoded[:, column] = declared[X[:, column].astype(np.intp)]
    return decoded
