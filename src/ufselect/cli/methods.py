"""``ufselect methods``: what there is to choose from."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

import ufselect
from ufselect.cli.parameters import described_parameters, method_named
from ufselect.cli.printing import print_table, say

_LONGEST_LINE = 200


def methods(
    name: Annotated[str, typer.Argument(help="Show one method with all its parameters.")] = "",
) -> None:
    """List the seventeen methods, or one with all its parameters."""
    if name:
        _print_method(method_named(name, "NAME"))
    else:
        rows = [[method, _in_a_line(method)] for method in sorted(ufselect.__all__, key=str.casefold)]
        print_table(["method", "what it is"], rows, left=[0, 1], longest=_LONGEST_LINE)
        say(["", "ufselect methods NAME shows its parameters; ufselect select DATA --method NAME takes it."])


def _print_method(name: str) -> None:
    cls = getattr(ufselect, name)
    signature = inspect.signature(cls).parameters
    say([f"{name}: {_in_a_line(name)}", ""])
    for parameter, told in described_parameters(cls).items():
        say([f"{parameter} : {told.kind}, default {signature[parameter].default!r}", f"    {told.text}"])


def _in_a_line(name: str) -> str:
    return (inspect.getdoc(getattr(ufselect, name)) or "").split("\n\n")[0].replace("\n", " ")
