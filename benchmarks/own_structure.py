"""Genes that explain given cell types, beside the markers that scanpy ranks: what they are worth on cells held out.

The sets are in the folder ``UFSELECT_DATA`` and its subfolders "more" and "many"; one comes with scanpy. Genes are
chosen by the types of two thirds of the cells; k-means and nearest neighbours are judged on the other third, for each
third in turn. Types with fewer than ten cells are left out. The cells of pbmc3k have no types here: their clusters are
given instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import DATA_VARIABLE, number, say, table
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from ufselect import MCFS, KernelFSASL, LaplacianScore
from ufselect.metrics import clustering_agreement
from ufselect.preprocessing import LogNormalize

OF_SCANPY = "sc_pbmc68k_reduced"
SETS = ("sc_baron_h1", "sc_mix_celseq2_5cl", "sc_pbmc3k", "sc_guo_qpcr", "sc_pbmc_facs", OF_SCANPY)
SIZES, SIZES_OF_FEW = (20, 50), (5, 10)  # the latter of up to 100 genes
FEWEST_CELLS = 10
FIGURES = ("NMI", "ACC", "F1")

Chooser = Callable[[Any, Any, int], Sequence[int]]


def markers_by_scanpy(X: Any, types: Any, count: int) -> Sequence[int]:
    """The best genes of each type by Wilcoxon's test, in turn."""
    import pandas as pd
    import scanpy
    from anndata import AnnData

    X = sp.csr_matrix(X) if sp.issparse(X) else X
    adata = AnnData(X, obs=pd.DataFrame({"type": pd.Categorical(types.astype(str))}, index=_texts(X.shape[0])))
    adata.var_names = _texts(X.shape[1])
    scanpy.tl.rank_genes_groups(adata, "type", method="wilcoxon", n_genes=count)
    names = adata.uns["rank_genes_groups"]["names"]
    by_type = ([int(gene) for gene in names[kind]] for kind in names.dtype.names)
    return list(dict.fromkeys(chain.from_iterable(zip_longest(*by_type))))[:count]


def _texts(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def chosen_by(cls: Any, given: bool = True) -> Chooser:
    """The genes of a method, which is given the types as a structure."""
    return lambda X, types, count: cls(count).fit(X, structure=types if given else None).top_features()


CHOOSERS: dict[str, Chooser] = {
    "scanpy `rank_genes_groups`": markers_by_scanpy,
    "KernelFSASL, types given": chosen_by(KernelFSASL),
    "LaplacianScore, types given": chosen_by(LaplacianScore),
    "MCFS, types given": chosen_by(MCFS),
    "KernelFSASL, nothing given": chosen_by(KernelFSASL, given=False),
}


def genes_by_types(names: Sequence[str] = SETS) -> str | None:
    """The table of all sets; None if none is there, or scanpy is not installed."""
    try:
        import scanpy  # noqa: F401 - looked for now rather than after the first set
    except ImportError:
        say("own_structure skipped: scanpy is not installed.")
        return None
    rows = []
    for choose in CHOOSERS.values():  # compiles
        choose(np.random.default_rng(0).random((60, 40)), np.arange(60) % 3, 5)
    for name in names:
        found = _cells(name)
        if found is None:
            say(f"own_structure: {name} was not available.")
            continue
        X, types = found
        for method, choose in CHOOSERS.items():
            say(f"own_structure: {name}, {method}")
            figures, seconds = _judged(choose, X, types)
            shown = [" / ".join(f"{100 * value:.1f}" for value in figures[figure]) for figure in FIGURES]
            rows.append([f"{name[3:]}, {X.shape[0]:,} × {X.shape[1]:,}", method, *shown, number(seconds)])
    if not rows:
        return None
    return table(["cells × genes", "genes by", *FIGURES, "seconds"], rows)


def _cells(name: str) -> tuple[Any, Any] | None:
    """Logarithms of normalised counts, and the types of the cells; None if there is no such file."""
    if name == OF_SCANPY:
        return _cells_of_scanpy()
    folder = Path(os.environ.get(DATA_VARIABLE, "."))
    path = next((each for part in ("", "more", "many") if (each := folder / part / f"{name}.npz").exists()), None)
    if path is None:
        return None
    with np.load(path) as stored:
        if "X" in stored:
            X: Any = stored["X"].astype(np.float64)
        else:
            parts = (stored["data"].astype(np.float64), stored["indices"].astype(np.int32), stored["indptr"])
            X = LogNormalize().fit_transform(sp.csr_array(parts, shape=stored["shape"]))
        types = stored["y"] if "y" in stored else _clusters(X)
    return _of_frequent_types(X, types)


def _cells_of_scanpy() -> tuple[Any, Any]:
    import scanpy

    adata = scanpy.datasets.pbmc68k_reduced()
    return _of_frequent_types(
        sp.csr_array(adata.raw.X, dtype=np.float64), adata.obs["bulk_labels"].cat.codes.to_numpy()
    )


def _of_frequent_types(X: Any, types: Any) -> tuple[Any, Any]:
    kept = np.bincount(types)[types] >= FEWEST_CELLS
    X = X[kept]
    expressed = np.asarray((X != 0).sum(axis=0)).ravel() > 0
    return X[:, expressed], types[kept]


def _clusters(X: Any) -> Any:
    """Eight clusters by k-means in 30 principal components."""
    return KMeans(8, n_init=10, random_state=0).fit_predict(PCA(30, random_state=0).fit_transform(X.toarray()))


def _judged(choose: Chooser, X: Any, types: Any) -> tuple[dict[str, Any], float]:
    """Means of each figure over the three thirds held out, for both numbers of genes; seconds of the fastest choice."""
    sizes = SIZES if X.shape[1] > 100 else SIZES_OF_FEW
    figures: dict[str, list[list[float]]] = {figure: [] for figure in FIGURES}
    seconds = []
    for train, held_out in StratifiedKFold(3, shuffle=True, random_state=0).split(X, types):
        start = perf_counter()
        best = np.asarray(choose(X[train], types[train], max(sizes)))
        seconds.append(perf_counter() - start)
        found = [_figures(X[:, best[:size]], types, train, held_out) for size in sizes]
        for figure, values in zip(FIGURES, zip(*found, strict=True), strict=True):
            figures[figure].append(list(values))
    return {figure: np.mean(values, axis=0) for figure, values in figures.items()}, min(seconds)


def _figures(X: Any, types: Any, train: Any, held_out: Any) -> tuple[float, float, float]:
    """NMI and ACC of k-means, and the macro F1 of five neighbours, on the cells held out."""
    dense = X.toarray() if sp.issparse(X) else X
    scaler = StandardScaler().fit(dense[train])
    here, there = scaler.transform(dense[train]), scaler.transform(dense[held_out])
    predicted = KNeighborsClassifier(5).fit(here, types[train]).predict(there)
    agreement = clustering_agreement(there, types[held_out])
    return agreement["nmi"], agreement["acc"], float(f1_score(types[held_out], predicted, average="macro"))
