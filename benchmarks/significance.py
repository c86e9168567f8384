"""Level, false discoveries and power of the test of columns; writes results/significance/.

python benchmarks/significance.py level --jobs 16      # 2,000 sets without structure
python benchmarks/significance.py power --jobs 16      # planted data of six kinds, and cells
python benchmarks/significance.py noise --jobs 16      # selections among loud noise, with the test and without
python benchmarks/significance.py sets --jobs 16 --data FOLDER   # the sets (NAME.npz) of a folder
python benchmarks/significance.py tables --jobs 2      # real tables, as they come and with shuffled columns
python benchmarks/significance_report.py               # tables and the figure, from what these wrote
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from significance_of_real_data import results_of_set, results_of_table, set_jobs, table_jobs
from sklearn import datasets
from threadpoolctl import threadpool_limits

from ufselect import KernelFSASL
from ufselect.preprocessing import LogNormalize
from ufselect.significance import column_significance

OUT = Path(__file__).parents[1] / "results" / "significance"

LEVELS = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *np.linspace(0.1, 1.0, 10).round(1)]
"""At which p-values are counted."""

# Sizes of sets without structure, and how many sets of each kind have them.
SIZES = {(30, 10): 80, (30, 1000): 80, (100, 40): 80, (100, 300): 60, (300, 1000): 16, (1000, 200): 14, (3000, 60): 4}
LARGE_SIZES = {(300, 10_000): 2, (3000, 2000): 2}


def gaussian(rng: np.random.Generator, n: int, d: int) -> Any:
    """Normal columns."""
    return rng.standard_normal((n, d))


def heavy_tails(rng: np.random.Generator, n: int, d: int) -> Any:
    """Student's t with two degrees of freedom, on scales from 0.1 to 10."""
    return rng.standard_t(2, (n, d)) * 10.0 ** rng.uniform(-1, 1, d)


def counts_of_varying_depth(rng: np.random.Generator, n: int, d: int) -> Any:
    """Poisson counts of cells with varying depth, log-normalised and sparse."""
    rates = rng.lognormal(-2.5, 1.0, d)
    depth = rng.lognormal(0.0, 0.4, n)
    counts = rng.poisson(np.outer(depth, rates)).astype(np.float64)
    return LogNormalize().fit_transform(sp.csr_array(counts))


def rare_events(rng: np.random.Generator, n: int, d: int) -> Any:
    """Binary columns, 1 to 10 % of which are ones."""
    return (rng.random((n, d)) < rng.uniform(0.01, 0.1, d)).astype(np.float64)


def integers(rng: np.random.Generator, n: int, d: int) -> Any:
    """Answers from 1 to 2 … 7."""
    return np.column_stack([rng.integers(1, high, n) for high in rng.integers(3, 9, d)]).astype(np.float64)


def shuffled_real_table(rng: np.random.Generator, n: int, d: int) -> Any:
    """Columns of real tables, each drawn n times at random: wines, tumours, diabetics, pixels of digits."""
    sources = [datasets.load_wine, datasets.load_breast_cancer, datasets.load_diabetes, datasets.load_digits]
    pools = [column for load in sources for column in load(return_X_y=True)[0].T]
    return np.column_stack([rng.choice(pools[index], n) for index in rng.integers(len(pools), size=d)])


KINDS: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "normal": gaussian,
    "heavy tails": heavy_tails,
    "counts, depth varies": counts_of_varying_depth,
    "rare binary": rare_events,
    "integers": integers,
    "real, shuffled": shuffled_real_table,
}


def planted(rng: np.random.Generator, n: int, kind: str) -> tuple[Any, np.ndarray]:
    """90 columns that tell six clusters apart among 1,000 of noise."""
    d, useful = 1090, np.arange(1090) < 90
    cluster = rng.integers(6, size=n)
    shift = np.zeros((6, d))
    shift[:, :90] = 1.5 * rng.standard_normal((6, 90))
    latent = shift[cluster] + rng.standard_normal((n, d))
    if kind == "heavy tails":
        return np.sinh(latent) * 10.0 ** rng.uniform(-1, 1, d), useful
    if kind == "integers":
        return np.clip(np.round(2.0 * latent), -6, 6), useful
    if kind == "binary":
        return (latent > 0.0).astype(np.float64), useful
    if kind == "unlike units":
        return latent * 10.0 ** rng.uniform(-2, 2, d), useful
    if kind == "counts":
        rates = np.exp(0.5 + 0.6 * shift[cluster]) * rng.lognormal(0.0, 0.3, (n, 1))
        return LogNormalize().fit_transform(sp.csr_array(rng.poisson(rates).astype(np.float64))), useful
    return latent, useful


PLANTED = ("normal", "heavy tails", "integers", "binary", "unlike units", "counts")


