"""KernelFSASL on a GPU: seconds of a fit, the exactness of its neighbours, and the same on the processor.

``run.py --only gpu`` calls it. Data are on the GPU, and kernels are compiled before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import torch
from common import number, table

from ufselect import KernelFSASL
from ufselect.graphs.neighbors_cuda import Neighbors, nearest_others

SIZES = [(20_000, 500), (131_072, 1000), (1_048_576, 1000)]
MOST_SECONDS = {(131_072, 1000): 1.0, (1_048_576, 1000): 10.0}
N_COLUMNS, N_CLUSTERS, K, CHECKED = 50, 20, 16, 2000


def clusters(n: int, d: int) -> torch.Tensor:
    """Gaussian clusters that differ in the first 50 columns, on the GPU."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn(n, d, device="cuda", generator=generator)
    centres = 3.0 * torch.randn(N_CLUSTERS, N_COLUMNS, device="cuda", generator=generator)
    X[:, :N_COLUMNS] += centres[torch.randint(0, N_CLUSTERS, (n,), device="cuda", generator=generator)]
    return X


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """The time of a call and of everything it starts on the GPU, and its result."""
    torch.cuda.synchronize()
    start = perf_counter()
    result = call()
    torch.cuda.synchronize()
    return perf_counter() - start, result


def whole_fits() -> str:
    """A table of fits."""
    rows = []
    for n, d in SIZES:
        X = clusters(n, d)
        KernelFSASL(N_COLUMNS).fit(X)
        torch.cuda.reset_peak_memory_stats()
        best = min((seconds_of(lambda X=X: KernelFSASL(N_COLUMNS).fit(X)) for _ in range(3)), key=lambda run: run[0])
        limit = MOST_SECONDS.get((n, d))
        rows.append(
            [
                f"{n:,} × {d:,}",
                f"**{number(best[0])}**",
                "" if limit is None else f"≤ {limit:.0f}",
                number(torch.cuda.max_memory_allocated() / 1e9),
                f"{int((best[1].top_features() < N_COLUMNS).sum())} of {N_COLUMNS}",
            ]
        )
    return table(["size", "whole fit, s", "required", "memory, GB", "informative columns found"], rows)


def wrong_rows(points: torch.Tensor, found: Neighbors) -> int:
    """The number of random rows whose neighbours differ from those by differences in float64."""
    rows = torch.randperm(len(points), device="cuda")[:CHECKED]
    wrong = 0
    for part in rows.split(100):
        distances = torch.cat(
            [
                (points[part].double()[:, None, :] - block.double()).square().sum(dim=2)
                for block in points.split(20_000)
            ],
            dim=1,
        )
        distances.scatter_(1, part[:, None], torch.inf)
        exact = distances.topk(found.index.shape[1], dim=1, largest=False).indices
        wrong += int((exact.sort(dim=1).values != found.index[part].sort(dim=1).values).any(dim=1).sum())
    return wrong


def by_topk(points: torch.Tensor) -> torch.Tensor:
    """The same neighbours by products and ``torch.topk``."""
    squares = points.square().sum(dim=1)
    found = []
    for rows in torch.arange(len(points), device="cuda").split(max(256, 2**30 // len(points))):
        values = torch.addmm(squares, points[rows], points.T, alpha=-2.0)
        values.scatter_(1, rows[:, None], torch.inf)
        found.append(values.topk(K, dim=1, largest=False).indices)
    return torch.cat(found)


def neighbours() -> str:
    """A table of neighbour searches."""
    rows = []
    for n in (131_072, 1_048_576):
        points = clusters(n, 60)
        points -= points.mean(dim=0)
        nearest_others(points, K)
        seconds, found = min((seconds_of(lambda p=points: nearest_others(p, K)) for _ in range(3)), key=lambda r: r[0])
        other, _ = seconds_of(lambda p=points: by_topk(p))
        # Three products of float16 halves in 64 dimensions for every pair.
        rate = 3 * 2 * 64 * n**2 / seconds / 1e12
        rows.append(
            [
                f"{n:,}",
                number(seconds),
                number(rate),
                number(other),
                f"**{number(other / seconds)}**",
                wrong_rows(points, found),
            ]
        )
    return table(
        [
            f"{K} neighbours in 60 dimensions",
            "fused, s",
            "TFLOP/s",
            "`torch.topk`, s",
            "ratio",
            f"wrong rows of {CHECKED:,}",
        ],
        rows,
    )


def beside_processor(n: int = 131_072, d: int = 1000) -> str:
    """The same fit by NumPy on all cores."""
    X = clusters(n, d)
    KernelFSASL(N_COLUMNS).fit(X)
    on_gpu, gpu = seconds_of(lambda: KernelFSASL(N_COLUMNS).fit(X))
    values = X.cpu().numpy()
    KernelFSASL(N_COLUMNS, n_jobs=-1).fit(values[:6000])
    start = perf_counter()
    cpu = KernelFSASL(N_COLUMNS, n_jobs=-1).fit(values)
    on_cpu = perf_counter() - start
    common = len({*cpu.top_features()} & {*gpu.top_features()})
    difference = float(np.abs(cpu.scores_ - gpu.scores_).max() / cpu.scores_.max())
    return table(
        [
            f"{n:,} × {d:,}",
            "processor, s",
            "GPU, s",
            "ratio",
            f"in common of {N_COLUMNS}",
            "largest difference of scores",
        ],
        [["all cores", number(on_cpu), number(on_gpu), number(on_cpu / on_gpu), common, f"{difference:.0e}"]],
    )


def on_gpu() -> str:
    """All tables, and the device."""
    device = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}."
    return "\n\n".join([whole_fits(), neighbours(), beside_processor(), device])
