"""Panels with columns that are given, and structure within batches, on the sets of experiments/real.toml.

`UFSELECT_DATA=… python benchmarks/panels.py` writes the section panels of README.md; `--print` only prints it.
The first table has the agreement with the learned structure of 50 free columns and of 50 columns ten of which are
given: ten of the free ones, drawn at random; ten of those ranked 51 to 500; and, of blood cells, ten known markers. The
second has the accuracy and the NMI of k-means on columns that were chosen from three plates of cells, with and without
an added effect of the plates, by two ways to respect batches.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.markers import MARKERS, cells
from benchmarks.report import write_section
from ufselect.benchmark.preparing import prepared

from ufselect import FSASL
from ufselect.benchmark.experiment import read_experiment
from ufselect.columns.tabular import dense_part
from ufselect.datasets import load_dataset
from ufselect.metrics import matched_accuracy, normalized_mutual_information
from ufselect.preprocessing import LogNormalize

PANEL, GIVEN, DRAWS = 50, 10, 3
COUNTS = (10, 20, 50, 100, 150)
EFFECTS = (0.0, 1.0, 3.0, 10.0)
SHIFTED = 0.1
LINES: list[str] = []


def main() -> None:
    warnings.simplefilter("ignore")
    say("| data | 50 free columns | 10 of these given | 10 of ranks 51 to 500 given | 10 markers given |")
    say("| --- | --- | --- | --- | --- |")
    experiment = read_experiment(Path(__file__).parents[1] / "experiments" / "real.toml")
    for name in experiment.data:
        report_panels(name, prepared(load_dataset(name), experiment.preparation(name)).X)
    counts, genes = cells()
    markers = [int(np.flatnonzero(genes == marker)[0]) for marker in MARKERS]
    report_panels("sc_pbmc3k", LogNormalize().fit_transform(counts), markers)
    report_batches()
    if "--print" not in sys.argv:
        write_section("panels", "\n".join(LINES))


def say(line: str) -> None:
    """Print a line at once, and keep it."""
    print(line, flush=True)
    LINES.append(line)


def report_panels(name: str, X: Any, markers: list[int] | None = None) -> None:
    """Print the agreement of a free panel, and that of panels with given columns, as a share of it."""
    free = FSASL(PANEL).fit(X)
    order = np.argsort(free.ranking_, kind="stable")
    rng = np.random.default_rng(0)
    given = {"ten": [rng.choice(order[:PANEL], GIVEN, replace=False) for _ in range(DRAWS)]}
    given["others"] = [rng.choice(order[PANEL : min(500, len(order))], GIVEN, replace=False) for _ in range(DRAWS)]
    given["markers"] = [np.array(markers)] if markers else []
    best = free.alignment_curve_[PANEL - 1]
    shares = [
        [FSASL(PANEL, keep=columns).fit(X).alignment_curve_[PANEL - 1] / best for columns in draws]
        for draws in given.values()
    ]
    cells_of_row = [f"{100 * np.min(each):.1f} %" if each else "" for each in shares]
    say(f"| {name} | {best:.3f} | {' | '.join(cells_of_row)} |")


def report_batches() -> None:
    """Print the quality of columns that were chosen from three plates, by effect of the plates and by way."""
    data = load_dataset("sc_mix_celseq2_5cl")
    plates = stored_plates()
    clean = LogNormalize().fit_transform(data.X)
    clean = clean.toarray() if sp.issparse(clean) else clean
    ways: dict[str, Callable[[Any], Any]] = {
        "batches ignored": lambda X: FSASL(max(COUNTS)).fit(X).ranking_,
        "centred within batches": lambda X: FSASL(max(COUNTS)).fit(X, batch=plates).ranking_,
        "ranks of batches, geometric mean": lambda X: combined_ranks(X, plates, np.log),
        "ranks of batches, harmonic mean": lambda X: combined_ranks(X, plates, lambda ranks: -1.0 / ranks),
    }
    say("\n| effect of plates | way | columns of plates among the best 50 | ACC | NMI |")
    say("| --- | --- | --- | --- | --- |")
    for effect in EFFECTS:
        rng = np.random.default_rng(0)
        hit = rng.random(clean.shape[1]) < SHIFTED
        shifts = rng.standard_normal((3, clean.shape[1])) * effect * clean.std(axis=0) * hit
        for way, ranks in ways.items():
            order = np.argsort(ranks(clean + shifts[plates]), kind="stable")
            acc, nmi = np.mean([judged(clean, order[:count], data.y) for count in COUNTS], axis=0)
            affected = int(hit[order[:PANEL]].sum()) if effect else 0
            say(f"| {effect:g} | {way} | {affected} | {100 * acc:.1f} | {100 * nmi:.1f} |")


def stored_plates() -> Any:
    """Return the plate of every cell, which is stored beside the counts."""
    folder = Path(os.environ["UFSELECT_DATA"])
    names = (folder / "sc_mix_celseq2_5cl.npz", folder / "more" / "sc_mix_celseq2_5cl.npz")
    with np.load(next(path for path in names if path.exists()), allow_pickle=True) as stored:
        return np.unique(stored["batch"], return_inverse=True)[1]


def combined_ranks(X: Any, batch: Any, transform: Callable[[Any], Any]) -> Any:
    """Return the mean over batches, weighted by their sizes, of transformed ranks of fits to each batch."""
    sizes = np.bincount(batch)
    ranks = np.array([FSASL(max(COUNTS)).fit(X[batch == code]).ranking_ for code in range(len(sizes))], dtype=float)
    return sizes @ transform(ranks)


def judged(X: Any, columns: Any, y: Any) -> tuple[float, float]:
    """Return the accuracy and the NMI of k-means on standardised columns, averaged over three starts."""
    Z = dense_part(X, columns, standardize=True)
    found = [KMeans(len(np.unique(y)), n_init=5, random_state=seed).fit_predict(Z) for seed in range(3)]
    scores = [(matched_accuracy(y, each), normalized_mutual_information(y, each)) for each in found]
    return tuple(np.mean(scores, axis=0))


if __name__ == "__main__":
    main()
