"""Non-negative matrices: rows on the simplex, and cluster indicators F ≥ 0 with FᵀF ≈ I."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from ufselect._utils.progress import relative_decrease
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float

_OFF_CLUSTER = 0.2
_STARTS, _ITERATIONS = 10, 20  # of k-means; it stops earlier or later

GROWING = (1.0, 10.0, 100.0, 1000.0)
"""Successive weights of the orthogonality term."""


def project_rows_onto_simplex(A: Float) -> Float:
    """Project every row of A onto the simplex {p ≥ 0, Σp = 1}, by sorting.

    p = (a + τ)₊ with τ = (1 − Σ_{j≤ρ} a₍j₎)/ρ, where a₍1₎ ≥ a₍2₎ ≥ … and ρ is the largest j with
    a₍j₎ + (1 − Σ_{i≤j} a₍i₎)/j > 0.
    """
    # Only differences within a row matter; subtracting the largest value keeps their digits.
    A = A - A.max(axis=1, keepdims=True)
    falling = -np.sort(-A, axis=1)
    rank = np.arange(1, A.shape[1] + 1)
    shifts = (1.0 - np.cumsum(falling, axis=1)) / rank
    support = np.count_nonzero(falling + shifts > 0.0, axis=1)
    return np.maximum(A + shifts[np.arange(len(A)), support - 1][:, None], 0.0)


def cluster_indicators(points: Float, n_clusters: int, random_state: Any) -> Float:
    """Return a positive start: indicators of k-means clusters plus 0.2, with columns of unit length.

    k-means takes the samples by their distance from the mean, so that its draws do not depend on their order.
    """
    order = np.argsort(np.sum((points - points.mean(axis=0)) ** 2, axis=1), kind="stable")
    labels = np.empty(len(points), dtype=np.intp)
    with threads_for(2.0 * _STARTS * _ITERATIONS * points.size * n_clusters):
        labels[order] = KMeans(n_clusters, n_init=_STARTS, random_state=random_state).fit_predict(points[order])
    return indicators(labels, n_clusters)


def indicators(labels: npt.NDArray[Any], n_clusters: int) -> Float:
    """Return cluster indicators plus 0.2, as zeros would stay zero, with columns of unit length."""
    F = np.full((len(labels), n_clusters), _OFF_CLUSTER)
    F[np.arange(len(labels)), labels] += 1.0
    return unit_columns(F)


def unit_columns(F: Float) -> Float:
    """Scale the columns to unit length."""
    return F / np.linalg.norm(F, axis=0)


def unit_rows(Y: Float) -> Float:
    """Scale the rows to unit length, except zero rows."""
    lengths = np.linalg.norm(Y, axis=1, keepdims=True)
    return Y / np.where(lengths > 0.0, lengths, 1.0)


def orthogonality_cost(F: Float, weight: float) -> float:
    """(z/2)‖FᵀF − I‖²."""
    return weight / 2.0 * float(np.sum((F.T @ F - np.eye(F.shape[1])) ** 2))


def monotone_step(F: Float, pull: Float, push: Float, weight: float) -> Float:
    """F ∘ [(pull + zF) / (push + zFFᵀF)]^(1/4), which never raises an objective with (z/2)‖FᵀF − I‖², z the weight.

    The gradient of the rest of that objective is 2(push − pull), where both are non-negative. Each of its terms has an
    upper bound in F⁴ that is tight at the current F: tr(FᵀAF) for A with entries ≥ 0, linear terms, and concave ones
    after linearisation. The result minimises the sum of these bounds.
    """
    ratio = (pull + weight * F) / np.maximum(push + weight * (F @ (F.T @ F)), np.finfo(float).tiny)
    return F * ratio**0.25


def spectral_step(F: Float, affinity: Any, fitted: Float, alpha: float, weight: float) -> Float:
    """The monotone step for tr(FᵀLₙF) + α‖F − fitted‖², Lₙ = I − affinity and fitted = PF for a P that is symmetric.

    Its gradient is 2(F − affinity F + α(F − PF)); the affinity is non-negative, and PF is split by sign.
    """
    pull = affinity @ F + alpha * np.maximum(fitted, 0.0)
    push = (1.0 + alpha) * F + alpha * np.maximum(-fitted, 0.0)
    return monotone_step(F, pull, push, weight)


def published_step(F: Float, slope: Float, weight: float) -> Float:
    """The update of the NDFS paper: F ∘ zF/(MF + zFFᵀF), with columns of unit length. It may raise the objective.

    If MF is so negative that the denominator would vanish, half of its second term is kept.
    """
    held = weight * (F @ (F.T @ F))
    below = np.maximum(slope + held, np.maximum(held / 2.0, np.finfo(float).tiny))
    return unit_columns(F * (weight * F / below))


class Tightening:
    """The weight z of the orthogonality penalty, which moves on to the next value whenever the objective settles.

    A large z from the start would freeze F at its initial value. A weight is also left once it has used its share of
    ``max_iter``, the number of iterations for all weights together.
    """

    def __init__(self, max_iter: int, tol: float, weights: Sequence[float] = GROWING) -> None:
        self.weight, *self._to_come = weights
        self._tol = tol
        self._share = max(max_iter // len(weights), 1)
        self._spent = 0
        self._last = np.inf

    def change_after(self, objective: float) -> float:
        """Relative decrease of the objective at the last weight; infinite as long as there are weights to come."""
        change = relative_decrease(self._last, objective)
        self._spent, self._last = self._spent + 1, objective
        if not self._to_come:
            return change
        if change <= self._tol or self._spent >= self._share:
            self.weight = self._to_come.pop(0)
            self._spent, self._last = 0, np.inf
        return np.inf
