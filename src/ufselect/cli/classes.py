"""Methods by name: those of ufselect, and classes of the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer

import ufselect
from ufselect._utils.naming import names_a_module, object_named

DEFAULT_METHOD = "KernelFSASL"


def method_named(name: str, option: str = "--method") -> str:
    """Return the name of a method as ufselect spells it; ``module:Class`` is returned as it is."""
    if names_a_module(name):
        return name
    known = {method.casefold(): method for method in ufselect.__all__}
    if name.casefold() in known:
        return known[name.casefold()]
    near = get_close_matches(name.casefold(), known, n=1)
    guess = f"; did you mean {known[near[0]]}?" if near else ";"
    raise typer.BadParameter(f"{name!r} is not a method{guess} ufselect methods lists all methods", param_hint=option)


def class_named(name: str, option: str = "--method", *, plain: bool = False) -> type[Any]:
    """Import the class of a method, a user's own from the current folder if need be.

    If ``plain``, any class with a method ``fit`` will do.
    """
    spelled = method_named(name, option)
    if not names_a_module(spelled):
        return getattr(ufselect, spelled)
    _make_current_folder_importable()
    try:
        found = object_named(spelled)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
    (_ensure_has_fit if plain else _ensure_is_selector)(found, spelled, option)
    return found


def method_named_in(arguments: Sequence[str]) -> str:
    """Return the last ``--method`` of a command line: its parameters are options of that command line."""
    name = DEFAULT_METHOD
    options = list(options_in(arguments))
    for argument, following in zip(options, [*options[1:], ""], strict=True):
        if argument == "--method" and following:
            name = following
        elif argument.startswith("--method="):
            name = argument.removeprefix("--method=")
    return name


def options_in(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments before ``--``: those after it are names, whatever they look like."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _ensure_is_selector(found: object, name: str, option: str) -> None:
    from ufselect.base import BaseSelector

    if not isinstance(found, type) or not issubclass(found, BaseSelector):
        reason = f"{name} is not a subclass of ufselect.base.BaseSelector"
        raise typer.BadParameter(reason, param_hint=option)


def _ensure_has_fit(found: object, name: str, option: str) -> None:
    if not isinstance(found, type) or not callable(getattr(found, "fit", None)):
        raise typer.BadParameter(f"{name} is not a class with a method fit", param_hint=option)


def _make_current_folder_importable() -> None:
    """Append the current folder to the module path: after everything else, so that it cannot replace any module."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
