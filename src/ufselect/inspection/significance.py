"""Whether there is structure at all: selections compared with those from shuffled columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import t as student_t
from sklearn.utils import check_scalar

from ufselect._utils.progress import progress
from ufselect._utils.seeds import seed_of, some_samples
from ufselect._utils.types import Float
from ufselect._utils.warnings import convergence_warnings
from ufselect.base import BaseSelector
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.batches import Batches
from ufselect.columns.dense import Columns
from ufselect.columns.tabular import as_matrix, column_names
from ufselect.inspection.explanation import alignment_of_selection, no_structure
from ufselect.inspection.refits import clone_for_subset, clone_with, fit_within, rows_of

_SIGNIFICANT = 0.05
_SMALLEST_SPREAD = 1e-9


@dataclass(frozen=True)
class StructureTest:
    """How much better selected features are aligned with a learned structure than by chance.

    Attributes
    ----------
    observed : float
        Alignment of the selected features with the structure learned from the data.
    by_chance : ndarray of shape (n_shuffles,)
        The same for shuffled columns.
    curve : ndarray of shape (n_curve,)
        Alignment of the best 1, 2, … features; empty if unknown.
    curves : ndarray of shape (n_shuffles, n_curve)
        The same for shuffled columns.
    n_samples : int
        Number of samples that were used; 0 if unknown.
    """

    observed: float
    by_chance: Float
    curve: Float = field(default_factory=lambda: np.empty(0))
    curves: Float = field(default_factory=lambda: np.empty((0, 0)))
    n_samples: int = 0

    def __repr__(self) -> str:
        figures = {"observed": self.observed, "mean": self.mean, "spread": self.spread, "p_value": self.p_value}
        shown = "".join(f"{name}={value:.3g}, " for name, value in figures.items())
        return f"StructureTest({shown}n_samples={self.n_samples})"

    @property
    def mean(self) -> float:
        """Mean alignment of shuffled columns."""
        return float(self.by_chance.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the alignments of shuffled columns."""
        return float(self.by_chance.std(ddof=1))

    @property
    def p_value(self) -> float:
        """Probability of the observed alignment or more if there is no structure."""
        # One more value of the same normal distribution, whose mean and spread are estimated: Student's t.
        count = len(self.by_chance)
        unit = max(self.spread, _SMALLEST_SPREAD) * np.sqrt(1.0 + 1.0 / count)
        return float(student_t.sf((self.observed - self.mean) / unit, count - 1))

    @property
    def found(self) -> bool:
        """Whether the alignment is significantly better than by chance: ``p_value`` is below 0.05."""
        return self.p_value < _SIGNIFICANT

    def why_other_than(self, fitted: float, n_samples: int) -> str:
        """Return why ``observed`` differs from the alignment of a fit to all samples; empty if it is the same."""
        if 0 < self.n_samples < n_samples:
            return f"on the {self.n_samples:,} of {n_samples:,} samples tested"
        # Some methods select other features if their number is given than if they choose it themselves.
        return "" if f"{self.observed:.2f}" == f"{fitted:.2f}" else "fitted again for this number of columns"


def structure_test(
    X: Any,
    selector: BaseSelector,
    *,
    n_shuffles: int = 5,
    max_samples: int | None = 500,
    batch: Any = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> StructureTest:
    """Test whether there is any structure to select features by.

    Shuffling each column independently keeps its values and destroys whatever the columns have in common. The selector
    is fitted to the data and to shuffled copies, and the alignments of the selected features with the learned
    structures are compared. As many features are selected from the copies as from the data.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    selector : selector
        A method that learns an embedding, such as KernelFSASL; fitted or not. Clones of it are fitted.
    n_shuffles : int, default=5
        Number of shuffled copies, at least 2.
    max_samples : int or None, default=500
        Larger data are subsampled to this size. None uses all samples.
    batch : array-like of shape (n_samples,), optional
        Batch of each sample. Columns are then shuffled within batches.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsample and of the shuffling.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    StructureTest

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect import KernelFSASL
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import structure_test
    >>> X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    >>> structure_test(X, KernelFSASL(10)).p_value < 0.05
    True
    >>> noise = np.random.default_rng(0).standard_normal((120, 40))
    >>> structure_test(noise, KernelFSASL(10)).p_value < 0.05
    False
    """
    if n_shuffles < 2:
        raise ValueError(f"n_shuffles={n_shuffles} must be at least 2.")
    if max_samples is not None:
        check_scalar(max_samples, "max_samples", Integral, min_val=0)
    seed = seed_of(random_state)
    names, X = column_names(X, selector), as_matrix(X)
    n, d = X.shape
    rows, batches = some_samples(n, n if max_samples is None else max_samples, seed), None
    if batch is not None:
        rows, batches = Batches.of(batch, n).among(rows)
    points = rows_of(X)[rows]
    rng = np.random.RandomState(seed)
    silent = clone_with(clone_for_subset(selector, points, keep_exclude_of(selector, d, names)), verbose=0)
    alignments: list[float] = []
    curves: list[Float] = []
    for shuffle in progress(range(n_shuffles + 1), verbose, "Test of structure"):
        values = points
        if shuffle > 0:
            values = Columns(points).shuffled(rng).values if batches is None else batches.shuffled(points, rng)
        fit_within(silent, values, batches)
        alignment = alignment_of_selection(silent)
        if alignment is None:
            raise no_structure(silent)
        alignments.append(alignment)
        curves.append(np.asarray(silent.alignment_curve_, dtype=np.float64))
        if shuffle == 0:
            silent = clone_with(silent, **_chosen_numbers(silent))
    shortest = min(map(len, curves))  # some end sooner after their peak
    curve, *others = [each[:shortest] for each in curves]
    return StructureTest(alignments[0], np.array(alignments[1:]), curve, np.array(others), points.shape[0])


def _chosen_numbers(selector: BaseSelector) -> dict[str, int]:
    """Return the numbers of columns and iterations that a fit chose, and that shuffled copies share."""
    chosen = {"n_features_to_select": int(selector.n_features_)}
    if getattr(selector, "tol", 0.0) is None:
        chosen["max_iter"] = int(getattr(selector, "n_iter_"))  # noqa: B009 - only iterative selectors have it
    return chosen


def structure_test_of_fitted(selector: BaseSelector, X: Any, *, batch: Any = None, verbose: int = 0) -> StructureTest:
    """Test the structure that a fitted selector has learned, by fits that select as many features.

    Parameters
    ----------
    selector : fitted selector
        Clones of it are fitted, on the CPU. Their convergence warnings are not shown.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that the selector was fitted on.
    batch : array-like of shape (n_samples,), optional
        The batches that it was fitted with.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    StructureTest
    """
    same = clone_with(selector, n_features_to_select=int(selector.n_features_), device=None)
    with convergence_warnings():
        return structure_test(X, same, batch=batch, verbose=verbose)
