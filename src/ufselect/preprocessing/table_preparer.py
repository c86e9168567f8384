"""Prepare a table of any columns for a selector: decide their roles and encode the features as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ufselect._utils.wording import listed
from ufselect.base.screening import columns_named
from ufselect.preprocessing.amounts import Logarithm
from ufselect.preprocessing.encoding import Category, Levels
from ufselect.preprocessing.missing import MissingValues
from ufselect.preprocessing.number_summary import known_values
from ufselect.preprocessing.roles import ColumnRole, Role, Rules, roles_of
from ufselect.preprocessing.table_columns import TableColumns, columns_of, numbers_of, unique_names

_BLOCK = 1_000_000  # values that are copied at once


class TablePreparer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Prepare a table of any columns for a selector.

    Decides what each column is, from its name and its values, and returns the features as numbers without missing
    values. Nothing else is scaled, since selectors do that.

    ========== ================================================== ===========================================
    role       columns                                            result
    ========== ================================================== ===========================================
    numeric    numbers, ordered grades                            unchanged
    amount     skewed quantities over orders of magnitude         log(1 + x / unit), where the unit is small
    category   text or codes with few values, booleans            a column of zeros and ones for each level
    id         identifiers, row numbers, codes with many values   none
    date       dates and times                                    none
    text       text with many different values                    none
    incomplete too many values are missing                        none
    constant   one value, or none                                 none
    copy       near copies of another feature                     none
    ========== ================================================== ===========================================

    A category with two levels is a single column; levels that have less than 1 % of the values are pooled as ``other``.
    In ``transform``, columns are found by name, and others ignored. New levels count as ``other`` if there is such a
    level, and are zero otherwise. Missing categories take the shares of the levels.

    Parameters
    ----------
    roles : dict, optional
        Roles of columns by name, where they are known.
    keep : list of str or int, optional
        Columns that are features, by name or number, even if values are missing or another column says the same.
    max_missing : float, default=0.5
        Columns with a larger share of missing values are incomplete.
    near_copies : float or None, default=0.999
        Absolute correlation from which two columns are near copies. Categories are, if they divide as large a share of
        the samples into the same groups. If None, copies stay. Columns whose names are positions at equal steps, such
        as wavelengths (1100 nm, 1104 nm, …), always do, since neighbours of these are alike.
    logarithms : bool or "auto", default="auto"
        Whether logarithms of amounts are taken. If "auto", only in tables of unlike units: not of pixels or spectra.

    Attributes
    ----------
    roles_ : list of ColumnRole
        Name, role and reason of every column of the table.
    groups_ : ndarray of shape (n_features_out,)
        Name of the column of the table from which each column of the result comes.
    levels_ : dict
        Levels of every category.
    missing_ : dict
        Number of missing values of every column that has any.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns seen in ``fit``, if all of them are strings.

    See Also
    --------
    sklearn.compose.ColumnTransformer : Apply transformers to columns that are listed.

    Examples
    --------
    >>> import pandas as pd
    >>> from ufselect.preprocessing import TablePreparer
    >>> customers = pd.DataFrame({
    ...     "customer_id": [1007, 1001, 1012, 1003, 1009, 1004],
    ...     "age": [31, 47, 52, 29, 64, None],
    ...     "plan": ["basic", "plus", "plus", "basic", "basic", "plus"],
    ... })
    >>> preparer = TablePreparer().set_output(transform="pandas")
    >>> preparer.fit_transform(customers).columns.tolist()
    ['age', 'plan=plus']
    >>> preparer.roles_[0]
    ColumnRole(name='customer_id', role=<Role.id: 'id'>, reason='identifier, by its name')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "roles": [dict, None],
        "keep": ["array-like", None],
        "max_missing": [Interval(Real, 0, 1, closed="both")],
        "near_copies": [Interval(Real, 0, 1, closed="right"), None],
        "logarithms": ["boolean", StrOptions({"auto"})],
    }

    roles_: list[ColumnRole]
    groups_: npt.NDArray[Any]
    levels_: dict[str, tuple[str, ...]]
    missing_: dict[str, int]

    def __init__(
        self,
        *,
        roles: Mapping[str, str] | None = None,
        keep: Sequence[str | int] | None = None,
        max_missing: float = 0.5,
        near_copies: float | None = 0.999,
        logarithms: bool | str = "auto",
    ) -> None:
        self.roles = roles
        self.keep = keep
        self.max_missing = max_missing
        self.near_copies = near_copies
        self.logarithms = logarithms

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - present for API consistency
        """Decide the roles of the columns, and how features are encoded.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Columns of any type. Missing values are None, NaN, NaT, NA or empty text.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._validate_params()
        self._fit(self._seen(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002 - present for API consistency
        """Fit to a table and return its features as numbers, as ``transform`` does.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Columns of any type.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features_out)
            Numbers without missing values.
        """
        self._validate_params()
        encoded = self._fit(self._seen(X))
        return self._missing.transform(encoded)

    def transform(self, X: Any) -> Any:
        """Return the features of a table as numbers.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A data frame needs the columns that are features, in any order.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features_out)
            Numbers without missing values; float32 if all numbers are. If nothing is to be done, the array X itself.
        """
        check_is_fitted(self)
        columns = columns_of(X)
        if not (self._has_names and hasattr(X, "columns")):
            validate_data(self, X, reset=False, skip_check_array=True)
            columns = columns.renamed(self._names)
        return self._missing.transform(self._encoded(columns))

    def fit_columns(
        self,
        X: npt.NDArray[Any],
        names: Sequence[str],
        others: Mapping[str, npt.NDArray[Any]],
        order: Sequence[str] | None = None,
    ) -> Self:
        """Fit to a table that is no data frame.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_numeric)
            The numeric columns as floats, NaN if missing.
        names : sequence of str
            Their names.
        others : dict of ndarray of shape (n_samples,)
            The other columns by name.
        order : sequence of str, optional
            The names of all columns in the order of the table; by default, the numeric ones come first.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._validate_params()
        order = unique_names([*names, *others] if order is None else order)
        self.feature_names_in_ = np.array(order, dtype=object)
        self.n_features_in_ = len(order)
        self._has_names = True
        self._fit(TableColumns(X, tuple(names), dict(others), order))
        return self

    def transform_columns(
        self, X: npt.NDArray[Any], names: Sequence[str], others: Mapping[str, npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """Return the features of a table that is no data frame as numbers.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_numeric)
            Numeric columns as floats, NaN if missing.
        names : sequence of str
            Their names.
        others : dict of ndarray of shape (n_samples,)
            Other columns by name.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features_out)
            As ``transform`` returns it.
        """
        check_is_fitted(self)
        columns = TableColumns(X, tuple(names), dict(others), (*names, *others))
        return self._missing.transform(self._encoded(columns))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the columns of the result: those of the table, and ``category=level``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns seen in ``fit``, if they had none.

        Returns
        -------
        names : ndarray of str
            A name for each column that ``transform`` returns.
        """
        check_is_fitted(self)
        known = dict(zip(self._names, _check_feature_names_in(self, input_features), strict=True))
        names: dict[str, None] = {}
        for name in self._variables:
            for level in self._categories[name].encoded if name in self._categories else (None,):
                called = str(known[name]) if level is None else f"{known[name]}={level}"
                while called in names:
                    called += "_1"
                names[called] = None
        return np.array(list(names), dtype=object)

    def _seen(self, X: Any) -> TableColumns:
        columns = columns_of(X, fewest=2)
        validate_data(self, X, skip_check_array=True)
        self._has_names = hasattr(X, "columns")
        return columns

    def _rules(self, names: Sequence[str]) -> Rules:
        roles: dict[str, Role] = {}
        for name, role in (self.roles or {}).items():
            if role not in list(Role):
                raise ValueError(f"roles: there is no role {role!r}; the roles are {', '.join(Role)}.")
            roles |= {names[j]: Role(role) for j in columns_named([name], "roles", len(names), names)}
        keep = frozenset(names[j] for j in columns_named(self.keep, "keep", len(names), names))
        return Rules(roles, keep, self.max_missing, self.near_copies, self.logarithms)

    def _fit(self, columns: TableColumns) -> npt.NDArray[Any]:
        """Decide how the columns are encoded, and return the features, NaN where numbers are missing."""
        rules = self._rules(columns.order)
        levels = {name: Levels.of(values) for name, values in columns.others.items()}
        numbers = {
            name: numbers_of(name, columns.others[name], each)
            for name, each in levels.items()
            if _is_numeric(name, columns.others[name], each, rules)
        }
        columns = columns.with_numbers(numbers)
        levels = {name: each for name, each in levels.items() if name not in numbers}
        found = roles_of(columns.X, columns.names, levels, rules)
        missing = _numbers_missing(columns, levels)
        self.missing_ = {name: missing[name] for name in columns.order if missing[name]}
        self._names = columns.order
        self.roles_ = [found[name] for name in columns.order]
        self._variables = [each.name for each in self.roles_ if each.is_feature]
        if not self._variables:
            reasons = [f"{each.name} ({each.reason})" for each in self.roles_]
            raise ValueError(f"No column is a feature: {listed(reasons)}; use roles or keep.")
        self._learn_encoding(columns, found, levels)
        encoded = self._encoded(columns, levels)
        self._missing = MissingValues().fit(encoded)
        return encoded

    def _learn_encoding(
        self, columns: TableColumns, found: Mapping[str, ColumnRole], levels: Mapping[str, Levels]
    ) -> None:
        self._categories: dict[str, Category] = {}
        self._logarithms: dict[str, Logarithm] = {}
        for name in self._variables:
            if found[name].role is Role.category:
                self._categories[name] = Category.of(
                    levels[name] if name in levels else Levels.of(columns.values(name))
                )
            elif found[name].role is Role.amount:
                self._logarithms[name] = Logarithm.of(known_values(columns.values(name)))
        widths = [len(self._categories[name].encoded) if name in self._categories else 1 for name in self._variables]
        self.groups_ = np.repeat(np.array(self._variables, dtype=object), widths)
        self.levels_ = {name: category.levels for name, category in self._categories.items()}

    def _encoded(self, columns: TableColumns, levels: Mapping[str, Levels] | None = None) -> npt.NDArray[Any]:
        """Return the features as numbers, NaN where numbers are missing; levels that are known are not computed."""
        known = levels or {}
        absent = sorted(set(self._variables) - {*columns.names, *columns.others})
        if absent:
            raise ValueError(f"X has no column named {listed(absent, quoted=True)}, which fit found to be features.")
        written = [name for name in self._variables if name in columns.others and name not in self._categories]
        columns = columns.with_numbers(
            {name: numbers_of(name, columns.others[name], Levels.of(columns.others[name])) for name in written}
        )
        if not self._categories and not self._logarithms and list(columns.names) == self._variables:
            return columns.X
        encoded = np.empty((len(columns.X), len(self.groups_)), dtype=columns.X.dtype)
        first = dict(zip(self.groups_[::-1].tolist(), range(len(self.groups_) - 1, -1, -1), strict=True))
        numeric = [name for name in self._variables if name not in self._categories]
        index = {name: number for number, name in enumerate(columns.names)}
        sources, places = [index[name] for name in numeric], [first[name] for name in numeric]
        for rows in gen_batches(len(encoded), max(1, _BLOCK // max(1, len(numeric)))):
            encoded[rows, places] = columns.X[rows, sources]
        for name, logarithm in self._logarithms.items():
            encoded[:, first[name]] = logarithm(encoded[:, first[name]])
        for name, category in self._categories.items():
            indicators = category.indicators(known[name] if name in known else Levels.of(columns.values(name)))
            encoded[:, first[name] : first[name] + indicators.shape[1]] = indicators
        return encoded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _is_numeric(name: str, values: npt.NDArray[Any], levels: Levels, rules: Rules) -> bool:
    """Whether a column that holds no numbers is to be read as numbers."""
    if name in rules.roles:
        return rules.roles[name] in (Role.numeric, Role.amount)
    return levels.are_numbers or (name in rules.keep and values.dtype.kind == "M")


def _numbers_missing(columns: TableColumns, levels: Mapping[str, Levels]) -> dict[str, int]:
    """Return the number of missing values of every column."""
    known = np.zeros(columns.X.shape[1], dtype=np.intp)
    for rows in gen_batches(len(columns.X), max(1, _BLOCK // max(1, len(known)))):
        known += np.count_nonzero(columns.X[rows] == columns.X[rows], axis=0)
    missing = dict(zip(columns.names, (len(columns.X) - known).tolist(), strict=True))
    return missing | {name: each.n_missing for name, each in levels.items()}
