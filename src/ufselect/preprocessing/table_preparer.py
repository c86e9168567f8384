"""Prepare a table of any columns for a selector: decide their roles and encode the features as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ufselect._utils.types import Float
from ufselect._utils.wording import listed
from ufselect.preprocessing.encoding import Category, Levels
from ufselect.preprocessing.missing import MissingValues
from ufselect.preprocessing.roles import ColumnRole, Role, column_roles
from ufselect.preprocessing.table_columns import TableColumns, columns_of, unique_names


class TablePreparer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Prepare a table for a selector: decide what each column is, and encode features as numbers."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "roles": [dict, None],
        "keep": ["array-like", None],
        "max_missing": [Interval(Real, 0, 1, closed="both")],
        "near_copies": [Interval(Real, 0, 1, closed="right"), None],
        "logarithms": ["boolean"],
    }

    roles_: list[ColumnRole]
    groups_: npt.NDArray[Any]

    def __init__(
        self,
        *,
        roles: Mapping[str, str] | None = None,
        keep: Sequence[str] | None = None,
        max_missing: float = 0.5,
        near_copies: float | None = 0.999,
        logarithms: bool = True,
    ) -> None:
        self.roles = roles
        self.keep = keep
        self.max_missing = max_missing
        self.near_copies = near_copies
        self.logarithms = logarithms

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - present for API consistency
        """Decide the roles of the columns, and how features are encoded."""
        self._validate_params()
        return self._fit(self._seen(X))

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002 - present for API consistency
        """Fit to a table and return its features as numbers."""
        self._validate_params()
        columns = self._seen(X)
        return self._fit(columns)._transform(columns)

    def transform(self, X: Any) -> Any:
        """Return the features as numbers, without missing values."""
        check_is_fitted(self)
        if not hasattr(X, "columns"):
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._transform(columns_of(X))

    def fit_columns(
        self,
        X: npt.NDArray[Any],
        names: Sequence[str],
        others: Mapping[str, npt.NDArray[Any]],
        order: Sequence[str] | None = None,
    ) -> Self:
        """Fit to numeric columns as a matrix, NaN if missing, and to others as arrays by name."""
        self._validate_params()
        order = unique_names([*names, *others] if order is None else order)
        self.feature_names_in_ = np.array(order, dtype=object)
        self.n_features_in_ = len(order)
        return self._fit(TableColumns(X, tuple(names), dict(others), order))

    def transform_columns(
        self, X: npt.NDArray[Any], names: Sequence[str], others: Mapping[str, npt.NDArray[Any]]
    ) -> Any:
        """Return the features as numbers, given as for ``fit_columns``."""
        check_is_fitted(self)
        return self._transform(TableColumns(X, tuple(names), dict(others), (*names, *others)))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the columns that ``transform`` returns."""
        check_is_fitted(self)
        known = dict(zip(self._names, _check_feature_names_in(self, input_features), strict=True))
        names = [
            f"{known[name]}={level}" if level is not None else str(known[name])
            for name in self._variables
            for level in (self._categories[name].encoded if name in self._categories else (None,))
        ]
        return np.array(names, dtype=object)

    def _seen(self, X: Any) -> TableColumns:
        columns = columns_of(X)
        validate_data(self, X, skip_check_array=True)
        return columns

    def _fit(self, columns: TableColumns) -> Self:
        found = column_roles(
            columns.X, columns.names, columns.others, roles=self.roles, keep=self.keep, max_missing=self.max_missing
        )
        self._names = columns.order
        self.roles_ = [found[name] for name in columns.order]
        self._variables = [each.name for each in self.roles_ if each.is_feature]
        if not self._variables:
            reasons = [f"{each.name} ({each.reason})" for each in self.roles_]
            raise ValueError(f"No column of the table is a feature: {listed(reasons)}; use roles or keep.")
        self._categories = {
            each.name: Category.of(Levels.of(_values(columns, each.name)))
            for each in self.roles_
            if each.role is Role.category
        }
        widths = [len(self._categories[name].encoded) if name in self._categories else 1 for name in self._variables]
        self.groups_ = np.repeat(np.array(self._variables, dtype=object), widths)
        self._filling = MissingValues().fit(self._encoded(columns))
        return self

    def _transform(self, columns: TableColumns) -> Any:
        return self._filling.transform(self._encoded(columns))

    def _encoded(self, columns: TableColumns) -> Float:
        """Return the features as numbers, NaN where numbers are missing."""
        known = {*columns.names, *columns.others}
        absent = [name for name in self._variables if name not in known]
        if absent:
            raise ValueError(f"The table has no column named {listed(absent, quoted=True)}, which was there in fit.")
        encoded = np.empty((len(columns.X), len(self.groups_)), dtype=columns.X.dtype)
        place = {name: index for index, name in enumerate(columns.names)}
        start = 0
        for name in self._variables:
            category = self._categories.get(name)
            if category is None:
                encoded[:, start] = columns.X[:, place[name]]
                start += 1
            else:
                stop = start + len(category.encoded)
                encoded[:, start:stop] = category.indicators(Levels.of(_values(columns, name)))
                start = stop
        return encoded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _values(columns: TableColumns, name: str) -> npt.NDArray[Any]:
    return columns.others[name] if name in columns.others else columns.X[:, columns.names.index(name)]
