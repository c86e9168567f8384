"""The steps of a fit on a GPU beside what the device could do at best: operations and bytes.

``python benchmarks/gpu.py`` calls it. A step moves at least its operands and its result through the memory of the
device once; what caches save beyond that, or gathers add to it, is not counted. Rates are those of the data sheet of an
H200: 4.8 TB/s, 67 TFLOP/s in float32, 989 TFLOP/s of float16 products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch
import ufselect.gpu.fitting as fitting
import ufselect.gpu.graphs as graphs
from report import number, table
from ufselect.gpu.columns import DeviceColumns
from ufselect.gpu.graphs import NeighborLaplacian

BYTES_A_SECOND, FLOAT32, FLOAT16 = 4.8e12, 67e12, 989e12


class Work:
    """Seconds, calls, operations and bytes of every kind of step."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.operations, self.bytes = Counter(), Counter(), Counter(), Counter()

    def add(self, step: str, seconds: float, operations: float, moved: float) -> None:
        """Count one call."""
        self.seconds[step] += seconds
        self.calls[step] += 1
        self.operations[step] += operations
        self.bytes[step] += moved


def steps_beside_limits(fit: Callable[[], Any]) -> str:
    """A table of the steps of a fit, after a fit that compiles everything."""
    work = Work()
    with counted(work):
        fit()
    rates = {"neighbours": FLOAT16}
    rows = []
    for step, seconds in work.seconds.items():
        by_operations = work.operations[step] / rates.get(step, FLOAT32)
        by_bytes = work.bytes[step] / BYTES_A_SECOND
        rows.append(
            [
                step,
                work.calls[step],
                number(work.operations[step] / 1e12),
                number(work.bytes[step] / 1e9),
                number(seconds),
                number(max(by_operations, by_bytes)),
                "operations" if by_operations > by_bytes else "bytes",
            ]
        )
    return table(["step", "calls", "10¹² operations", "GB moved", "seconds", "at best, s", "limited by"], rows)


@contextmanager
def counted(work: Work) -> Iterator[None]:
    """Replace the steps of a fit by the same that are timed and counted, each until the GPU is done with it."""
    replaced = [
        (DeviceColumns, "gram", "XᵀX", lambda X: (2.0 * X.shape[0] * X.shape[1] ** 2, _size(X))),
        (DeviceColumns, "__matmul__", "products with X", _product),
        (DeviceColumns, "transposed_matmul", "products with X", _product),
        (NeighborLaplacian, "__matmul__", "sparse products", _sparse_product),
        (NeighborLaplacian, "combination", "sparse products", _sparse_product),
        (graphs, "nearest_others", "neighbours", _search),
        (graphs, "_orthonormal", "bases of eigenvectors", _basis),
        (fitting, "column_moments", "moments", lambda values, _: (4.0 * values.numel(), 2.0 * values.nbytes)),
        (fitting, "first_equal_columns", "copies", lambda values, _: (2.0 * values.numel(), 1.0 * values.nbytes)),
    ]
    originals = [getattr(owner, name) for owner, name, _, _ in replaced]
    for (owner, name, step, cost), original in zip(replaced, originals, strict=True):
        setattr(owner, name, _timed(work, step, original, cost))
    try:
        yield
    finally:
        for (owner, name, _, _), original in zip(replaced, originals, strict=True):
            setattr(owner, name, original)


def _timed(work: Work, step: str, original: Callable[..., Any], cost: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        torch.cuda.synchronize()
        start = perf_counter()
        result = original(*arguments, **options)
        torch.cuda.synchronize()
        work.add(step, perf_counter() - start, *cost(*arguments))
        return result

    return call


def _size(X: DeviceColumns) -> float:
    return 4.0 * X.shape[0] * X.shape[1]


def _product(X: DeviceColumns, B: Any) -> tuple[float, float]:
    n, d = X.shape
    return 2.0 * n * d * B.shape[1], _size(X) + 4.0 * n * B.shape[1]


def _sparse_product(L: NeighborLaplacian, B: torch.Tensor, *_: Any) -> tuple[float, float]:
    stored = L._matrix.values().numel()
    return 2.0 * stored * B.shape[1], 12.0 * stored + 3.0 * B.nbytes


def _search(points: torch.Tensor, count: int) -> tuple[float, float]:
    # Three products of float16 halves in a multiple of 16 dimensions for every pair.
    n, dimensions = len(points), 16 * -(-points.shape[1] // 16)
    return 3.0 * 2.0 * dimensions * n**2, points.nbytes + 12.0 * n * count


def _basis(block: torch.Tensor) -> tuple[float, float]:
    return 8.0 * block.numel() * block.shape[1], 6.0 * block.nbytes
