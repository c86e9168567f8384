"""Which columns share structure with others, at a false discovery rate."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import assert_all_finite, check_array, check_scalar
from sklearn.utils.validation import has_fit_parameter

from ufselect._utils.threads import one_thread
from ufselect._utils.types import Float, Mask
from ufselect._utils.warnings import convergence_warnings
from ufselect.base import BaseSelector
from ufselect.base.groups import ColumnGroups
from ufselect.base.screening import KeepExclude, Screening, columns_named, keep_exclude_of
from ufselect.base.significance import MAX_SAMPLES, ColumnSignificance, Learner, SignificanceTest
from ufselect.base.structure import GivenStructure
from ufselect.columns.in_memory import MatrixInMemory
from ufselect.columns.tabular import column_names, is_missing
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.smooth_target import smooth_target

__all__ = ["ColumnSignificance", "column_significance"]


def column_significance(
    X: Any,
    selector: BaseSelector | None = None,
    *,
    n_splits: int | str = "auto",
    fdr: float = 0.05,
    batch: Any = None,
    exclude: Any = None,
    groups: Any = None,
    strata: Any = "auto",
    max_samples: int | None = MAX_SAMPLES,
    structure: Any = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> ColumnSignificance:
    """Test which columns share structure with others, or with a structure that is given.

    The columns are split at random into folds. The structure of the samples (a kernel of their neighbour graph) is
    learned from all folds but one, and each column of that fold is compared with it: if the column is independent of
    the others, permuting its values changes nothing in distribution, so the share of permutations with at least the
    same alignment is an exact p-value. The structures of several splits count alike. The Benjamini–Hochberg procedure
    turns p-values into q-values.

    A column is found if it shares structure with *other* columns. Two columns of noise that copy each other are found;
    a column that alone carries a grouping of the samples is not.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        A sparse X is never densified as a whole. A dense one may have missing values (NaN): a column is compared with
        the structure, and permuted, where it is observed, so no column is found for being missing where others are.
    selector : selector, optional
        A method that learns a neighbour graph or an embedding, such as FSASL; clones of it learn the structure. Columns
        that it excludes are not tested. By default, the structure is that of the nearest neighbours in 30 principal
        components, without adaptation, which takes a fraction of the time of a fit.
    n_splits : int or "auto", default="auto"
        Number of random splits. More of them are steadier, and find more if samples are few. "auto" is 3, but 6 for up
        to 500 samples of more than 60 columns, and 1 for more than 3,000 samples.
    fdr : float, default=0.05
        False discovery rate: the expected share of columns without structure among those found.
    batch : array-like of shape (n_samples,), optional
        Batch of each sample. Columns are centred, and permuted, within batches.
    exclude : list of str or int, optional
        Columns that take no part, by name or number, besides those that ``selector`` excludes.
    groups : list, dict or str, optional
        Groups of columns, such as the indicators of a category, as all selectors take them; by default those of
        ``selector``. Columns of one group are tested as one, on the structure of the others.
    strata : "auto", None or array-like of shape (n_samples,), default="auto"
        Strata within which values are permuted. If 200 or more columns without negative values are zero for a quarter
        or more, as counts are, "auto" takes ranges of the number of nonzero values of a sample: depth, which all counts
        of a sample share, is no structure. That is enough for log-normalised counts
        (:class:`ufselect.preprocessing.LogNormalize`), but not for raw ones. None takes no strata but the batches.
    max_samples : int or None, default=3000
        Number of samples that are tested, drawn at random from larger data. If nothing is found among them, four times
        as many are tested, and so on. None takes all of them.
    structure : array-like or sparse array, optional
        A structure of the samples that columns are compared with instead of that of other columns, as ``fit`` takes it:
        an embedding, a sparse graph, or a label for each sample. Columns are not split then. p-values are exact if no
        column had part in the structure; if it was computed from X, such as by PCA, they are too small.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits, the permutations and the choice of samples.
    verbose : int, default=0
        If 1, show progress bars.

    Returns
    -------
    ColumnSignificance
        ``p_values``, ``q_values``, ``found``, a ``verdict`` on the whole table, and how columns were tested.

    References
    ----------
    J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78(2), 1991, 301-304.
    Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B
    57(1), 1995, 289-300.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.significance import column_significance
    >>> data = make_planted_clusters(200, 4, 10, 90, random_state=0)
    >>> column_significance(data.X)
    ColumnSignificance(10 of 100 columns share structure with others (false discovery rate 5 %).)
    >>> noise = np.random.default_rng(0).standard_normal((120, 40))
    >>> column_significance(noise)
    ColumnSignificance(No structure was found in 40 columns (false discovery rate 5 %).)
    """
    if isinstance(n_splits, str):
        if n_splits != "auto":
            raise ValueError(f'n_splits={n_splits!r} must be "auto" or an integer.')
    else:
        check_scalar(n_splits, "n_splits", Integral, min_val=1)
    check_scalar(fdr, "fdr", Real, min_val=0, max_val=1, include_boundaries="neither")
    if max_samples is not None:
        check_scalar(max_samples, "max_samples", Integral, min_val=3)
    _check_learner(selector, structure)
    names = column_names(X, selector)
    X = check_array(
        X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32], ensure_min_samples=3,
        ensure_all_finite="allow-nan",
    )  # fmt: skip
    X, observed = _with_means(X)
    n, d = X.shape
    empty = np.empty(0, dtype=np.intp)
    left_out = columns_named(exclude, "exclude", d, names)
    of_columns = ColumnGroups.of(groups, d, names)
    if selector is not None:
        wanted = keep_exclude_of(selector, d, names)
        left_out, of_columns = np.union1d(left_out, wanted.exclude), of_columns or wanted.groups
    if len(left_out) == d:
        raise ValueError(f"exclude contains all {d} columns.")
    if not (strata is None or isinstance(strata, str)):
        strata = _labels_of_samples(strata, n)
    elif strata not in (None, "auto"):
        raise ValueError(f'strata={strata!r} must be "auto", None, or the stratum of each sample.')
    test = SignificanceTest(
        fdr,
        n_splits,
        strata,
        max_samples,
        n_jobs,
        random_state,
        verbose,
        None if selector is None else _learner(selector),
    )
    with one_thread(), np.errstate(under="ignore"):
        data = MatrixInMemory(X, batch)
        given = None if structure is None else GivenStructure.of(structure, n, data.batches)
        constant = data.constant_columns("standard", names)
        screening = Screening(constant, data.first_equal_columns(), KeepExclude(empty, left_out), names)
        return replace(test, structure=given).of_columns(
            data, screening, None if of_columns is None else of_columns.codes, observed
        )


def _check_learner(selector: Any, structure: Any) -> None:
    """Raise an error unless one thing at most says what structure columns are tested on."""
    if selector is not None and (isinstance(selector, type) or not hasattr(selector, "get_params")):
        raise TypeError(f"selector={selector!r} is no selector, such as FSASL().")
    if selector is not None and structure is not None:
        raise ValueError("selector learns a structure, so it cannot go with structure, which gives one.")


def fit_tested(
    selector: BaseSelector,
    X: Any,
    fdr: float | None,
    *,
    batch: Any = None,
    missing: Mask | None = None,
    structure: Any = None,
    verbose: int = 0,
) -> None:
    """Fit a selector whose columns are to be tested, also if the class of an author lacks the parameter ``fdr``.

    If the ``fit`` of that class takes no test either, it selects among all columns, and is told what was found.
    ``missing`` says which values of X were filled in: columns are tested where they are observed.
    """
    if structure is not None and not has_fit_parameter(selector, "structure"):
        raise ValueError(f"the fit of {type(selector).__name__} takes no structure.")
    given = {key: each for key, each in {"batch": batch, "structure": structure}.items() if each is not None}
    significance = None
    if fdr is not None and ("fdr" not in selector.get_params() or missing is not None):
        significance = significance_where_observed(selector, X, fdr, missing=missing, verbose=verbose, **given)
        if has_fit_parameter(selector, "significance"):
            given["significance"] = significance
    selector.fit(X, **given)
    if significance is not None:
        selector.significance_, selector.q_values_ = significance, significance.q_values


def significance_where_observed(
    selector: BaseSelector,
    X: Any,
    fdr: float,
    *,
    batch: Any = None,
    missing: Mask | None = None,
    structure: Any = None,
    verbose: int = 0,
) -> ColumnSignificance:
    """Test the columns of X, in which ``missing`` says what was filled in, as for a selector."""
    params = selector.get_params()
    shared = {name: params[name] for name in ("exclude", "groups", "n_jobs", "random_state") if name in params}
    tested = X if missing is None else np.where(missing, np.nan, X)
    return column_significance(tested, fdr=fdr, batch=batch, structure=structure, verbose=verbose, **shared)


def _with_means(X: Any) -> tuple[Any, Mask | None]:
    """Return X with means of columns in place of missing values, and what is observed; None if nothing is missing."""
    if sp.issparse(X):
        assert_all_finite(X.data)
        return X, None
    observed = ~np.isnan(X)
    if observed.all():
        return X, None
    means = np.sum(X, axis=0, where=observed) / np.maximum(np.count_nonzero(observed, axis=0), 1)
    return np.where(observed, X, means.astype(X.dtype)), observed


def _labels_of_samples(strata: Any, n: int) -> Any:
    """Return the stratum of each sample as an array; raise an error unless there is one for each."""
    labels = np.asarray(strata)
    if labels.shape != (n,):
        raise ValueError(f"strata has the shape {labels.shape}, but X has {n} samples.")
    if any(map(is_missing, labels)):
        raise ValueError("strata has missing values.")
    return labels if labels.dtype != object else labels.astype(str)


def _learner(selector: BaseSelector) -> Learner:
    """Return a function that learns a structure from some columns by clones of a selector."""
    name = type(selector).__name__
    plain: dict[str, Any] = {"keep": None, "exclude": None, "groups": None, "min_distance": 1, "fdr": None}
    plain |= {"requirements": None, "n_features_to_select": 1.0, "verbose": 0}
    known = selector.get_params(deep=False)
    silent = clone(selector).set_params(**{key: each for key, each in plain.items() if key in known})

    def learned(X: Any, batch: Any) -> Float:
        if batch is not None and not has_fit_parameter(silent, "batch"):
            raise ValueError(f"the fit of {name} takes no batch.")
        with convergence_warnings():
            fitted = clone(silent).fit(X, **({} if batch is None else {"batch": batch}))
        if hasattr(fitted, "neighbor_graph_"):
            T: Float = smooth_target(structure_laplacian(None, fitted.neighbor_graph_, 1.0), nontrivial=True)
            return T
        if not hasattr(fitted, "embedding_"):
            raise ValueError(f"{name} learns no structure to test columns on; use a method that learns an embedding.")
        return np.asarray(fitted.embedding_, dtype=np.float64)

    return learned
