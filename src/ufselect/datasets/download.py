"""Sets fetched from openml.org."""

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
    """A set could not be fetched."""


def download(public: PublicSet, folder: Path, *, verify: bool) -> Path:
    """Fetch a set from openml.org and save it as ``NAME.npz``, whole or not at all.

    Parameters
    ----------
    public : PublicSet
        One with a name on OpenML.
    folder : Path
        Made where it does not exist.
    verify : bool
        Refuse what differs from ``public``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    DownloadError
        Where there is no connection or no such set, or it is not a table of numbers.
    OSError
        Where the folder cannot be written to; this is found out beforehand.
    ValueError
        Where another set was found than expected.
    """
    target = folder / f"{public.name}.npz"
    with _scratch_folder_in(folder, public.name) as scratch:
        dataset = _fetch(public, scratch)
        if verify and (difference := public.difference_to(dataset)):
            raise ValueError(
                f"OpenML's {public.openml_name}, version {public.openml_version}, is not the set expected:"
                f" {difference}. Get the right one ({public.source}) and put it into {folder}, or take it"
                f" nevertheless by load_dataset({public.name!r}, verify=False)."
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
            f"{name} would be fetched from openml.org and saved in {folder}, but that cannot be written to ({error});"
            " set the environment variable UFSELECT_DATA to a folder that can."
        ) from error


def _fetch(public: PublicSet, scratch: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    # Many things go wrong on the way to a table: the network, the server's answers, the parser, the values.
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A network error occurred|Invalid cache, redownloading")
            found = fetch_openml(
                name=public.openml_name,
                version=public.openml_version,
                as_frame=False,
                parser="liac-arff",  # the other one needs pandas
                data_home=scratch,
                n_retries=_RETRIES,
                delay=_SECONDS_BETWEEN,
            )
        X = _with_values_of_nominals(found.data, found.feature_names, found.categories)
        return dataset_from(public.name, X, found.target)
    except Exception as error:
        if isinstance(error, HTTPError):
            error.close()
        raise DownloadError(f"{public.openml_name} could not be fetched from openml.org: {error}") from error


def _with_values_of_nominals(
    X: npt.NDArray[np.float64], names: list[str], categories: dict[str, Any]
) -> npt.NDArray[np.float64]:
    """X with the numbers that nominal columns stand for; they come as places in the list of declared values."""
    if not np.isfinite(X).all():
        raise ValueError("values are missing")
    decoded = X.copy()
    for column, name in enumerate(names):
        if name in categories:
            declared = np.array(categories[name], dtype=np.float64)
            decoded[:, column] = declared[X[:, column].astype(np.intp)]
    return decoded
