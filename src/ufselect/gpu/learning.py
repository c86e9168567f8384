"""FSASL on a device: the loop of :class:`ufselect.FSASL` with its default structure, for samples that are tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ufselect._backend.columns import Float, Indices
from ufselect._backend.iterations import Iterations
from ufselect._backend.wanted import Wanted
from ufselect._ranking import Ranking, rank_along, steps_to_show
from ufselect.base import checked_coef
from ufselect.gpu.columns import DeviceColumns
from ufselect.gpu.graphs import NeighborGraph, adaptive_neighbors, smooth_target
from ufselect.graphs.components import principal_directions
from ufselect.solvers.alignment import (
    alignment_path_of_products,
    explained_beside_dependent_columns,
    explained_by_columns,
    shares_of,
)
from ufselect.solvers.l21 import l21_regression_of_products, smallest_penalty_of_products

_ROWS_AT_ONCE = 2**17


@dataclass(frozen=True)
class Settings:
    """The parameters of FSASL that count on a device, and the tolerances of W while the structure moves and at last."""

    n_neighbors: int
    graph_components: int | None
    adaptive: bool
    accumulate: bool
    local_weight: float
    row_penalty: float
    loose: float
    tight: float
    seed: int


def learn(X: DeviceColumns, settings: Settings, iterations: Iterations, wanted: Wanted) -> Ranking:
    """Learn structure and features in turn, and rank the features by alignment.

    Parameters
    ----------
    X : DeviceColumns of shape (n, d)
        Centred, with d ≤ n.
    settings : Settings
    iterations : Iterations
        The loop.
    wanted : Wanted
        Number of features to select, None if the alignment decides, and which come first.

    Returns
    -------
    Ranking
    """
    gram = X.gram()
    P = adaptive_neighbors(_points(X, gram, settings.graph_components, settings.seed), settings.n_neighbors)
    target = _Target.of(P, X, settings, None)
    W, gamma = _weights(gram, target, settings, np.zeros_like(target.products))
    Z = X @ W
    targets = [target]
    half_steps = []
    for _ in iterations:
        before = _cost(P, Z, settings) + gamma * _row_norms(W)
        if settings.adaptive:
            P = adaptive_neighbors(Z, settings.n_neighbors)
        moved = _cost(P, Z, settings) + gamma * _row_norms(W)
        target = _Target.of(P, X, settings, target.T)
        W, gamma = _weights(gram, target, settings, W)
        Z, last = X @ W, Z
        targets.append(target)
        objective = _cost(P, Z, settings) + gamma * _row_norms(W)
        half_steps.append((before, moved, objective))
        iterations.record(objective, change=turn_between(Z, last))
        if not settings.adaptive:
            break
    W = checked_coef(l21_regression_of_products(gram, target.products, gamma, warm_start=W, tol=settings.tight))
    Z = X @ W
    ranking = _ranking(gram, X, targets if settings.accumulate else [target], Z, wanted)
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


def _weights(gram: Float, target: _Target, settings: Settings, start: Float) -> tuple[Float, float]:
    """W, and γ."""
    gamma = settings.row_penalty * smallest_penalty_of_products(target.products)
    found = l21_regression_of_products(gram, target.products, gamma, warm_start=start, tol=settings.loose)
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


def turn_between(Z: torch.Tensor, other: torch.Tensor) -> float:
    """Return the distance between the column spaces of two tensors, as :mod:`ufselect.graphs.spectral` defines it."""
    bases = [_basis(Z), _basis(other)]
    ranks = sum(Q.shape[1] for Q in bases)
    if ranks == 0:
        return 0.0
    common = float((bases[0].T @ bases[1]).square().sum())
    return float(np.sqrt(max(1.0 - 2.0 * common / ranks, 0.0)))


def _basis(Z: torch.Tensor) -> torch.Tensor:
    squares, vectors = torch.linalg.eigh((Z.T @ Z).double())
    kept = (squares > 1e-6 * squares[-1]) & (squares > 0.0)
    return Z @ (vectors[:, kept] / squares[kept].sqrt()).float()


def _ranking(gram: Float, X: DeviceColumns, targets: list[_Target], Z: torch.Tensor, wanted: Wanted) -> Ranking:
    """Rank by alignment with the structures of all iterations, which count alike."""
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
        steps_to_show(wanted.count),
        past_peak=wanted.count is None,
        wanted=wanted,
    )
    return rank_along(path, _r2_curve(gram, X, Z, path.order), len(wanted.first))


def _r2_curve(gram: Float, X: DeviceColumns, Z: torch.Tensor, order: Indices) -> Float:
    """R² of the embedding on the first 1, 2, … columns."""
    inner, products = gram[np.ix_(order, order)], X.transposed_matmul(Z)[order]
    explained = explained_by_columns(inner, products)
    if explained is None:
        explained = explained_beside_dependent_columns(inner, products)
    return shares_of(explained, float(Z.double().square().sum()))
