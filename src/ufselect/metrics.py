"""How well clusters agree with classes that no method was shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix


def matched_accuracy(classes: Any, clusters: Any) -> float:
    """Share of samples whose cluster is matched to their class, under the best one-to-one matching.

    Parameters
    ----------
    classes, clusters : array-like of shape (n_samples,)

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from ufselect.metrics import matched_accuracy
    >>> matched_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    counts = contingency_matrix(classes, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / np.sum(counts))
