"""Integer seeds from ``random_state``, and random subsets of the samples."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, check_scalar

from ufselect._utils.types import Indices


def seed_of(random_state: Any) -> int:
    """Return ``random_state`` if it is an integer; otherwise draw an integer from it (None is NumPy's global state)."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32 - 1))
    rng = check_random_state(random_state)
    return int(random_state) if isinstance(random_state, Integral) else int(rng.randint(2**31 - 1))


def draws_of_samples(n: int, n_draws: int, share: float = 0.8, random_state: Any = 0) -> list[Indices]:
    """Draw random subsets with a share of the samples; return their sorted row indices."""
    check_scalar(n_draws, "n_draws", Integral, min_val=0)
    check_scalar(share, "share", Real, min_val=0, max_val=1, include_boundaries="right")
    rng = np.random.default_rng(seed_of(random_state))
    return [np.sort(rng.choice(n, size=max(round(share * n), 1), replace=False)) for _ in range(n_draws)]


def some_samples(n: int, most: int, random_state: Any) -> Indices:
    """Draw at most ``most`` of n samples; return their sorted row indices."""
    seed = seed_of(random_state)
    return np.arange(n) if most >= n else np.sort(np.random.default_rng(seed).choice(n, size=most, replace=False))


def random_selections(
    n_columns: int, count: int, n_random: int, random_state: int, groups: Indices | None = None
) -> list[Indices]:
    """Draw ``n_random`` selections of ``count`` columns, or of whole groups given the number of the group of each."""
    check_scalar(n_random, "n_random", Integral, min_val=0)
    rng = np.random.default_rng(random_state)
    n_units = n_columns if groups is None else int(groups.max()) + 1
    drawn = [rng.choice(n_units, size=count, replace=False) for _ in range(n_random)]
    return drawn if groups is None else [np.flatnonzero(np.isin(groups, each)) for each in drawn]
