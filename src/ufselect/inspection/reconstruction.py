"""What a panel of columns is worth: how well it predicts all others, what could take its place, what it confuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import svd
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ufselect._utils.seeds import some_samples
from ufselect._utils.types import Float, Indices
from ufselect._utils.wording import counted, listed, percent, shown
from ufselect.columns.dense import Columns, canonical, wide_column_blocks
from ufselect.columns.moments import column_spreads, constant_columns
from ufselect.columns.tabular import as_matrix, column_indices, column_names, dense_part
from ufselect.inspection.measures import classes_in
from ufselect.inspection.refits import rows_of

_PENALTIES = 10.0 ** np.arange(-9, 3)  # shares of the largest squared singular value of the panel
_ROUNDING = 1e-10  # of sums of squares and of singular values, as a share
_MOST_COMPARED = 1000  # samples, and columns to predict, by which substitutes are compared
_LEAST_PREDICTED, _MOST_NAMED, _MOST_PAIRS = 3, 5, 3  # in sentences
_AUTO = "auto"


class Substitute(NamedTuple):
    """A column that could take the place of one in a panel, and by how much the mean R² of all columns would fall."""

    column: int
    loss: float


class ConfusedGroups(NamedTuple):
    """The share of the samples of a group that a panel takes for another group, and the share by all columns."""

    group: Any
    other: Any
    share: float
    share_by_all: float


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """What a panel of columns is worth; the result of :func:`reconstruction_of`.

    Attributes
    ----------
    columns : ndarray of int
        The panel.
    r2 : ndarray of shape (n_features,)
        How well the panel predicts each column, cross-validated: 1 for exactly, about 0 for not at all. NaN for the
        columns of the panel and for constant ones.
    r2_within : ndarray of shape (n_columns,)
        How well the others of the panel predict each of its columns.
    substitutes : tuple of tuple of Substitute
        For each column of the panel the columns that could take its place, those with the smallest loss first.
    groups : tuple
        The different labels of the samples; empty without labels.
    r2_of_groups : ndarray of shape (n_groups, n_features)
        R² of each column over the samples of a group: 1 less the squared errors as a share of the squared differences
        from the mean of all samples. Without labels it has no rows.
    confused : tuple of ConfusedGroups
        Pairs of groups of which the panel takes one for the other, the largest share first.
    accuracy, accuracy_of_all : float or None
        Share of the samples whose group is recognised, by the panel and by all columns; None without labels.
    """

    columns: Indices
    r2: Float
    r2_within: Float
    substitutes: tuple[tuple[Substitute, ...], ...] = ()
    groups: tuple[Any, ...] = ()
    r2_of_groups: Float | None = None
    confused: tuple[ConfusedGroups, ...] = ()
    accuracy: float | None = None
    accuracy_of_all: float | None = None

    @cached_property
    def predicted(self) -> Indices:
        """The columns with an R², those that are predicted worst first."""
        return np.argsort(self.r2, kind="stable")[: np.count_nonzero(~np.isnan(self.r2))]

    @property
    def mean_r2(self) -> float:
        """The mean R²; NaN if there is no other column."""
        return float(np.mean(self.r2[self.predicted])) if len(self.predicted) else float("nan")

    @property
    def median_r2(self) -> float:
        """The median R²; NaN if there is no other column."""
        return float(np.median(self.r2[self.predicted])) if len(self.predicted) else float("nan")

    @property
    def lost(self) -> float:
        """The share of the variance of all columns, each scaled to variance 1, that is lost with the others."""
        n_varying = len(self.predicted) + np.count_nonzero(~np.isnan(self.r2_within))
        return float(np.sum(1.0 - self.r2[self.predicted])) / n_varying

    def sentences(self, names: Sequence[str]) -> list[str]:
        """Return in plain sentences how well the panel predicts, its substitutes, and which groups it confuses.

        Parameters
        ----------
        names : sequence of str
            The names of all columns.
        """
        if not len(self.predicted):
            return ["There is no other column to predict."]
        m = len(self.columns)
        worst = [f"{shown(names[j])} ({self.r2[j]:z.2f})" for j in self.predicted[:_LEAST_PREDICTED]]
        subject = "The column predicts" if m == 1 else f"The {m:,} columns predict"
        found = [
            f"{subject} the {counted(len(self.predicted), 'other')} with a mean R² of {self.mean_r2:z.2f} "
            f"(median {self.median_r2:z.2f}); least predicted: {listed(worst, longest=99)}."
        ]
        if any(self.substitutes):
            pairs = self._best_substitutes(names)
            found.append(f"Substitutes, with the change in mean R²: {listed(pairs, _MOST_NAMED, longest=299)}.")
        if self.accuracy is not None:
            pairs = [
                f"{shown(str(each.group))} for {shown(str(each.other))} ({percent(each.share)}; by all columns "
                f"{percent(each.share_by_all)})"
                for each in self.confused
            ]
            found.append(
                f"The nearest group mean is that of the own group for {percent(self.accuracy)} of the samples, by all "
                f"columns for {percent(self.accuracy_of_all)}"
                + (f"; most often taken for another: {listed(pairs, _MOST_PAIRS, longest=199)}." if pairs else ".")
            )
        return found

    def _best_substitutes(self, names: Sequence[str]) -> list[str]:
        """Return the best substitutes with the columns whose place they could take, and the change in mean R²."""
        losses: dict[int, list[tuple[float, str]]] = {}
        for j, best in zip(self.columns, self.substitutes, strict=True):
            for each in best[:1]:
                losses.setdefault(each.column, []).append((each.loss, shown(names[j])))
        said = []
        for column, several in losses.items():
            changes = sorted({f"{-loss:+z.3f}": loss for loss, _ in several}.items(), key=lambda change: -change[1])
            change = " to ".join(dict.fromkeys([changes[0][0], changes[-1][0]]))
            whose = listed([name for _, name in several], _LEAST_PREDICTED)
            said.append(f"{shown(names[column])} for {whose} ({change})")
        return said


def reconstruction_of(
    X: Any,
    columns: Any,
    *,
    labels: npt.ArrayLike | None = None,
    n_substitutes: int = 3,
    standardize: bool = True,
    random_state: Any = 0,
) -> Reconstruction:
    """Evaluate what is lost if only a panel of columns is measured.

    Every other column is predicted by ridge regression on the panel. R² is cross-validated: each sample is predicted by
    the regression on all others, which is exact and needs a single fit. The penalty of each column is the one with the
    smallest generalised cross-validation error.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        A sparse X is never densified as a whole.
    columns : sequence of int or str, or boolean mask
        The panel: column indices, or names if X is a data frame. Repeated columns count once.
    labels : array-like of shape (n_samples,), optional
        Groups of samples, such as known classes or clusters. A sample is assigned to the group with the nearest mean,
        of which it is no part, by the panel and by all columns.
    n_substitutes : int, default=3
        Number of substitutes for each column of the panel; 0 for none. They are compared by the mean R² of the ridge
        regressions, not cross-validated, over at most 1,000 samples and 1,000 columns to predict.
    standardize : bool, default=True
        Whether distances from the means of groups are those of columns scaled to unit variance.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples and columns by which substitutes are compared, if there are more.

    Returns
    -------
    Reconstruction

    See Also
    --------
    PanelReconstruction : Predict all columns of new samples of which only the panel was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.inspection import reconstruction_of
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200))
    >>> X = np.column_stack([a, b, a + 0.1 * rng.normal(size=200), a + b, rng.normal(size=200)])
    >>> found = reconstruction_of(X, [0, 1])
    >>> (found.r2[2:] + 0.0).round(2)
    array([ 0.99,  1.  , -0.01])
    >>> found.substitutes[0][0].column
    3
    """
    names, X = column_names(X), canonical(as_matrix(X))
    panel = panel_of(columns, X.shape[1], names)
    return reconstruct(
        StandardizedColumns(X),
        X,
        panel,
        labels=labels,
        n_substitutes=n_substitutes,
        standardize=standardize,
        random_state=random_state,
    )


def reconstruct(
    standardized: StandardizedColumns,
    X: Any,
    panel: Indices,
    *,
    labels: npt.ArrayLike | None,
    n_substitutes: int,
    standardize: bool,
    random_state: Any,
) -> Reconstruction:
    """Evaluate one of several panels of a matrix, whose columns are standardised once for all of them."""
    found: dict[str, Any] = {}
    codes, groups = classes_in(labels, X.shape[0]), []
    if codes is not None:
        groups = np.asarray(labels, dtype=object)[np.unique(codes, return_index=True)[1]].tolist()
        columns, inside = standardized.columns, standardized.places_of(panel)
        if not standardize:
            columns = prepared_columns(X, standardized.varying, scale=None)
        found |= {"groups": tuple(groups), **_confusion(columns, inside, groups, codes)}
    r2, within, of_groups = standardized.r2_by(panel, codes, len(groups))
    if n_substitutes:
        found["substitutes"] = _substitutes(X, panel, n_substitutes, random_state)
    return Reconstruction(panel, r2, within, r2_of_groups=of_groups, **found)


def panel_of(columns: Any, n_columns: int, names: Sequence[str] | None) -> Indices:
    """Return the different columns of a panel, in its order."""
    if isinstance(columns, str) or np.ndim(columns) == 0:
        raise TypeError(f"columns has indices or names of columns, got {columns!r}.")
    found = dict.fromkeys(column_indices(columns, n_columns, names).tolist())
    if not found:
        raise ValueError("columns is empty; give at least one column.")
    return np.array(list(found), dtype=np.intp)


def prepared_columns(X: Any, index: Indices, *, scale: str | None) -> Columns:
    """Return some columns of a matrix, none of which is constant, with mean 0."""
    part = X if len(index) == X.shape[1] else X[:, index]
    return Columns.prepared(part.astype(np.float64) if sp.issparse(part) else part, center=True, scale=scale)


class StandardizedColumns:
    """The columns of a matrix that vary, with mean 0 and variance 1, to predict from any panel of them."""

    def __init__(self, X: Any) -> None:
        self.n_features = X.shape[1]
        self.varying = np.flatnonzero(~constant_columns(X))
        if not len(self.varying):
            raise ValueError("All columns of X are constant; there is nothing to predict.")
        self.columns = prepared_columns(X, self.varying, scale="standard")

    def regression_on(self, panel: Indices, alpha: float | str = _AUTO) -> RidgeRegressions:
        """Return the regressions on those columns of a panel that vary."""
        return RidgeRegressions(self.columns, self.places_of(panel), alpha)

    def varying_part(self, panel: Indices) -> Indices:
        """Return the columns of a panel that vary."""
        return panel[np.isin(panel, self.varying)]

    def places_of(self, panel: Indices) -> Indices:
        """Return the places of these columns among those that vary."""
        return np.searchsorted(self.varying, self.varying_part(panel))

    def whole(self, values: Float, otherwise: float = np.nan) -> Float:
        """Return values of the columns that vary among those of all columns, of which the others have one value."""
        found = np.full((*values.shape[:-1], self.n_features), otherwise)
        found[..., self.varying] = values
        return found

    def r2_by(self, panel: Indices, codes: Indices | None = None, n_groups: int = 0) -> tuple[Float, Float, Float]:
        """Return R² of each column by a panel, of its own columns by its others, and over each group of samples."""
        n, d = self.columns.shape
        r2, of_groups, within = np.empty(d), np.empty((n_groups, d)), np.full(self.n_features, np.nan)
        if codes is not None:
            indicator = sp.csr_array((np.ones(n), (codes, np.arange(n))), shape=(n_groups, n))
        ridge = self.regression_on(panel)
        for block, values, errors in ridge.left_out():
            squares = errors**2
            r2[block] = 1.0 - squares.mean(axis=0)
            if codes is not None:
                total = indicator @ values**2
                of_groups[:, block] = 1.0 - (indicator @ squares) / np.where(total > 0.0, total, np.nan)
        found, of_groups = self.whole(r2), self.whole(of_groups)
        found[panel] = of_groups[:, panel] = np.nan
        within[self.varying_part(panel)] = ridge.r2_within
        return found, within[panel], of_groups

    def mean_r2_by(self, panel: Indices) -> float:
        """Return the mean of R² of the other columns by a panel; NaN if there is none."""
        if len(self.varying_part(panel)) == len(self.varying):
            return float("nan")
        r2, within, _ = self.r2_by(panel)
        return Reconstruction(panel, r2, within).mean_r2


class RidgeRegressions:
    """Ridge regressions of standardised columns on some of them, by one singular value decomposition.

    With P = USVᵀ, the predictions of Y with the penalty α are UFUᵀY with F = diag(s²/(s² + α)), and a sample has the
    leverage hᵢ = 1/n + Σₖ u²ᵢₖfₖ. The error of the regression on all samples but i, at i, is eᵢ/(1 − hᵢ).

    Parameters
    ----------
    columns : Columns
        With mean 0 and variance 1.
    panel : ndarray of int
    alpha : float or "auto"
        The penalty; "auto" takes the one with the smallest error by generalised cross-validation, for every column.
    """

    def __init__(self, columns: Columns, panel: Indices, alpha: float | str = _AUTO) -> None:
        self._columns = columns
        n, _ = columns.shape
        P = np.asarray(columns.columns(panel), dtype=np.float64)
        P -= P.mean(axis=0)  # again, as centring in single precision leaves a direction along the intercept
        U, s, Vt = svd(P, full_matrices=False) if len(panel) else (P, np.empty(0), np.empty((0, 0)))
        kept = s > _ROUNDING * s[:1].sum()
        self.U, self.s, self.Vt = U[:, kept], s[kept], Vt[kept]
        self.products = columns.transposed_matmul(self.U).T
        largest = float(s[0]) ** 2 if kept.any() else 1.0
        self.alphas = largest * _PENALTIES if alpha == _AUTO else np.array([float(alpha)])
        self.left = self.alphas[:, None] / (self.s**2 + self.alphas[:, None])  # 1 − f
        squares = self.U**2
        beyond = np.maximum(1.0 - 1.0 / n - squares.sum(axis=1), 0.0)
        beyond[beyond < _ROUNDING] = 0.0
        # 1 − h, of every sample by every penalty
        self.free = np.maximum(beyond[:, None] + squares @ self.left.T, np.finfo(np.float64).eps)
        self.unexplained = n - np.sum(self.products**2, axis=0)
        self.unexplained[self.unexplained < _ROUNDING * n] = 0.0
        self.choice = self._errors().argmin(axis=0)

    def _errors(self) -> Float:
        """Return the error by generalised cross-validation with every penalty, of every column."""
        freedom = np.mean(self.free, axis=0)[:, None]
        return np.asarray((self.left**2 @ self.products**2 + self.unexplained) / freedom**2)

    @cached_property
    def common(self) -> int:
        """Index of the penalty with the smallest error over all columns."""
        return int(self._errors().sum(axis=1).argmin())

    @cached_property
    def unique_parts(self) -> tuple[Float, Float]:
        """What each column of the panel adds to the others, by the common penalty: unit vectors, and lengths.

        With M = (I + PPᵀ/α)⁻¹, the residual of column p on the others is w‖r‖ with w = Mp/√(α − pᵀMp), and without
        column p, M becomes M + wwᵀ. The squared length is one over the diagonal of (PᵀP + αI)⁻¹.
        """
        alpha, s, squares = self.alphas[self.common], self.s, self.Vt**2
        inverse = squares.T @ (1.0 / (s**2 + alpha)) + np.maximum(1.0 - squares.sum(axis=0), 0.0) / alpha
        lengths = 1.0 / np.sqrt(inverse)
        return self.U @ ((s / (s**2 + alpha))[:, None] * self.Vt) * lengths, lengths

    @property
    def r2_within(self) -> Float:
        """R² of each column of the panel by the others, by the common penalty."""
        W, lengths = self.unique_parts
        errors = W * lengths / (self.free[:, [self.common]] + W**2)
        return np.asarray(1.0 - np.mean(errors**2, axis=0))

    @property
    def shrunken(self) -> Float:
        """FUᵀY."""
        return np.asarray((1.0 - self.left[self.choice].T) * self.products)

    def left_out(self) -> Iterator[tuple[slice, Float, Float]]:
        """Iterate over slices of the columns, their values, and the errors at every sample without that sample."""
        for block, values in wide_column_blocks(self._columns):
            fitted = self.U @ ((1.0 - self.left[self.choice[block]].T) * self.products[:, block])
            yield block, values, (values - fitted) / self.free[:, self.choice[block]]


class PanelReconstruction(BaseEstimator):  # type: ignore[misc]
    """Predict all columns of samples of which only a panel of columns was measured.

    Every column is a ridge regression on the columns of the panel, all of them scaled to mean 0 and variance 1, by one
    singular value decomposition. Intervals come from the errors that the regressions make at samples that they were not
    fitted on, so they need neither a second set of samples nor normal errors.

    Parameters
    ----------
    columns : sequence of int or str, or boolean mask
        The panel: column indices, or names if X is a data frame. Repeated columns count once.
    alpha : float or "auto", default="auto"
        Penalty, as of :class:`sklearn.linear_model.Ridge` on the scaled columns of the panel. "auto" takes for each
        column the one with the smallest generalised cross-validation error.
    coverage : float, default=0.9
        Share of new values that lie within their intervals, of samples that are drawn as those of ``fit`` were.

    Attributes
    ----------
    columns_ : ndarray of int
        Indices of the panel.
    r2_ : ndarray of shape (n_features_in_,)
        How well each column is predicted, cross-validated as in :func:`reconstruction_of`; NaN for the panel and for
        constant columns.
    coef_ : ndarray of shape (n_columns, n_features_in_)
        Coefficients of the scaled columns.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Mean and standard deviation of each column.
    alpha_ : ndarray of shape (n_features_in_,)
        Penalty of each column; NaN for constant columns.
    std_, margin_ : ndarray of shape (n_features_in_,)
        Standard deviation of the errors of each column, and half the width of its interval, for a sample without
        leverage. The margin is infinite if there are too few samples for the coverage.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen in ``fit``, if all of them are strings.

    See Also
    --------
    reconstruction_of : How well a panel predicts, its substitutes, and which groups of samples it confuses.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.inspection import PanelReconstruction
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200))
    >>> X = np.column_stack([a, b, a + 0.1 * rng.normal(size=200), a + b])
    >>> reconstruction = PanelReconstruction([0, 1]).fit(X[:150])
    >>> measured = X[150:, [0, 1]]
    >>> reconstruction.predict(measured)[0].round(2)
    array([-0.29, -1.53, -0.3 , -1.82])
    >>> lower, upper = reconstruction.predict_interval(measured)
    >>> float(np.mean((lower[:, 2] <= X[150:, 2]) & (X[150:, 2] <= upper[:, 2])))
    0.98
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "columns": ["array-like"],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({_AUTO})],
        "coverage": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, columns: Any, *, alpha: float | str = _AUTO, coverage: float = 0.9) -> None:
        self.columns = columns
        self.alpha = alpha
        self.coverage = coverage

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - present for API consistency
        """Learn to predict all columns from those of the panel.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            All columns.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        X = validate_data(
            self,
            X,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
            ensure_min_features=2,
        )
        self.columns_ = panel_of(self.columns, X.shape[1], column_names(None, self))
        X = canonical(X)
        standardized = StandardizedColumns(X)
        varying = standardized.varying
        self.mean_, scale = column_spreads(X)
        self.scale_ = np.where(np.isin(np.arange(X.shape[1]), varying), scale, 0.0)
        ridge = standardized.regression_on(self.columns_, self.alpha)
        r2, std, margin = self._errors(ridge, X.shape[0])
        self.r2_, self.alpha_ = standardized.whole(r2), standardized.whole(ridge.alphas[ridge.choice])
        self.std_, self.margin_ = standardized.whole(std, 0.0), standardized.whole(margin, 0.0)
        for each in (self.std_, self.margin_):
            each *= np.where(self.scale_ > 0.0, self.scale_, 1.0)
        self.r2_[self.columns_], self.std_[self.columns_], self.margin_[self.columns_] = np.nan, 0.0, 0.0
        place = np.isin(self.columns_, varying)
        self.coef_ = np.zeros((len(self.columns_), X.shape[1]))
        axes = ridge.Vt.T / ridge.s
        self.coef_[np.ix_(place, varying)] = axes @ ridge.shrunken
        self._axes = np.zeros((len(self.columns_), axes.shape[1]))
        self._axes[place] = axes
        self._kept, self._n_samples = 1.0 - ridge.left, X.shape[0]
        self._choice = np.zeros(X.shape[1], dtype=np.intp)
        self._choice[varying] = ridge.choice
        return self

    def _errors(self, ridge: RidgeRegressions, n: int) -> tuple[Float, Float, Float]:
        """Return R², and the standard deviation and a quantile of the errors less what leverage adds to them."""
        r2, std, margin = (np.empty(len(ridge.choice)) for _ in range(3))
        rank = int(np.ceil((n + 1) * self.coverage - _ROUNDING)) - 1
        for block, _, errors in ridge.left_out():
            r2[block] = 1.0 - np.mean(errors**2, axis=0)
            # Var(e) = σ²(1 − h), so that of an error left out is σ²/(1 − h).
            errors = np.abs(errors * np.sqrt(ridge.free[:, ridge.choice[block]])).T
            std[block] = np.sqrt(np.mean(errors**2, axis=1))
            margin[block] = np.partition(errors, rank, axis=1)[:, rank] if rank < n else np.inf
        return r2, std, margin

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Predict all columns.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_columns)
            The columns of the panel in its order; or a data frame that has them, or all columns as in ``fit``.
        return_std : bool, default=False
            Whether to return the standard deviation of the errors, too.

        Returns
        -------
        X_predicted : ndarray of shape (n_samples, n_features_in_)
            All columns; those of the panel are as measured.
        std : ndarray of shape (n_samples, n_features_in_)
            Only if ``return_std``.
        """
        measured = self._measured(X)
        predicted = self._predicted(measured)
        return (predicted, self._spread(measured) * self.std_) if return_std else predicted

    def predict_interval(self, X: Any) -> tuple[Float, Float]:
        """Return the lower and the upper ends of the intervals that have the ``coverage``, for all columns.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_columns)
            As for ``predict``.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples, n_features_in_)
        """
        measured = self._measured(X)
        predicted, margin = self._predicted(measured), self._spread(measured) * self.margin_
        return predicted - margin, predicted + margin

    def _measured(self, X: Any) -> Float:
        """Return the values of the panel, in its order."""
        check_is_fitted(self)
        names, known = column_names(X), column_names(None, self)
        if names is not None and known is not None:
            wanted = [known[j] for j in self.columns_]
            if missing := [name for name in wanted if name not in set(names)]:
                raise ValueError(f"X has no column {listed(missing, quoted=True)}, which the panel needs.")
            index = [names.index(name) for name in wanted]
            X = X[[X.columns[j] for j in index]]
        values = check_array(X, accept_sparse=("csr", "csc"), dtype=np.float64, estimator=self)
        m, d = len(self.columns_), self.n_features_in_
        if values.shape[1] not in (m, d):
            raise ValueError(
                f"X has {values.shape[1]} features, but {type(self).__name__} is expecting {d} features as input, or "
                f"the {m} of the panel."
            )
        return dense_part(values, slice(None) if values.shape[1] == m else self.columns_, standardize=False)

    def _scaled(self, measured: Float) -> Float:
        scale = self.scale_[self.columns_]
        return np.asarray((measured - self.mean_[self.columns_]) / np.where(scale > 0.0, scale, 1.0))

    def _predicted(self, measured: Float) -> Float:
        predicted = self._scaled(measured) @ self.coef_
        predicted *= self.scale_
        predicted += self.mean_
        predicted[:, self.columns_] = measured
        return predicted

    def _spread(self, measured: Float) -> Float:
        """Return √(1 + h) of every sample and column: an error at a new sample has the variance σ²(1 + h)."""
        leverage = 1.0 / self._n_samples + (self._scaled(measured) @ self._axes) ** 2 @ self._kept.T
        return np.asarray(np.sqrt(1.0 + leverage)[:, self._choice])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _substitutes(X: Any, panel: Indices, count: int, random_state: Any) -> tuple[tuple[Substitute, ...], ...]:
    """Return the best substitutes for every column of a panel, by some of the samples and of the columns to predict.

    The penalised squares α‖b‖² + ‖y − Pb‖² have the minimum yᵀMy, with M and w of ``RidgeRegressions.unique_parts``.
    With another column q in place of p, it falls by (yᵀM'q)²/(α + qᵀM'q), where M'q = Mq + w(wᵀq). So the products of
    all y with Mq and w are enough for all p and q.
    """
    n = X.shape[0]
    rows = some_samples(n, _MOST_COMPARED, random_state)
    standardized = StandardizedColumns(X if len(rows) == n else rows_of(X)[rows])
    columns, varying = standardized.columns, standardized.varying
    inside = standardized.places_of(panel)
    ridge = RidgeRegressions(columns, inside)
    d, alpha, kept = columns.shape[1], ridge.alphas[ridge.common], 1.0 - ridge.left[ridge.common]
    count, (W, _) = min(count, d - len(inside)), ridge.unique_parts
    targets = np.asarray(columns.columns(some_samples(d, _MOST_COMPARED, random_state)), dtype=np.float64)
    targets_w = targets.T @ W
    own = np.sum(targets_w**2, axis=0)[:, None]
    gains: Float = np.empty((len(inside), 0))
    best: Indices = np.empty((len(inside), 0), dtype=np.intp)
    for block, Q in wide_column_blocks(columns):
        rest = Q - ridge.U @ (kept[:, None] * ridge.products[:, block])  # MQ
        both, along = targets.T @ rest, W.T @ Q
        carried = np.sum(both**2, axis=0) + 2.0 * along * (targets_w.T @ both) + along**2 * own
        gained = carried / (alpha + np.einsum("ij,ij->j", Q, rest) + along**2)
        others = np.setdiff1d(np.arange(d)[block], inside)
        gains = np.hstack([gains, gained[:, others - block.start]])
        best = np.hstack([best, np.broadcast_to(others, (len(inside), len(others)))])
        first = np.argsort(-gains, axis=1, kind="stable")[:, :count]
        gains, best = np.take_along_axis(gains, first, axis=1), np.take_along_axis(best, first, axis=1)
    losses = (own - gains) / targets.size
    found = {
        int(varying[p]): tuple(
            Substitute(int(varying[q]), float(loss)) for q, loss in zip(best[i], losses[i], strict=True)
        )
        for i, p in enumerate(inside)
    }
    return tuple(found.get(int(p), ()) for p in panel)


