"""Any list of columns, whoever chose it, beside columns chosen by a selector and at random."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import gen_batches

from ufselect._judging import (
    RANDOM,
    by_index,
    classes_in,
    figures_of,
    means_of,
    random_selections,
    settled,
    spreads_of,
    within_subset,
)
from ufselect._utils.blocks import affordable_rows
from ufselect._utils.progress import with_progress
from ufselect._utils.seeds import seed_of
from ufselect._utils.types import Float, Indices
from ufselect._utils.warnings import convergence_warnings, warn_user
from ufselect._utils.wording import listed
from ufselect.base import BaseSelector
from ufselect.base.screening import panel_of
from ufselect.columns.dense import Columns, constant_columns, wide_column_blocks
from ufselect.columns.sparse_arrays import canonical
from ufselect.columns.tabular import (
    as_mask,
    as_matrix,
    column_indices,
    column_names,
    draws_of_samples,
    fitted_column_names,
)
from ufselect.metrics import selection_stability
from ufselect.selectors.kernel_fsasl import KernelFSASL

GIVEN = "given"
"""The name of a list that has none."""


@dataclass(frozen=True)
class EvaluatedColumns:
    """A list of columns in an evaluation, or the mean of several random lists.

    Attributes
    ----------
    name : str
        Name of the list, of the class of the selector that selected it, or "random".
    columns : ndarray of int
        Indices of the columns; of several random lists, those of the first.
    alignment : float
        Alignment with the structure that the selector learns from all columns, between 0 and 1.
    redundancy : float
        Mean absolute correlation of the columns.
    neighborhoods : float
        See :func:`ufselect.inspection.neighborhoods_kept`.
    acc, nmi : float or None
        Accuracy and mutual information of k-means on these columns with the labels; None without labels.
    alignment_on_subsets, spread_on_subsets : float or None
        Mean and standard deviation of the alignment over random subsets of the samples, with the structure learned
        from each; None without subsets.
    stability : float or None
        Agreement of the selections that the selector makes from the same subsets, see
        :func:`ufselect.metrics.selection_stability`. None for all other lists: nothing selects them again.
    n_random_below : int or None
        Number of random lists of the same length whose alignment is smaller; None for random lists, and if there are
        none.
    spreads : dict of str to float
        Standard deviations of the figures over random lists; empty for a single list.
    """

    name: str
    columns: Indices
    alignment: float
    redundancy: float
    neighborhoods: float
    acc: float | None = None
    nmi: float | None = None
    alignment_on_subsets: float | None = None
    spread_on_subsets: float | None = None
    stability: float | None = None
    n_random_below: int | None = None
    spreads: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """The result of :func:`evaluate`.

    Attributes
    ----------
    rows : list of EvaluatedColumns
        For each length of the given lists: those lists, the selector's own columns and random ones. A list of all
        columns has nothing beside it.
    selector : str
        Name of the class of the selector.
    n_fits, n_not_converged : int
        Number of fits, and how many of them did not converge.
    """

    rows: list[EvaluatedColumns]
    selector: str
    n_fits: int
    n_not_converged: int


def evaluate(
    X: Any,
    columns: Any,
    *,
    labels: npt.ArrayLike | None = None,
    selector: BaseSelector | None = None,
    n_random: int = 10,
    n_draws: int = 5,
    standardize: bool = True,
    random_state: Any = 0,
    verbose: int = 0,
) -> Evaluation:
    """Evaluate lists of columns, whoever chose them, beside lists of the same length: a selector's own and random ones.

    The structure that a list is compared with is the one that the selector learns from all columns; the list has no
    part in it. The selector's own columns have an advantage in this comparison, because they are chosen to agree with
    the structure that they are compared with. Neighbourhoods, redundancy and labels favour neither.

    A list is not selected again from other samples, so it has no stability of its own. What can vary is its agreement:
    the selector is fitted to random subsets of 80 % of the samples, and the list is compared with the structure
    learned from each.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    columns : sequence of int or str, boolean mask, or dict of str to such
        A list of columns by index, or by name if X is a data frame; or several lists by the name to show. A column that
        occurs more than once counts once. Names that X does not have are left out, with a warning that says which.
    labels : array-like of shape (n_samples,), optional
        Classes to compare k-means on the columns with; the selector does not see them.
    selector : selector, optional
        A method that learns a structure. Clones of it are fitted; the default is :class:`ufselect.KernelFSASL`. Columns
        that it excludes have no part in the structure, and add nothing to the alignment of a list.
    n_random : int, default=10
        Number of random lists.
    n_draws : int, default=5
        Number of subsets of the samples; 0 for none.
    standardize : bool, default=True
        Whether neighbourhoods and clusters are those of columns scaled to unit variance.
    random_state : int, RandomState instance or None, default=0
        Seed of the random lists and subsets, and of the default selector.
    verbose : int, default=0
        If 1, show a progress bar over the subsets.

    Returns
    -------
    Evaluation

    See Also
    --------
    ufselect.comparison.compare_selectors : Compare methods rather than lists; its figures are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import evaluate
    >>> data = make_planted_clusters(120, 4, 10, 30, random_state=0)
    >>> lists = {"planted": np.flatnonzero(data.informative), "noise": np.flatnonzero(~data.informative)[:10]}
    >>> found = evaluate(data.X, lists, n_draws=0)
    >>> [row.name for row in found.rows]
    ['planted', 'noise', 'KernelFSASL', 'random']
    >>> [row.n_random_below for row in found.rows[:2]]
    [10, 0]
    """
    if n_draws == 1:
        raise ValueError("n_draws=1 is too few: a spread needs at least two subsets.")
    seed = seed_of(random_state)
    names, X = column_names(X), as_matrix(X)
    lists = _lists(columns, X.shape[1], names)
    selector = KernelFSASL(random_state=seed) if selector is None else by_index(selector, X.shape[1], names)
    fits = _Fits(X, selector, n_draws, seed, verbose)
    _refuse_names(lists, fits.name)
    classes = classes_in(labels, X.shape[0])
    groups = [
        _Group({name: chosen for name, chosen in lists.items() if len(chosen) == size}, fits, size, n_random)
        for size in dict.fromkeys(map(len, lists.values()))
    ]
    measured = iter(
        figures_of(X, [each for group in groups for each in group.flat], standardize=standardize, classes=classes)
    )
    rows = [row for group in groups for row in group.rows([next(measured) for _ in group.flat])]
    return Evaluation(rows, fits.name, fits.n_fits, fits.n_not_converged)


def _lists(columns: Any, n_columns: int, names: Sequence[str] | None) -> dict[str, Indices]:
    named = columns if isinstance(columns, Mapping) else {GIVEN: columns}
    if not named:
        raise ValueError("columns has no list to evaluate.")
    return {str(name): _indices(each, str(name), n_columns, names) for name, each in named.items()}


def _indices(columns: Any, name: str, n_columns: int, names: Sequence[str] | None) -> Indices:
    """Return the different columns of a list, in its order."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise TypeError(f"a list of columns has indices or names, got {columns!r}.")
    found = dict.fromkeys(column_indices(_known(columns, name, names), n_columns, names).tolist())
    if not found:
        raise ValueError(f"the list {name!r} is empty; give at least one column.")
    return np.array(list(found), dtype=np.intp)


