"""
In a scikit-learn pipeline
==========================

Selectors are scikit-learn transformers: they stand in pipelines, keep names, and can be searched over. Here a scaler, a
selector and k-means in a row, and two ways to choose how many columns to keep without labels, one of which is a trap.
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

from ufselect import FSASL

# %%
# A pipeline
# ----------
# 178 wines, 13 measurements in different units. The cultivars (labels) wait until the end; that there are three is
# taken as known.

wine = load_wine(as_frame=True)
X = wine.data
pipeline = Pipeline(
    [
        ("scale", StandardScaler()),
        ("select", FSASL(n_features_to_select=5, n_clusters=3)),
        ("cluster", KMeans(3, n_init=10, random_state=0)),
    ]
).set_output(transform="pandas")
clusters = pipeline.fit_predict(X)
print("chosen, in the order of the columns:", *pipeline[:-1].get_feature_names_out(), sep="\n  ")
print("best first:", *pipeline["select"].top_features(), sep="\n  ")
print("\nwhat k-means sees, as a frame:")
print(pipeline[:-1].transform(X).head(3).round(2).to_string())

# %%
# How many columns? The trap
# --------------------------
# The silhouette says how much nearer samples are to their own cluster than to the next. Measured in the selected
# columns it compares different spaces, and clusters mostly look tighter where there are fewer. Measured in *all*
# scaled columns, every number of columns is judged in the same space.

scaled = StandardScaler().fit_transform(X)
rows = []
for m in range(2, X.shape[1] + 1):
    found = pipeline.set_params(select__n_features_to_select=m).fit_predict(X)
    own, common = silhouette_score(pipeline[:-1].transform(X), found), silhouette_score(scaled, found)
    rows.append({"m": m, "in the selected columns": own, "in all columns": common, "labels": found})
table = pd.DataFrame(rows).set_index("m")
print(table.drop(columns="labels").round(3).to_string())

# %%
# A search
# --------
# The same as a search, with a scorer that sees no labels: clusters of held-out wines, their silhouette in all columns.
# The scaler of the pipeline is fitted on the other wines, as it should be.


def silhouette_in_all_columns(pipeline: Pipeline, X: pd.DataFrame, y: object = None) -> float:
    """How well the clusters of these samples are apart, in all scaled columns."""
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
# What the labels say
# -------------------
# Only now: the agreement of the clusters with the cultivars. The silhouette in the selected columns would have kept two
# or three. In all columns it rises, then stands nearly still, and the fewest columns that are as good as the best, up
# to the scatter of the search, are a fair choice. All thirteen columns are about as good here: nothing is gained by
# leaving some out but a shorter list.

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
