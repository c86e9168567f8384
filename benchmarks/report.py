"""Markdown tables, a short description of the machine, and the sections of the README."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

README = Path(__file__).with_name("README.md")


def table(header: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table with all columns except the first right-aligned."""
    alignment = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in (header, alignment, *rows))


def number(value: float) -> str:
    """The number with three significant digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> str:
    """The cores, memory, operating system and versions of the main libraries."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    return (
        f"{_cores()} cores ({platform.machine()}), {_memory()}{platform.system()}; "
        f"Python {platform.python_version()}, {versions}."
    )


def write_section(name: str, text: str) -> None:
    """Replace the text between the two markers of a section in the README."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page = README.read_text(encoding="utf-8")
    if not pattern.search(page):
        raise ValueError(f"{README.name} has no section {name!r}.")
    README.write_text(pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page), encoding="utf-8")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return ""
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB of memory, "
