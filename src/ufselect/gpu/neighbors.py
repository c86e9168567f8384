"""Exact nearest neighbours of points on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import torch

_SPARE = 8  # candidates beyond those asked for
_FEWEST_FUSED = 4096  # points, so that every lane of the kernel has many
_GATHERED_BYTES = 2**31
_PRODUCT_BYTES = 2**30
_FEW_PAIRS = 2**31  # fewer are not worth a pass of the kernel
_EPSILON = torch.finfo(torch.float32).eps


class Nearest(NamedTuple):
    """Squared distances from samples to their nearest others, in ascending order by rows, and the indices of these."""

    squared_distances: torch.Tensor
    index: torch.Tensor


def nearest_others(points: torch.Tensor, count: int) -> Nearest:
    """Return the ``count`` nearest other samples of every sample, with distances in float32 from differences.

    A search finds a few candidates more than needed, and distances are computed again. A row is settled if no sample
    that was left out can be as near, even with the largest rounding error of the search.

    Parameters
    ----------
    points : Tensor of shape (n, q)
        float32, centred.
    count : int
        Fewer than n.

    Returns
    -------
    Nearest
        Two tensors of shape (n, count). Which of several samples at the same distance count is not defined.
    """
    n = len(points)
    lengths = points.square().sum(dim=1).sqrt()
    distances = points.new_empty((n, count))
    index = torch.empty((n, count), dtype=torch.int64, device=points.device)
    pending = torch.arange(n, device=points.device)
    fetched = min(count + 1 + _SPARE, n - 1)
    for search in _searches(points):
        if isinstance(search, _InAnotherOrder) and len(pending) * n < _FEW_PAIRS:
            continue
        still_open = []
        for rows in pending.split(max(1, _GATHERED_BYTES // (4 * fetched * points.shape[1]))):
            candidates, left = search.candidates(rows, fetched)
            exact, candidates = _in_order(_squared_distances(points, rows, candidates), candidates)
            distances[rows], index[rows] = exact[:, :count], candidates[:, :count]
            farthest = exact[:, count - 1]
            doubt = 2.0 * search.rounding * (2.0 * lengths[rows] + farthest.sqrt()).square()
            still_open.append(rows[search.some_left_nearer(rows, left, farthest + doubt)])
        pending = torch.cat(still_open)
        if len(pending) == 0:
            break
    return Nearest(distances, index)


class _Search(Protocol):
    """A search whose squared distances are in error by up to ``rounding`` (‖xᵢ‖ + ‖xⱼ‖)²."""

    rounding: float

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, Any]:
        """Return the nearest of some points, and what is known of those that were left out."""

    def some_left_nearer(self, rows: torch.Tensor, left: Any, limits: torch.Tensor) -> torch.Tensor:
        """Return for some points whether one that was left out may be nearer than a limit, in squared distance."""


def _searches(points: torch.Tensor) -> Iterator[_Search]:
    """Return searches, each for the rows that the one before left open."""
    if points.is_cuda and len(points) >= _FEWEST_FUSED:
        generator = torch.Generator(device=points.device).manual_seed(0)
        yield _InAnotherOrder(points, torch.arange(len(points), device=points.device))
        yield _InAnotherOrder(points, torch.randperm(len(points), generator=generator, device=points.device))
    yield _SearchAmongAll(points)


class _InAnotherOrder:
    """The fused search with the points in another order, so that other points share a lane."""

    def __init__(self, points: torch.Tensor, order: torch.Tensor) -> None:
        from ufselect.gpu._fused import FusedSearch

        self._order = order
        self._place = torch.empty_like(order)
        self._place[order] = torch.arange(len(order), device=order.device)
        self._search = FusedSearch(points[order])
        self.rounding = self._search.rounding

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, Any]:
        found, left = self._search.candidates(self._place[rows], count)
        return self._order[found], left

    def some_left_nearer(self, rows: torch.Tensor, left: Any, limits: torch.Tensor) -> torch.Tensor:
        return self._search.some_left_nearer(self._place[rows], left, limits)


class _SearchAmongAll:
    """Products with all points."""

    def __init__(self, points: torch.Tensor) -> None:
        self._points = points
        self._squares = points.square().sum(dim=1)
        self.rounding = (points.shape[1] + 3) * _EPSILON

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        parts = [
            torch.addmm(self._squares, self._points[part], self._points.T, alpha=-2.0).topk(
                count + 1, dim=1, largest=False
            )
            for part in rows.split(max(1, _PRODUCT_BYTES // (4 * len(self._points))))
        ]
        values, index = torch.cat([part.values for part in parts]), torch.cat([part.indices for part in parts])
        return index[:, :-1], values[:, -1] + self._squares[rows]

    def some_left_nearer(self, rows: torch.Tensor, left: torch.Tensor, limits: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        return left < limits


def _squared_distances(points: torch.Tensor, rows: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """Compute ‖xᵢ−xⱼ‖² from differences, which do not cancel; infinite from a point to itself."""
    distances = (points[rows][:, None, :] - points[candidates]).square().sum(dim=2)
    return distances.masked_fill_(candidates == rows[:, None], torch.inf)


def _in_order(distances: torch.Tensor, candidates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Sort every row by distance, and by index if distances are equal."""
    candidates, order = candidates.sort(dim=1)
    distances, order = distances.gather(1, order).sort(dim=1, stable=True)
    return distances, candidates.gather(1, order)
