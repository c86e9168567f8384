"""A Triton kernel that passes over all pairs of samples and keeps the best of every row in registers.

The others of a sample are dealt to 128 lanes, like cards, and every lane keeps its two best. A neighbour is lost only
if two nearer ones share its lane. Lanes whose second best is near enough for that are few, and are searched again as
a whole. A distance and the number of the tile it comes from share 32 bits: the bits of a positive float are ordered
like the float, and its last digits give way to the number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

LANES = 128
_ROWS = 64
_WARPS = 4
_TABLE_BYTES = 2**31


@triton.jit
def _keep_two_per_lane(
    queries_high, queries_low, query_squares, points_high, points_low, point_squares, best, n_queries, n_points,
    LOW_BITS: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Keep the two smallest ‖xᵢ−yⱼ‖² of every row and lane, each with the tile of j in its low bits."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, LANES)
    dims = tl.arange(0, D)
    real = rows < n_queries
    here = rows[:, None] * D + dims[None, :]
    x_high = tl.load(queries_high + here, mask=real[:, None], other=0.0)
    x_low = tl.load(queries_low + here, mask=real[:, None], other=0.0)
    x_square = tl.load(query_squares + rows, mask=real, other=0.0)
    first = tl.full((ROWS, LANES), 0x7F800000, dtype=tl.int32)
    second = tl.full((ROWS, LANES), 0x7F800000, dtype=tl.int32)
    for tile in range(0, tl.cdiv(n_points, LANES)):
        columns = tile * LANES + lanes
        exists = columns < n_points
        there = columns[None, :].to(tl.int64) * D + dims[:, None]
        y_high = tl.load(points_high + there, mask=exists[None, :], other=0.0)
        y_low = tl.load(points_low + there, mask=exists[None, :], other=0.0)
        y_square = tl.load(point_squares + columns, mask=exists, other=float("inf"))
        product = tl.dot(x_high, y_high)
        product = tl.dot(x_high, y_low, product)
        product = tl.dot(x_low, y_high, product)
        distance = tl.maximum(x_square[:, None] + (y_square[None, :] - 2.0 * product), 0.0)
        key = (distance.to(tl.int32, bitcast=True) & (-1 << LOW_BITS)) | tile
        second = tl.minimum(second, tl.maximum(first, key))
        first = tl.minimum(first, key)
    place = rows[:, None] * (2 * LANES) + lanes[None, :]
    tl.store(best + place, first, mask=real[:, None])
    tl.store(best + place + LANES, second, mask=real[:, None])


class FusedSearch:
    """A search for the nearest of float32 points on a GPU, given to the kernel as sums of two float16 numbers."""

    rounding = 2.0**-20

    def __init__(self, points: torch.Tensor) -> None:
        n, q = points.shape
        self._unit = float(points.abs().max().clamp(min=torch.finfo(torch.float32).tiny))
        self._points = torch.nn.functional.pad(points / self._unit, (0, max(16, 1 << (q - 1).bit_length()) - q))
        self._high = self._points.half()
        self._low = (self._points - self._high).half()
        self._squares = self._points.square().sum(dim=1)
        # The smaller of two float16 halves of a number has no digits below 2⁻²⁴ of the unit.
        self.underflow = 2.0**-24 * q**0.5 * self._unit
        n_tiles = triton.cdiv(n, LANES)
        self._low_bits = max(1, (n_tiles - 1).bit_length())
        missing = n_tiles * LANES - n
        padded = torch.nn.functional.pad(self._points, (0, 0, 0, missing)).view(n_tiles, LANES, -1)
        self._by_lane = padded.permute(1, 2, 0)
        far = torch.nn.functional.pad(self._squares, (0, missing), value=torch.inf)
        self._squares_by_lane = far.view(n_tiles, LANES).T

    def candidates(self, rows: torch.Tensor, count: int) -> tuple[torch.Tensor, Left]:
        """Return the nearest of some points, themselves included, and what is known of those that were left out."""
        best = torch.empty((len(rows), 2 * LANES), dtype=torch.int32, device=rows.device)
        launch: Any = _keep_two_per_lane[(triton.cdiv(len(rows), _ROWS),)]
        with torch.cuda.device(rows.device):
            launch(
                self._high[rows], self._low[rows], self._squares[rows], self._high, self._low, self._squares, best,
                len(rows), len(self._high),
                LOW_BITS=self._low_bits, D=self._high.shape[1], ROWS=_ROWS, LANES=LANES, num_warps=_WARPS, num_stages=2,
            )  # fmt: skip
        chosen = best.topk(count + 1, dim=1, largest=False)
        tile = chosen.values[:, :-1] & ((1 << self._low_bits) - 1)
        kept = tile.long() * LANES + chosen.indices[:, :-1] % LANES
        return kept, Left(self._distances_of(chosen.values[:, -1]), self._distances_of(best[:, LANES:]))

    def some_left_nearer(self, rows: torch.Tensor, left: Left, limits: torch.Tensor) -> torch.Tensor:
        """Return for some points whether one that was left out is nearer than a limit, in squared distance."""
        limits = limits / self._unit**2
        nearer = left.next_best < limits
        row, lane = torch.nonzero(left.second_of_lane < limits[:, None], as_tuple=True)
        # A table of the rows of every lane, as wide as the longest of them.
        lane, order = lane.sort(stable=True)
        sizes = torch.bincount(lane, minlength=LANES)
        place = torch.arange(len(lane), device=lane.device) - (sizes.cumsum(0) - sizes)[lane]
        table = torch.full((LANES, max(int(sizes.max()), 1)), -1, device=lane.device)
        table[lane, place] = row[order]
        n_tiles = self._by_lane.shape[2]
        lanes_at_once = max(1, _TABLE_BYTES // (4 * table.shape[1] * n_tiles))
        rows_at_once = max(1, _TABLE_BYTES // (4 * lanes_at_once * n_tiles))
        for lanes in torch.arange(LANES, device=lane.device).split(lanes_at_once):
            for part in table[lanes].split(rows_at_once, dim=1):
                nearer[part[self._dropped_within(lanes, rows, part, limits) & (part >= 0)]] = True
        return nearer

    def _dropped_within(
        self, lanes: torch.Tensor, rows: torch.Tensor, part: torch.Tensor, limits: torch.Tensor
    ) -> torch.Tensor:
        """Return for a table of rows, one line for each lane, whether the lane has more than two within a limit."""
        chosen = part.clamp(min=0)
        here = rows[chosen]
        # ‖yⱼ‖² − 2xᵢᵀyⱼ < limit − ‖xᵢ‖²
        values = torch.baddbmm(
            self._squares_by_lane[lanes][:, None, :], self._points[here], self._by_lane[lanes], alpha=-2.0
        )
        floor = limits[chosen] - self._squares[here]
        return (values < floor[:, :, None]).sum(dim=2) > 2

    def _distances_of(self, keys: torch.Tensor) -> torch.Tensor:
        return (keys & (-1 << self._low_bits)).view(torch.float32)


class Left(NamedTuple):
    """Squared distances of the best candidate that was not returned, and of the second best of every lane."""

    next_best: torch.Tensor
    second_of_lane: torch.Tensor
