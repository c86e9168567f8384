"""Selectors for experiments in tests: they write down when they are fitted, take their time, or fail."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator


class Logged(BaseEstimator):
    """Ranks at random, after a line with its seed in a file and a pause."""

    def __init__(self, seed=0, log="", seconds=0.0):
        self.seed = seed
        self.log = log
        self.seconds = seconds

    def fit(self, X):
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{self.seed}\n")
        time.sleep(self.seconds)
        self.ranking_ = np.random.default_rng(self.seed).permutation(X.shape[1]) + 1
        return self


class Scored(BaseEstimator):
    """Leaves scores, no ranking; the last column is best."""

    def fit(self, X):
        self.scores_ = np.arange(X.shape[1])
        return self


class Failing(BaseEstimator):
    """Fails for the seeds from ``first`` on."""

    def __init__(self, seed=0, first=0):
        self.seed = seed
        self.first = first

    def fit(self, X):
        if self.seed >= self.first:
            raise ValueError("out of luck")
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self


class Keen(BaseEstimator):
    """Takes whatever it is told, and keeps it for those who ask."""

    def __init__(self, n_clusters=2, n_features_to_select=None):
        self.n_clusters = n_clusters
        self.n_features_to_select = n_features_to_select

    @classmethod
    def anyhow(cls, **parameters):
        return cls(**parameters)

    def fit(self, X):
        self.ranking_ = np.arange(X.shape[1]) + 1
        self.n_clusters_ = self.n_clusters
        self.n_iter_ = np.int64(self.n_features_to_select)
        self.objective_history_ = np.array([3.0, 2.0, 1.0])
        return self


class Hungry(BaseEstimator):
    """Fills so many megabytes and lets them go."""

    def __init__(self, megabytes=0):
        self.megabytes = megabytes

    def fit(self, X):
        self.total_ = np.ones(self.megabytes * 10**6 // 8).sum()
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self


class Deadly(BaseEstimator):
    """Ends the process it runs in, for one seed."""

    def __init__(self, seed=0, deadly=1):
        self.seed = seed
        self.deadly = deadly

    def fit(self, X):
        if self.seed == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self
