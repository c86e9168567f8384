"""Draw the picture of the home page, docs/images/home.png: many columns, then the selected ones.

The data are generated and the selection is FSASL's. The background and the middle of the colour scale are transparent,
so that the picture fits a light and a dark page. Run it from anywhere: ``python docs/draw_home.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from sklearn.cluster import KMeans

from ufselect import FSASL
from ufselect.datasets import make_planted_clusters

PICTURE = Path(__file__).parent / "images" / "home.png"
N_SELECTED = 8
INK = "#7b828d"  # legible on white and on black
ACCENT = "#e0503c"
VALUES = LinearSegmentedColormap.from_list("values", ["#3a86d8ff", "#88888800", "#e8762cff"])


def main() -> None:
    """Draw the picture."""
    X, _, _ = make_planted_clusters(100, 4, 12, 88, random_state=3)
    X = X[:, np.random.default_rng(0).permutation(X.shape[1])]
    selected = FSASL(N_SELECTED).fit(X).top_features()
    clusters = KMeans(4, n_init=10, random_state=0).fit_predict(X[:, selected])
    draw(X, selected, clusters).savefig(PICTURE, dpi=150, transparent=True)


def draw(X: np.ndarray, selected: np.ndarray, clusters: np.ndarray) -> plt.Figure:
    """Return all columns with marks above the selected ones, and beside them the selected ones by cluster."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), width_ratios=(2.6, 1), gridspec_kw={"wspace": 0.2})
    figure.subplots_adjust(left=0.005, right=0.995, top=0.82, bottom=0.09)
    _show(left, X, f"{X.shape[1]} columns, no labels", "samples as they come")
    marks = left.get_xaxis_transform()  # columns from left to right, shares of the height
    left.plot(selected, np.full(len(selected), 1.03), "v", color=ACCENT, ms=6, clip_on=False, transform=marks)
    by_cluster = X[np.argsort(clusters, kind="stable")][:, _in_order_of_clusters(X, selected, clusters)]
    _show(right, by_cluster, f"{N_SELECTED} columns, 4 groups", "samples by group")
    arrow = {"arrowstyle": "-|>", "color": ACCENT, "lw": 2, "mutation_scale": 18}
    right.annotate("", (-0.05, 0.5), (-0.32, 0.5), "axes fraction", "axes fraction", arrow)
    return figure


def _in_order_of_clusters(X: np.ndarray, selected: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the selected columns in the order of the cluster in which they are highest."""
    means = np.array([X[clusters == label][:, selected].mean(axis=0) for label in range(clusters.max() + 1)])
    return selected[np.argsort(means.argmax(axis=0), kind="stable")]


def _show(axis: Axes, values: np.ndarray, title: str, samples: str) -> None:
    standardized = (values - values.mean(axis=0)) / values.std(axis=0)
    axis.imshow(standardized, cmap=VALUES, vmin=-2.5, vmax=2.5, aspect="auto", interpolation="nearest")
    axis.set_title(title, color=INK, pad=18, fontsize=15)
    axis.set_xlabel(samples, color=INK, fontsize=13)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


if __name__ == "__main__":
    main()
