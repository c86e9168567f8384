"""How stable a selection is: how often the same features are selected from subsets of the samples."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from ufselect._utils.seeds import draws_of_samples
from ufselect._utils.types import Float, Indices
from ufselect.base import BaseSelector
from ufselect.columns.batches import Batches
from ufselect.columns.tabular import as_matrix, column_names
from ufselect.inspection.refits import clone_as_fitted, fits_to_subsets
from ufselect.metrics import selection_stability


def stability_over(selector: BaseSelector, X: Any, draws: Iterable[Indices]) -> float:
    """Return how well the selections from different subsets of the samples agree, corrected for chance.

    Parameters
    ----------
    selector : selector
        Fitted or not; clones of it are fitted.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    draws : iterable of ndarray of int
        Two or more subsets of the samples, such as from :func:`draws_of_samples`.

    Returns
    -------
    float
        See :func:`ufselect.metrics.selection_stability`.

    Examples
    --------
    >>> from ufselect import LaplacianScore
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import draws_of_samples, stability_over
    >>> X = make_planted_clusters(random_state=0).X
    >>> round(stability_over(LaplacianScore(30), X, draws_of_samples(len(X), 3)), 1)
    0.9
    """
    names, X = column_names(X, selector), as_matrix(X)
    chosen = [np.flatnonzero(each.get_support()) for each, _ in fits_to_subsets(selector, X, draws, names=names)]
    return selection_stability(chosen, X.shape[1])


def selection_frequencies(
    selector: BaseSelector,
    X: Any,
    *,
    n_draws: int = 5,
    share: float = 0.8,
    max_samples: int | None = None,
    batch: Any = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Float:
    """Return how often each feature is selected from random subsets of the samples.

    With the same ``random_state`` and number of subsets, these are the subsets of
    :func:`ufselect.inspection.compare_selectors`, whose stability is a function of these frequencies.

    Parameters
    ----------
    selector : fitted selector
        Clones of it are fitted, which select as many features.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    n_draws : int, default=5
        Number of subsets.
    share : float, default=0.8
        Share of the samples in a subset.
    max_samples : int or None, default=None
        Largest number of samples in a subset, to save time. Selections from fewer samples are less stable.
    batch : array-like of shape (n_samples,), optional
        The batch of each sample, if the selector was fitted with batches.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsets.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    ndarray of shape (n_features,)
        Shares of the subsets. By chance, each is the share of the features that are selected.

    Examples
    --------
    >>> from ufselect import KernelFSASL
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import selection_frequencies
    >>> X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    >>> selector = KernelFSASL(10).fit(X)
    >>> round(float(selection_frequencies(selector, X)[selector.get_support()].mean()), 2)
    0.94
    """
    check_scalar(n_draws, "n_draws", Integral, min_val=1)
    if max_samples is not None:
        check_scalar(max_samples, "max_samples", Integral, min_val=1)
    names, X = column_names(X, selector), as_matrix(X)
    n = X.shape[0]
    fits = fits_to_subsets(
        clone_as_fitted(selector, device=None),
        X,
        draws_of_samples(n, n_draws, share if max_samples is None else min(share, max_samples / n), random_state),
        names=names,
        batches=None if batch is None else Batches.of(batch, n),
        verbose=verbose,
        description="Stability",
    )
    return sum(each.get_support().astype(np.float64) for each, _ in fits) / n_draws
