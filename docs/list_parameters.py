"""Write docs/parameters.md: the parameters of all selectors and their defaults, read from the constructors.

Run it from anywhere after a change to a constructor: ``python docs/list_parameters.py``.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any

import ufselect
from ufselect.cli.methods import described_parameters

PAGE = Path(__file__).parent / "parameters.md"
INTRODUCTION = """\
# Parameters

A parameter has the same meaning in every method that takes it, and all constructors list their parameters in the same
order. Only `n_features_to_select` is positional; all others are keyword-only. The [reference](api.md) describes them
method by method.

This page is written by [`list_parameters.py`](list_parameters.py) from the constructors.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The text of the page."""
    constructors = {name: defaults_of(getattr(ufselect, name)) for name in ufselect.__all__}
    order = common_order(constructors)
    return "\n".join(
        [
            INTRODUCTION,
            "## By parameter\n",
            table(["parameter", "default", "methods"], rows_by_parameter(constructors, order)),
            "## By method\n",
            "The parameters of each constructor, in its order, with the first sentence of their description.\n",
            *(
                section(name, defaults)
                for name, defaults in sorted(constructors.items(), key=lambda item: item[0].lower())
            ),
        ]
    )


def section(name: str, defaults: dict[str, str]) -> str:
    """The constructor of a method as a table."""
    described = described_parameters(getattr(ufselect, name))
    rows = [[f"`{key}`", default, first_sentence(described[key].text)] for key, default in defaults.items()]
    return f"### {name}\n\n" + table(["parameter", "default", "meaning"], rows)


def first_sentence(text: str) -> str:
    """The first sentence of a docstring as Markdown."""
    sentence = re.split(r"(?<=[.:]) (?=[A-Z\"])", text, maxsplit=1)[0].rstrip(":.")
    return sentence.replace("``", "`").replace("|", r"\|")


def defaults_of(cls: type) -> dict[str, str]:
    """The parameters of a constructor in their order, with their defaults as Python writes them."""
    return {name: as_code(parameter.default) for name, parameter in inspect.signature(cls).parameters.items()}


def as_code(value: Any) -> str:
    """A literal, with double quotes around text."""
    return f'`"{value}"`' if isinstance(value, str) else f"`{value!r}`"


def common_order(constructors: dict[str, dict[str, str]]) -> list[str]:
    """All parameters in the one order that agrees with every constructor.

    Raises
    ------
    ValueError
        If two constructors list the same parameters in different orders.
    """
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for defaults in constructors.values():
        for earlier, later in pairwise(defaults):
            sorter.add(later, earlier)
    try:
        sorter.prepare()
    except CycleError as error:
        raise ValueError(f"The constructors disagree on the order of {', '.join(error.args[1][1:])}.") from error
    return list(_shared_first(sorter, constructors))


def _shared_first(sorter: TopologicalSorter[str], constructors: dict[str, dict[str, str]]) -> Iterator[str]:
    """Of the parameters that can come next, one that several methods share, else one of the first method."""
    mentions = [name for defaults in constructors.values() for name in defaults]
    ready: set[str] = set()
    while sorter.is_active():
        ready.update(sorter.get_ready())
        following = min(ready, key=lambda name: (mentions.count(name) == 1, mentions.index(name)))
        ready.remove(following)
        sorter.done(following)
        yield following


def rows_by_parameter(constructors: dict[str, dict[str, str]], order: Iterable[str]) -> list[list[str]]:
    """One row for each default of each parameter: the parameter, its default and the methods that have it."""
    rows = []
    for name in order:
        methods_by_default = defaultdict(list)
        for method, defaults in constructors.items():
            if name in defaults:
                methods_by_default[defaults[name]].append(method)
        # The most common default comes first.
        for default, methods in sorted(methods_by_default.items(), key=lambda item: -len(item[1])):
            rows.append([f"`{name}`", default, _listed(methods, constructors)])
    return rows


def _listed(methods: list[str], constructors: dict[str, Any]) -> str:
    """The names of the methods, or those of the others if these are fewer."""
    others = [name for name in constructors if name not in methods]
    if not others:
        return "all"
    return f"all except {', '.join(others)}" if 2 * len(others) < len(methods) else ", ".join(methods)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


if __name__ == "__main__":
    main()
