"""The parameters of a selector, and the Python code that reproduces it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import ufselect
from ufselect.base import BaseSelector

# Parameters that do not change the result.
_WITHOUT_EFFECT = ("n_jobs", "verbose")


def parameters(selector: BaseSelector) -> dict[str, tuple[str, bool]]:
    """Return the value of every parameter as Python code, and whether it is the default."""
    defaults = inspect.signature(type(selector).__init__).parameters
    given = selector.get_params(deep=False)
    names = [name for name in defaults if name in given and name not in _WITHOUT_EFFECT]
    return {name: (_written(given[name]), _same(given[name], defaults[name].default)) for name in names}


def python_code(selector: BaseSelector) -> str:
    """Return code that reproduces the selection from a matrix X, without parameters at their defaults."""
    method = type(selector).__name__
    chosen = {name: value for name, (value, default) in parameters(selector).items() if not default}
    named = ", ".join(f"{name}={value}" for name, value in chosen.items())
    imported = f"from {_module_of(type(selector))} import {method}"
    return f"{imported}\n\nselector = {method}({named}).fit(X)\nselector.top_features()"


def _module_of(cls: type) -> str:
    return "ufselect" if getattr(ufselect, cls.__name__, None) is cls else cls.__module__


def _written(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)
