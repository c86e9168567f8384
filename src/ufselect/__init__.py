"""Choose the informative columns of unlabelled data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ufselect.base.requirements import Requirements as Requirements
    from ufselect.selectors.cgssl import CGSSL
    from ufselect.selectors.evsc import EVSC
    from ufselect.selectors.fsasl import FSASL
    from ufselect.selectors.fssl import FSSL
    from ufselect.selectors.glspfs import GLSPFS
    from ufselect.selectors.jelsr import JELSR
    from ufselect.selectors.kernel_fsasl import KernelFSASL
    from ufselect.selectors.laplacian_score import LaplacianScore
    from ufselect.selectors.llcfs import LLCFS
    from ufselect.selectors.max_variance import MaxVariance
    from ufselect.selectors.mcfs import MCFS
    from ufselect.selectors.mrsf import MRSF
    from ufselect.selectors.ndfs import NDFS
    from ufselect.selectors.rufs import RUFS
    from ufselect.selectors.spec import SPEC
    from ufselect.selectors.spfs import SPFS
    from ufselect.selectors.trace_ratio import TraceRatio
    from ufselect.selectors.udfs import UDFS

__version__ = "0.1.0"

__all__ = [
    "CGSSL",
    "EVSC",
    "FSASL",
    "FSSL",
    "GLSPFS",
    "JELSR",
    "LLCFS",
    "MCFS",
    "MRSF",
    "NDFS",
    "RUFS",
    "SPEC",
    "SPFS",
    "UDFS",
    "KernelFSASL",
    "LaplacianScore",
    "MaxVariance",
    "TraceRatio",
]

_FILES = {
    "KernelFSASL": "kernel_fsasl",
    "LaplacianScore": "laplacian_score",
    "MaxVariance": "max_variance",
    "TraceRatio": "trace_ratio",
}


def __getattr__(name: str) -> Any:
    """A selector or ``Requirements`` when first asked for: scikit-learn takes seconds to import, and pandas with it."""
    if name == "Requirements":  # which is no selector, so that ``__all__`` lists methods alone
        return import_module("ufselect.base.requirements").Requirements
    if name not in __all__:
        raise AttributeError(f"module 'ufselect' has no attribute {name!r}")
    selector = getattr(import_module(f"ufselect.selectors.{_FILES.get(name, name.lower())}"), name)
    globals()[name] = selector
    return selector


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "Requirements"])
