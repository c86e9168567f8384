"""What a selection is worth: k-means on the selected columns against classes that no method was shown."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from time import perf_counter

import numpy as np
from data import LabelledSet, public_set
from numpy.typing import NDArray
from report import number, table
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score

from ufselect import FSASL
from ufselect.metrics import matched_accuracy

SETS = ("JAFFE", "UMIST", "TOX", "USPS49", "MFEA", "COIL", "AR")
STARTS = 20


def counts_of(name: str) -> range:
    """The numbers of features at which the paper judges a selection."""
    return range(10, 151, 10) if name == "TOX" else range(5, 51, 5)


def selection_quality(sets: Iterable[str] = SETS) -> str | None:
    """ACC/NMI in percent of the defaults and of the paper's own choices, mean over the counts of features."""
    versions = {"defaults": FSASL, "defaults, c by eigengap": FSASL, "`FSASL.published()`": FSASL.published}
    scores: dict[str, list[NDArray[np.float64]]] = {name: [] for name in ("all features", "random", *versions)}
    names, notes = [], []
    for name in sets:
        found = public_set(name)
        if found is None:
            continue
        names.append(name)
        everything = np.arange(found.X.shape[1])
        scores["all features"].append(_quality(found, everything, [len(everything)]))
        random = np.random.default_rng(0).permutation(everything)
        scores["random"].append(_quality(found, random, counts_of(name)))
        for version, make in versions.items():
            n_clusters = "auto" if "eigengap" in version else found.n_classes
            selector, seconds, settled = _fit(
                make(n_features_to_select=max(counts_of(name)), n_clusters=n_clusters), found
            )
            scores[version].append(_quality(found, selector.top_features(), counts_of(name)))
            print(name, version, _cell(scores[version][-1]), f"{seconds:.1f} s", file=sys.stderr, flush=True)
            notes.append([name, version, selector.n_clusters_, selector.n_iter_, settled, number(seconds)])
    if not names:
        return None
    rows = [
        [version, *(_cell(quality) for quality in qualities), _cell(np.mean(qualities, axis=0))]
        for version, qualities in scores.items()
    ]
    return "\n\n".join(
        [
            table(["ACC/NMI, %", *names, "mean"], rows),
            table(["set", "version", "c", "iterations", "converged", "fit, s"], notes),
        ]
    )


def _fit(selector: FSASL, data: LabelledSet) -> tuple[FSASL, float, str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = perf_counter()
        selector.fit(data.X)
        seconds = perf_counter() - start
    return selector, seconds, "no" if caught else "yes"


def _quality(data: LabelledSet, order: NDArray[np.intp], counts: Iterable[int]) -> NDArray[np.float64]:
    """Mean ACC and NMI in percent over counts of features and starts of k-means."""
    return 100.0 * np.mean(
        [_agreement(data, order[:count], seed) for count in counts for seed in range(STARTS)], axis=0
    )


def _agreement(data: LabelledSet, columns: NDArray[np.intp], seed: int) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters = KMeans(data.n_classes, init="random", n_init=1, max_iter=100, random_state=seed).fit_predict(
            data.X[:, columns]
        )
    information = normalized_mutual_info_score(data.y, clusters, average_method="geometric")
    return matched_accuracy(data.y, clusters), information


def _cell(quality: NDArray[np.float64]) -> str:
    return f"{quality[0]:.1f}/{quality[1]:.1f}"
