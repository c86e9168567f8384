"""Objects by name: ``"package.module:name"``, or a plain name in one of several modules."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any


def names_a_module(name: str) -> bool:
    """Return whether a name has the form ``"package.module:name"``."""
    return ":" in name


def object_named(name: str, modules: Sequence[str] = ()) -> Any:
    """Import ``"package.module:name"``, or a plain name from the first of some modules that has it.

    Dots after the colon or in a plain name are attribute access.
    """
    module, _, path = name.rpartition(":")
    searched = [module] if names_a_module(name) else list(modules)
    why = ""
    for each in searched:
        try:
            found: Any = importlib.import_module(each)
            for attribute in path.split("."):
                found = getattr(found, attribute)
        except ImportError as error:
            why = f": {error}"
        except (AttributeError, ValueError):  # ValueError: an empty module name
            continue
        else:
            return found
    raise ValueError(f"there is no selector {name!r} in {' or '.join(searched)}{why}.")
