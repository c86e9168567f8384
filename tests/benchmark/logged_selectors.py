"""Selectors for experiments in tests: they log their fits, take time, warn, or fail."""

import os
import signal
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning


class InOrder:
    """Takes the columns as they come."""

    def fit(self, X):
        self.ranking_ = np.arange(X.shape[1]) + 1
        return self


@dataclass
class Logged:
    """Ranks at random, after logging its seed to a file; seeds above 5 wait for the file ``gate``, if one is named.

    So a test can stop an experiment midway, however long anything takes.
    """

    seed: int = 0
    log: str = ""
    gate: str = ""

    def fit(self, X):
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{self.seed}\n")
        while self.gate and self.seed > 5 and not Path(self.gate).exists():
            time.sleep(0.01)
        self.ranking_ = np.random.default_rng(self.seed).permutation(X.shape[1]) + 1
        return self


class Dividing:
    """Raises an error that nobody expects."""

    def fit(self, X, y=None):
        return 1 // 0


@dataclass
class Failing(InOrder):
    """Fails for the seeds from ``first`` on."""

    seed: int = 0
    first: int = 0

    def fit(self, X):
        if self.seed >= self.first:
            raise ValueError("out of luck")
        return super().fit(X)


@dataclass
class Fragile(InOrder):
    """Needs so many samples."""

    n_samples: int = 0

    def fit(self, X):
        if X.shape[0] < self.n_samples:
            raise ValueError("too few samples")
        return super().fit(X)


@dataclass
class Keen(InOrder):
    """Sets what it is given as learned attributes."""

    n_clusters: int = 2
    n_features_to_select: int | None = None

    @classmethod
    def anyhow(cls, **parameters):
        return cls(**parameters)

    def fit(self, X):
        self.n_clusters_ = self.n_clusters
        self.n_iter_ = np.int64(self.n_features_to_select)
        self.objective_history_ = np.array([3.0, 2.0, 1.0])
        return super().fit(X)


class Stepwise(InOrder):
    """Records its objective after every iteration, and after every step of one."""

    def fit(self, X):
        self.half_step_history_ = np.array([[4.0, 3.0, 2.0], [3.0, 2.0, 1.0]])
        self.objective_history_ = self.half_step_history_[:, -1]
        return super().fit(X)


@dataclass
class Unsettled(InOrder):
    """Warns that it did not converge, and of something else if asked to."""

    times: int = 0
    other: bool = False

    def fit(self, X):
        for _ in range(self.times):
            warnings.warn("did not converge", ConvergenceWarning, stacklevel=2)
        if self.other:
            warnings.warn("something else", UserWarning, stacklevel=2)
        return super().fit(X)


@dataclass
class Hungry(InOrder):
    """Allocates the given number of megabytes and frees them."""

    megabytes: int = 0

    def fit(self, X):
        self.total_ = np.ones(self.megabytes * 10**6 // 8).sum()
        return super().fit(X)


@dataclass
class Deadly(InOrder):
    """Ends the process it runs in, for one seed."""

    seed: int = 0
    deadly: int = 1

    def fit(self, X):
        if self.seed == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X)
