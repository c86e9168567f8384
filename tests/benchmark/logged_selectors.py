"""Selectors for experiments in tests: they log their fits, take time, warn, or fail."""

import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning


class Logged(BaseEstimator):
    """Ranks at random, after logging its seed to a file; seeds above 5 wait for the file ``gate``, if one is named.

    So a test can stop an experiment midway, however long anything takes.
    """

    def __init__(self, seed=0, log="", gate=""):
        self.seed = seed
        self.log = log
        self.gate = gate

    def fit(self, X):
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{self.seed}\n")
        while self.gate and self.seed > 5 and not Path(self.gate).exists():
            time.sleep(0.01)
        self.ranking_ = np.random.default_rng(self.seed).permutation(X.shape[1]) + 1
        return self


class Scored(BaseEstimator):
    """Sets scores but no ranking; the last column is best."""

    def fit(self, X):
        self.scores_ = np.arange(X.shape[1])
        return self


class Dividing(BaseEstimator):
    """Raises an error that nobody expects."""

    def fit(self, X, y=None):
        return 1 // 0


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


class Fragile(BaseEstimator):
    """Needs so many samples."""

    def __init__(self, n_samples=0):
        self.n_samples = n_samples

    def fit(self, X):
        if X.shape[0] < self.n_samples:
            raise ValueError("too few samples")
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self


class Keen(BaseEstimator):
    """Sets what it is given as learned attributes."""

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


class Stepwise(BaseEstimator):
    """Records its objective after every iteration, and after every step of one."""

    def fit(self, X):
        self.ranking_ = np.arange(X.shape[1]) + 1
        self.half_step_history_ = np.array([[4.0, 3.0, 2.0], [3.0, 2.0, 1.0]])
        self.objective_history_ = self.half_step_history_[:, -1]
        return self


class Unsettled(BaseEstimator):
    """Warns that it did not converge, and of something else if asked to."""

    def __init__(self, times=0, other=False):
        self.times = times
        self.other = other

    def fit(self, X):
        for _ in range(self.times):
            warnings.warn("did not converge", ConvergenceWarning, stacklevel=2)
        if self.other:
            warnings.warn("something else", UserWarning, stacklevel=2)
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self


class Hungry(BaseEstimator):
    """Allocates the given number of megabytes and frees them."""

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
