"""Print the table of methods.md that compares scales and numbers of neighbours, on the data sets of two experiments.

`UFSELECT_DATA=… python docs/measure_defaults.py --jobs 16` takes some core-hours; name methods and data sets to measure
some cells only.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

import ufselect
from ufselect.base import GraphSelector
from ufselect.benchmark.data import DataVersion, current_version, load_version
from ufselect.benchmark.experiment import read_experiment
from ufselect.datasets import default_feature_counts
from ufselect.metrics import clustering_agreement

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
DATA = {
    "no_labels": ["JAFFE", "UMIST", "TOX", "USPS49", "MFEA", "COIL", "AR"],
    "real": list(read_experiment(EXPERIMENTS / "real.toml").data),
}
FIXED_NEIGHBORS = {"LLCFS": 20}
SCALES = ("standard", "moderate")
OTHERS = [name for name in ufselect.__all__ if name not in ("FSASL", "MaxVariance")]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(OTHERS))
    parser.add_argument("--data", default=",".join(DATA["no_labels"] + DATA["real"]))
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    names = chosen.data.split(",")
    variants = [Variant(*each) for each in product(chosen.methods.split(","), SCALES, (False, True))]
    cells = Parallel(n_jobs=chosen.jobs)(delayed(score)(variant, name) for variant in variants for name in names)
    means = np.array(cells).reshape(len(variants), len(names), 2).mean(axis=1)
    for variant, (accuracy, information) in zip(variants, means, strict=True):
        neighbors = "grows with n" if variant.grows else str(FIXED_NEIGHBORS.get(variant.method, 5))
        print(f"{variant.method:15s}{variant.scale:10s}k {neighbors:13s}{accuracy:6.1f} / {information:.1f}")


if __name__ == "__main__":
    main()
