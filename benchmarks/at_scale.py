"""Every method at two large sizes, beside the revision before the work on many samples.

``python benchmarks/at_scale.py`` writes the section at_scale of README.md. ``--jobs N`` measures N methods at a time,
each on one core, ``--print`` only prints, and ``--before FOLDER`` names the source folder of the earlier revision if
git cannot export it.
"""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from before import ROOT, Shape, Timing, answering, export, fit, summary, table_of
from processes import say
from report import machine, write_section
from sizes import selectors

BEFORE = "b9ad8c3"  # the last revision before the work on many samples
SHAPES = [Shape("dense", 3000, 10_000, 10), Shape("dense", 20_000, 500, 20)]
WARM_UP = [Shape("dense", 1200, 60, 4), Shape("dense", 200, 300, 4)]
LONG = 20.0  # seconds of a fit that is not repeated
FITS = 3


def timing(source: Path, name: str, shape: Shape) -> Timing:
    """One fit by each version or, if they are short, three in turn."""
    found = Timing(name, shape, [], [])
    with answering("fits", source, 1) as before, answering("fits", ROOT / "src", 1) as now:
        for version in (before, now):
            for small in WARM_UP:
                fit(version, name, small)
        while not found.now or (len(found.now) < FITS and found.before[0].get("seconds", LONG) < LONG):
            found.before.append(fit(before, name, shape))
            found.now.append(fit(now, name, shape))
    say(f"{shape}: {', '.join(found.row())}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--print", action="store_true", dest="only_print")
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.before is None and not export(BEFORE, Path(folder)):
            raise SystemExit(f"git cannot export revision {BEFORE!r}; name its source folder by --before.")
        source = options.before or Path(folder, "src")
        tasks = [(source, name, shape) for shape in SHAPES for name in selectors()]
        with ThreadPoolExecutor(options.jobs) as pool:
            timings = list(pool.map(lambda task: timing(*task), tasks))
    text = "\n\n".join(
        [
            f"Before: revision {BEFORE}.",
            *(table_of(shape, timings) for shape in SHAPES),
            summary(timings, largest=1.0),
            f"Machine: {machine()} Threads: 1, methods at a time: {options.jobs}.",
        ]
    )
    print(text)
    if not options.only_print:
        write_section("at_scale", text)


if __name__ == "__main__":
    main()
