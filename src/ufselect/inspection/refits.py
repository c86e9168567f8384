"""Clones of a selector, fitted to all samples, to subsets of them and within batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ufselect._utils.progress import with_progress
from ufselect._utils.types import Indices, Mask
from ufselect._utils.warnings import convergence_warnings
from ufselect.base import BaseSelector
from ufselect.base.screening import KeepExclude, keep_exclude_of
from ufselect.base.significance import ColumnSignificance
from ufselect.columns.batches import Batches
from ufselect.columns.in_memory import first_equal_columns
from ufselect.columns.moments import column_extremes, constant_columns
from ufselect.significance import significance_where_observed


def clone_with(selector: BaseSelector, **params: Any) -> BaseSelector:
    """Return a clone with other values of those parameters that it has."""
    known = selector.get_params(deep=False)
    changed: BaseSelector = clone(selector).set_params(**{key: params[key] for key in params if key in known})
    return changed


def clone_as_fitted(selector: BaseSelector, **params: Any) -> BaseSelector:
    """Return a silent clone with the numbers of features and clusters of the fit, the same for all subsets."""
    count = getattr(selector, "n_groups_", selector.n_features_)
    numbers = {"n_features_to_select": count, "n_clusters": getattr(selector, "n_clusters_", None)}
    return clone_with(selector, verbose=0, **{key: n for key, n in numbers.items() if n is not None}, **params)


def clone_by_index(selector: BaseSelector, n_columns: int, names: Sequence[str] | None) -> BaseSelector:
    """Return a clone with columns and groups by index: matrices and subsets of the samples have no names."""
    return _keeping(selector, keep_exclude_of(selector, n_columns, names))


def clone_for_subset(selector: BaseSelector, points: Any, columns: KeepExclude) -> BaseSelector:
    """Return a clone for a subset of the samples, which keeps those columns that are informative there."""
    if not len(columns.keep):
        return _keeping(selector, columns)
    part = points[:, columns.keep]
    extremes = column_extremes(part)
    first = first_equal_columns(part, extremes) == np.arange(len(columns.keep))
    return _keeping(selector, columns._replace(keep=columns.keep[~constant_columns(part, extremes) & first]))


def _keeping(selector: BaseSelector, columns: KeepExclude) -> BaseSelector:
    return clone_with(selector, **columns.parameters)


def fit_within(
    selector: BaseSelector, X: Any, batches: Batches | None = None, significance: ColumnSignificance | None = None
) -> BaseSelector:
    """Fit a selector, within batches if there are any, and to the columns found in a test if it can be."""
    given = batch_argument(selector, None if batches is None else batches.codes)
    if significance is not None and has_fit_parameter(selector, "significance"):
        given["significance"] = significance
    return selector.fit(X, **given)


def batch_argument(method: Any, batch: Any) -> dict[str, Any]:
    """Return what to pass to ``fit`` beside X; raise an error if there are batches and it does not take them."""
    if batch is not None and not has_fit_parameter(method, "batch"):
        raise ValueError(f"the fit of {type(method).__name__} takes no batch.")
    return {} if batch is None else {"batch": batch}


class CountedFits:
    """Fits selectors; convergence warnings are counted rather than shown."""

    n_fits = n_not_converged = 0

    def __call__(
        self,
        selector: BaseSelector,
        X: Any,
        batches: Batches | None = None,
        significance: ColumnSignificance | None = None,
    ) -> BaseSelector:
        """Fit a selector as :func:`fit_within` does."""
        with convergence_warnings() as missed:
            fit_within(selector, X, batches, significance)
        self.n_fits += 1
        self.n_not_converged += bool(missed)
        return selector


def fits_to_subsets(
    selector: BaseSelector,
    X: Any,
    draws: Iterable[Indices],
    *,
    names: Sequence[str] | None = None,
    batches: Batches | None = None,
    significance: ColumnSignificance | None = None,
    missing: Mask | None = None,
    fit: Callable[..., BaseSelector] = fit_within,
    verbose: int = 0,
    description: str = "",
) -> Iterator[tuple[BaseSelector, Any]]:
    """Fit a clone to each subset, without samples that are alone in their batch; yield the clone and the subset.

    If columns are tested anew and ``missing`` says which values of X were filled in, they are where they are observed.
    """
    by_row, fdr = rows_of(X), getattr(selector, "fdr", None)
    columns = keep_exclude_of(selector, X.shape[1], names)
    for drawn in with_progress(draws, None, verbose, description, unit="fit"):
        rows, part = (drawn, None) if batches is None else batches.among(drawn)
        points = by_row[rows]
        refitted, tested = clone_for_subset(selector, points, columns), significance
        if tested is None and missing is not None and fdr is not None:
            batch = None if part is None else part.codes
            tested = significance_where_observed(refitted, points, fdr, batch=batch, missing=missing[rows])
        yield fit(refitted, points, part, tested), points


def rows_of(X: Any) -> Any:
    """Return a matrix whose rows can be indexed."""
    return X.tocsr() if sp.issparse(X) else X
