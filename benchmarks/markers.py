"""Markers of blood cells among the best 50 genes of 3,000 cells (10x Genomics pbmc3k), by method.

`UFSELECT_DATA=… python benchmarks/markers.py` reads sc_pbmc3k.npz from that folder or its subfolder "more": the counts
as a CSR matrix (data, indices, indptr, shape) and the names of the genes (features). Methods of other packages need
`pip install ".[peers]"`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.peers import HighlyVariableGenes, Triku

from ufselect import KernelFSASL
from ufselect.preprocessing import LogNormalize

MARKERS = ("CD3D", "MS4A1", "NKG7", "CST3", "LYZ", "PPBP", "FCER1A", "GNLY", "CD8A", "FCGR3A")
BEST = 50


def main() -> None:
    counts, genes = cells()
    logs = LogNormalize().fit_transform(counts)
    report("KernelFSASL", genes[KernelFSASL(BEST).fit(logs).top_features()])
    for name, selector, X in (
        ("scanpy seurat_v3", HighlyVariableGenes("seurat_v3"), counts),
        ("scanpy Pearson residuals", HighlyVariableGenes("pearson_residuals"), counts),
        ("triku", Triku(), logs),
        ("scanpy seurat", HighlyVariableGenes("seurat"), logs),
    ):
        try:
            order = np.argsort(-selector.fit(X).scores_, kind="stable")
        except ImportError as error:
            print(f"{name:26s}{error}")
        else:
            report(name, genes[order[:BEST]])


def cells() -> tuple[sp.csr_array, np.ndarray]:
    """Return the counts and the names of the genes."""
    folder = Path(os.environ["UFSELECT_DATA"])
    path = next(path for path in (folder / "sc_pbmc3k.npz", folder / "more" / "sc_pbmc3k.npz") if path.exists())
    with np.load(path) as stored:
        parts: Any = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
        return sp.csr_array(parts, shape=stored["shape"]), stored["features"]


def report(name: str, chosen: np.ndarray) -> None:
    missing = [marker for marker in MARKERS if marker not in chosen]
    print(f"{name:26s}{len(MARKERS) - len(missing):3d} of {len(MARKERS)}; without {', '.join(missing)}", flush=True)


if __name__ == "__main__":
    main()
