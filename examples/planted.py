"""
Robustness to noise
===================

How many informative columns do selectors find as more and more columns of noise are added?

Ninety columns separate six clusters; all others are noise of the same variance. No method is told the number of
clusters. Noise degrades a graph of neighbours in all columns. KernelFSASL starts from a graph in thirty principal
components and learns it again from the features selected so far. The figure shows the share of informative columns
among the best thirty.

.. image:: /images/planted.png
    :alt: Share of informative columns among the best 30, against the number of noise columns
    :width: 100%

This example takes some minutes, so it does not run when these pages are built; the figure is stored. Arguments set the
numbers of noise columns: ``python examples/planted.py 1000 3000``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from ufselect import FSSL, GLSPFS, MCFS, MRSF, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.datasets.planted import make_planted_clusters

# sphinx_gallery_thumbnail_path = 'images/planted.png'
NOISE_COLUMNS = tuple(map(int, sys.argv[1:])) or (1000, 3000, 5000, 10000, 20000)
SEEDS = (0, 1, 2)
BEST = 30
PICTURE = Path("demo-output") / "planted.png"
SETTINGS: dict[str, BaseEstimator] = {
    "KernelFSASL": KernelFSASL(),
    "KernelFSASL, no adaptation": KernelFSASL(adaptive=False),
    "LaplacianScore": LaplacianScore(),
    "GLSPFS": GLSPFS(),
    "MRSF": MRSF(),
    "FSSL": FSSL(),
    "MCFS": MCFS(),
    "MaxVariance": MaxVariance(),
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"share of informative columns among the best {BEST}, mean of {len(SEEDS)} data sets")
    print(f"{'noise columns':36s}" + "".join(f"{n_noise:8d}" for n_noise in NOISE_COLUMNS))
    shares = {}
    for name, selector in SETTINGS.items():
        shares[name] = [share_found(n_noise, selector) for n_noise in NOISE_COLUMNS]
        print(f"{name:36s}" + "".join(f"{share:8.0%}" for share in shares[name]))
    draw(shares)
    print(f"\nFigure: {PICTURE}")


def share_found(n_noise: int, selector: BaseEstimator) -> float:
    """Return the share of informative columns among the best, as the mean over several data sets."""
    shares = []
    for seed in SEEDS:
        X, _, informative = make_planted_clusters(n_noise=n_noise, noise_scale=3.0, random_state=seed)
        found = clone(selector).set_params(n_features_to_select=BEST).fit(X)
        shares.append(informative[found.get_support()].mean())
    return float(np.mean(shares))


def draw(shares: dict[str, list[float]]) -> None:
    """Plot the shares against the number of noise columns."""
    figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for name, values in shares.items():
        style = "-" if name.startswith("KernelFSASL") else "--"
        axis.plot(NOISE_COLUMNS, values, style, marker="o", label=name)
    axis.axhline(0.0, color="grey", lw=0.5)
    axis.set(xscale="log", ylim=(-0.03, 1.05), xlabel="noise columns, in addition to 90 informative ones")
    axis.set_xticks(NOISE_COLUMNS, [f"{n:,}" for n in NOISE_COLUMNS])
    axis.minorticks_off()
    axis.set_ylabel(f"informative among the best {BEST}")
    axis.legend(frameon=False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
