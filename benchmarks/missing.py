"""Missing values: what is chosen with holes beside the complete data, and what holes alone do.

It reads the sets (NAME.npz) of the folder UFSELECT_DATA or of its subfolder "many", and runs in one process for each
processor.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import say, table
from joblib import Parallel, delayed
from significance import KINDS
from significance_of_real_data import best_columns, prepared_set
from sklearn.impute import KNNImputer
from threadpoolctl import threadpool_limits

from ufselect import KernelFSASL
from ufselect.metrics import absolute_correlations, clustering_agreement
from ufselect.preprocessing import MissingValues
from ufselect.significance import column_significance

# All dense sets of 30 to 700 columns.
SETS = (
    "audio_speakers", "eeg_people", "expr_sorlie", "gene_cattle", "image_leaf99", "image_semeion", "med_dermatology",
    "mixed_ctg_dates", "mixed_wisdm_ids", "ms_phenyl", "net_nslkdd", "omics_breast_tcga", "planted_dermatology",
    "prot_mice", "sc_guo_qpcr", "sec_phishing", "sensor_vowels", "spectra_fruit", "wifi_uji",
)  # fmt: skip
SHARES = (0.05, 0.2, 0.4, 0.6)
SAYS_THE_SAME = 0.9
STEADY = 0.8
SEEDS = 3
Mask = np.ndarray


def at_random(shape: tuple[int, int], share: float, rng: np.random.Generator) -> Mask:
    """Each value is missing by itself."""
    return rng.random(shape) < share


def in_blocks(shape: tuple[int, int], share: float, rng: np.random.Generator) -> Mask:
    """Random sets of rows are missing in random sets of columns."""
    holes = np.zeros(shape, dtype=bool)
    while (lacking := share - holes.mean()) > 0.005:
        columns = rng.random(shape[1]) < rng.uniform(0.1, 0.5)
        new = (rng.random(shape[0]) < rng.uniform(0.1, 0.5))[:, None] & columns & ~holes
        if new.mean() > lacking:
            new &= (rng.random(shape[0]) < lacking / new.mean())[:, None]
        holes |= new
    return holes


def filled(X: Any) -> Any:
    """The way of the package."""
    return MissingValues().fit(X).transform(X)


def by_means(X: Any) -> Any:
    """A hole contributes zero."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def by_medians(X: Any) -> Any:
    """As `--impute median` does."""
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X)


def by_neighbors(X: Any) -> Any:
    """The mean of the ten nearest rows, by columns that both have, in standard deviations."""
    means, scales = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    scales = np.where(scales > 0.0, scales, 1.0)
    return np.where(np.isnan(X), KNNImputer(n_neighbors=10).fit_transform((X - means) / scales) * scales + means, X)


PATTERNS = {"at random": at_random, "in blocks": in_blocks}
OURS = "`MissingValues`"
WAYS: dict[str, Callable[[Any], Any]] = {
    "mean": by_means, "median": by_medians, "10 nearest rows": by_neighbors, OURS: filled,
}  # fmt: skip


