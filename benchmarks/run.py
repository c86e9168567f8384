"""Measure time and memory, print the tables and write them to README.md.

``run.py --only PART`` runs one part; ``--quick`` runs small sizes and writes nothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable

from common import in_fresh_process, machine, number, revision, say, table, write_section
from large_data import SAMPLES, Size, dask_array, fit_every_selector, many_samples, one_and_two_threads
from peers import SYNTHETIC, compare_with_skfeature
from plain import compare_with_plain, kmeans_beside_sklearn
from threadpoolctl import threadpool_limits
from tool import large_files, large_page, starting_times

DEFAULT_FITS = {"log counts, 1,500 × 3,000": 3, "COIL, 1,440 × 1,024": 3, "clusters, 100,000 × 1,000, float32": 1}
EVERY_METHOD = [Size(20_000, 500, 20), Size(3000, 10_000, 10)]


def plain(options: argparse.Namespace) -> str | None:
    """FSASL against library calls."""
    return compare_with_plain({} if options.quick else {"JAFFE": 3, "TOX": 5})


def kmeans(_: argparse.Namespace) -> str | None:
    """The k-means of the evaluation against scikit-learn's."""
    return kmeans_beside_sklearn()


def startup(_: argparse.Namespace) -> str:
    """A small fit on one core, first with an empty cache of compiled code, then with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        results = []
        for state in ("empty", "filled"):
            say(f"startup: {state} cache")
            results.append((f"{state} cache", in_fresh_process("startup", environment={"NUMBA_CACHE_DIR": cache})))
    rows = [[state, *(number(r[key]) for key in ("import", "first_fit", "second_fit"))] for state, r in results]
    return table(["new process, one core; seconds", "import", "first fit, 200 × 50", "second fit"], rows)


def peers(options: argparse.Namespace) -> str | None:
    """The methods that skfeature also has."""
    iterations = {SYNTHETIC: 3} if options.quick else {"COIL": 5, "TOX": 5}
    return compare_with_skfeature(iterations, options.threads, options.time_limit)


def methods(options: argparse.Namespace) -> str:
    """Every selector on many samples, and on many columns."""
    sizes = [Size(1200, 100, 20), Size(150, 300, 10)] if options.quick else EVERY_METHOD
    return "\n\n".join(fit_every_selector(size, options.threads, options.time_limit) for size in sizes)


def samples(options: argparse.Namespace) -> str:
    """KernelFSASL on many samples."""
    small = [(6000, 100, "exact"), (6000, 100, "approximate"), (12_000, 100, "exact")]
    return many_samples(small if options.quick else SAMPLES, picture=not options.quick)


def threads(options: argparse.Namespace) -> str:
    """One thread and two."""
    return one_and_two_threads({"log counts, 300 × 200": 1} if options.quick else DEFAULT_FITS)


def dask(options: argparse.Namespace) -> str:
    """A Dask array."""
    return dask_array(*((20_000, 200) if options.quick else (1_000_000, 2000)))


def significance(options: argparse.Namespace) -> str:
    """The test of columns beside a fit, on two threads."""
    limits = {"table, 2,000 × 500": 3, "cells, 3,000 × 10,000": 30, "cells, 50,000 × 20,000": 180}
    rows = []
    for kind, limit in ({"table, 300 × 100": 3} if options.quick else limits).items():
        say(f"significance: {kind}")
        test = in_fresh_process("significance", kind=kind, tested=True, threads=2)
        row = [kind, f"{test['found']:,}", number(test["seconds"]), f"≤ {limit}", _grown(test)]
        if (
            limit < 180
        ):  # a fit of all 20,000 columns takes longer than anybody waits; that of those found is in `cells`
            fit = in_fresh_process("significance", kind=kind, tested=False, threads=2)
            row += [number(fit["seconds"]), _grown(fit)]
        rows.append(row + ["–"] * (7 - len(row)))
    return table(["data", "found", "test, s", "required", "test, MB", "fit, s", "fit, MB"], rows)


def _grown(measured: dict[str, float]) -> str:
    return f"{measured['before_mb']:.0f} → {measured['peak_mb']:.0f}"


def cells(options: argparse.Namespace) -> str:
    """``select_genes`` on many cells."""
    from cells import selected_genes

    return selected_genes(*((600, 800) if options.quick else (50_000, 20_000)), n_jobs=2)


def dedupe(options: argparse.Namespace) -> str:
    """Columns that say the same, beside feature-engine and at 20,000 columns."""
    from redundancy import TABLES, beside_feature_engine, many_columns

    kinds = {"a tenth say the same": 2000, "pairs": 2000, "one group": 2000, "sparse, 5 %": 3000}
    d = 1000 if options.quick else 20_000
    sizes = [("a tenth say the same", 2000, d, 1), *((kind, n, d, 2) for kind, n in kinds.items())]
    beside = beside_feature_engine({"cells": TABLES["cells"]} if options.quick else TABLES)
    return "\n\n".join(part for part in (beside, many_columns(sizes)) if part)


def reconstruction(options: argparse.Namespace) -> str | None:
    """What panels predict, beside PySensors and scikit-learn."""
    from reconstruction import PANELS, many_columns, predicted_by_panels

    beside = predicted_by_panels({"sensor_watch_tsfel": 20} if options.quick else PANELS)
    return beside and f"{beside}\n\n{many_columns(*((300, 400, 10) if options.quick else (3000, 20_000, 50)))}"


def scales(options: argparse.Namespace) -> str | None:
    """Selections by the scale of the columns."""
    from scales import selections_by_scale

    return selections_by_scale(*((1, 150) if options.quick else ()))


def own_structure(options: argparse.Namespace) -> str | None:
    """Genes by given types of cells, beside scanpy's markers."""
    from own_structure import SETS, genes_by_types

    return genes_by_types(SETS[3:4] if options.quick else SETS)


