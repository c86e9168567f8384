"""Print the measured columns of methods.md: the informative features found among noise and among near copies."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

import ufselect
from ufselect.datasets.planted import make_planted_clusters

SEEDS = range(4)
SELECTORS: dict[str, BaseEstimator] = {
    **{name: getattr(ufselect, name)() for name in ufselect.__all__},
    "FSASL, k = 20": ufselect.FSASL(n_neighbors=20),
    "FSASL, by norm": ufselect.FSASL(selection="norm"),
    "MRSF, standard": ufselect.MRSF(scale="standard"),
    "NDFS, standard": ufselect.NDFS(scale="standard"),
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'':16s}{'useful of 20':>14s}{'different of 12':>17s}")
    for name, selector in SELECTORS.items():
        useful, different = (mean_over_seeds(measure, selector) for measure in (useful_of_20, different_of_12))
        print(f"{name:16s}{useful:14.2f}{different:17.2f}", flush=True)


def mean_over_seeds(measure: Callable[[BaseEstimator, int], int], selector: BaseEstimator) -> float:
    return float(np.mean([measure(selector, seed) for seed in SEEDS]))


def useful_of_20(selector: BaseEstimator, seed: int) -> int:
    """Informative columns among the best 20: 200 samples, 30 informative columns, 1000 of noise with equal variance."""
    X, _, useful = make_planted_clusters(200, 4, 30, 1000, separation=2.0, noise_scale=5**0.5, random_state=seed)
    return int(useful[best(selector, X, 20, n_clusters=4)].sum())


def different_of_12(selector: BaseEstimator, seed: int) -> int:
    """Distinct informative columns among the best 12: 12 columns with five near copies each, and 60 of noise."""
    X, _, useful = make_planted_clusters(150, 5, 12, 60, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal((5, 150, 12))
    source = np.concatenate([np.arange(72), np.tile(np.flatnonzero(useful), 5)])
    copies = np.hstack([X, *(X[:, useful] + 0.05 * noise)])
    chosen = source[best(selector, copies, 12, n_clusters=5)]
    return len(np.unique(chosen[useful[chosen]]))


def best(selector: BaseEstimator, X: np.ndarray, count: int, n_clusters: int) -> np.ndarray:
    """The best columns, with the number of clusters given if the selector needs one."""
    known: dict[str, int] = {"n_features_to_select": count}
    if selector.get_params().get("n_clusters") is not None:
        known["n_clusters"] = n_clusters
    return clone(selector).set_params(**known).fit(X).top_features()


if __name__ == "__main__":
    main()
