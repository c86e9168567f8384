"""A selection and everything that its page shows, and the code that reproduces it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import ufselect
from ufselect._utils.types import Float, Indices
from ufselect._utils.wording import shown
from ufselect.base import BaseSelector, Requirements
from ufselect.base.screening import keep_exclude_of
from ufselect.base.significance import ColumnSignificance
from ufselect.columns.moments import constant_columns
from ufselect.columns.tabular import as_matrix, column_names
from ufselect.inspection import Stability


class Role(Protocol):
    """What a column of the file is, such as an identifier, and whether it is a feature."""

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def role(self) -> str:
        """What the column is, in a word."""

    @property
    def reason(self) -> str:
        """Why it is that; may be empty."""

    @property
    def is_feature(self) -> bool:
        """Whether it takes part in the selection."""


class SetAside(NamedTuple):
    """A column that is no feature, as a :class:`Role`."""

    name: str
    reason: str
    role: str = "set aside"
    is_feature: bool = False


_WITHOUT_EFFECT = ("n_jobs", "verbose")  # on the result


@dataclass(frozen=True, eq=False)
class Study:
    """A selection and everything that its page shows.

    Parameters
    ----------
    selector : BaseSelector
        A fitted selector.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that the selector was fitted on.
    names : sequence of str or None
        The names of the columns; None takes them from the selector or from X, and numbers columns without names
        x0, x1, ….
    source : str
        The name of the data file.
    command : str
        The command line that reproduces the selection.
    samples : sequence of str, optional
        Labels of the samples; without them, samples are shown by their row number, counted from 1.
    groups : mapping of str to sequence
        Further columns of the file, such as identifiers and classes. The first three are shown with each sample, and
        those with 2 to 20 different values can colour the samples.
    notes : sequence of str
        Sentences on how the selection was made.
    image : tuple of int, optional
        Height and width, if the columns are the pixels of images, row by row.
    facts : mapping of str to str
        Further short facts, such as the duration.
    significance : ColumnSignificance, optional
        From :func:`ufselect.significance.column_significance`; by default that of the selector, if it tests columns.
        The page begins with its result, and marks columns that are not found.
    stability : Stability, optional
        From :func:`ufselect.inspection.stability_of`.
    missing : array-like of shape (n_features,), optional
        The share of missing values that every column had in the file.
    ordered : bool
        Whether the order of the columns has a meaning, as in spectra: the page then shows the mean spectrum.
    roles : sequence of Role
        What the columns of the file are: objects with a ``name``, a ``role``, a ``reason`` and ``is_feature``, as
        :class:`ufselect.report.SetAside`. Those that are no features are listed as left out.
    variables : sequence of str, optional
        The column of the file that each column encodes, if several may encode one, as the levels of a category do: the
        page lists these. By default, each column is one.

    Raises
    ------
    ValueError
        If names, samples, groups, image, stability, missing or variables do not match the data.
    """

    selector: BaseSelector
    X: Any
    names: Sequence[str] | None
    source: str
    command: str
    samples: Sequence[str] | None = None
    groups: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    image: tuple[int, int] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    significance: ColumnSignificance | None = None
    stability: Stability | None = None
    missing: Float | None = None
    ordered: bool = False
    roles: Sequence[Role] = ()
    variables: Sequence[str] | None = None

    def __post_init__(self) -> None:
        names = column_names(self.X, self.selector) if self.names is None else self.names
        X = as_matrix(self.X)
        n, d = X.shape
        # Frames become matrices, and series, which look up labels, become lists.
        plain = {
            "X": X,
            "names": [f"x{column}" for column in range(d)] if names is None else list(map(str, names)),
            "samples": None if self.samples is None else list(map(str, self.samples)),
            "groups": {name: list(values) for name, values in self.groups.items()},
            "missing": None if self.missing is None else np.asarray(self.missing, dtype=np.float64),
            "significance": self.significance or getattr(self.selector, "significance_", None),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        of_columns = {
            "names": self.names,
            "ranks": self.selector.ranking_,
            "values of stability": None if self.stability is None else self.stability.frequencies,
            "q-values": None if self.significance is None else self.significance.q_values,
            "values of missing": self.missing,
            "variables": self.variables,
        }
        of_samples = {"labels": self.samples}
        of_samples |= {f"values of {shown(str(name))}": values for name, values in self.groups.items()}
        for noun, count, found in (("columns", d, of_columns), ("samples", n, of_samples)):
            for what, values in found.items():
                if values is not None and len(values) != count:
                    raise ValueError(f"There are {len(values)} {what} for {count} {noun}.")
        if self.image is not None and self.image[0] * self.image[1] != d:
            height, width = self.image
            raise ValueError(f"An image of {height} × {width} has {height * width} pixels, but there are {d} columns.")

    @property
    def column_names(self) -> Sequence[str]:
        """The names of the columns."""
        return self.names or ()

    @cached_property
    def best_first(self) -> Indices:
        """The indices of the columns by rank."""
        return np.argsort(self.selector.ranking_, kind="stable")

    @cached_property
    def best_variables(self) -> list[tuple[str, list[int]]]:
        """The names of the variables, best first, and the ranks of their columns, from 0."""
        names = self.column_names if self.variables is None else self.variables
        found: dict[Any, tuple[str, list[int]]] = {}
        for rank, column in enumerate(self.best_first.tolist()):
            key = column if self.variables is None else names[column]
            found.setdefault(key, (names[column], []))[1].append(rank)
        return list(found.values())

    @property
    def selected_variables(self) -> list[str]:
        """The names of the selected variables, best first."""
        return [name for name, ranks in self.best_variables if ranks[0] < self.selector.n_features_]

    @cached_property
    def variable_of_rank(self) -> dict[int, int]:
        """The number of the variable, best first, of the column of each rank, both from 0."""
        return {rank: number for number, (_, ranks) in enumerate(self.best_variables) for rank in ranks}

    @cached_property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which columns are constant."""
        return np.asarray(constant_columns(self.X))

    @cached_property
    def excluded(self) -> Indices:
        """The indices of the columns that the user excluded."""
        return keep_exclude_of(self.selector, len(self.column_names), column_names(None, self.selector)).exclude

    @property
    def is_noise(self) -> bool:
        """Whether a test found no structure."""
        return self.significance is not None and not self.significance.n_found

    @property
    def not_found(self) -> Indices:
        """The indices of the columns that were tested and not found."""
        tested = self.significance
        return np.empty(0, dtype=np.intp) if tested is None else np.flatnonzero(tested.tested & ~tested.found)