def requirements(options: argparse.Namespace) -> str:
    """Choices within a budget and quotas, beside all subsets and at 20,000 columns."""
    from requirements import beside_all_subsets, many_columns, search_beside_all_sets

    n_problems, n, d = (2, 200, 600) if options.quick else (20, 500, 20_000)
    searched = search_beside_all_sets(n_problems, 10 if options.quick else 17)
    return "\n\n".join([beside_all_subsets(n_problems), searched, many_columns(n, d)])


def tool(options: argparse.Namespace) -> str:
    """The command line: start-up, large files and a large page."""
    files, page = (
        ([(1000, 20), (100, 500)], (1000, 100)) if options.quick else ([(50_000, 50), (2000, 20_000)], (20_000, 5000))
    )
    parts = [starting_times(), large_files(files, options.threads), large_page(*page, options.threads)]
    return "\n\n".join(part for part in parts if part)


def gpu(_: argparse.Namespace) -> str | None:
    """KernelFSASL on a GPU."""
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("gpu skipped: there is no GPU, or PyTorch is not installed.\n")
        return None
    from gpu import on_gpu

    return on_gpu()


PARTS: dict[str, Callable[[argparse.Namespace], str | None]] = {
    part.__name__: part
    for part in (
        plain,
        kmeans,
        startup,
        peers,
        methods,
        samples,
        threads,
        dask,
        significance,
        cells,
        dedupe,
        reconstruction,
        scales,
        own_structure,
        requirements,
        tool,
        gpu,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works; writes nothing")
    parser.add_argument("--threads", type=int, default=1, help="threads of the numerical libraries (default: 1)")
    parser.add_argument(
        "--time-limit", type=float, default=900.0, help="seconds per fit of the parts peers and methods (default: 900)"
    )
    options = parser.parse_args()
    for name in [options.only] if options.only else PARTS:
        with threadpool_limits(limits=options.threads):
            text = PARTS[name](options)
        if text is None:
            continue
        text = f"{text}\n\nCommit {revision()}. Machine: {machine()} Threads: {options.threads}."
        print(f"## {name}\n\n{text}\n", flush=True)
        if not options.quick:
            write_section(name, text)


if __name__ == "__main__":
    main()
