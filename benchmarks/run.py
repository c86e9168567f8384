"""Measure time and memory: against a plain version, peers and an earlier revision, and at large sizes.

The tables are printed and written to README.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from before import Shape, compare_with_revision
from comparison import Comparison, TimedFit, compare
from data import DATA_VARIABLE, noisy_clusters, public_set, useful_columns
from harness import kmeans_beside_sklearn, settings_per_minute
from peer_fits import SYNTHETIC
from peers import compare_with_skfeature
from processes import in_fresh_process, say
from report import machine, number, table, write_section
from sizes import Size, fit_every_selector
from steps import FUNCTIONS_OF_STEP
from threadpoolctl import threadpool_limits
from tool import large_files, large_page, starting_times

STEPS = list(FUNCTIONS_OF_STEP)
LEAST_RATIO = 20
LARGEST_EXPONENT = {"n": 2.1, "d": 1.3}
MOST_MEMORY_MB = 3000
BEFORE = "ee3ef4c"  # the last revision before all constructors got one contract


@dataclass(frozen=True)
class Sizes:
    """The sizes of all measurements."""

    iterations: dict[str, int]
    n: list[int]
    d: list[int]
    d_of_n_growth: int
    n_of_d_growth: int
    growth_iterations: int
    peer_iterations: dict[str, int]
    every_selector: list[Size]
    harness_settings: int
    files: list[tuple[int, int]]
    page: tuple[int, int]
    before_shapes: list[Shape]
    before: str = BEFORE
    threads: int = 1
    time_limit: float = 900.0


FULL = Sizes(
    iterations={"COIL": 3, "TOX": 5},
    n=[5000, 10_000, 20_000],
    d=[500, 1000, 2000, 4000, 8000],
    d_of_n_growth=500,
    n_of_d_growth=500,
    growth_iterations=3,
    peer_iterations={"COIL": 5, "TOX": 5},
    every_selector=[Size(20_000, 500, 20), Size(3000, 10_000, 10, told=False, most_seconds=60.0)],
    harness_settings=55,
    files=[(50_000, 50), (2000, 20_000)],
    page=(20_000, 5000),
    before_shapes=[Shape("dense", 1000, 500, 10), Shape("dense", 300, 3000, 5), Shape("sparse", 2000, 1000, 10)],
)
QUICK = Sizes(
    iterations={},
    n=[1200, 2400],
    d=[200, 400],
    d_of_n_growth=100,
    n_of_d_growth=200,
    growth_iterations=1,
    peer_iterations={SYNTHETIC: 3},
    every_selector=[Size(1200, 100, 20), Size(150, 300, 10, told=False)],
    harness_settings=4,
    files=[(1000, 20), (100, 500)],
    page=(1000, 100),
    before_shapes=[Shape("dense", 120, 60, 3), Shape("sparse", 120, 60, 3)],
)


def compare_with_plain(sizes: Sizes) -> str | None:
    """FSASL and its plain version on the public data sets, or on a small synthetic one in a quick run."""
    rows, checks = [], []
    for name, X, n_clusters, max_iter in _sets_to_compare(sizes):
        say(f"{name}: {X.shape[0]} × {X.shape[1]}, c = {n_clusters}, {max_iter} iterations, both versions")
        comparison = compare(X, n_clusters, max_iter)
        label = f"{name} ({X.shape[0]} × {X.shape[1]}, c = {n_clusters}, {max_iter} iterations)"
        rows += _rows_of_comparison(label, comparison)
        checks += _rows_of_checks(name, comparison)
    if not rows:
        return None
    return "\n\n".join(
        [
            table(["seconds", "version", *STEPS, "other", "total", "plain / ufselect"], rows),
            f"Required: at least {LEAST_RATIO} times faster. Both versions solve the same problem:",
            table(["check", "plain", "ufselect"], checks),
        ]
    )


def _sets_to_compare(sizes: Sizes) -> Iterator[tuple[str, np.ndarray, int, int]]:
    for name, max_iter in sizes.iterations.items():
        found = public_set(name)
        if found is None:
            print(f"{name} skipped: {DATA_VARIABLE} names no folder with {name}.npz.\n")
        else:
            yield name, found.X, found.n_classes, max_iter
    if not sizes.iterations:
        yield "synthetic", noisy_clusters(300, 200, 5), 5, 2


def _rows_of_comparison(label: str, comparison: Comparison) -> list[list[str]]:
    def cells(fit: TimedFit) -> list[str]:
        steps = [fit.steps.get(step, 0.0) for step in STEPS]
        return [number(seconds) for seconds in (*steps, max(fit.total - sum(steps), 0.0), fit.total)]

    ratios = [comparison.plain.steps[s] / comparison.ours.steps[s] for s in STEPS]
    return [
        [label, "plain", *cells(comparison.plain), ""],
        ["", "ufselect", *cells(comparison.ours), f"**{number(comparison.ratio)}**"],
        ["", "ratio", *(number(ratio) for ratio in ratios), "", number(comparison.ratio), ""],
    ]


def _rows_of_checks(name: str, comparison: Comparison) -> list[list[str]]:
    return [
        [f"{name}: common features among the best 50", comparison.common_features, comparison.common_features],
        [f"{name}: scikit-learn fits that did not converge", comparison.unconverged, ""],
        *([f"{name}, {what}", f"{plain:.6g}", f"{ours:.6g}"] for what, plain, ours in comparison.checks),
    ]


def measure_growth(sizes: Sizes) -> str:
    """Seconds and memory for growing n and growing d, each in a new process, and their exponents."""
    along_n = [(n, sizes.d_of_n_growth, 20) for n in sizes.n]
    along_d = [(sizes.n_of_d_growth, d, 10) for d in sizes.d]
    fits = {size: _growth_of(*size, sizes) for size in along_n + along_d}
    exponents = [
        ("n", _exponent(sizes.n, [fits[size]["seconds"] for size in along_n])),
        ("d", _exponent(sizes.d, [fits[size]["seconds"] for size in along_d])),
    ]
    rows = [
        [
            f"{n} × {d}, c = {c}",
            *(number(fit["steps"].get(step, 0.0)) for step in STEPS),
            number(fit["seconds"]),
            f"{fit['peak_mb']:.0f}",
            f"{fit['useful']} of {min(50, useful_columns(d))}",
        ]
        for (n, d, c), fit in fits.items()
    ]
    largest = fits[along_n[-1]]["peak_mb"]
    return "\n\n".join(
        [
            f"{sizes.growth_iterations} iterations.",
            table(["size", *STEPS, "total, s", "peak memory, MB", "informative columns found"], rows),
            table(
                ["measure", "value", "required"],
                [
                    *([f"exponent in {axis}", f"{e:.2f}", f"≤ {LARGEST_EXPONENT[axis]}"] for axis, e in exponents),
                    [
                        f"peak memory at {along_n[-1][0]} × {along_n[-1][1]}, MB",
                        f"{largest:.0f}",
                        f"≤ {MOST_MEMORY_MB}",
                    ],
                ],
            ),
        ]
    )


def _growth_of(n: int, d: int, n_clusters: int, sizes: Sizes) -> dict[str, Any]:
    say(f"growth: {n} × {d}, c = {n_clusters}")
    return in_fresh_process(
        "growth", n=n, d=d, n_clusters=n_clusters, max_iter=sizes.growth_iterations, threads=sizes.threads
    )


def _exponent(sizes: list[int], seconds: list[float]) -> float:
    """The least-squares slope of log seconds over log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def measure_startup(_: Sizes) -> str:
    """A small fit on one core, first with an empty cache of compiled code, then with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        results = []
        for state in ("empty", "filled"):
            say(f"startup: {state} cache")
            results.append((f"{state} cache", in_fresh_process("startup", environment={"NUMBA_CACHE_DIR": cache})))
    rows = [[state, *(number(r[key]) for key in ("import", "first_fit", "second_fit"))] for state, r in results]
    return table(["new process, one core; seconds", "import", "first fit, 200 × 50", "second fit"], rows)


def measure_harness(sizes: Sizes) -> str | None:
    """The speed of the evaluation harness."""
    parts = [settings_per_minute(sizes.harness_settings), kmeans_beside_sklearn()]
    return "\n\n".join(part for part in parts if part) or None


def compare_with_peer(sizes: Sizes) -> str | None:
    """The methods that skfeature also has, on the public data sets or on a small synthetic one."""
    return compare_with_skfeature(sizes.peer_iterations, sizes.threads, sizes.time_limit)


def measure_sizes(sizes: Sizes) -> str:
    """Every selector on data with many samples, and on data with many columns."""
    return "\n\n".join(fit_every_selector(size, sizes.threads, sizes.time_limit) for size in sizes.every_selector)


def measure_tool(sizes: Sizes) -> str:
    """The command line: start-up, large files and a large page."""
    parts = [starting_times(), large_files(sizes.files, sizes.threads), large_page(*sizes.page, sizes.threads)]
    return "\n\n".join(part for part in parts if part)


def compare_with_before(sizes: Sizes) -> str | None:
    """Every selector in an earlier revision and now."""
    return compare_with_revision(sizes.before, sizes.before_shapes, sizes.threads)


PARTS = {
    "plain": compare_with_plain,
    "growth": measure_growth,
    "startup": measure_startup,
    "peers": compare_with_peer,
    "sizes": measure_sizes,
    "harness": measure_harness,
    "tool": measure_tool,
    "before": compare_with_before,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that it works; README.md is not changed"
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="number of threads of the numerical libraries (default: 1)"
    )
    parser.add_argument(
        "--time-limit", type=float, default=900.0, help="seconds per fit in the parts peers and sizes (default: 900)"
    )
    parser.add_argument(
        "--before", default=BEFORE, metavar="REVISION", help=f"revision for the part before (default: {BEFORE})"
    )
    options = parser.parse_args()
    chosen = {"threads": options.threads, "time_limit": options.time_limit, "before": options.before}
    sizes = replace(QUICK if options.quick else FULL, **chosen)
    for name in [options.only] if options.only else PARTS:
        with threadpool_limits(limits=options.threads):
            text = PARTS[name](sizes)
        if text is None:
            continue
        text = f"{text}\n\nMachine: {machine()} Threads: {options.threads}."
        print(f"## {name}\n\n{text}\n", flush=True)
        if not options.quick:
            write_section(name, text)


if __name__ == "__main__":
    main()
