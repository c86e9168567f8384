"""The base class of all selectors: from X to a ranking of its columns."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, Self, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ufselect._utils.progress import waiting
from ufselect._utils.threads import one_thread
from ufselect._utils.types import Float, Indices
from ufselect._utils.warnings import warn_not_converged
from ufselect._utils.wording import counted
from ufselect.base.groups import ColumnGroups
from ufselect.base.ranking import Ranking
from ufselect.base.requirements import ColumnRequirements, Requirements
from ufselect.base.screening import KeepExclude, Screening, keep_exclude_of
from ufselect.base.significance import ColumnSignificance, SignificanceTest
from ufselect.base.structure import TAKING, GivenStructure
from ufselect.columns.arrays import in_memory, is_dask_collection, is_tensor, validate_features
from ufselect.columns.constraints import Constraints
from ufselect.columns.dense import Columns, holding_dtype
from ufselect.columns.in_memory import Matrix, MatrixInMemory

COUNT: list[Any] = [Interval(Integral, 1, None, closed="left")]
POSITIVE: list[Any] = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE: list[Any] = [Interval(Real, 0, None, closed="left")]
SHARE: list[Any] = [Interval(Real, 0, 1, closed="neither")]

ITERATIONS: dict[str, list[Any]] = {"max_iter": COUNT, "tol": NOT_NEGATIVE}
"""Constraints on the parameters of an iterative method."""

CHOICE_OF_EDGES: dict[str, list[Any]] = {"weights": [StrOptions({"heat", "binary", "cosine"})], "width": POSITIVE}
"""Constraints on the parameters that weight the edges of a neighbour graph."""

Class = TypeVar("Class", bound=type)

_NOT_LEARNED = ("n_features_in_", "feature_names_in_")


class Regression(Protocol):
    """What a solver of regressions returns."""

    @property
    def coef(self) -> Float:
        """The weights."""

    @property
    def converged(self) -> bool:
        """Whether they reached their tolerance."""


def checked_coef(found: Regression) -> Float:
    """The weights that a solver found; warns if it did not reach its tolerance."""
    if not found.converged:
        warn_not_converged("The sparse regression did not reach its tolerance: its weights are approximate.")
    return found.coef


def _refuse_near_columns(constraints: Constraints, count: int | None, n_informative: int) -> None:
    """Raise if fewer columns are far enough apart than are to be selected."""
    if count is None or not constraints.holds_apart or constraints.within is not None:
        return
    most = constraints.most_apart(n_informative)
    if count > most:
        with_kept = ", those in keep included" if len(constraints.first) else ""
        raise ValueError(
            f"Only {most} columns are at least min_distance={constraints.min_distance:g} apart{with_kept}, but {count} "
            "are to be selected. Use a smaller min_distance, or select fewer."
        )


def _refuse_batch(batch: Any) -> None:
    """Raise an error if there are batches, which columns on a device or in blocks cannot be centred within."""
    if batch is not None:
        raise ValueError("batch needs an array in memory, not a tensor or a Dask array, and device=None.")


def _on_device(X: Any, device: Any) -> Matrix:
    """A dense array or a tensor on a device."""
    try:
        from ufselect.columns.tensors import TensorMatrix
    except ImportError as error:  # pragma: no cover - PyTorch is installed wherever this is tested
        raise ImportError("The parameter device needs PyTorch: run `pip install torch`.") from error
    return TensorMatrix(X, device)


@dataclass_transform(eq_default=False)
def with_parameters(cls: Class) -> Class:
    """Write the constructor of a selector: it stores parameters, which are the annotated attributes of the class."""
    docstring = cls.__doc__
    dataclass(eq=False, repr=False)(cls)
    cls.__doc__ = docstring  # dataclass makes one up under python -OO
    return cls


class BaseSelector(SelectorMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base class of selectors, which rank all columns in one fit.

    Subclasses implement ``_learn``. It receives the columns that are not constant, centred and scaled, and returns a
    :class:`Ranking` with everything that was learned; ``fit`` turns it into fitted attributes of all columns.

    With ``groups``, columns are selected by whole groups, of which ``n_features_to_select`` is the number, and those of
    a group follow each other in ``ranking_``, the best one first. Unless a method chooses groups itself, as
    :class:`ufselect.KernelFSASL` does, they are ordered by the mean score of their columns. Constant columns and exact
    copies rank last, whatever their group. In distances between samples, and so in every graph and kernel of them, the
    columns of a group of m count as one: they are divided by √m there. Weights (``coef_``) and scores are those of the
    columns as they are. A fit sets ``groups_``, the number of the group of each column, ``group_names_`` and
    ``n_groups_``, the number of selected groups; ``n_features_`` is that of their columns.

    With ``requirements``, columns are taken best first as far as they allow, those that families need before the
    others; :class:`ufselect.KernelFSASL` selects the set of columns that agrees best with its structure. With a budget,
    ``n_features_to_select`` is the largest number. A fit sets ``cost_``, what the selected columns cost, if there are
    costs, and ``outside_limits_``, the indices of the columns that are excluded by limits, if there are any.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"auto"}),
        ],
        "scale": [None, StrOptions({"standard", "moderate"})],
        "center": ["boolean"],
        "keep": [None, str, "array-like"],
        "exclude": [None, str, "array-like"],
        "groups": [None, str, Mapping, ColumnGroups, "array-like"],
        "min_distance": COUNT,
        "requirements": [None, Requirements, ColumnRequirements, Mapping],
        "fdr": [None, *SHARE],
        "verbose": ["verbose"],
    }

    _homes: ClassVar[tuple[str, ...]] = ()
    """Where X may live besides in memory: ``"tensor"``, ``"Dask array"``."""

    _takes_weights: ClassVar[bool] = False
    """Whether columns are selected by how much of the learned structure they carry, so that weights can multiply it."""

    n_features_: int
    n_features_to_select: int | float | str
    scale: str | None
    center: bool
    verbose: int

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        batch: Any = None,
        significance: ColumnSignificance | None = None,
        structure: Any = None,
    ) -> Self:
        """Rank the columns of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data without labels. :class:`ufselect.KernelFSASL` also takes PyTorch tensors, on their device, and Dask
            arrays and data frames, block by block where the blocks are.
        y : Ignored
            Not used, present for API consistency by convention.
        batch : array-like of shape (n_samples,), optional
            Batch of each sample, such as its plate or its donor. Every column is centred within each batch first, so
            that only the structure within batches counts.
        significance : ColumnSignificance, optional
            Result of :func:`ufselect.significance.column_significance` for the same columns: the fit selects among
            those found in it, whatever ``fdr`` is, and does not test them again.
        structure : array-like or sparse array, optional
            A structure of the samples that columns are to explain, instead of one that is learned from X: an embedding
            of shape (n_samples, n_dimensions), dense; a graph of shape (n_samples, n_samples), sparse, with weights
            that are larger for more similar samples; or a grouping, a label for each sample. Numbers in one dimension
            are labels if all are whole, else an embedding. With labels this is a supervised selection. If the structure
            was computed from X, the p-values of the test (``fdr``) are too small.

        Returns
        -------
        self : object
            The fitted selector.
        """
        return self._fit(X, batch, significance=significance, structure=structure)

    def _fit(
        self,
        X: Any,
        batch: Any,
        names: Sequence[str] | None = None,
        significance: ColumnSignificance | None = None,
        structure: Any = None,
    ) -> Self:
        """Fit to data in memory, on a device or in the blocks of a Dask array, whose columns may be given names."""
        self._validate_params()
        # What underflows is negligible: weights that vanish, or squares that are computed again on another scale.
        with one_thread(), np.errstate(under="ignore"):
            data = self._matrix(X, batch, names)
            given = self._given_structure(structure, data)
            names = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
            self.__dict__.pop("outside_limits_", None)  # of an earlier fit
            given_columns = keep_exclude_of(self, data.shape[1], names)
            keep_exclude = given_columns.within_limits(data.statistics, data.shape[1])
            self._refuse_requirements(keep_exclude.requirements)
            count = self._wanted_features(data.shape[1], keep_exclude)
            constant = data.constant_columns(getattr(self, "scale", "standard"), names)
            screening = Screening(constant, data.first_equal_columns(), keep_exclude, names)
            min_distance = getattr(self, "min_distance", 1)
            if keep_exclude.groups is not None and min_distance > 1:
                raise ValueError(f"min_distance={min_distance} holds columns apart, so it cannot go with groups.")
            constraints = screening.constraints(count, min_distance)
            _refuse_near_columns(constraints, count, len(screening.informative))
            if significance is None:
                significance = self._significance(data, screening, given)
            elif len(significance.q_values) != data.shape[1]:
                tested = len(significance.q_values)
                raise ValueError(f"significance is of {tested} columns, but X has {data.shape[1]} columns.")
            elif screening.groups is not None:
                significance = significance.of_groups(screening.groups)
            found = screening if significance is None else screening.among(significance.found)
            # Methods without iterations have no progress bar, but the elapsed time.
            with waiting(type(self).__name__) if self.verbose else nullcontext(), data.computing():
                columns, wanted = self._columns(data, found.informative), found.constraints(count, min_distance)
                columns.distance_weights = wanted.distance_weights()
                found_ranking = (
                    self._learn(columns, wanted) if given is None else self._learn_from(columns, given, wanted)
                )
                ranking = self._of_columns_as_they_are(found_ranking, columns.unit)
                ranking = ranking.of_whole_groups(wanted)
                if significance is not None:
                    ranking = self._followed_by_the_others(ranking, data, screening, found, significance)
            if constraints.within is None:
                ranking = replace(ranking, order=constraints.arranged(ranking.order).order)
            if given_columns.requirements is not None and given_columns.requirements.limits:
                ranking = ranking.with_attributes(
                    outside_limits_=np.setdiff1d(keep_exclude.exclude, given_columns.exclude)
                )
            if given is not None:
                ranking = ranking.with_attributes(given_structure_=given.description)
            self._store(ranking, screening, None if constraints.within is not None else count, data.dtype)
        return self

    def _refuse_requirements(self, wanted: ColumnRequirements | None) -> None:
        """Raise an error if distances are given twice, or weights that the method does not use."""
        if wanted is None:
            return
        min_distance = getattr(self, "min_distance", 1)
        if wanted.min_distance is not None and min_distance > 1:
            raise ValueError(
                f"min_distance={min_distance} and min_distance={wanted.min_distance:g} of the requirements are both "
                "given; use one of them."
            )
        if wanted.weights is not None and not self._takes_weights:
            raise ValueError(
                f"weights multiply how much of the learned structure a column carries, by which {type(self).__name__} "
                "does not select; use KernelFSASL."
            )

    def _given_structure(self, structure: Any, data: Matrix) -> GivenStructure | None:
        """The structure that the user gives, checked, if there is one."""
        if structure is None:
            return None
        if type(self)._learn_from is BaseSelector._learn_from:
            raise ValueError(f"{type(self).__name__} takes no structure; the methods that do are {TAKING}.")
        if not isinstance(data, MatrixInMemory):
            raise ValueError("structure needs an array in memory, not a tensor or a Dask array, and device=None.")
        return GivenStructure.of(structure, data.shape[0], data.batches)

    def _significance(
        self, data: Matrix, screening: Screening, given: GivenStructure | None
    ) -> ColumnSignificance | None:
        """Test which columns share structure with others, if a false discovery rate is given."""
        fdr = getattr(self, "fdr", None)
        if fdr is None:
            return None
        random_state, n_jobs = getattr(self, "random_state", 0), getattr(self, "n_jobs", None)
        test = SignificanceTest(fdr, n_jobs=n_jobs, random_state=random_state, verbose=self.verbose, structure=given)
        return test.of_columns(data, screening, screening.groups)

    def _followed_by_the_others(
        self, ranking: Ranking, data: Matrix, screening: Screening, found: Screening, significance: ColumnSignificance
    ) -> Ranking:
        """Let the columns that are not found follow those that are, by p-value."""
        informative = screening.informative
        others = np.setdiff1d(informative, found.informative)
        X = self._columns(data, others) if len(others) else None
        p_values = significance.p_values[others]
        order = np.argsort(p_values, kind="stable")
        if screening.groups is not None:  # those of a group have one p-value
            order = np.lexsort((screening.groups[others], p_values))
        by_p_value = others[order]
        ranking = ranking.followed_by(np.searchsorted(informative, by_p_value), X)
        return ranking.with_attributes(significance_=significance, q_values_=significance.q_values)

    def _matrix(self, X: Any, batch: Any, names: Sequence[str] | None) -> Matrix:
        """X where it lives, its shape and its names checked."""
        device = getattr(self, "device", None)
        if is_dask_collection(X):
            return self._blocks(X, batch, names, device)
        if is_tensor(X) and "tensor" in self._homes:
            _refuse_batch(batch)
            validate_features(self, X, reset=True)  # a tensor has no names: those of an earlier fit are forgotten
            return _on_device(X, X.device if device is None else device)
        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32], order="C", ensure_min_samples=3
        )
        if device is None:
            return MatrixInMemory(X, batch)
        _refuse_batch(batch)
        if sp.issparse(X):
            raise ValueError(f"device={device!r} needs a dense X; use X.toarray(), or device=None.")
        return _on_device(X, device)

    def _blocks(self, X: Any, batch: Any, names: Sequence[str] | None, device: str | None) -> Matrix:
        """X as blocks of rows of a Dask array."""
        if "Dask array" not in self._homes:
            raise ValueError(
                f"{type(self).__name__} needs all values of X at once, but X is a Dask array. Use X.compute() if it "
                "fits into memory, or KernelFSASL, which treats it by blocks of rows."
            )
        _refuse_batch(batch)
        if device is not None:
            raise ValueError(f"device={device!r} does not work with a Dask array; use device=None.")
        from ufselect.columns.dask import DaskMatrix

        data = DaskMatrix(X)
        validate_features(self, X, names, reset=True)
        return data

    def _columns(self, data: Matrix, index: Indices) -> Columns:
        """The informative columns, centred and scaled as the parameters say."""
        if type(self)._prepared is BaseSelector._prepared or not isinstance(data, MatrixInMemory):
            return data.prepared(index, center=self.center, scale=self.scale)
        values = data.values(index)
        if data.batches is not None and sp.issparse(values):
            raise ValueError(f"{type(self).__name__} needs a dense X if batch is given; use X.toarray().")
        return self._prepared(values)

    def _prepared(self, X: Any) -> Columns:
        """Values in memory, centred and scaled as the parameters say; a method may prepare them in its own way."""
        return Columns.prepared(X, center=self.center, scale=self.scale)

    @abstractmethod
    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        """Rank the columns of X.

        Parameters
        ----------
        X : Columns of shape (n, d)
            Columns that are not constant, centred and scaled. Their values must not be changed.
        constraints : Constraints
            ``constraints.count`` is the number of features to select; None if the data decide. What else it says,
            such as which columns come first, is for methods that select columns one by one; the others need not care,
            as ``fit`` rearranges their ranking.

        Returns
        -------
        Ranking
            Everything that was learned. A subclass sets no attributes itself.
        """

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        """Rank the columns of X by a structure that is given. A method that cannot has no ``_learn_from`` of its own.

        Parameters
        ----------
        X, constraints
            As in ``_learn``.
        structure : GivenStructure
            Its ``factor`` is T of a kernel TTᵀ; its ``affinity`` is a symmetric graph, unless it is an embedding, which
            has ``samples`` among which to search for neighbours.
        """
        raise NotImplementedError

    def _of_columns_as_they_are(self, ranking: Ranking, unit: float) -> Ranking:
        """Return the ranking with the weights that go with undivided columns: (X/u)W = X(W/u)."""
        return ranking if ranking.coef is None else replace(ranking, coef=ranking.coef / unit)

    def _wanted_features(self, n_features: int, keep_exclude: KeepExclude) -> int | None:
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            return None
        unit, n_kept = keep_exclude.unit, keep_exclude.count(keep_exclude.keep)
        most = keep_exclude.count(np.arange(n_features)) - keep_exclude.count(keep_exclude.exclude)
        count = int(wanted) if isinstance(wanted, Integral) else max(1, round(wanted * most))
        if count > most:
            of_which = " that are not excluded" if len(keep_exclude.exclude) else ""
            raise ValueError(f"n_features_to_select={wanted} must not exceed the number of {unit}s{of_which}, {most}.")
        if count < n_kept:
            raise ValueError(
                f"n_features_to_select={wanted} selects {counted(count, unit)}, but keep contains {n_kept}."
            )
        return count

    def _store(self, ranking: Ranking, screening: Screening, count: int | None, dtype: np.dtype[Any]) -> None:
        """Set the fitted attributes, of all columns."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in _NOT_LEARNED]:
            delattr(self, name)  # an earlier fit with other parameters may have learned more
        d, informative = self.n_features_in_, screening.informative
        # A column that took no part scores no higher than any other: zero, or less if scores can be negative.
        self.scores_ = np.full(d, min(0.0, float(ranking.scores.min())), dtype=holding_dtype(ranking.scores, dtype))
        self.scores_[informative] = ranking.scores
        self.copies_ = screening.copies
        self.ranking_ = screening.ranks(ranking.order)
        self.n_features_ = ranking.n_sufficient if count is None else count
        self._store_units(screening, count)
        if ranking.coef is not None:
            self.coef_ = np.zeros((d, ranking.coef.shape[1]), dtype=holding_dtype(ranking.coef, dtype))
            self.coef_[informative] = ranking.coef
        if ranking.embedding is not None:
            embedding = in_memory(ranking.embedding)
            self.embedding_ = embedding.astype(holding_dtype(embedding, dtype))
        if ranking.alignment_curve is not None:
            self.alignment_curve_ = ranking.alignment_curve.astype(dtype)
        if ranking.r2_curve is not None:
            self.r2_curve_ = ranking.r2_curve.astype(dtype)
        if ranking.alignments is not None:
            self.alignments_ = np.zeros(d, dtype=dtype)
            self.alignments_[informative] = ranking.alignments
            copies = np.flatnonzero(screening.copies >= 0)
            self.alignments_[copies] = self.alignments_[screening.copies[copies]]
        for name, value in ranking.attributes.items():
            setattr(self, name, value)

    def _store_units(self, screening: Screening, n_groups: int | None) -> None:
        """Set the attributes of groups and costs, if there are any."""
        groups, wanted = screening.keep_exclude.groups, screening.requirements
        if groups is not None:
            if n_groups is not None:
                self.n_features_ = screening.length_of(self.ranking_, n_groups)
            self.groups_, self.group_names_ = groups.codes, np.asarray(groups.names)
            self.n_groups_ = len(np.unique(groups.codes[self._get_support_mask()]))
        if wanted is not None and (costs := wanted.unit_costs(screening.groups)) is not None:
            selected = np.flatnonzero(self._get_support_mask())
            self.cost_ = float(costs[selected if groups is None else np.unique(groups.codes[selected])].sum())

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "ranking_")
        return self.ranking_ <= self.n_features_

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of X.

        Parameters
        ----------
        X : array-like, sparse matrix, PyTorch tensor or Dask array of shape (n_samples, n_features)
            The columns of a data frame, also of a Dask one, must have the names and the order of those fitted.

        Returns
        -------
        array of shape (n_samples, n_selected_features)
            A tensor if X is one, a Dask array or data frame if X is one.
        """
        if not (is_tensor(X) or is_dask_collection(X)):
            return super().transform(X)
        index = self.get_support(indices=True)
        validate_features(self, X, reset=False)
        return X.iloc[:, index] if hasattr(X, "iloc") else X[:, index]

    def top_features(self, n_features: int | None = None) -> npt.NDArray[Any]:
        """Return the best features, best first.

        Parameters
        ----------
        n_features : int, optional
            Number of features; by default the number of selected features.

        Returns
        -------
        ndarray of shape (n_features,)
            Feature names if X had names, else column indices.
        """
        check_is_fitted(self, "ranking_")
        count = self.n_features_ if n_features is None else n_features
        if not 0 <= count <= len(self.ranking_):
            raise ValueError(f"n_features={count} must be between 0 and the number of features, {len(self.ranking_)}.")
        best = np.argsort(self.ranking_, kind="stable")[:count]
        names = getattr(self, "feature_names_in_", None)
        return best if names is None else np.asarray(names)[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
