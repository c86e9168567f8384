"""Selectors of experiments: found by name, made with the parameters of a setting, asked for their best features."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ufselect._utils.naming import names_a_module, object_named
from ufselect.benchmark.sources import folder_of, local_files, source_digest

CLASSES = "classes"  # as the value of a parameter: the number of classes of the data set
NONE = "none"  # as the value of a parameter: None, which TOML does not have

_OURS = ("ufselect", "ufselect.benchmark.rankings")
_imported_from: dict[str, str] = {}  # modules of users, and the digest of the source they were imported from


def selector_named(name: str) -> Callable[..., Any]:
    """Return the class that makes a selector, or its classmethod.

    Parameters
    ----------
    name : str
        "FSASL", "FSASL.published", "RandomRanking", or "package.module:name".

    Raises
    ------
    ValueError
        If there is no selector with that name. Nothing but classes with a method ``fit`` is ever called.
    """
    make = object_named(name, _OURS)
    made = make if isinstance(make, type) else getattr(make, "__self__", None)
    if not (isinstance(made, type) and callable(getattr(made, "fit", None))):
        raise ValueError(f"the selector {name!r} is not a class with a method fit, nor a classmethod of one.")
    return make


def selector_source(name: str) -> str:
    """Return the digest of the source code that determines what a selector selects.

    It is an empty string if the source is not found, for example because only the workers can import the module.
    """
    if not names_a_module(name):
        return _source_of_ours(name)
    method = source_digest(name.rpartition(":")[0])
    return method and _combined(method)


def selector_folder(name: str) -> str:
    """Return the folder from which the module of a "package.module:name" is imported; empty for our selectors."""
    module = name.rpartition(":")[0]
    return str(folder_of(module) or "") if module else ""


def current_selector(name: str, source: str, folder: str = "") -> Callable[..., Any]:
    """Return what makes a selector, imported from the given source.

    A module of the user's that was edited after it was imported is imported again.

    Parameters
    ----------
    name, source, folder : str
        What :func:`selector_source` and :func:`selector_folder` returned for a name when the run was planned.

    Raises
    ------
    ValueError
        If there is no such selector, or its source is not the given one.
    """
    module = name.rpartition(":")[0]
    if module and folder and folder_of(module) is None:
        sys.path.append(folder)  # this worker was started before the folder was on the path
    if module and source:
        _import_again_if_edited(module)
    make = selector_named(name)
    if source and selector_source(name) != source:
        raise ValueError(f"the code of {name} changed during the run, or is different on this worker; start it again.")
    return make


def with_values(parameters: str, n_classes: int) -> dict[str, Any]:
    """Return the parameters of a setting with ``CLASSES`` and ``NONE`` replaced by what they mean."""
    meaning = {CLASSES: n_classes, NONE: None}
    given = json.loads(parameters)
    return {name: meaning.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


def parameters_of(make: Callable[..., Any]) -> set[str]:
    """Return the parameters of a class, or of the class whose classmethod it is."""
    owner = getattr(make, "__self__", None)
    return set(inspect.signature(owner if isinstance(owner, type) else make).parameters)


def _combined(source: str) -> str:
    return f"{source}{source_digest(__name__)}"


@lru_cache(maxsize=64)
def _source_of_ours(name: str) -> str:
    make = selector_named(name)
    owner = getattr(make, "__self__", make)
    return _combined(source_digest(owner.__module__))


def _import_again_if_edited(module: str) -> None:
    """Import a module again if its source, or that of a local module it imports, is not what was imported before.

    A module that the caller's own program imported first is taken as it is.
    """
    source = source_digest(module)
    if _imported_from.get(module) != source:
        for name, path in local_files(module).items():
            if name.partition(".")[0] != "ufselect":
                _forget(name, path, even_if_imported=module in _imported_from)
        importlib.invalidate_caches()
        _imported_from[module] = source


def _forget(name: str, path: Path, *, even_if_imported: bool) -> None:
    module: ModuleType | None = sys.modules.get(name)
    if module is not None and not (even_if_imported and getattr(module, "__file__", None) == str(path)):
        return
    sys.modules.pop(name, None)
    # Python takes compiled code for current if second and size of the source are the same. It may come from another
    # process, which imported the module before it was edited.
    with suppress(OSError):
        Path(importlib.util.cache_from_source(str(path))).unlink()
