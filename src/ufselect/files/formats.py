"""File formats, told apart by suffix."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FORMATS = "supported are .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .npy, .npz, .mat (up to version 7), .h5ad and .xlsx."


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : str
        Its short name, as returned by ``file_format``.
    title : str
        What messages call it.
    suffixes : tuple of str
        In lower case.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]

    def suffix_of(self, path: Path) -> str:
        """Return the suffix of a file of this format."""
        return next(suffix for suffix in self.suffixes if _ends_with(path, suffix))


_KNOWN = (
    Format("csv", "CSV", (".csv", ".csv.gz")),
    Format("tsv", "TSV", (".tsv", ".tsv.gz")),
    Format("parquet", "Parquet", (".parquet", ".pq")),
    Format("npy", "NumPy array", (".npy",)),
    Format("npz", "NumPy archive", (".npz",)),
    Format("mat", "MATLAB file", (".mat",)),
    Format("h5ad", "AnnData", (".h5ad",)),
    Format("xlsx", "Excel", (".xlsx", ".xlsm")),
)


def file_format(path: str | Path) -> str:
    """Return the format of a file, given by its suffix.

    Parameters
    ----------
    path : path
        The file does not need to exist.

    Returns
    -------
    {"csv", "tsv", "parquet", "npy", "npz", "mat", "h5ad", "xlsx"}

    Raises
    ------
    ValueError
        If the suffix is not supported.

    Examples
    --------
    >>> from ufselect.files import file_format
    >>> file_format("samples/cells.CSV.gz")
    'csv'
    """
    if known := known_format(path):
        return known.name
    raise ValueError(f"{path} has an unknown suffix; {FORMATS}")


def known_format(path: str | Path) -> Format | None:
    """Return the format of a file, or None if its suffix is not supported."""
    for known in _KNOWN:
        if any(_ends_with(Path(path), suffix) for suffix in known.suffixes):
            return known
    return None


def suffixes_of(name: str) -> tuple[str, ...]:
    """Return the suffixes of a format by its short name."""
    return next(known.suffixes for known in _KNOWN if known.name == name)


def is_gzipped(path: Path) -> bool:
    """Whether the suffix is that of a file compressed by gzip."""
    return path.suffix.casefold() == ".gz"


def _ends_with(path: Path, suffix: str) -> bool:
    name = path.name.casefold()
    return name.endswith(suffix) and name != suffix
