"""Principal components: the samples in few dimensions, in which neighbours can be told from noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ufselect._utils.policy import LARGEST_DENSE_SPECTRUM
from ufselect._utils.types import Float
from ufselect.columns.dense import Columns

_SPARE_COMPONENTS = 10
_ROUNDINGS_OF_A_VARIANCE = 30  # of the largest one
_MOST_PASSES = 4  # over X, which is most of the cost
_MOST_STEPS = 12  # with XᵀX, which is cheap


def principal_components(X: Columns, count: int, *, gram: Float | None = None, random_state: Any = 0) -> Any:
    """Return the samples in their first principal components, X V for the leading right singular vectors V of X.

    Columns that are not centred are centred first: distances do not depend on it, but their precision does. ``gram`` is
    XᵀX, if available; it replaces most products with X if that is centred.

    They are exact for up to 500 samples or features; above that they are approximated by subspace iteration from a
    random start. The result depends on the order of the features by rounding only. Exact ones include all components
    with the variance of the last one, as no choice among these is well defined, but none without variance.
    """
    if X.distance_weights is not None:
        gram = None if gram is None else gram * np.outer(X.distance_weights, X.distance_weights)
        X = X.for_distances()
    if not X.centered:
        X, gram = X.less_means(), None
    n, d = X.shape
    count = min(count, n, d)
    if d <= min(n, LARGEST_DENSE_SPECTRUM):
        return X @ _leading_with_ties(X.gram() if gram is None else gram, count)[1]
    if n <= LARGEST_DENSE_SPECTRUM:
        values, vectors = _leading_with_ties(X.row_gram(), count)
        # By a product with X rather than as U√λ, which equals it: so equal samples have equal components.
        return X @ (X.transposed_matmul(vectors) / np.sqrt(values))
    start = X.sketch(min(count + _SPARE_COMPONENTS, n, d), check_random_state(random_state))
    if gram is not None:
        return X @ _leading_by_iteration(lambda V: gram @ V, start, count, _MOST_STEPS)
    return X @ _leading_by_iteration(lambda V: X.transposed_matmul(X @ V), start, count, _MOST_PASSES)


def leading_eigenvectors(matrix: Float, count: int) -> Float:
    """Return the eigenvectors of a symmetric matrix for its largest eigenvalues, the largest first."""
    return np.asarray(np.linalg.eigh(matrix)[1][:, : -count - 1 : -1])


def _leading_with_ties(matrix: Float, count: int) -> tuple[Float, Float]:
    """Return the largest eigenvalues of a positive semi-definite matrix and their eigenvectors, the largest first.

    They are ``count``, plus all that equal the last, less those that are zero up to rounding.
    """
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = _ROUNDINGS_OF_A_VARIANCE * np.finfo(values.dtype).eps * values[0]
    taken = values >= max(values[min(count, len(values)) - 1] - rounding, rounding)
    taken[0] = True
    return values[taken], vectors[:, taken]


def _leading_by_iteration(product: Callable[[Float], Float], start: Float, count: int, steps: int) -> Float:
    """Return approximate leading eigenvectors of a matrix that is given by its products."""
    basis, _ = np.linalg.qr(start)
    for _ in range(steps - 1):
        basis, _ = np.linalg.qr(product(basis))
    image = product(basis)
    return basis @ leading_eigenvectors(basis.T @ image, count)
