"""FSASL on a device: the loop of :class:`ufselect.FSASL` with its default structure, for samples that are tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ufselect._utils.iterations import Iterations
from ufselect._utils.types import Float, Indices
from ufselect.base import checked_coef
from ufselect.base.ranking import Ranking, rank_along, steps_to_show
from ufselect.columns.constraints import Constraints
from ufselect.gpu.columns import DeviceColumns
from ufselect.gpu.graphs import NeighborGraph, adaptive_neighbors, smooth_target
from ufselect.graphs.components import principal_directions
from ufselect.solvers.alignment import (
    COUNTED,
    alignment_path_of_products,
    explained_beside_dependent_columns,
    explained_by_columns,
    shares_of,
)
from ufselect.solvers.feature_weights import LEAST_AGREEMENT, MOST_HALVINGS
from ufselect.solvers.l21 import l21_regression_of_products, tolerance_while_moving
from ufselect.solvers.penalties import smallest_penalty_of_products

_ROWS_AT_ONCE = 2**17


@dataclass(frozen=True)
class Settings:
    """The parameters of FSASL that count on a device, and the tolerance of W at last."""

    n_neighbors: int
    graph_components: int | None
    adaptive: bool
    accumulate: bool
    local_weight: float
    row_penalty: float
    tight: float
    seed: int


def learn(X: DeviceColumns, settings: Settings, iterations: Iterations, constraints: Constraints) -> Ranking:
    """Learn structure and features in turn, and rank the features by alignment.

    Parameters
    ----------
    X : DeviceColumns of shape (n, d)
        Centred, with d ≤ n.
    settings : Settings
    iterations : Iterations
        The loop.
    constraints : Constraints
        Number of features to select, None if the alignment decides, and which come first.

    Returns
    -------
    Ranking
    """
    gram = X.gram()
    P = adaptive_neighbors(_points(X, gram, settings.graph_components, settings.seed), settings.n_neighbors)
    target = _Target.of(P, X, settings, None)
    W, gamma, share = _expressive_weights(gram, X, target, settings.row_penalty)
    Z = X @ W
    targets = [target]
    half_steps = []
    for _ in iterations:
        before = _cost(P, Z, settings) + gamma * _row_norms(W)
        if settings.adaptive:
            P = adaptive_neighbors(Z, settings.n_neighbors)
        moved = _cost(P, Z, settings) + gamma * _row_norms(W)
        last, target = target, _Target.of(P, X, settings, target.T)
        W, gamma = _weights(gram, target, share, W)
        Z = X @ W
        targets = [*targets, target][-COUNTED:]
        objective = _cost(P, Z, settings) + gamma * _row_norms(W)
        half_steps.append((before, moved, objective))
        iterations.record(objective, change=kernel_turn(target.T, last.T))
        if not settings.adaptive:
            break
    W = checked_coef(l21_regression_of_products(gram, target.products, gamma, warm_start=W, tol=settings.tight))
    Z = X @ W
    ranking = _ranking(gram, X, targets if settings.accumulate else [target], Z, constraints)
    return replace(ranking, coef=W, embedding=Z.cpu().numpy()).with_attributes(
        n_clusters_=None,
        self_expression_=None,
        neighbor_graph_=P.to_scipy(),
        neighbor_recall_=1.0,
        half_step_history_=np.array(half_steps),
        **iterations.attributes(),
    )


@dataclass(frozen=True)
class _Target:
    """T, and XᵀT."""

    T: torch.Tensor
    products: Float

    @classmethod
    def of(cls, P: NeighborGraph, X: DeviceColumns, settings: Settings, near: torch.Tensor | None) -> _Target:
        """Return the kernel of a graph, rotated towards the last one."""
        T = smooth_target(P, settings.local_weight, near, settings.seed)
        if near is not None:
            left, _, right = torch.linalg.svd((T.T @ near).double())
            T = T @ (left @ right).float()
        return cls(T, X.transposed_matmul(T))


def _points(X: DeviceColumns, gram: Float, count: int | None, seed: int) -> torch.Tensor:
    """The samples as the first graph sees them: in their principal components, or in all features."""
    if count is None or X.shape[1] <= count:
        return X @ np.eye(X.shape[1])
    return X @ principal_directions(gram, count, seed)


def _expressive_weights(gram: Float, X: DeviceColumns, target: _Target, share: float) -> tuple[Float, float, float]:
    """W, γ and its share, which is halved until the samples look alike by the embedding as they do by the target."""
    first = (*_weights(gram, target, share, np.zeros_like(target.products)), share)
    W, gamma, share = first
    for _ in range(MOST_HALVINGS):
        if agreement(X @ W, target.T) >= LEAST_AGREEMENT:
            return W, gamma, share
        share /= 2.0
        W, gamma = _weights(gram, target, share, W)
    return (W, gamma, share) if agreement(X @ W, target.T) >= LEAST_AGREEMENT else first


def _weights(gram: Float, target: _Target, share: float, start: Float) -> tuple[Float, float]:
    """W, and γ."""
    gamma = share * smallest_penalty_of_products(target.products)
    loose = tolerance_while_moving(share)
    found = l21_regression_of_products(gram, target.products, gamma, warm_start=start, tol=loose)
    return checked_coef(found), gamma


def _cost(P: NeighborGraph, Z: torch.Tensor, settings: Settings) -> float:
    """β( tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖² )."""
    roughness = 0.0
    for rows in torch.arange(len(Z), device=Z.device).split(_ROWS_AT_ONCE):
        differences = Z[rows][:, None, :] - Z[P.index[rows]]
        roughness += 0.5 * float((P.probabilities[rows] * differences.square().sum(dim=2)).sum())
    return settings.local_weight * (roughness + P.cost())


def _row_norms(W: Float) -> float:
    """‖W‖₂,₁."""
    return float(np.linalg.norm(W, axis=1).sum())


def agreement(T: torch.Tensor, other: torch.Tensor) -> float:
    """Return the cosine between the kernels of two factors, as :mod:`ufselect.solvers.alignment` defines it."""
    norms = float(torch.linalg.matrix_norm(T.T @ T)) * float(torch.linalg.matrix_norm(other.T @ other))
    return float((T.T @ other).square().sum()) / norms if norms > 0.0 else 0.0


def kernel_turn(T: torch.Tensor, other: torch.Tensor) -> float:
    """Return the distance between two kernels: 0 if they are the same, 1 if orthogonal."""
    return float(np.sqrt(max(1.0 - agreement(T, other), 0.0)))


def _ranking(
    gram: Float, X: DeviceColumns, targets: list[_Target], Z: torch.Tensor, constraints: Constraints
) -> Ranking:
    """Rank by alignment with the last structures, which count alike."""
    norms = [float(torch.linalg.matrix_norm(target.T)) for target in targets]
    products = np.hstack([target.products / norm for target, norm in zip(targets, norms, strict=True)])
    squares = sum(
        float((a.T.T @ b.T).square().sum()) / (norm_a * norm_b) ** 2
        for a, norm_a in zip(targets, norms, strict=True)
        for b, norm_b in zip(targets, norms, strict=True)
    )
    path = alignment_path_of_products(
        gram,
        products,
        float(np.sqrt(squares)),
        steps_to_show(constraints.count),
        past_peak=constraints.count is None,
        constraints=constraints,
    )
    return rank_along(path, _r2_curve(gram, X, Z, path.order), len(constraints.first))


def _r2_curve(gram: Float, X: DeviceColumns, Z: torch.Tensor, order: Indices) -> Float:
    """R² of the embedding on the first 1, 2, … columns."""
    inner, products = gram[np.ix_(order, order)], X.transposed_matmul(Z)[order]
    explained = explained_by_columns(inner, products)
    if explained is None:
        explained = explained_beside_dependent_columns(inner, products)
    return shares_of(explained, float(Z.double().square().sum()))
