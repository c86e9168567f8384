"""Scores of DELVE for a table, computed in an environment of its own: delve-fs needs NumPy 1.

    python -m venv delve && delve/bin/pip install delve-fs "numpy<2"
    UFSELECT_DELVE_PYTHON=$PWD/delve/bin/python ufselect bench experiments/real.toml

``experiments.peers:Delve`` runs this file with the interpreter that UFSELECT_DELVE_PYTHON names. It imports nothing
of ufselect.
"""

from __future__ import annotations

import sys

import anndata
import numpy as np
from delve import delve_fs

N_COMPONENTS = 50


def delve_scores(X: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Return the negative Laplacian score of every column, NaN if DELVE found no dynamic features at all."""
    cells = anndata.AnnData(X)
    _, _, ranked = delve_fs(cells, n_pcs=min(N_COMPONENTS, *(size - 1 for size in X.shape)), n_jobs=n_jobs)
    if ranked is None:
        return np.full(X.shape[1], np.nan)
    return -ranked.iloc[:, 0].reindex(cells.var_names).to_numpy(dtype=np.float64)


if __name__ == "__main__":
    source, destination = sys.argv[1:]
    np.save(destination, delve_scores(np.load(source)))
