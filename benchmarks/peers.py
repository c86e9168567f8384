"""ufselect against skfeature-chappers: seconds and ratios of the methods that both implement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

from data import DATA_VARIABLE
from peer_fits import METHODS, N_FEATURES, Task, task
from processes import Outcome, outcome_in_fresh_process, say
from report import number, table

LEAST_RATIO = 1
LEAST_MEAN_RATIO = 5


@dataclass(frozen=True)
class Pair:
    """One method on one data set in both libraries."""

    method: str
    data: str
    peer: Outcome
    ours: Outcome
    time_limit: float

    @property
    def ratio(self) -> float | None:
        """The time of skfeature divided by that of ufselect; a lower bound if skfeature exceeded the time limit."""
        if self.ours.values is None or self.peer.problem:
            return None
        peer_seconds = self.peer.values["seconds"] if self.peer.values else self.time_limit
        return peer_seconds / self.ours.values["seconds"]

    def row(self) -> list[str]:
        """Iterations and seconds of both libraries, their ratio, and the number of common features."""
        bound = "> " if self.peer.out_of_time else ""
        return [
            self.method,
            f"{_cell(self.peer, 'iterations')} / {_cell(self.ours, 'iterations')}",
            self._seconds(self.peer),
            self._seconds(self.ours),
            "" if self.ratio is None else f"{bound}{number(self.ratio)}",
            self._common(),
        ]

    def _seconds(self, outcome: Outcome) -> str:
        if outcome.values:
            return number(outcome.values["seconds"])
        return f"> {number(self.time_limit)}" if outcome.out_of_time else outcome.problem

    def _common(self) -> str:
        if self.ours.values is None or self.peer.values is None:
            return ""
        return str(len({*self.ours.values["best"]} & {*self.peer.values["best"]}))


def compare_with_skfeature(iterations: dict[str, int], threads: int, time_limit: float) -> str | None:
    """Tables of all methods on the available data sets; None without skfeature or without data."""
    if find_spec("skfeature") is None:
        print("peers skipped: skfeature-chappers is not installed (pip install '.[bench]').\n")
        return None
    pairs: list[Pair] = []
    texts: list[str] = []
    for data, max_iter in iterations.items():
        whole = task(data, max_iter)
        if whole is None:
            print(f"{data} skipped: {DATA_VARIABLE} names no folder with {data}.npz.\n")
            continue
        of_this_set = [_pair(method, data, max_iter, threads, time_limit) for method in METHODS]
        pairs += of_this_set
        texts.append(_table_of(whole, data, of_this_set))
    return "\n\n".join([*texts, _summary(pairs)]) if pairs else None


def _pair(method: str, data: str, max_iter: int, threads: int, time_limit: float) -> Pair:
    """Run skfeature first: if it stops early, ufselect runs the same number of iterations."""

    def outcome(library: str, max_iter: int) -> Outcome:
        say(f"peers: {method} of {library} on {data}")
        found = outcome_in_fresh_process(
            "peer", threads, library=library, method=method, data=data, max_iter=max_iter, time_limit=time_limit
        )
        say(
            "    "
            + (f"{number(found.values['seconds'])} s" if found.values else found.problem or "over the time limit")
        )
        return found

    peer = outcome("skfeature", max_iter)
    taken = peer.values["iterations"] if peer.values else 0
    return Pair(method, data, peer, outcome("ufselect", taken or max_iter), time_limit)


def _table_of(whole: Task, data: str, pairs: list[Pair]) -> str:
    n, d = whole.X.shape
    header = [
        f"{data} ({n} × {d}, c = {whole.n_clusters})",
        "iterations, skfeature / ufselect",
        "skfeature, s",
        "ufselect, s",
        "skfeature / ufselect",
        f"in common of {N_FEATURES}",
    ]
    return table(header, [pair.row() for pair in pairs])


def _summary(pairs: list[Pair]) -> str:
    """The smallest ratio and the geometric mean, beside the requirements."""
    ratios = {f"{pair.method}, {pair.data}": pair.ratio for pair in pairs if pair.ratio is not None}
    bound = "> " if any(pair.peer.out_of_time for pair in pairs if pair.ratio is not None) else ""
    rows = []
    if ratios:
        where, smallest = min(ratios.items(), key=lambda item: item[1])
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        rows = [
            [f"smallest ratio ({where})", number(smallest), f"≥ {LEAST_RATIO}"],
            [
                f"geometric mean of {len(ratios)} of {len(pairs)} ratios",
                f"**{bound}{number(mean)}**",
                f"≥ {LEAST_MEAN_RATIO}",
            ],
        ]
    return table(["measure", "value", "required"], rows) + f"\n\nskfeature-chappers {version('skfeature-chappers')}."


def _cell(outcome: Outcome, key: str) -> str:
    return str(outcome.values[key] or "–") if outcome.values else "–"
