"""Exact nearest neighbours of points on a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch

_SPARE = 8  # candidates beyond those asked for
_MOST_FUSED_DIMENSIONS, _MOST_FUSED_CANDIDATES = 128, 128
_GATHERED_BYTES = 2**31
_PRODUCT_BYTES = 2**30
_FEW_PAIRS = 2**31  # fewer are not worth a pass of the kernel
_EPSILON = torch.finfo(torch.float32).eps


class Neighbors(NamedTuple):
    """Squared distances from samples to their nearest others, in ascending order by rows, and the indices of these."""

    squared_distances: torch.Tensor
    index: torch.Tensor


def nearest_others(points: torch.Tensor, count: int) -> Neighbors:
    """Return the ``count`` nearest other samples of every sample, with distances from differences of float32 points.

    A search finds a few candidates more than needed, and distances are computed again. A row is settled if no sample
    that was left out can be as near, even with the largest rounding error of the search. Which of several samples at
    the same distance count is not defined.
    """
    n = len(points)
    lengths = points.square().sum(dim=1).sqrt()
    distances = points.new_empty((n, count))
    index = torch.empty((n, count), dtype=torch.int64, device=points.device)
    pending = torch.arange(n, device=points.device)
    fetched = min(count + 1 + _SPARE, n)
    for make_search, fewest_pairs in _searches(points, fetched):
        if len(pending) == 0 or len(pending) * n < fewest_pairs:
            continue
        search = make_search()
        still_open = []
        for rows in pending.split(max(1, _GATHERED_BYTES // (4 * fetched * points.shape[1]))):
            candidates, left = search.candidates(rows, fetched)
            exact, candidates = _in_order(_squared_distances(points, rows, candidates), candidates)
            distances[rows], index[rows] = exact[:, :count], candidates[:, :count]
            farthest = exact[:, count - 1]
            reach = 2.0 * lengths[rows] + farthest.sqrt()
            doubt = 2.0 * (search.rounding * reach.square() + search.underflow * reach)
            still_open.append(rows[search.some_left_nearer(rows, left, farthest + doubt)])
        pending = torch.cat(still_open)
    return Neighbors(distances, index)


class _Search(Protocol):
    """A search whose squared distances are in error by up to ``rounding`` s² + ``underflow`` s, s = ‖xᵢ‖ + ‖xⱼ‖."""

    rounding: float
    underflow: float

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, Any]:
        """Return the nearest of some points, themselves included, and what is known of those that were left out."""

    def some_left_nearer(self, rows: torch.Tensor, left: Any, limits: torch.Tensor) -> torch.Tensor:
        """Return for some points whether one that was left out may be nearer than a limit, in squared distance."""


def _searches(points: torch.Tensor, count: int) -> list[tuple[Callable[[], _Search], int]]:
    """Return searches, each for the rows that the one before left open, and for how many pairs they are worth it."""
    among_all: list[tuple[Callable[[], _Search], int]] = [
        (partial(_SearchAmongAll, points), 0),
        (partial(_SearchByDifferences, points), 0),
    ]
    if not points.is_cuda or points.shape[1] > _MOST_FUSED_DIMENSIONS or count > _MOST_FUSED_CANDIDATES:
        return among_all
    return [
        (partial(_InAnotherOrder, points, shuffled=False), _FEW_PAIRS),
        (partial(_InAnotherOrder, points, shuffled=True), _FEW_PAIRS),
        *among_all,
    ]


class _InAnotherOrder:
    """The fused search with the points in another order, so that other points share a lane."""

    def __init__(self, points: torch.Tensor, *, shuffled: bool) -> None:
        from ufselect.graphs._fused_cuda import FusedSearch

        generator = torch.Generator(device=points.device).manual_seed(0)
        in_order = torch.arange(len(points), device=points.device)
        shuffle = torch.randperm(len(points), generator=generator, device=points.device)
        self._order = shuffle if shuffled else in_order
        self._place = torch.empty_like(in_order)
        self._place[self._order] = in_order
        self._search = FusedSearch(points[self._order])
        self.rounding, self.underflow = self._search.rounding, self._search.underflow

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, Any]:
        found, left = self._search.candidates(self._place[rows], count)
        return self._order[found], left

    def some_left_nearer(self, rows: torch.Tensor, left: Any, limits: torch.Tensor) -> torch.Tensor:
        return self._search.some_left_nearer(self._place[rows], left, limits)


class _SearchAmongAll:
    """Products with all points."""

    underflow = 0.0

    def __init__(self, points: torch.Tensor) -> None:
        self._points = points
        self._squares = points.square().sum(dim=1)
        self.rounding = (points.shape[1] + 3) * _EPSILON

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        n = len(self._points)
        parts = [
            torch.addmm(self._squares, self._points[part], self._points.T, alpha=-2.0).topk(
                min(count + 1, n), dim=1, largest=False
            )
            for part in rows.split(max(1, _PRODUCT_BYTES // (4 * n)))
        ]
        values, index = torch.cat([part.values for part in parts]), torch.cat([part.indices for part in parts])
        nothing = torch.full_like(values[:, -1], torch.inf)
        return index[:, :count], nothing if count >= n else values[:, -1] + self._squares[rows]

    def some_left_nearer(self, rows: torch.Tensor, left: torch.Tensor, limits: torch.Tensor) -> torch.Tensor:
        del rows
        return left < limits


class _SearchByDifferences:
    """Distances from differences to all points, for the few samples that nothing else settles."""

    rounding = underflow = 0.0

    def __init__(self, points: torch.Tensor) -> None:
        self._points = points

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, None]:
        parts = [
            torch.cdist(self._points[part], self._points, compute_mode="donot_use_mm_for_euclid_dist").topk(
                count, dim=1, largest=False
            )
            for part in rows.split(max(1, _PRODUCT_BYTES // (4 * len(self._points))))
        ]
        return torch.cat([part.indices for part in parts]), None

    def some_left_nearer(self, rows: torch.Tensor, left: None, limits: torch.Tensor) -> torch.Tensor:
        del left, limits
        return torch.zeros_like(rows, dtype=torch.bool)


def _squared_distances(points: torch.Tensor, rows: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """Compute ‖xᵢ−xⱼ‖² from differences, which do not cancel; infinite from a point to itself."""
    distances = (points[rows][:, None, :] - points[candidates]).square().sum(dim=2)
    return distances.masked_fill_(candidates == rows[:, None], torch.inf)


def _in_order(distances: torch.Tensor, candidates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Sort every row by distance, and by index if distances are equal."""
    candidates, order = candidates.sort(dim=1)
    distances, order = distances.gather(1, order).sort(dim=1, stable=True)
    return distances, candidates.gather(1, order)