def _known(columns: Iterable[Any], name: str, names: Sequence[str] | None) -> Any:
    """Return a list without the names that X does not have; as it is if none would be left."""
    if names is None or as_mask(columns) is not None:
        return columns
    several, known = list(columns), set(names)
    unknown = [each for each in several if isinstance(each, str) and each not in known]
    if not unknown or len(unknown) == len(several):
        return several
    warn_user(f"Columns of the list {name!r} that X does not have are left out: {listed(unknown, quoted=True)}.")
    return [each for each in several if not (isinstance(each, str) and each not in known)]


def _refuse_names(lists: Mapping[str, Indices], selector: str) -> None:
    for name, what in ((RANDOM, "random lists"), (selector, "the columns that it selects")):
        if name in lists:
            raise ValueError(f"a list cannot be named {name!r}: the row for {what} has that name.")


class _Fits:
    """Fits a selector to all samples and to subsets of them, with a given number of columns."""

    def __init__(self, X: Any, selector: BaseSelector, n_draws: int, seed: int, verbose: int) -> None:
        self.X = X
        self.name = type(selector).__name__
        self.seed = seed
        self.n_fits = self.n_not_converged = 0
        self._selector = selector
        self._draws = draws_of_samples(X.shape[0], n_draws, random_state=seed)
        self._verbose = verbose

    def to_all(self, size: int) -> BaseSelector:
        # Of all columns only the structure is needed: to rank every one of them would take far longer.
        wanted = size if size < self.X.shape[1] else "auto"
        return self._fit(clone(self._selector).set_params(n_features_to_select=wanted), self.X)

    def to_subsets(self, fitted: BaseSelector) -> Iterable[tuple[BaseSelector, Any]]:
        """Yield the selector fitted to each subset of the samples, and the subset."""
        rows_of = self.X.tocsr() if sp.issparse(self.X) else self.X
        panel = panel_of(fitted, self.X.shape[1], None)
        for rows in with_progress(self._draws, None, self._verbose, f"{self.name} on subsets", unit="fit"):
            points = rows_of[rows]
            yield self._fit(within_subset(settled(fitted), points, panel), points), points

    def _fit(self, selector: BaseSelector, X: Any) -> BaseSelector:
        with convergence_warnings() as missed:
            selector.fit(X)
        self.n_fits += 1
        self.n_not_converged += bool(missed)
        return selector