def cells(rng: np.random.Generator, filled: float) -> tuple[Any, np.ndarray]:
    """3,000 cells × 5,000 genes, eight groups with 20 markers of fold 8 each, depth that varies."""
    n, d, groups, markers, fold = 3000, 5000, 8, 20, 8.0
    rates = rng.lognormal(0.0, 1.0, d)
    depth = rng.lognormal(0.0, 0.4, n)
    low, high = 1e-6, 10.0
    for _ in range(40):  # the scale at which this share of the values is not zero
        scale = np.sqrt(low * high)
        share = np.mean(1.0 - np.exp(-scale * np.outer(depth[:200], rates)))
        low, high = (scale, high) if share < filled else (low, scale)
    group = rng.integers(groups, size=n)
    counts = np.empty((n, d))
    for number in range(groups):
        mine = rates * np.where(np.arange(d) // markers == number, fold, 1.0)
        counts[group == number] = rng.poisson(scale * np.outer(depth[group == number], mine))
    return LogNormalize().fit_transform(sp.csr_array(counts)), np.arange(d) < groups * markers


def level_of(kind: str, n: int, d: int, seed: int) -> dict[str, Any]:
    """Test one set without structure."""
    with threadpool_limits(1):
        start = time.perf_counter()
        found = column_significance(KINDS[kind](np.random.default_rng(seed), n, d), random_state=seed)
    p = np.sort(found.p_values[found.tested])
    return {"kind": kind, "n": n, "d": d, "seed": seed, "n_tested": found.n_tested, "n_found": found.n_found,
            "n_at_most": np.searchsorted(p, LEVELS, side="right").tolist(),
            "seconds": time.perf_counter() - start}  # fmt: skip


def power_of(kind: str, n: int, seed: int) -> dict[str, Any]:
    """Test one set with planted columns."""
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):
        X, useful = cells(rng, n / 100.0) if kind == "cells" else planted(rng, n, kind)
        start = time.perf_counter()
        result = column_significance(X, random_state=seed)
    found = result.found & result.tested
    false = int(np.count_nonzero(found & ~useful))
    return {"kind": kind, "n": n, "seed": seed, "n_found": int(found.sum()), "n_false": false,
            "false_share": false / max(int(found.sum()), 1), "power": float(found[useful].mean()),
            "seconds": time.perf_counter() - start}  # fmt: skip


def level_jobs() -> list[tuple[Any, ...]]:
    """Arguments of all sets without structure, the largest first."""
    sizes = {**SIZES, **LARGE_SIZES}
    jobs = [(kind, n, d, seed) for (n, d), count in sizes.items() for kind in KINDS for seed in range(count)]
    return sorted(jobs, key=lambda job: -job[1] * job[2])


def power_jobs() -> list[tuple[Any, ...]]:
    """Arguments of all planted sets; the "n" of cells is the share of values that are not zero, in percent."""
    jobs: list[tuple[Any, ...]] = [("cells", filled, seed) for filled in (8, 5) for seed in range(50)]
    return jobs + [(kind, n, seed) for n in (400, 100) for kind in PLANTED for seed in range(50)]


def run(function: Callable[..., dict[str, Any]], jobs: Iterable[tuple[Any, ...]], n_jobs: int, out: Path) -> None:
    """Run all jobs in processes; what is done is written even if time runs out."""
    done = 0
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool, out.open("w") as lines:
        for future in as_completed([pool.submit(function, *job) for job in jobs]):
            lines.write(json.dumps(future.result()) + "\n")
            lines.flush()
            done += 1
            if done % 100 == 0:
                print(done, file=sys.stderr, flush=True)


def noisy(rng: np.random.Generator, kind: str) -> Any:
    """Three clusters of 300 samples in ten columns of standard deviation 2, and louder columns of noise behind them."""
    n = 300
    useful = rng.standard_normal((3, 10))[rng.integers(3, size=n)] + 0.5 * rng.standard_normal((n, 10))
    useful *= 2.0 / useful.std(axis=0)
    if kind == "twenty lognormal":
        noise = rng.lognormal(0.0, 1.5, (n, 20))
        return np.hstack([useful, 9.0 * noise / noise.std(axis=0)])
    if kind == "forty that are 98 % zero":
        return np.hstack([useful, 40.0 * rng.random((n, 40)) * (rng.random((n, 40)) < 0.02)])
    if kind == "forty t with 2 degrees of freedom":
        return np.hstack([useful, 2.0 * rng.standard_t(2, (n, 40))])
    return np.hstack([useful, 3.0 * rng.standard_normal((n, 40))])


NOISES = ("twenty lognormal", "forty that are 98 % zero", "forty t with 2 degrees of freedom", "forty normal")


def noise_of(kind: str, seed: int) -> dict[str, Any]:
    """Select ten columns beside noise, with the test and without."""
    X = noisy(np.random.default_rng(seed), kind)
    useful = {fdr: KernelFSASL(10, fdr=fdr).fit(X).get_support()[:10].mean() for fdr in (None, 0.05)}
    return {"kind": kind, "seed": seed, "useful": float(useful[None]), "useful_among_found": float(useful[0.05])}


def noise_jobs() -> list[tuple[Any, ...]]:
    """Arguments of all selections beside noise."""
    return [(kind, seed) for kind in NOISES for seed in range(25)]


def main() -> None:
    """Run the part that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("level", "power", "noise", "sets", "tables"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="folders with NAME.npz, for sets")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    function, jobs = {
        "level": lambda: (level_of, level_jobs()),
        "power": lambda: (power_of, power_jobs()),
        "noise": lambda: (noise_of, noise_jobs()),
        "sets": lambda: (results_of_set, set_jobs(options.data)),
        "tables": lambda: (results_of_table, table_jobs()),
    }[options.part]()
    run(function, jobs, options.jobs, options.out / f"{options.part}.jsonl")


if __name__ == "__main__":
    main()
