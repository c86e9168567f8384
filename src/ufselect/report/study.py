"""A selection, and all that its page tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ufselect.base import BaseSelector


@dataclass(frozen=True, eq=False)
class Study:
    """A selection, and all that its page tells.

    Parameters
    ----------
    selector : BaseSelector
        Fitted.
    X : ndarray or sparse matrix of shape (n, d)
        As it was given to ``fit``.
    names : sequence of str
        A name for every column.
    source : str
        The name of the file.
    command : str
        The command line that reproduces the selection.
    samples : sequence of str, optional
        A label for every sample; without them, samples are told by their row, from 1.
    groups : mapping of str to sequence
        Further columns of the file, such as identifiers and classes. The first three are shown beside a sample, and
        those with 2 to 20 different values can colour the samples.
    notes : sequence of str
        Sentences on how the selection came about.
    image : tuple of int, optional
        Height and width, where the columns are the pixels of a picture, row by row.
    facts : mapping of str to str
        Further short facts, such as the time it took.

    Raises
    ------
    ValueError
        If names, samples, groups or the picture do not fit the data.
    """

    selector: BaseSelector
    X: Any
    names: Sequence[str]
    source: str
    command: str
    samples: Sequence[str] | None = None
    groups: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    image: tuple[int, int] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, d = self.X.shape
        _check_count("names", len(self.names), "columns", d)
        _check_count("ranks", len(self.selector.ranking_), "columns", d)
        if self.samples is not None:
            _check_count("labels", len(self.samples), "samples", n)
        for name, values in self.groups.items():
            _check_count(f"values of {name}", len(values), "samples", n)
        if self.image is not None and self.image[0] * self.image[1] != d:
            height, width = self.image
            raise ValueError(f"A picture of {height} × {width} has {height * width} pixels, but there are {d} columns.")


def _check_count(what: str, found: int, of_what: str, wanted: int) -> None:
    if found != wanted:
        raise ValueError(f"There are {found} {what} for {wanted} {of_what}.")
