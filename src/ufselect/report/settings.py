"""The settings of a selector, and the Python code that makes it again."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ufselect.base import BaseSelector

# Settings of the run: they change no result.
_WITHOUT_EFFECT = ("n_jobs", "verbose")


def parameters(selector: BaseSelector) -> dict[str, tuple[str, bool]]:
    """Every parameter of the selection, as Python writes its value, and whether it is the default."""
    defaults = inspect.signature(type(selector).__init__).parameters
    given = selector.get_params(deep=False)
    names = [name for name in defaults if name in given and name not in _WITHOUT_EFFECT]
    return {name: (_written(given[name]), _same(given[name], defaults[name].default)) for name in names}


def python_code(selector: BaseSelector) -> str:
    """Code that makes the same selection of a matrix X; defaults are left out."""
    method = type(selector).__name__
    chosen = {name: value for name, (value, default) in parameters(selector).items() if not default}
    named = ", ".join(f"{name}={value}" for name, value in chosen.items())
    return f"from ufselect import {method}\n\nselector = {method}({named}).fit(X)\nselector.top_features()"


def _written(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)