def part_of(X: Any, rows: Indices, columns: Indices) -> Any:
    """Return some rows and columns of X, dense or sparse."""
    if len(rows) == X.shape[0]:
        return X[:, columns]
    # If X is sparse, the step that is fast in its format comes first.
    return X[:, columns][rows] if sp.issparse(X) and X.format == "csc" else X[rows][:, columns]


def evenly_spaced(n: int, most: int) -> Indices:
    """Return ``most`` indices below n, including the first and the last; all n of them if n is smaller."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


def parameters(selector: BaseSelector) -> dict[str, tuple[str, bool]]:
    """Return the value of every parameter as Python code, and whether it is the default."""
    defaults = inspect.signature(type(selector).__init__).parameters
    given = selector.get_params(deep=False)
    names = [name for name in defaults if name in given and name not in _WITHOUT_EFFECT]
    found = {}
    for name in names:
        value, default = given[name], defaults[name].default
        if name == "requirements" and value is not None:  # a dictionary is shorter
            value = {key: _plain(each) for key, each in vars(Requirements.of(value)).items() if each is not None}
        is_default = type(value) is type(default) and bool(value == default)
        found[name] = (repr(value.item() if isinstance(value, np.generic) else value), is_default)
    return found


def _plain(values: Any) -> Any:
    """Return a series as a dictionary, and an array as a list."""
    if hasattr(values, "to_dict"):
        return values.to_dict()
    return values.tolist() if isinstance(values, np.ndarray) else values


def python_code(selector: BaseSelector) -> str:
    """Return code that reproduces the selection from a matrix X, without parameters at their defaults."""
    method = type(selector).__name__
    chosen = {name: value for name, (value, default) in parameters(selector).items() if not default}
    named = ", ".join(f"{name}={value}" for name, value in chosen.items())
    module = "ufselect" if getattr(ufselect, method, None) is type(selector) else type(selector).__module__
    data = "X, structure=structure" if hasattr(selector, "given_structure_") else "X"
    return f"from {module} import {method}\n\nselector = {method}({named}).fit({data})\nselector.top_features()"
