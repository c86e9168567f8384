"""Default fits with one thread and with two, and with two beside two busy processes.

``python benchmarks/threads.py`` writes the section threads of README.md; ``--quick`` only prints a small table. Each
fit runs in a new process. Fits with one thread and with two take turns, and the best of each counts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from processes import environment_for, in_fresh_process, say
from report import machine, number, table, write_section

FULL = {"log counts, 1,500 × 3,000": 3, "COIL, 1,440 × 1,024": 3, "clusters, 100,000 × 1,000, float32": 1}
QUICK = {"log counts, 300 × 200": 1}
MOST_BESIDE_OTHERS = 3
HEADER = ["default fit", "one thread, s", "two, s", "two / one", "processor: one, s", "two, s", "busy / quiet"]


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep some cores busy."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def fit(kind: str, threads: int) -> dict[str, Any]:
    """Seconds and processor seconds of a fit."""
    say(f"{kind}, threads: {threads}")
    return in_fresh_process("default_fit", environment_for(threads), kind=kind)


def row(kind: str, repeats: int) -> list[str]:
    """Both numbers of threads in turn, and two threads beside two busy processes."""
    fits: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for _ in range(repeats):
        for threads in fits:
            fits[threads].append(fit(kind, threads))
    quickest = {threads: min(found, key=lambda fit: fit["seconds"]) for threads, found in fits.items()}
    with busy_processes(2):
        beside = min(fit(kind, 2)["seconds"] for _ in range(repeats))
    one, two = quickest[1]["seconds"], quickest[2]["seconds"]
    processor = [number(quickest[threads]["processor"]) for threads in (1, 2)]
    return [kind, number(one), number(two), f"{two / one:.2f}", *processor, f"{beside / two:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--print", action="store_true", dest="only_print")
    options = parser.parse_args()
    rows = [row(kind, repeats) for kind, repeats in (QUICK if options.quick else FULL).items()]
    required = f"Required: two / one at most 1, busy / quiet at most {MOST_BESIDE_OTHERS}."
    text = f"{table(HEADER, rows)}\n\n{required}\n\nMachine: {machine()}"
    print(text)
    if not (options.quick or options.only_print):
        write_section("threads", text)


if __name__ == "__main__":
    main()
