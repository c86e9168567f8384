"""One fit of every selector on a large data set, with limits on memory and time."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from data import noisy_clusters, useful_columns
from processes import Outcome, ended_after, outcome_in_fresh_process, say
from report import number, table

import ufselect

N_FEATURES = 50
MOST_MEMORY = 4 * 10**9  # bytes


@dataclass(frozen=True)
class Size:
    """The size of synthetic data, and the number of clusters if the selectors are told."""

    n: int
    d: int
    n_clusters: int
    told: bool = True
    most_seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.n} × {self.d}, c = {self.n_clusters}" + ("" if self.told else ", not given")


def fit_every_selector(size: Size, threads: int, time_limit: float) -> str:
    """A table of seconds, peak memory and informative columns found, or the reason why a fit failed."""
    rows = []
    for name in selectors():
        say(f"sizes: {name}, {size}")
        outcome = outcome_in_fresh_process(
            "size", threads, most_memory=MOST_MEMORY, name=name, size=asdict(size), time_limit=time_limit
        )
        rows.append([name, *_cells(outcome, size.d, time_limit)])
        say("    " + ", ".join(filter(None, rows[-1][1:])))
    text = table([str(size), "seconds", "iterations", "peak memory, MB", "informative columns found"], rows)
    required = "" if size.most_seconds is None else f"\n\nRequired: at most {number(size.most_seconds)} s each."
    return text + required


def selectors() -> list[str]:
    """The names of all selectors."""
    return [name for name in ufselect.__all__ if hasattr(getattr(ufselect, name), "fit")]


def timed_selector(name: str, size: dict[str, Any], time_limit: float) -> dict[str, Any]:
    """Seconds and iterations of one fit after small warm-up fits, and the informative columns among the best 50."""
    shape = Size(**size)
    for n, d in ((1200, 60), (200, 300)):
        selector_with(name, n_features_to_select=5, n_clusters=4, max_iter=2).fit(noisy_clusters(n, d, 4))
    X = noisy_clusters(shape.n, shape.d, shape.n_clusters)
    told = {"n_clusters": shape.n_clusters} if shape.told else {}
    selector = selector_with(name, n_features_to_select=N_FEATURES, **told)
    with ended_after(time_limit):
        start = perf_counter()
        selector.fit(X)
        seconds = perf_counter() - start
    useful = int((selector.top_features(N_FEATURES) < useful_columns(shape.d)).sum())
    return {"seconds": seconds, "iterations": getattr(selector, "n_iter_", None), "useful": useful}


def selector_with(name: str, **wanted: Any) -> Any:
    """The selector with those of the given parameters that its constructor accepts."""
    kind = getattr(ufselect, name)
    known = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in wanted.items() if key in known})


def _cells(outcome: Outcome, d: int, time_limit: float) -> list[str]:
    if outcome.values is None:
        reason = f"stopped after {number(time_limit)} s" if outcome.out_of_time else outcome.problem
        return [reason.replace("|", "/").replace("\n", " "), "", "", ""]
    most = min(N_FEATURES, useful_columns(d))
    values = outcome.values
    iterations = "" if values["iterations"] is None else str(values["iterations"])
    return [number(values["seconds"]), iterations, f"{values['peak_mb']:.0f}", f"{values['useful']} of {most}"]
