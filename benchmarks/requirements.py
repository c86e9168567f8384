"""Choices within a budget, quotas and weights beside an exhaustive search, and their time at many columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
from common import noisy_clusters, number, say, table
from numpy.typing import NDArray

from ufselect import KernelFSASL, Requirements
from ufselect.inspection import LearnedStructure, budget_curve

SENSORS = {"camera": 4.0, "lidar": 5.0, "both": 20.0, "thermometer": 3.0, "noise": 1.0, "clock": 1.0}
_COLUMNS = 12  # of which all sets are compared
Sets = Iterable[tuple[int, ...]]


def sensors(seed: int, n: int = 150) -> tuple[NDArray[np.float64], list[str]]:
    """Six sensors of several channels: two see one of two groupings of the samples each, a dear one sees both."""
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, 3, (2, n))

    def channels(labels: NDArray[Any], width: int, distance: float = 3.0) -> NDArray[np.float64]:
        return distance * rng.standard_normal((3, width))[labels] + rng.standard_normal((n, width))

    parts = [
        channels(one, 4),
        channels(two, 4),
        np.hstack([channels(one, 3), channels(two, 3)]),
        channels(one, 2, 1.0),
        rng.standard_normal((n, 4)),
        rng.standard_normal((n, 3)),
    ]
    return np.hstack(parts), np.repeat(list(SENSORS), [part.shape[1] for part in parts]).tolist()


def beside_all_subsets(n_problems: int) -> str:
    """Return a table on the alignment of choices, as shares of the best of all sets that meet the same wishes."""
    say("requirements: six sensors")
    rows = [["six sensors, budget 9", *_sensors_beside_all(n_problems, 9.0)]]
    rows.append(["six sensors, budget 25", *_sensors_beside_all(n_problems, 25.0)])
    for name in ("budget", "budget and weights", "at most one of a family", "budget, quotas and distances"):
        say(f"requirements: {name}")
        rows.append([f"{_COLUMNS} columns, {name}", *_columns_beside_all(n_problems, name)])
    head = ["wishes", "problems", "share of the best alignment, least", "mean", "the best set"]
    return table(head, rows)


def many_columns(n: int, d: int) -> str:
    """Return a table on the time of fits within a budget and of a curve."""
    X = noisy_clusters(n, d, 8).astype(np.float32)
    rng = np.random.default_rng(0)
    costs, families = np.round(rng.lognormal(0.0, 0.7, d), 2), rng.integers(0, d // 4, d)
    wishes: dict[str, dict[str, Any] | None] = {
        "no wishes": None,
        "budget 50": {"costs": costs, "budget": 50.0},
        "budget of 1,000": {"costs": costs, "budget": 1000.0},
        "at most one of a family, 50 columns": {"families": families, "at_most": 1},
        "50 columns at least 10 apart, budget 50": {
            "costs": costs, "budget": 50.0, "positions": np.arange(d) * 1.0, "min_distance": 10.0,
        },
    }  # fmt: skip
    KernelFSASL(5).fit(X[:100, :50])  # compiles
    rows = []
    for name, wanted in wishes.items():
        say(f"requirements: {name}")
        count = 50 if "50 columns" in name else "auto"
        start = perf_counter()
        selector = KernelFSASL(count, requirements=wanted).fit(X)
        seconds, alignment = perf_counter() - start, selector.alignment_curve_[selector.n_features_ - 1]
        rows.append([name, selector.n_features_, f"{alignment:.3f}", number(seconds)])
        if name == "budget 50":
            start = perf_counter()
            curve = budget_curve(selector, X)
            row = ["`budget_curve`, 20 budgets", curve[-1].n_selected, f"{curve[-1].alignment:.3f}"]
            rows.append([*row, number(perf_counter() - start)])
    return table([f"{n:,} × {d:,}, float32", "columns", "alignment", "seconds, with the fit"], rows)


def _sensors_beside_all(n_problems: int, budget: float) -> list[str]:
    shares = []
    for seed in range(n_problems):
        X, groups = sensors(seed)
        selector = KernelFSASL(groups=groups, requirements=Requirements(costs=SENSORS, budget=budget)).fit(X)
        sets = [names for size in range(1, 7) for names in combinations(SENSORS, size)]
        affordable = [names for names in sets if sum(SENSORS[name] for name in names) <= budget]
        columns = [np.flatnonzero(np.isin(groups, names)) for names in affordable]
        best = LearnedStructure(selector, X).alignments_of(columns).max()
        shares.append(selector.alignment_curve_[selector.n_features_ - 1] / best)
    return _described(shares)


def _columns_beside_all(n_problems: int, name: str) -> list[str]:
    shares = []
    for seed in range(n_problems):
        rng = np.random.default_rng(seed)
        X = noisy_clusters(150, _COLUMNS, 3, seed) + np.outer(rng.standard_normal(150), rng.standard_normal(_COLUMNS))
        costs, families = rng.uniform(1.0, 5.0, _COLUMNS), rng.integers(0, 4, _COLUMNS)
        positions, weights = rng.permutation(_COLUMNS) * 2.5, np.exp(rng.standard_normal(_COLUMNS))
        wanted: dict[str, Any] = {"costs": costs, "budget": 10.0} if "budget" in name else {}
        if "weights" in name:
            wanted["weights"] = weights
        if "family" in name or "quotas" in name:
            wanted |= {"families": families, "at_most": 1 if "family" in name else 2}
        if "distances" in name:
            wanted |= {"positions": positions, "min_distance": 5.0}
        selector = KernelFSASL(requirements=wanted).fit(X)
        part, carried = LearnedStructure(selector, X).part(np.arange(_COLUMNS))
        worth, H = carried * wanted.get("weights", 1.0), part.gram() ** 2

        def meets(columns: list[int], wanted: dict[str, Any] = wanted) -> bool:
            near = (
                abs(wanted["positions"][one] - wanted["positions"][other]) < 5.0
                for one, other in combinations(columns, 2)
                if "positions" in wanted
            )
            return (
                ("costs" not in wanted or wanted["costs"][columns].sum() <= 10.0)
                and ("families" not in wanted or np.bincount(wanted["families"][columns]).max() <= wanted["at_most"])
                and not any(near)
            )

        values = _alignments(worth, H, meets)
        shares.append(values[tuple(np.flatnonzero(selector.get_support()).tolist())] / max(values.values()))
    return _described(shares)


def _alignments(
    a: NDArray[np.float64], H: NDArray[np.float64], meets: Callable[[list[int]], bool]
) -> dict[tuple[int, ...], float]:
    """The alignment of every set that meets the wishes."""
    sets: Sets = (columns for size in range(1, len(a) + 1) for columns in combinations(range(len(a)), size))
    return {
        columns: float(a[list(columns)].sum() / np.sqrt(H[np.ix_(columns, columns)].sum()))
        for columns in sets
        if meets(list(columns))
    }


def _described(shares: list[float]) -> list[str]:
    best = sum(share >= 1.0 - 1e-9 for share in shares)
    return [str(len(shares)), f"{min(shares):.4f}", f"{np.mean(shares):.4f}", f"{best} of {len(shares)}"]


def search_beside_all_sets(n_problems: int, n_units: int) -> str:
    """Return a table on the search for many units, where all sets can still be compared."""
    from ufselect.columns.unit_requirements import UnitRequirements
    from ufselect.solvers.choice_within import best_choice

    say("requirements: search")
    rows = []
    for share in (0.1, 0.3, 1.0):
        found = []
        for seed in range(n_problems):
            rng = np.random.default_rng(seed)
            Z = rng.standard_normal((60, 4))
            X = Z @ (rng.standard_normal((4, n_units)) * (rng.random(n_units) < 0.5))
            X = (X + rng.standard_normal(X.shape)) * rng.uniform(0.3, 2.0, n_units)
            a, H = np.sum((X.T @ np.linalg.qr(Z)[0]) ** 2, axis=1), (X.T @ X) ** 2
            costs = rng.lognormal(0.0, 1.0, n_units)
            wanted = UnitRequirements(costs, share * costs.sum())
            sets = [best_choice(a, H, wanted, enumerate_up_to=most) for most in (0, n_units)]
            one, best = (a[units].sum() / np.sqrt(H[np.ix_(units, units)].sum()) for units in sets)
            found.append(float(one / best))
        rows.append([f"{n_units} units, budget {share:.0%} of all costs", *_described(found)])
    return table(["search without enumeration", "problems", "share of the best, least", "mean", "the best set"], rows)