class Problem:
    """A set, and what is chosen from its complete values."""

    def __init__(self, path: Path, most_rows: int | None = None) -> None:
        data, classes = prepared_set(path)
        X = np.asarray(data.X, dtype=np.float64)
        rows = np.arange(len(X))
        if most_rows is not None and len(X) > most_rows:
            rows = np.sort(np.random.default_rng(0).choice(len(X), most_rows, replace=False))
        varies = np.ptp(X[rows], axis=0) > 0.0
        self.X, self.classes = X[rows][:, varies], np.asarray(classes)[rows]
        self.judged = np.asarray(data.judged())[rows][:, varies]
        d = self.X.shape[1]
        self.n_best, self.counts = 20 if d >= 60 else 10, [count for count in (5, 10, 20, 30, 50) if count <= d // 2]

    def selector(self, X: Any) -> KernelFSASL:
        """Fit the default."""
        return KernelFSASL(max(self.n_best, *self.counts)).fit(X)

    def best(self, X: Any) -> np.ndarray:
        """The best columns."""
        return best_columns(self.selector(X), self.n_best)

    def stays(self, best: np.ndarray, chosen: np.ndarray) -> tuple[float, float]:
        """The share of the best columns that are chosen, and of those that a chosen column says the same as."""
        correlations = absolute_correlations(self.X)[np.ix_(best, chosen)]
        return float(np.isin(best, chosen).mean()), float(np.mean(correlations.max(axis=1) >= SAYS_THE_SAME))

    def agreement(self, selector: KernelFSASL) -> dict[str, float]:
        """ACC and NMI of k-means on the complete values of the chosen columns."""
        found = [clustering_agreement(self.judged[:, best_columns(selector, m)], self.classes) for m in self.counts]
        return {key: 100.0 * float(np.mean([each[key] for each in found])) for key in ("acc", "nmi")}

    def with_holes(self, pattern: str, share: float, seed: int) -> np.ndarray:
        """The values, NaN where they are removed."""
        holes = PATTERNS[pattern](self.X.shape, share, np.random.default_rng([seed, round(100 * share)]))
        return np.where(holes & ~holes.all(axis=0), np.nan, self.X)


def of_a_fifth(path: Path, data: str, seed: int) -> dict[str, Any]:
    """What stays of the choice with a fifth missing, or a fifth of the rows, and what it is worth."""
    with threadpool_limits(1):
        problem = Problem(path)
        n = len(problem.X)
        if data in PATTERNS:
            X = filled(problem.with_holes(data, 0.2, seed))
        else:
            share = 0.8 if data == "fewer rows" else 1.0
            X = problem.X[np.sort(np.random.default_rng(seed).choice(n, round(share * n), replace=False))]
        selector, same, alike = problem.selector(X), 1.0, 1.0
        if data != "complete":
            same, alike = problem.stays(problem.best(problem.X), best_columns(selector, problem.n_best))
        size = f"{path.stem}, {n:,} × {problem.X.shape[1]}"
        return {"set": size, "best": problem.n_best, "data": data, "same": same, "alike": alike,
                **problem.agreement(selector)}  # fmt: skip


def of_a_way(path: Path, pattern: str, share: float) -> list[dict[str, Any]]:
    """What stays of the choice by every way to fill, and how much of the variance filled values explain."""
    rows = []
    with threadpool_limits(1):
        problem = Problem(path, 1000)
        best, X = problem.best(problem.X), problem.with_holes(pattern, share, 0)
        for way, fill in WAYS.items():
            F = fill(X)
            errors = ((F - problem.X) / problem.X.std(axis=0))[np.isnan(X)]
            rows.append(
                {"way": way, "holes": f"{share:.0%} {pattern}", "stays": problem.stays(best, problem.best(F))[0],
                 "explained": 1.0 - np.mean(errors**2)}
            )  # fmt: skip
    return rows


def of_half(path: Path, seed: int) -> list[dict[str, Any]]:
    """The share of the chosen columns that are among a random half, which has holes."""
    with threadpool_limits(1):
        problem = Problem(path, 1000)
        (n, d), rng = problem.X.shape, np.random.default_rng(seed)
        half, of_classes = rng.permutation(d) < d // 2, (problem.classes % 2 == 0) & (rng.random(n) < 0.8)
        patterns = {
            "complete": np.zeros((n, d), dtype=bool),
            "40 % at random": at_random((n, d), 0.4, rng),
            "40 % in blocks": in_blocks((n, d), 0.4, rng),
            "80 % of every second class": np.repeat(of_classes[:, None], d, axis=1),
        }
        return [
            {"way": way, "holes": name, "share": half[problem.best(WAYS[way](X))].mean()}
            for name, X in ((name, np.where(holes & half, np.nan, problem.X)) for name, holes in patterns.items())
            for way in ("mean", OURS)
        ]  # fmt: skip


def of_noise(pattern: str, way: str, kind: str, n: int, d: int, seed: int) -> dict[str, Any]:
    """The test of columns on noise of which 30 % is missing."""
    with threadpool_limits(1):
        rng = np.random.default_rng([seed, n, d])
        X = np.asarray(KINDS[kind](rng, n, d))
        X = np.where(PATTERNS[pattern](X.shape, 0.3, rng), np.nan, X)
        X = X[:, np.nanmax(X, axis=0) > np.nanmin(X, axis=0)]
        fill = {"where observed": lambda X: X, "filled by means": by_means, f"filled by {OURS}": filled}[way]
        tested = column_significance(fill(X), random_state=seed)
        return {"holes": f"30 % {pattern}", "way": way, "small": np.mean(tested.p_values <= 0.05),
                "any": tested.n_found > 0}  # fmt: skip


def table_of_a_fifth(results: pd.DataFrame) -> str:
    """A row for each set."""
    means = results.groupby(["set", "best", "data"])[["same", "alike", "acc", "nmi"]].mean().unstack("data")
    kinds = ["fewer rows", *PATTERNS]
    steady = means["same", "fewer rows"] >= STEADY
    by_itself = means[steady].mean()
    means.loc[("mean", ""), :] = means.mean()
    means.loc[(f"mean of the {steady.sum()} of which {STEADY:.0%} stay in the first column", ""), :] = by_itself
    rows = [
        [name, best, *(f"{row['same', kind]:.2f} ({row['alike', kind]:.2f})" for kind in kinds),
         *(f"{row['acc', kind]:.1f} / {row['nmi', kind]:.1f}" for kind in ["complete", *kinds])]
        for (name, best), row in means.iterrows()
    ]  # fmt: skip
    return table(["set", "best", "stay without a fifth of the rows", "with a fifth missing at random", "in blocks",
                  "ACC / NMI, complete", "without a fifth of the rows", "at random", "in blocks"], rows)  # fmt: skip


def table_of_means(results: pd.DataFrame, head: str, columns: str, text: Callable[[pd.Series], str]) -> str:
    """A row for each way, a column for each kind of holes."""
    means = results.groupby(["way", columns], sort=False).mean(numeric_only=True)
    kinds = list(dict.fromkeys(results[columns]))
    rows = [[way, *(text(means.loc[way, kind]) for kind in kinds)] for way in dict.fromkeys(results["way"])]
    return table([head, *kinds], rows)


def tables(quick: bool, n_jobs: int = -1) -> str | None:
    """All tables; None without data. ``quick`` takes two small sets, to see that it works."""
    folder = Path(os.environ.get("UFSELECT_DATA", "."))
    folder = folder / "many" if (folder / "many").exists() else folder
    paths = [folder / f"{name}.npz" for name in (("med_dermatology", "sc_guo_qpcr") if quick else SETS)]
    if not all(path.exists() for path in paths):
        return None
    seeds, n_sets, n_filled = (range(1), 2, 1) if quick else (range(SEEDS), 100, 20)
    column_significance(np.random.default_rng(0).standard_normal((60, 50)))  # compiles

    def run(function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        say(f"missing: {function.__name__}, {len(jobs)} jobs")
        return Parallel(n_jobs=n_jobs, batch_size=1)(delayed(function)(*job) for job in jobs)

    paths.sort(key=lambda path: -path.stat().st_size)
    kinds = ["fewer rows", *PATTERNS]
    fifth = run(of_a_fifth, [(p, data, seed) for p in paths for data in kinds for seed in seeds] +
                [(p, "complete", 0) for p in paths])  # fmt: skip
    ways = run(of_a_way, [(p, pattern, share) for p in paths for pattern in PATTERNS for share in SHARES])
    halves = run(of_half, [(p, seed) for p in paths for seed in seeds])
    tested = ["where observed", "filled by means", f"filled by {OURS}"]
    noise = [("normal", 200, 40), ("heavy tails", 150, 100), ("rare binary", 200, 40)]
    level = run(of_noise, [
        (pattern, way, *kind, seed) for pattern in PATTERNS for way in tested for kind in noise
        for seed in range(n_sets if way == tested[0] else n_filled)
    ])  # fmt: skip
    return "\n\n".join([
        table_of_a_fifth(pd.DataFrame(fifth)),
        table_of_means(pd.DataFrame(chain.from_iterable(ways)), "filled by", "holes",
                       lambda row: f"{row.stays:.2f} ({row.explained:.2f})"),
        table_of_means(pd.DataFrame(chain.from_iterable(halves)), "chosen columns in the half with holes", "holes",
                       lambda row: f"{row.share:.2f}"),
        table_of_means(pd.DataFrame(level), "p ≤ 0.05, and sets with a discovery", "holes",
                       lambda row: f"{100 * row.small:.1f} %, {100 * row['any']:.1f} %"),
    ])  # fmt: skip