class _Group:
    """Lists of one length: those given, the selector's own and random ones."""

    def __init__(self, given: Mapping[str, Indices], fits: _Fits, size: int, n_random: int) -> None:
        n_columns = fits.X.shape[1]
        fitted = fits.to_all(size)
        self._own = fits.name
        self._lists = {name: [chosen] for name, chosen in given.items()}
        if size < n_columns:
            self._lists[fits.name] = [np.argsort(fitted.ranking_, kind="stable")[:size]]
            random = random_selections(n_columns, size, n_random, fits.seed)
            self._lists |= {RANDOM: random} if random else {}
        self.flat = [chosen for several in self._lists.values() for chosen in several]
        self._alignments = LearnedStructure(fitted, fits.X).alignments_of(self.flat)
        again = [
            (LearnedStructure(each, subset).alignments_of(self.flat), np.flatnonzero(each.get_support()))
            for each, subset in fits.to_subsets(fitted)
        ]
        self._on_subsets = np.array([alignments for alignments, _ in again])
        self._stability = selection_stability([chosen for _, chosen in again], n_columns) if again else None

    def rows(self, measured: Sequence[Mapping[str, float]]) -> list[EvaluatedColumns]:
        """Return a row for each list, given the other figures of all lists."""
        figures = iter([self._with_alignments(index, each) for index, each in enumerate(measured)])
        return [self._row(name, several, [next(figures) for _ in several]) for name, several in self._lists.items()]

    def _row(self, name: str, several: Sequence[Indices], figures: Sequence[Mapping[str, float]]) -> EvaluatedColumns:
        return EvaluatedColumns(
            name,
            several[0],
            stability=self._stability if name == self._own else None,
            n_random_below=None if name == RANDOM else self._random_below(figures[0]["alignment"]),
            spreads=spreads_of(figures),
            **means_of(figures),
        )

    def _with_alignments(self, index: int, figures: Mapping[str, float]) -> dict[str, float]:
        found = {"alignment": float(self._alignments[index]), **figures}
        if not len(self._on_subsets):
            return found
        values = self._on_subsets[:, index]
        return found | {"alignment_on_subsets": float(values.mean()), "spread_on_subsets": float(values.std(ddof=1))}

    def _random_below(self, alignment: float) -> int | None:
        count = len(self._lists.get(RANDOM, ()))
        return int(np.count_nonzero(self._alignments[-count:] < alignment)) if count else None


class LearnedStructure:
    """The structure that a fitted selector has learned, for the alignment of any columns with it.

    With aⱼ = ‖Tᵀxⱼ‖² and H_jl = (xⱼᵀx_l)² as in :mod:`ufselect.solvers.alignment`, ``alignments_`` has aⱼ/(‖K‖ ‖xⱼ‖²),
    so that the alignment of columns F is

        Σ_{j∈F} alignments_ⱼ ‖xⱼ‖² / √(Σ_{j,l∈F} H_jl),

    and the structure itself is not needed.

    Parameters
    ----------
    selector : fitted selector
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that it was fitted on, without batches.

    Raises
    ------
    ValueError
        If the selector learns no structure.
    """

    def __init__(self, selector: BaseSelector, X: Any) -> None:
        alignments = getattr(selector, "alignments_", None)
        if alignments is None:
            raise ValueError(
                f"{type(selector).__name__} learns no structure that columns could agree with; "
                "use KernelFSASL, or another method that learns an embedding."
            )
        names, X = fitted_column_names(X, selector), canonical(as_matrix(X))
        if X.shape[1] != len(alignments):
            raise ValueError(f"X has {X.shape[1]} columns, but the selector was fitted on {len(alignments)}.")
        takes_part = ~constant_columns(X, scale=getattr(selector, "scale", "standard")) & (selector.copies_ < 0)
        takes_part[panel_of(selector, X.shape[1], names).exclude] = False
        informative = np.flatnonzero(takes_part)
        kept = X[:, informative]
        self._X = selector._prepared(kept.astype(np.float64) if sp.issparse(kept) else np.ascontiguousarray(kept))
        self._alignments = alignments[informative].astype(np.float64)
        self._index = np.full(X.shape[1], -1, dtype=np.intp)
        self._index[informative] = np.arange(len(informative))
        copies = np.flatnonzero(selector.copies_ >= 0)
        self._index[copies] = self._index[selector.copies_[copies]]

    def alignments_of(self, lists: Sequence[Indices]) -> Float:
        """Return the alignment of each list of columns; those that are constant or excluded do not count."""
        return np.array([self._alignment(self._index[columns]) for columns in lists])

    def _alignment(self, index: Indices) -> float:
        index = index[index >= 0]
        if not len(index):
            return 0.0
        part = self._X.subset(index)
        carried = float(self._alignments[index] @ part.squared_norms())
        return carried / np.sqrt(_squared_norm_of_products(part))


def _squared_norm_of_products(X: Columns) -> float:
    """Return ‖XᵀX‖², or ‖XXᵀ‖², which is the same, by blocks."""
    n, d = X.shape
    if d <= n:
        products = (X.transposed_matmul(values) for _, values in wide_column_blocks(X))
    else:
        rows = gen_batches(n, min(n, affordable_rows(8 * d)))
        products = (X.inner_products(X.rows(block)) for block in rows)
    return sum(float(np.sum(product**2)) for product in products)
