"""Greedy selection of the columns that together explain a target best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ufselect._utils.blocks import affordable_rows
from ufselect._utils.types import Float, Indices
from ufselect.columns.constraints import Constraints
from ufselect.columns.dense import Columns

_ROUNDING = 1e-10
_FREE = Constraints()


class RidgePath(NamedTuple):
    """Columns in the order of selection, and the share of ‖Y‖² by which each lowers the ridge objective."""

    order: Indices
    gains: Float


def ridge_path(
    X: Columns,
    Y: Float,
    n_steps: int,
    *,
    order: Indices | None = None,
    sufficient_share: float = 0.0,
    ridge: float = 1.0,
    gram: Float | None = None,
    constraints: Constraints = _FREE,
) -> RidgePath:
    """Select columns of X one by one, each time the one that lowers min_W ‖Y − X_C W‖² + λ‖W‖² most.

    With unit-norm columns and M = (I + X_C X_Cᵀ/λ)⁻¹ the gain of column j is ‖xⱼᵀMY‖²/(λ + xⱼᵀMxⱼ). M is never formed:
    when column s is added, q = XᵀMx_s follows from the columns before it as q = Xᵀx_s − Σₜ qₜ (qₜ)_s/δₜ, and with
    δ = λ + q_s the updates are XᵀMY ← XᵀMY − q (XᵀMY)_s/δ and xⱼᵀMxⱼ ← xⱼᵀMxⱼ − qⱼ²/δ. A step costs one product
    Xᵀx_s.

    Parameters
    ----------
    X : Columns of shape (n, d)
        Nonzero columns; their norms do not matter.
    Y : ndarray of shape (n, c)
    n_steps : int
        Smallest number of columns to select, as far as scikit-learn's ``working_memory`` allows: a step stores d
        numbers.
    order : ndarray of shape (d,), optional
        Add the columns in this order instead.
    sufficient_share : float
        Continue beyond ``n_steps`` until the sum of the gains is this share of ‖Y‖².
    ridge : float
        λ. The default of 1 avoids fitting noise; the limit of zero is orthogonal least squares.
    gram : ndarray of shape (d, d), optional
        XᵀX, if available.
    constraints : Constraints
        Which columns come first, and how far apart others have to be.

    Returns
    -------
    RidgePath
        Of equal gains, the one with the lower column index comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.columns.dense import Columns
    >>> from ufselect.solvers.greedy import ridge_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 4))
    >>> ridge_path(Columns(X), X[:, [2]], n_steps=2).order[0]
    np.int64(2)
    """
    d = X.shape[1]
    norms = np.sqrt(X.squared_norms())
    inner = X.transposed_matmul(Y) / norms[:, None]
    spread = np.ones(d)
    total = float(np.sum(Y**2))
    images = np.empty((32, d))
    scales = np.empty(d)
    choosing = constraints.choosing(d)
    taken: list[int] = []
    gains: list[float] = []
    most = min(d, affordable_rows(8 * d))
    while len(taken) < most and (len(taken) < n_steps or sum(gains) < sufficient_share):
        gain = np.einsum("jl,jl->j", inner, inner) / (ridge + spread)
        step = len(taken)
        if not choosing.open.any():
            break
        best = _largest_open(gain, choosing.open) if order is None else int(order[step])
        if step == len(images):
            images = np.concatenate([images, np.empty_like(images)])
        images[step] = _column_of_gram(X, best, gram) / (norms * norms[best])
        images[step] -= (images[:step, best] / scales[:step]) @ images[:step]
        scales[step] = ridge + images[step, best]
        inner -= np.outer(images[step], inner[best] / scales[step])
        spread -= images[step] ** 2 / scales[step]
        taken.append(best)
        choosing.take(best)
        gains.append(float(gain[best]) / total)
    return RidgePath(np.array(taken, dtype=np.intp), np.array(gains))


def _largest_open(gain: Float, is_open: npt.NDArray[np.bool_]) -> int:
    """Return the index of the largest gain, the first of those that differ only by rounding."""
    gain[~is_open] = -np.inf
    return int(np.argmax(gain >= gain.max() * (1.0 - _ROUNDING)))


def _column_of_gram(X: Columns, j: int, gram: Float | None) -> Float:
    if gram is not None:
        return gram[:, j]
    return X.transposed_matmul(X.columns(np.array([j])))[:, 0]
