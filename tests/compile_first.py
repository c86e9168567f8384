"""Compile functions that many tests need; `make test` runs this while it collects them.

Without it, each test process would compile them in a fresh checkout, slowed down by the measuring of coverage.
"""

import numpy as np

from ufselect import FSASL
from ufselect.datasets.planted import make_planted_clusters
from ufselect.solvers.kmeans import kmeans_labels

if __name__ == "__main__":
    X = make_planted_clusters(60, 3, 10, 5, random_state=0).X
    settings = {"max_iter": 2, "tol": None}
    FSASL(5, structure="both", **settings).fit(X)
    kmeans_labels(X, np.array([[0, 1, 2]]))
    FSASL(5, structure="global", **settings).fit(X)
    FSASL(5, structure="global", **settings).fit(X.astype(np.float32))
    FSASL(5, spread="mean", **settings).fit(X)
