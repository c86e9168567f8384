"""
Marker genes of generated cells
===============================

Which genes distinguish cell types if the types are unknown? The counts are generated, so the true markers are known and
the selections can be checked. An argument sets the number of data sets: ``python examples/genes.py 1``.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from ufselect import FSSL, SPFS, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.preprocessing import LogNormalize

# %%
# The generator
# -------------
# The mean expression of a gene is log-normal over genes. The ten markers of a cell type are expressed three to eight
# times as much in its cells; all other genes are the same in all cells. Totals differ between cells (library size),
# counts are negative binomial with variance μ + μ²/2, and some counts are set to zero, low ones more often (dropout).
# The types differ in size.


class Cells(NamedTuple):
    """Counts of cells by genes, the type of each cell, and which genes are markers of any type."""

    counts: sp.csr_array
    types: np.ndarray
    markers: np.ndarray


def make_cells(
    n_cells: int = 600, n_genes: int = 1000, n_types: int = 6, markers_of_a_type: int = 10, *, seed: int
) -> Cells:
    """Generate cells of several types, each with its own markers."""
    rng = np.random.default_rng(seed)
    types = rng.choice(n_types, n_cells, p=rng.dirichlet(np.full(n_types, 5.0)))
    level = rng.lognormal(-1.0, 1.3, n_genes)
    markers = rng.permutation(n_genes)[: n_types * markers_of_a_type].reshape(n_types, -1)
    profile = np.tile(level, (n_types, 1))
    for kind, genes in enumerate(markers):
        profile[kind, genes] *= rng.uniform(3.0, 8.0, len(genes))
    mean = profile[types] * rng.lognormal(0.0, 0.4, (n_cells, 1))
    counts = rng.poisson(rng.gamma(2.0, mean / 2.0))
    counts[rng.random(mean.shape) < 0.3 * np.exp(-mean)] = 0
    return Cells(sp.csr_array(counts), types, np.isin(np.arange(n_genes), markers))


# %%
# The usual preprocessing of counts: drop genes that are seen in fewer than ten cells, scale every cell to the same
# total, and replace x by log(1 + x); :class:`~ufselect.preprocessing.LogNormalize` does the last two. Zeros stay zeros,
# so the data stay sparse; the selectors centre and scale them implicitly.


def prepared(cells: Cells) -> tuple[sp.csr_array, np.ndarray]:
    """Return log-normalised values of the genes that are seen often enough, and which of them are markers."""
    seen = (cells.counts > 0).sum(axis=0) >= 10
    return LogNormalize().fit_transform(cells.counts[:, seen]), cells.markers[seen]


cells = make_cells(seed=0)
X, is_marker = prepared(cells)
print(f"{X.shape[0]} cells, {X.shape[1]} genes, {is_marker.sum()} markers, {1 - X.nnz / np.prod(X.shape):.0%} zeros")
print("cells of each type:", np.bincount(cells.types))

# %%
# Select sixty genes
# ------------------
# FSSL and SPFS are given the number of types; KernelFSASL is given nothing. Three data sets rule out luck. How many of
# the selected genes are markers? And how well does k-means on them find the types (adjusted Rand index, 1 is perfect)?

N_GENES = 60
N_DATA_SETS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
SELECTORS: dict[str, BaseEstimator] = {
    "MaxVariance": MaxVariance(N_GENES),
    "LaplacianScore": LaplacianScore(N_GENES),
    "FSSL": FSSL(N_GENES, n_clusters=6),
    "SPFS": SPFS(N_GENES, n_clusters=6),
    "KernelFSASL, unit variance": KernelFSASL(N_GENES, scale="standard"),
    "KernelFSASL": KernelFSASL(N_GENES),
}


def share_and_index(selector: BaseEstimator, seed: int) -> tuple[float, float]:
    """Return the share of markers among the selected genes, and how well k-means on them finds the types."""
    cells = make_cells(seed=seed)
    X, is_marker = prepared(cells)
    selected = selector.fit_transform(X).toarray()
    found = KMeans(6, n_init=10, random_state=0).fit_predict(selected)
    return is_marker[selector.get_support()].mean(), adjusted_rand_score(cells.types, found)


results = {
    name: np.array([share_and_index(selector, seed) for seed in range(N_DATA_SETS)])
    for name, selector in SELECTORS.items()
}
print(f"{'one column per data set':32s}{'markers among the 60':>28s}{'adjusted Rand index':>28s}")
for name, values in results.items():
    shares, indices = ("".join(f"{value:8.{digits}}" for value in values[:, j]) for j, digits in ((0, "0%"), (1, "2f")))
    print(f"{name:32s}{shares:>28s}{indices:>28s}")

# %%
# By chance, six of a hundred genes would be markers. Most genes contain no information about the types, so distances
# between cells are mostly noise, and so are neighbours in all genes. KernelFSASL starts from the neighbours in thirty
# principal components, learns them again from the genes found so far, and does not amplify genes that hardly vary
# (``scale="moderate"``). SPFS uses the similarity of all pairs of cells. The Laplacian score and FSSL rely on a graph
# of neighbours in all genes, and a large variance is mostly that of a highly expressed gene.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
titles = ("markers among the selected genes", "adjusted Rand index of k-means")
for axis, title, j in zip(axes, titles, (0, 1), strict=True):
    for row, values in enumerate(results.values()):
        axis.plot(values[:, j], np.full(len(values), row), "o", color="C0" if row < 4 else "C3")
        axis.plot(values[:, j].mean(), row, "|", ms=18, color="black")
    axis.set(title=title, xlim=(-0.05, 1.05), yticks=range(len(results)), yticklabels=list(results))
    axis.grid(axis="x", alpha=0.3)
axes[0].axvline(is_marker.mean(), color="grey", lw=1, ls="--")
axes[0].invert_yaxis()
figure.suptitle("Data sets (dots) and their mean (bar); dashed: chance")

# sphinx_gallery_thumbnail_number = 2

# %%
# What the markers look like
# --------------------------
# The plot shows the sixty genes of the last selector on the first data set, best first, with cells sorted by true type.

selector = SELECTORS["KernelFSASL"].fit(X)
best = selector.top_features()
order = np.argsort(cells.types, kind="stable")
figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
image = axis.imshow(X[order][:, best].toarray(), aspect="auto", cmap="magma_r", interpolation="nearest")
axis.set_yticks(np.cumsum(np.bincount(cells.types))[:-1], [])
axis.set_xticks(np.flatnonzero(is_marker[best]), ["•"] * int(is_marker[best].sum()))
axis.set(xlabel="selected genes, best first; • is a true marker", ylabel="cells by type")
figure.colorbar(image, label="log expression")
plt.show()
