"""
Thousands of samples
====================

How do time and memory grow with the number of samples, and what can you do if there are too many? This example measures
four selectors. An argument sets the largest number of samples: ``python examples/thousands.py 5000``.
"""

from __future__ import annotations

import sys
import tracemalloc
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from ufselect import FSSL, MRSF, KernelFSASL, LaplacianScore
from ufselect.datasets import make_planted_clusters

LARGEST = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
SIZES = [n for n in (1000, 2000, 5000, 10_000, 20_000) if n <= LARGEST]

# %%
# Data
# ----
# There are eight clusters, which differ in 40 of 200 columns and are not widely separated. All sizes are samples of the
# same clusters.

X, _, informative = make_planted_clusters(LARGEST, 8, 40, 160, separation=1.0, random_state=0)
print(f"{X.shape[0]:,} × {X.shape[1]} numbers, {X.nbytes / 1e6:.0f} MB")

# %%
# Four selectors
# --------------
# LaplacianScore and FSSL search neighbours among all pairs, so twice as many samples take up to four times as long.
# MRSF uses a kernel of all pairs up to 3000 samples and 1000 landmarks above; from there on it is linear in n.
# KernelFSASL searches neighbours in a few dimensions, once an iteration.

SELECTORS: dict[str, BaseEstimator] = {
    "LaplacianScore": LaplacianScore(40),
    "FSSL": FSSL(40, n_clusters=8),
    "MRSF": MRSF(40, n_clusters=8),
    "KernelFSASL": KernelFSASL(40),
}


def cost(selector: BaseEstimator, n: int) -> tuple[float, float, int]:
    """Return seconds, megabytes in addition to the data, and the number of informative columns among the 40."""
    tracemalloc.start()
    start = perf_counter()
    selector.fit(X[:n])
    seconds, (_, peak) = perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak / 1e6, int(informative[selector.get_support()].sum())


for selector in SELECTORS.values():
    clone(selector).fit(X[:600])  # compile before measuring
with threadpool_limits(1):
    costs = {name: {n: cost(SELECTORS[name], n) for n in SIZES} for name in SELECTORS}

print(f"{'':16s}{'samples':>9s}{'seconds':>9s}{'MB':>7s}{'informative':>14s}")
for name, rows in costs.items():
    for n, (seconds, megabytes, found) in rows.items():
        print(f"{name:16s}{n:9,}{seconds:9.2f}{megabytes:7.0f}{found:14d}")

# %%
# No array of all pairs is kept in memory. MRSF's landmarks need arrays of n × 1000; the others need a few times the
# memory of the data. Times are for one core; ``n_jobs`` distributes the neighbour search.

figures = [plt.subplots(figsize=(6, 4), layout="constrained") for _ in range(2)]
(_, time), (_, memory) = figures
for name, rows in costs.items():
    sizes, values = list(rows), np.array(list(rows.values()))
    time.plot(sizes, values[:, 0], "o-", label=name)
    memory.plot(sizes, values[:, 1], "o-", label=name)
time.set(xscale="log", yscale="log", xlabel="samples", ylabel="seconds", title="Time")
memory.set(xscale="log", xlabel="samples", ylabel="MB in addition to the data", title="Peak memory")
time.legend(frameon=False)

# %%
# A tenth of the samples
# ----------------------
# Far fewer samples are enough to find the informative columns. We fit KernelFSASL to a random tenth and compare its
# columns with those of MRSF on all samples:

few = np.sort(np.random.default_rng(0).choice(LARGEST, LARGEST // 10, replace=False))
start = perf_counter()
by_a_tenth = KernelFSASL(40).fit(X[few])
seconds = perf_counter() - start
by_all = SELECTORS["MRSF"]  # as last fitted
common = int((by_a_tenth.get_support() & by_all.get_support()).sum())
found = informative[by_a_tenth.get_support()].sum()
print(f"KernelFSASL on {len(few):,} samples: {seconds:.1f} s, {found} of 40 columns informative")
print(f"in common with MRSF on {SIZES[-1]:,}: {common} of 40")

# %%
# Conclusions
# -----------
# Up to a few thousand samples, use any of them. Above, LaplacianScore and FSSL cost little more than one neighbour
# search, and MRSF not even that. KernelFSASL takes two to four iterations of about the same cost. If that takes too
# long, fit it to a part of the samples and check the columns on another part. Every method finds the informative
# columns of these data, so the example compares times, not accuracy.
plt.show()