def _confusion(columns: Columns, inside: Indices, groups: Sequence[Any], codes: Indices) -> dict[str, Any]:
    """Return which groups of samples are taken for others by some columns, and how often, also by all columns."""
    shares, accuracies = [], []
    for part in (columns.subset(inside), columns):
        counts = np.zeros((len(groups), len(groups)))
        np.add.at(counts, (codes, _nearest_means(part, codes, len(groups))), 1.0)
        accuracies.append(float(np.trace(counts)) / len(codes))
        shares.append(counts / counts.sum(axis=1, keepdims=True))
    sizes = np.bincount(codes)
    pairs = [
        ConfusedGroups(groups[a], groups[b], float(shares[0][a, b]), float(shares[1][a, b]))
        for a, b in zip(*np.nonzero(shares[0]), strict=True)
        if a != b and sizes[a] > 1
    ]
    confused = tuple(sorted(pairs, key=lambda each: -each.share))
    return {"confused": confused, "accuracy": accuracies[0], "accuracy_of_all": accuracies[1]}


def _nearest_means(columns: Columns, codes: Indices, n_groups: int) -> Indices:
    """Return for every sample the group with the nearest mean, of which the sample itself is no part.

    Without x, the mean c of a group of n becomes (nc − x)/(n − 1), whose distance from x is n/(n − 1) times that of c.
    """
    n, sizes = len(codes), np.bincount(codes, minlength=n_groups).astype(np.float64)
    if not columns.shape[1]:
        return np.full(n, int(sizes.argmax()))
    indicator = np.zeros((n, n_groups))
    indicator[np.arange(n), codes] = 1.0
    means = columns.transposed_matmul(indicator) / sizes
    distances = columns.squared_row_norms()[:, None] - 2.0 * (columns @ means) + np.sum(means**2, axis=0)
    with np.errstate(divide="ignore"):
        distances[np.arange(n), codes] *= ((sizes / (sizes - 1.0)) ** 2)[codes]
    return np.asarray(distances.argmin(axis=1), dtype=np.intp)
