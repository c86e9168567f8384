"""
Genes of real cells, beside scanpy's highly variable genes
==========================================================

``select_genes`` works as scanpy's functions do: it takes an AnnData object and annotates its genes. This example
selects a small panel from blood cells whose types are known, and from generated counts whose marker genes are known,
and compares it with scanpy's highly variable genes. An argument sets the number of generated data sets:
``python examples/anndata_genes.py 1``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc
import scipy.sparse as sp
from anndata import AnnData
from sklearn.cluster import KMeans

from ufselect.anndata import select_genes
from ufselect.metrics import agreement_of_runs

# %%
# Blood cells
# -----------
# scanpy brings 700 blood cells of ten types with 765 genes. Their X is scaled to unit variance and clipped, so that
# rare genes count as much as others; the logarithms of normalised counts are in ``raw``. We use those. They are not
# whole numbers, so they are taken as they are. The labels in ``obs["bulk_labels"]`` are used only at the end.

cells = sc.datasets.pbmc68k_reduced().raw.to_adata()
select_genes(cells)

record = cells.uns["ufselect"]
print(f"{record['n_selected']} of {cells.n_vars} genes, taken as counts: {record['counts']}")
print(record["test"]["verdict"])
print(cells.var.sort_values("ufselect_rank").head(6)[["ufselect_rank", "ufselect_score", "ufselect_q"]])

# %%
# Which gene marks which type
# ---------------------------
# Highly variable genes are ranked one by one, so several of them can say the same, and some types go without. A panel
# is chosen so that its genes together carry the structure of the cells. Every row of the plot is a cell type, every
# column a gene. The colour is its mean among the types, scaled to [0, 1]; the size is the share of cells in which it
# is found.

FLAVORS = ("seurat", "cell_ranger")


def highly_variable(adata: AnnData, flavor: str, n_genes: int) -> list[str]:
    """Return the names of as many highly variable genes."""
    found = sc.pp.highly_variable_genes(adata, n_top_genes=n_genes, flavor=flavor, inplace=False)
    return list(adata.var_names[found["highly_variable"]])


def by_type(adata: AnnData, genes: Sequence[str]) -> list[str]:
    """Return the genes in the order of the types in which they are expressed most."""
    means = sc.get.obs_df(adata, [*genes, "bulk_labels"]).groupby("bulk_labels", observed=True).mean()
    return sorted(genes, key=lambda gene: (means.index.get_loc(means[gene].idxmax()), -means[gene].max()))


n_selected = record["n_selected"]
panel = list(cells.var_names[cells.var["ufselect_selected"]])
panels = {
    f"select_genes: {n_selected} genes": panel,
    f"highly variable genes (seurat): the first {n_selected}": highly_variable(cells, "seurat", n_selected),
}
figure, axes = plt.subplots(2, 1, figsize=(10, 7.5))
figure.subplots_adjust(left=0.25, right=0.98, top=1.0, hspace=0.2)
for axis, (title, genes) in zip(axes, panels.items(), strict=True):
    plot = sc.pl.DotPlot(cells, by_type(cells, genes), "bulk_labels", standard_scale="var", ax=axis).style(cmap="Reds")
    plot.make_figure()
    plot.ax_dict["mainplot_ax"].set_title(title)
plt.show()

# %%
# Agreement with the labels
# -------------------------
# We cluster the cells by k-means on the selected genes alone, from ten starts, and compare the clusters with the
# types: ACC is the share of cells in the right cluster, NMI the mutual information, from 0 to 1.

N_STARTS = 10


def agreement(adata: AnnData, genes: Sequence[str], labels: pd.Series) -> tuple[float, float]:
    """Return the mean ACC and NMI of k-means on some genes with the labels."""
    X = sc.get.obs_df(adata, list(genes)).to_numpy()
    runs = [KMeans(labels.nunique(), n_init=1, random_state=seed).fit_predict(X) for seed in range(N_STARTS)]
    found = agreement_of_runs(labels.cat.codes.to_numpy(), np.array(runs))
    return float(found["acc"].mean()), float(found["nmi"].mean())


def selected(adata: AnnData, n_genes: int) -> list[str]:
    """Return the names of as many genes by ``select_genes``."""
    select_genes(adata, n_genes, fdr=None)
    return list(adata.var_names[adata.var["ufselect_selected"]])


rows = []
for count in (n_selected, 50, 100):
    choices = {"select_genes": selected(cells, count)}
    choices |= {f"highly variable, {flavor}": highly_variable(cells, flavor, count) for flavor in FLAVORS}
    rows += [(name, len(genes), *agreement(cells, genes, cells.obs["bulk_labels"])) for name, genes in choices.items()]
rows.append(("all genes", cells.n_vars, *agreement(cells, cells.var_names, cells.obs["bulk_labels"])))
print(pd.DataFrame(rows, columns=["selection", "genes", "ACC", "NMI"]).round(2).to_string(index=False))

# %%
# With few genes the panel agrees best with the types, and its 21 genes come close to all 765. With a hundred genes it
# makes no difference how they are selected: even these 765 are a selection already.
#
# Counts
# ------
# Counts are recognised: each cell is divided by its sum, and logarithms are taken, in a copy. ``X`` stays as it is,
# here a sparse matrix. We generate six cell types with ten marker genes each, which are expressed three to eight
# times as much, and genes of mitochondria, which are to be left out. ``keep`` selects genes in any case, and the
# others complement them.


def make_cells(n_cells: int = 600, n_genes: int = 1000, n_types: int = 6, *, seed: int) -> AnnData:
    """Return negative binomial counts, with the cell types in obs and the true markers in var."""
    rng = np.random.default_rng(seed)
    types = rng.integers(n_types, size=n_cells)
    markers = rng.permutation(n_genes - 13)[: 10 * n_types].reshape(n_types, 10)
    profile = np.tile(rng.lognormal(-1.0, 1.3, n_genes), (n_types, 1))
    for kind, genes in enumerate(markers):
        profile[kind, genes] *= rng.uniform(3.0, 8.0, len(genes))
    mean = profile[types] * rng.lognormal(0.0, 0.4, (n_cells, 1))
    mean[:, -13:] *= rng.lognormal(0.0, 1.0, (n_cells, 1))  # stressed cells have more of these
    counts = sp.csr_matrix(rng.poisson(rng.gamma(2.0, mean / 2.0)).astype(np.float32))
    obs = pd.DataFrame({"type": pd.Categorical(types)}, index=[f"cell {i}" for i in range(n_cells)])
    names = [f"MT-{j}" if j >= n_genes - 13 else f"gene {j}" for j in range(n_genes)]
    return AnnData(counts, obs, pd.DataFrame({"marker": np.isin(np.arange(n_genes), markers)}, index=names))


generated = make_cells(seed=0)
favourites = list(generated.var_names[generated.var["marker"]][:5])
select_genes(generated, 60, keep=favourites, exclude="MT-*", fdr=None)
print("taken as counts:", generated.uns["ufselect"]["counts"])
print("kept:", generated.var["ufselect_rank"][favourites].to_dict())
print("excluded:", len(generated.uns["ufselect"]["exclude"]), "genes")

# %%
# How many of 60 selected genes are among the 60 true markers, on three data sets? scanpy's functions are given what
# they expect: logarithms of normalised counts, or for Pearson residuals the counts themselves.

N_GENES = 60


def found_markers(seed: int) -> dict[str, int]:
    """Return the number of markers in each selection of genes that are not of mitochondria."""
    adata = make_cells(seed=seed)
    adata = adata[:, ~adata.var_names.str.startswith("MT-")].copy()
    sc.pp.filter_genes(adata, min_cells=10)
    choices = {"select_genes": selected(adata, N_GENES)}
    sc.experimental.pp.highly_variable_genes(adata, n_top_genes=N_GENES)
    choices["highly variable, pearson_residuals"] = list(adata.var_names[adata.var["highly_variable"]])
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    choices |= {f"highly variable, {flavor}": highly_variable(adata, flavor, N_GENES) for flavor in FLAVORS}
    return {name: int(adata.var.loc[genes, "marker"].sum()) for name, genes in choices.items()}


n_data_sets = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3
print(pd.DataFrame({f"data set {seed}": found_markers(seed) for seed in range(n_data_sets)}))

# %%
# The analysis goes on as usual: ``sc.pp.pca`` takes any boolean column of ``var`` as a mask.

sc.pp.pca(cells, n_comps=10, mask_var="ufselect_selected")
print(cells.obsm["X_pca"].shape)
