"""
In a scikit-learn pipeline
==========================

Selectors are scikit-learn transformers: they work in pipelines, keep feature names, and support grid search. This
example chains a scaler, a selector and k-means, and shows two ways to choose the number of columns without labels. One
of them is a pitfall.
"""

from __future__ import annotations

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ufselect import KernelFSASL

# %%
# A pipeline
# ----------
# There are 178 wines with 13 measurements in different units. The cultivars (labels) are used only at the end; their
# number, three, is assumed to be known.

wine = load_wine(as_frame=True)
X = wine.data
pipeline = Pipeline(
    [
        ("scale", StandardScaler()),
        ("select", KernelFSASL(n_features_to_select=5)),
        ("cluster", KMeans(3, n_init=10, random_state=0)),
    ]
).set_output(transform="pandas")
clusters = pipeline.fit_predict(X)
print("selected, in the order of the columns:", *pipeline[:-1].get_feature_names_out(), sep="\n  ")
print("best first:", *pipeline["select"].top_features(), sep="\n  ")
print("\ninput of k-means, as a data frame:")
print(pipeline[:-1].transform(X).head(3).round(2).to_string())

# %%
# The number of columns, and a pitfall
# ------------------------------------
# The silhouette measures how much nearer samples are to their own cluster than to the next one. Computed in the
# selected columns, it compares different spaces, and clusters mostly look tighter in fewer columns. Computed in *all*
# scaled columns, it evaluates every number of columns in the same space.

scaled = StandardScaler().fit_transform(X)
rows = []
for m in range(2, X.shape[1] + 1):
    found = pipeline.set_params(select__n_features_to_select=m).fit_predict(X)
    own, common = silhouette_score(pipeline[:-1].transform(X), found), silhouette_score(scaled, found)
    rows.append({"m": m, "in the selected columns": own, "in all columns": common, "labels": found})
table = pd.DataFrame(rows).set_index("m")
print(table.drop(columns="labels").round(3).to_string())

# %%
# Grid search
# -----------
# The same with a grid search, whose scorer uses no labels: it computes the silhouette of the clusters of held-out wines
# in all columns. The scaler of the pipeline is fitted on the other wines, as it should be.


def silhouette_in_all_columns(pipeline: Pipeline, X: pd.DataFrame, y: object = None) -> float:  # noqa: ARG001
    """Return the silhouette of the clusters of these samples, in all scaled columns."""
    return silhouette_score(pipeline["scale"].transform(X), pipeline.predict(X))


search = GridSearchCV(
    pipeline,
    {"select__n_features_to_select": list(range(2, 14))},
    scoring=silhouette_in_all_columns,
    cv=ShuffleSplit(5, test_size=0.5, random_state=0),
).fit(X)
means, stds = (search.cv_results_[f"{key}_test_score"] for key in ("mean", "std"))
enough = next(m for m, mean in enumerate(means, start=2) if mean >= means.max() - stds[means.argmax()])
print(f"best mean silhouette: {search.best_params_['select__n_features_to_select']} columns")
print(f"fewest columns within one standard deviation of it: {enough}")

# %%
# Evaluation
# ----------
# Only now do we look at the agreement of the clusters with the cultivars. The silhouette in the selected columns would
# have kept two or three columns. In all columns it increases and then hardly changes. The fewest columns that are as
# good as the best, up to the variation of the search, are a reasonable choice. Here, all thirteen columns are about as
# good: the only gain is a shorter list.

agreement = table["labels"].map(partial(adjusted_rand_score, wine.target))
figure, axis = plt.subplots(figsize=(7.5, 4), layout="constrained")
own, common = table["in the selected columns"], table["in all columns"]
axis.plot(table.index, own, "o--", color="grey", label="silhouette in the selected columns")
axis.plot(table.index, common, "o-", label="silhouette in all columns")
axis.errorbar(np.arange(2, 14) + 0.1, means, stds, fmt="s:", color="C0", alpha=0.6, label="the same, held-out wines")
axis.plot(table.index, agreement, "o-", color="C3", label="adjusted Rand index with the cultivars")
axis.set(xlabel="columns kept", ylim=(0, 1), xticks=table.index)
axis.legend(frameon=False, loc="center right", bbox_to_anchor=(1.0, 0.62))
print(agreement.rename("adjusted Rand index").round(3).to_string())
plt.show()
