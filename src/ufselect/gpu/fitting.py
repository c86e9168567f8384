"""From a selector and its data to a fit on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from ufselect._utils.iterations import Iterations
from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect.base.ranking import Ranking
from ufselect.base.screening import Screening, keep_exclude_of
from ufselect.columns.constraints import Constraints
from ufselect.columns.dask_arrays import validate_features
from ufselect.columns.dense import Columns
from ufselect.columns.scaling import common_unit, divisors

try:
    import torch
except ImportError as error:  # pragma: no cover - PyTorch is installed wherever this is tested
    raise ImportError("The parameter device needs PyTorch: run `pip install torch`.") from error

from ufselect.gpu.columns import DeviceColumns, column_moments, first_equal_columns, placed
from ufselect.gpu.learning import Settings, learn
from ufselect.solvers.alignment import SETTLED

_AT_LAST = 1e-4
_REQUIRED = {
    "n_clusters": None,
    "structure": "local",
    "w_solver": "regression",
    "recalibrate": True,
    "spread": "row",
    "center": True,
    "selection": "alignment",
}


def learn_on_device(selector: Any, X: Columns, constraints: Constraints) -> Ranking:
    """Rank columns that are centred and scaled, in memory, on the device of a selector."""
    device = _device(selector.device)
    if sp.issparse(X.values):
        raise ValueError(f"device={selector.device!r} needs a dense X; use X.toarray(), or device=None.")
    values = placed(torch.from_numpy(np.ascontiguousarray(X.values, dtype=np.float32)), device)
    return _learn(selector, DeviceColumns(values, device), constraints)


def fit_tensor(selector: Any, X: torch.Tensor) -> Any:
    """Fit a selector to a tensor, on its device or on that of the selector."""
    device = X.device if selector.device is None else _device(selector.device)
    if X.ndim != 2 or len(X) < 3 or X.shape[1] < 1:
        raise ValueError(f"X must be a matrix of at least 3 samples and 1 feature, but its shape is {tuple(X.shape)}.")
    X = X.detach() if X.is_floating_point() else X.double()
    n, d = X.shape
    keep_exclude = keep_exclude_of(selector, d, None)
    count = selector._wanted_features(d, keep_exclude)
    moments = column_moments(X, device)
    constant = moments.constant_columns(n, torch.finfo(X.dtype), selector.scale, computed_in=np.finfo(np.float32))
    screening = Screening(constant, first_equal_columns(X, device), keep_exclude)
    informative = screening.informative
    divisor = divisors(moments.deviation[informative], selector.scale)
    columns = DeviceColumns(placed(X, device), device, informative, moments.mean[informative], divisor)
    unit = common_unit(divisor, selector.scale)
    validate_features(selector, X, reset=True)  # a tensor has no names: those of an earlier fit are forgotten
    with selector._clock():
        selector._rank_and_store(partial(_learn, selector, columns), screening, count, np.dtype(np.float32), unit)
    return selector


def _learn(selector: Any, X: DeviceColumns, constraints: Constraints) -> Ranking:
    n, d = X.shape
    other = {name: getattr(selector, name) for name, value in _REQUIRED.items() if getattr(selector, name) != value}
    if other:
        name, value = next(iter(other.items()))
        raise ValueError(
            f"{name}={value!r} does not work on a device; use {name}={_REQUIRED[name]!r}, "
            "or a NumPy array and device=None."
        )
    if selector.neighbors == "approximate":
        raise ValueError('neighbors="approximate" does not work on a device, where the search is exact and fast.')
    selector._kind_of_structure()
    if d > min(n, LARGEST_DENSE_SYSTEM):
        raise ValueError(
            f"A device needs at most as many features as samples, and at most {LARGEST_DENSE_SYSTEM}; "
            f"X has {n} samples and {d} features. Use a NumPy array and device=None."
        )
    settings = Settings(
        n_neighbors=selector._count_neighbors(n),
        graph_components=selector.graph_components,
        adaptive=selector.adaptive,
        accumulate=selector.accumulate,
        local_weight=selector.local_weight,
        row_penalty=selector.row_penalty,
        tight=_AT_LAST,
        seed=int(check_random_state(selector.random_state).randint(2**31 - 1)),
    )
    with _full_precision():
        return learn(X, settings, Iterations(selector, SETTLED), constraints)


@contextmanager
def _full_precision() -> Iterator[None]:
    """Products in single precision, whatever the user has allowed: the search for neighbours counts on it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _device(name: Any) -> torch.device:
    """Return the device of a name, or raise one sentence."""
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={name!r} needs a GPU, and PyTorch finds none here; use device=None.")
    return device
