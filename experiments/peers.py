"""What people use instead, as selectors of an experiment: `pip install ".[cli,peers]"`.

Each package is imported when its class is fitted. A class whose package is missing leaves its cells empty.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ufselect.preprocessing import LogNormalize

Scores = npt.NDArray[np.float64]


class Peer(BaseEstimator):
    """A selector of another package; larger scores are better, and columns without a score come last."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Score the columns of X."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = np.asarray(self._scores(X), dtype=np.float64)
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # other packages raise errors of any kind
            raise ValueError(f"{type(error).__name__}: {error}") from error
        self.scores_ = np.where(np.isnan(scores), -np.inf, scores)
        return self

    def _scores(self, X: Any) -> Scores:
        raise NotImplementedError


class HighlyVariableGenes(Peer):
    """scanpy's highly variable genes.

    Parameters
    ----------
    flavor : {"seurat", "seurat_v3", "pearson_residuals"}
        "seurat" expects logarithms of normalised counts, the others raw counts.
    """

    def __init__(self, flavor: str = "seurat") -> None:
        self.flavor = flavor

    def _scores(self, X: Any) -> Scores:
        import scanpy as sc

        of_residuals = self.flavor == "pearson_residuals"
        search = sc.experimental.pp.highly_variable_genes if of_residuals else sc.pp.highly_variable_genes
        name = {"seurat": "dispersions_norm", "seurat_v3": "variances_norm"}.get(self.flavor, "residual_variances")
        varied = _varied_columns(X)
        found = search(_annotated(X[:, varied]), flavor=self.flavor, n_top_genes=min(100, len(varied)), inplace=False)
        return _scattered(found[name], varied, X.shape[1])


class Triku(Peer):
    """triku's distance, on logarithms of normalised counts."""

    def _scores(self, X: Any) -> Scores:
        import scanpy as sc
        import triku

        varied = _varied_columns(X)
        cells = _annotated(X[:, varied])
        sc.pp.pca(cells)
        sc.pp.neighbors(cells)
        triku.tl.triku(cells, verbose="error")
        return _scattered(cells.var["triku_distance"], varied, X.shape[1])


class Hotspot(Peer):
    """Hotspot's autocorrelation (Z) of raw counts, over the neighbours in 50 principal components of their logarithms.

    Parameters
    ----------
    n_neighbors : int
        As in Hotspot's own tutorial.
    """

    def __init__(self, n_neighbors: int = 30) -> None:
        self.n_neighbors = n_neighbors

    def _scores(self, X: Any) -> Scores:
        import hotspot
        import scanpy as sc

        varied = _varied_columns(X)
        logs = _annotated(LogNormalize().fit_transform(X)[:, varied])
        sc.pp.pca(logs)
        cells = _annotated(X[:, varied])
        cells.obsm["X_pca"] = logs.obsm["X_pca"]
        cells.obs["total"] = np.asarray(X.sum(axis=1)).ravel()
        cells.layers["counts"] = sp.csc_matrix(cells.X)
        found = hotspot.Hotspot(
            cells, layer_key="counts", model="danb", latent_obsm_key="X_pca", umi_counts_obs_key="total"
        )
        found.create_knn_graph(weighted_graph=False, n_neighbors=self.n_neighbors)
        autocorrelations = found.compute_autocorrelations(jobs=1)
        return _scattered(autocorrelations["Z"].reindex(cells.var_names), varied, X.shape[1])


class FastCan(Peer):
    """fastcan's greedy selection by canonical correlation with the first principal components, standardised.

    Parameters
    ----------
    n_components : int
        Number of principal components.
    n_features_to_select : int
        Number of columns to rank.
    """

    def __init__(self, n_components: int = 10, n_features_to_select: int = 1) -> None:
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select

    def _scores(self, X: Any) -> Scores:
        import fastcan
        from sklearn.decomposition import PCA
        from sklearn.preprocessing import StandardScaler

        varied = _varied_columns(X)
        Z = StandardScaler().fit_transform(_dense(X[:, varied]))
        components = PCA(min(self.n_components, *Z.shape), random_state=0).fit_transform(Z)
        n_chosen = min(self.n_features_to_select, len(varied))
        chosen = fastcan.FastCan(n_chosen, verbose=0).fit(Z, components).indices_
        scores = np.full(len(varied), np.nan)
        scores[chosen] = np.arange(n_chosen, 0, -1)
        return _scattered(scores, varied, X.shape[1])


class Delve(Peer):
    """DELVE's Laplacian score over the graph of its dynamic features, by the interpreter UFSELECT_DELVE_PYTHON names.

    ``benchmarks/delve_scores.py`` says how to make that environment. Without it, the cells stay empty.
    """

    def _scores(self, X: Any) -> Scores:
        python = os.environ.get("UFSELECT_DELVE_PYTHON")
        if not python:
            raise ImportError("UFSELECT_DELVE_PYTHON is not set; see benchmarks/delve_scores.py.")
        script = Path(__file__).parents[1] / "benchmarks" / "delve_scores.py"
        varied = _varied_columns(X)
        with tempfile.TemporaryDirectory() as folder:
            values, scores = Path(folder, "values.npy"), Path(folder, "scores.npy")
            np.save(values, _dense(X[:, varied]))
            subprocess.run([python, script, values, scores], check=True, capture_output=True)
            return _scattered(np.load(scores), varied, X.shape[1])


def _dense(X: Any) -> Scores:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _varied_columns(X: Any) -> npt.NDArray[np.intp]:
    """Return the columns that are not constant; some packages refuse these."""
    largest, smallest = X.max(axis=0), X.min(axis=0)
    if sp.issparse(X):
        largest, smallest = largest.toarray().ravel(), smallest.toarray().ravel()
    return np.flatnonzero(largest > smallest)


def _annotated(X: Any) -> Any:
    import anndata

    return anndata.AnnData(sp.csr_matrix(X, dtype=np.float64))


def _scattered(scores: Any, columns: npt.NDArray[np.intp], n_columns: int) -> Scores:
    found = np.full(n_columns, np.nan)
    found[columns] = np.asarray(scores, dtype=np.float64)
    return found
