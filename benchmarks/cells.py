"""``select_genes`` on many generated cells: seconds, peak memory, and how many of the selected genes are markers."""

from __future__ import annotations

from time import perf_counter, process_time

import numpy as np
import pandas as pd
import scipy.sparse as sp
from anndata import AnnData
from common import number, say, table
from numpy.typing import NDArray

from ufselect._utils.memory import peak_memory, status_bytes
from ufselect.anndata import select_genes

FILLED = 0.05
N_TYPES, MARKERS_OF_A_TYPE = 12, 20
BLOCK = 2000  # cells generated at a time


def make_cells(n_cells: int, n_genes: int, seed: int = 0) -> AnnData:
    """Counts of twelve types of cells as float32, 5 % of them not zero; var tells which genes are markers of a type."""
    rng = np.random.default_rng(seed)
    types = rng.integers(N_TYPES, size=n_cells)
    markers = rng.permutation(n_genes)[: N_TYPES * MARKERS_OF_A_TYPE].reshape(N_TYPES, -1)
    shares = _shares_of_genes(n_genes, markers, rng)
    depths = rng.poisson(_depth(shares) * rng.lognormal(0.0, 0.3, n_cells))
    # The molecules of a cell of type t are the places of random numbers between t and t + 1 among these.
    ends = (np.cumsum(shares, axis=1) * (1.0 - 1e-9) + np.arange(N_TYPES)[:, None]).ravel()
    blocks = []
    for start in range(0, n_cells, BLOCK):
        cells = np.repeat(np.arange(len(types[start : start + BLOCK])), depths[start : start + BLOCK])
        kinds = types[start + cells]
        genes = np.searchsorted(ends, kinds + rng.random(len(cells)), side="right") - kinds * n_genes
        ones = np.ones(len(cells), dtype=np.float32)
        blocks.append(sp.csr_matrix((ones, (cells, genes)), shape=(len(types[start : start + BLOCK]), n_genes)))
    obs = pd.DataFrame({"type": pd.Categorical(types)}, index=[f"cell {row}" for row in range(n_cells)])
    is_marker = np.isin(np.arange(n_genes), markers)
    var = pd.DataFrame({"marker": is_marker}, index=[f"gene {column}" for column in range(n_genes)])
    return AnnData(sp.vstack(blocks, format="csr"), obs, var)


def _shares_of_genes(n_genes: int, markers: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    """The share of every gene in the molecules of each type; markers have four to ten times as many in theirs."""
    rates = np.tile(rng.lognormal(0.0, 1.5, n_genes), (N_TYPES, 1))
    for kind, genes in enumerate(markers):
        rates[kind, genes] = np.maximum(rates[kind, genes], 1.0) * rng.uniform(4.0, 10.0, len(genes))
    return rates / rates.sum(axis=1, keepdims=True)


def _depth(shares: NDArray[np.float64]) -> float:
    """The number of molecules of a cell that leaves the wanted share of values above zero, by bisection."""
    low, high = 1.0, 1e7
    while high > 1.001 * low:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if np.mean(1.0 - np.exp(-middle * shares)) < FILLED else (low, middle)
    return low


def selected_genes(sizes: list[tuple[int, int]], n_jobs: int) -> str:
    """The table of some sizes, the largest last, after a small fit that compiles."""
    _row(300, 400, n_jobs)
    head = ["cells × genes", "filled", "seconds", "CPU seconds", "GB before", "peak GB"]
    return table([*head, "selected", "markers", "verdict"], [_row(*size, n_jobs) for size in sizes])


def _row(n_cells: int, n_genes: int, n_jobs: int) -> list[str]:
    say(f"cells: generate {n_cells:,} × {n_genes:,}")
    adata = make_cells(n_cells, n_genes)
    filled, before = adata.X.nnz / n_cells / n_genes, status_bytes("VmRSS") or 0
    say(f"cells: select, {100 * filled:.1f} % filled, {before / 1e9:.1f} GB in memory")
    start, cpu = perf_counter(), process_time()
    select_genes(adata, n_jobs=n_jobs, verbose=1)
    seconds, cpu = perf_counter() - start, process_time() - cpu
    chosen = adata.var["ufselect_selected"]
    return [
        f"{n_cells:,} × {n_genes:,}",
        f"{100 * filled:.1f} %",
        number(seconds),
        number(cpu),
        f"{before / 1e9:.1f}",
        f"{(peak_memory() or 0) / 1e9:.1f}",
        f"{chosen.sum():,}",
        f"{(chosen & adata.var['marker']).sum():,}",
        adata.uns["ufselect"]["test"]["verdict"],
    ]
