"""One fit of every selector on a large data set, with limits on memory and time."""

from __future__ import annotations

import inspect
from time import perf_counter
from typing import Any

from data import noisy_clusters, useful_columns
from processes import Outcome, ended_after, outcome_in_fresh_process, say
from report import number, table

import ufselect

N_CLUSTERS = 20
N_FEATURES = 50
MOST_MEMORY = 4 * 10**9  # bytes


def fit_every_selector(n: int, d: int, threads: int, time_limit: float) -> str:
    """A table of seconds, peak memory and informative columns found, or the reason why a fit failed."""
    rows = []
    for name in selectors():
        say(f"sizes: {name}, {n} × {d}")
        outcome = outcome_in_fresh_process(
            "size", threads, most_memory=MOST_MEMORY, name=name, n=n, d=d, time_limit=time_limit
        )
        rows.append([name, *_cells(outcome, d, time_limit)])
        say("    " + ", ".join(filter(None, rows[-1][1:])))
    header = [f"{n} × {d}, c = {N_CLUSTERS}", "seconds", "peak memory, MB", "informative columns found"]
    return table(header, rows)


def selectors() -> list[str]:
    """The names of all selectors."""
    return [name for name in ufselect.__all__ if hasattr(getattr(ufselect, name), "fit")]


def timed_selector(name: str, n: int, d: int, time_limit: float) -> dict[str, Any]:
    """Seconds of one fit after a small warm-up fit, and the number of informative columns among the best 50."""
    selector_with(name, n_features_to_select=5, n_clusters=4, max_iter=2).fit(noisy_clusters(1200, 60, 4))
    X = noisy_clusters(n, d, N_CLUSTERS)
    selector = selector_with(name, n_features_to_select=N_FEATURES, n_clusters=N_CLUSTERS)
    with ended_after(time_limit):
        start = perf_counter()
        selector.fit(X)
        seconds = perf_counter() - start
    return {"seconds": seconds, "useful": int((selector.top_features(N_FEATURES) < useful_columns(d)).sum())}


def selector_with(name: str, **wanted: Any) -> Any:
    """The selector with those of the given parameters that its constructor accepts."""
    kind = getattr(ufselect, name)
    known = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in wanted.items() if key in known})


def _cells(outcome: Outcome, d: int, time_limit: float) -> list[str]:
    if outcome.values is None:
        reason = f"stopped after {number(time_limit)} s" if outcome.out_of_time else outcome.problem
        return [reason.replace("|", "/").replace("\n", " "), "", ""]
    most = min(N_FEATURES, useful_columns(d))
    values = outcome.values
    return [number(values["seconds"]), f"{values['peak_mb']:.0f}", f"{values['useful']} of {most}"]
