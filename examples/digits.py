"""
Pixels of handwritten digits
============================

KernelFSASL selects fifteen of the 64 pixels of handwritten digits, without labels.

The labels are used only at the end, to evaluate how well k-means on the selected pixels finds the digits.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score

from ufselect import KernelFSASL
from ufselect.metrics import matched_accuracy

N_PIXELS = 15
PICTURE = Path("demo-output") / "digits.png"

# %%
# Select
# ------
# There are 1797 images of 8 × 8 pixels. The number of pixels is all that KernelFSASL is given. The time includes
# compilation if this is the first fit on a machine.

X, digits = load_digits(return_X_y=True)
start = perf_counter()
selector = KernelFSASL(N_PIXELS, verbose=1).fit(X)
seconds = perf_counter() - start
chosen = selector.top_features()
shape = f"{N_PIXELS} of {X.shape[1]} pixels of {X.shape[0]} digits"
print(f"KernelFSASL selected {shape} in {seconds:.1f} s (the first fit compiles).")
print("Best first (row, column):", " ".join(f"({pixel // 8},{pixel % 8})" for pixel in chosen))

# %%
# Evaluate
# --------
# Now we use the labels: k-means runs on the selected pixels, on all pixels, on those of largest variance and on random
# ones.


def report(name: str, X: np.ndarray, digits: np.ndarray, subsets: list[np.ndarray]) -> None:
    """Print how well k-means on subsets of the pixels finds the digits."""
    labels = [
        KMeans(10, init="random", n_init=1, random_state=seed).fit_predict(X[:, subset])
        for subset in subsets
        for seed in range(10)
    ]
    accuracy = np.mean([matched_accuracy(digits, found) for found in labels])
    information = np.mean([normalized_mutual_info_score(digits, found) for found in labels])
    print(f"  {name:52s}{accuracy:7.1%}  {information:5.1%}")


by_variance = np.argsort(-X.var(axis=0), kind="stable")[:N_PIXELS]
rng = np.random.default_rng(0)
at_random = [rng.choice(X.shape[1], N_PIXELS, replace=False) for _ in range(10)]
print(f"\nk-means with 10 clusters, mean of 10 starts{'':12s}accuracy    NMI")
report(f"{N_PIXELS} pixels by KernelFSASL", X, digits, [chosen])
report("all 64 pixels", X, digits, [np.arange(X.shape[1])])
report(f"{N_PIXELS} pixels of largest variance", X, digits, [by_variance])
report(f"{N_PIXELS} random pixels (mean of 10 draws)", X, digits, at_random)

# %%
# Fifteen pixels are not as good as all 64, and those of largest variance come close: on images that fill their frame,
# variance is a good criterion. If columns have different units or most of them are noise, it is not.
#
# Where they are
# --------------
# The plot shows the mean of every digit and frames around the selected pixels; red ones were selected first. They are
# spread over the image, because neighbouring pixels are redundant.

figure, axes = plt.subplots(2, 5, figsize=(10, 4.4), layout="constrained")
for digit, axis in enumerate(axes.flat):
    axis.imshow(X[digits == digit].mean(axis=0).reshape(8, 8), cmap="Greys")
    axis.set_axis_off()
    for rank, pixel in enumerate(chosen):
        color = plt.colormaps["autumn"](rank / len(chosen))
        frame = plt.Rectangle((pixel % 8 - 0.5, pixel // 8 - 0.5), 1, 1, fill=False, lw=2, ec=color)
        axis.add_patch(frame)
figure.suptitle(f"{N_PIXELS} pixels selected by KernelFSASL without labels (red: best), on the mean of each digit")
PICTURE.parent.mkdir(exist_ok=True)
figure.savefig(PICTURE, dpi=110)
print(f"\nImage of the selected pixels: {PICTURE}")
