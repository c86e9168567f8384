"""``ufselect methods``: the methods to choose from."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

import ufselect
from ufselect.cli.classes import class_named
from ufselect.cli.docstrings import described_parameters, summary_of
from ufselect.cli.printing import print_table, say

_LONGEST_LINE = 200


def methods(
    name: Annotated[str, typer.Argument(help="Show the parameters of this method.")] = "",
) -> None:
    """List the seventeen methods, or the parameters of one."""
    if name:
        _print_method(class_named(name, "NAME"))
        return
    rows = [[method, summary_of(getattr(ufselect, method))] for method in sorted(ufselect.__all__, key=str.casefold)]
    print_table(["method", "what it does"], rows, left=[0, 1], longest=_LONGEST_LINE)
    say(["", "ufselect methods NAME shows the parameters of a method; ufselect select DATA --method NAME uses it."])


def _print_method(cls: type) -> None:
    signature = inspect.signature(cls).parameters
    say([": ".join(filter(None, [cls.__name__, summary_of(cls)])), ""])
    for parameter, described in described_parameters(cls).items():
        default = signature[parameter].default
        kinds = [described.kind, "required" if default is inspect.Parameter.empty else f"default {default!r}"]
        text = [f"    {described.text}"] if described.text else []
        say([f"{parameter} : {', '.join(filter(None, kinds))}", *text])
