"""Print the measured tables of methods.md.

``python docs/measure_methods.py planted`` prints the last two columns of the table of all methods: the informative
features found among noise and among near copies. ``UFSELECT_DATA=… python docs/measure_methods.py defaults --jobs 16``
compares scales and numbers of neighbours on the data sets of two experiments, which takes some core-hours; name methods
and data sets to measure some cells only.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

import ufselect
from ufselect.base import GraphSelector
from ufselect.benchmark.data import DataVersion, current_version, load_version
from ufselect.benchmark.experiment import read_experiment
from ufselect.datasets import default_feature_counts, make_planted_clusters
from ufselect.metrics import clustering_agreement

SEEDS = range(4)
SELECTORS: dict[str, BaseEstimator] = {
    **{name: getattr(ufselect, name)() for name in ufselect.__all__},
    "KernelFSASL, k = 20": ufselect.KernelFSASL(n_neighbors=20),
    "MRSF, standard": ufselect.MRSF(scale="standard"),
    "NDFS, standard": ufselect.NDFS(scale="standard"),
}


EXPERIMENTS = Path(__file__).parents[1] / "experiments"
DATA = {
    "no_labels": ["JAFFE", "UMIST", "TOX", "USPS49", "MFEA", "COIL", "AR"],
    "real": list(read_experiment(EXPERIMENTS / "real.toml").data),
}
FIXED_NEIGHBORS = {"LLCFS": 20}
SCALES = ("standard", "moderate")
OTHERS = [name for name in ufselect.__all__ if name not in ("FSASL", "KernelFSASL", "MaxVariance")]


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["planted", "defaults"])
    parser.add_argument("--methods", default=",".join(OTHERS))
    parser.add_argument("--data", default=",".join(DATA["no_labels"] + DATA["real"]))
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.table == "planted":
        print_planted()
    else:
        print_defaults(chosen.methods.split(","), chosen.data.split(","), chosen.jobs)


def print_planted() -> None:
    """Print the informative features found among noise and among near copies."""
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


def print_defaults(methods: list[str], names: list[str], n_jobs: int) -> None:
    """Print the mean accuracy and information of every scale and number of neighbours."""
    variants = [Variant(*each) for each in product(methods, SCALES, (False, True))]
    cells = Parallel(n_jobs=n_jobs)(delayed(score)(variant, name) for variant in variants for name in names)
    means = np.array(cells).reshape(len(variants), len(names), 2).mean(axis=1)
    for variant, (accuracy, information) in zip(variants, means, strict=True):
        neighbors = "grows with n" if variant.grows else str(FIXED_NEIGHBORS.get(variant.method, 5))
        print(f"{variant.method:15s}{variant.scale:10s}k {neighbors:13s}{accuracy:6.1f} / {information:.1f}")


class Variant(NamedTuple):
    """A method with a scale, and the same number of neighbours for all data or one that grows with n."""

    method: str
    scale: str
    grows: bool

    def selector(self, n_features: int) -> Any:
        """Return the selector; in either case "auto" clusters are read off the graph of ten neighbours."""
        cls = getattr(ufselect, self.method)
        fixed = FIXED_NEIGHBORS.get(self.method, 5)
        rule = GraphSelector._usual_neighbors if self.grows else lambda _, n: min(fixed, n - 2)
        variant = type(self.method, (cls,), {"_usual_neighbors": rule, "__init__": cls.__init__})
        return variant(n_features, **({"scale": self.scale} if "scale" in cls().get_params() else {}))


def score(variant: Variant, name: str) -> tuple[float, float]:
    """Return the mean accuracy and information over the numbers of features, in percent."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = load_version(version_of(name))
    counts = default_feature_counts(name, data.X.shape[1])
    best = variant.selector(max(counts)).fit(data.X).top_features()
    found = [clustering_agreement(data.judged(best[:count].tolist()), data.y) for count in counts]
    accuracy, information = (float(100.0 * np.mean([one[measure] for one in found])) for measure in ("acc", "nmi"))
    return accuracy, information


def version_of(name: str) -> DataVersion:
    """Return a data set as its experiment prepares it."""
    if name in DATA["real"]:
        return current_version(name, read_experiment(EXPERIMENTS / "real.toml").preparations[name])
    return current_version(name)


if __name__ == "__main__":
    main()
