"""Whether the lassos and the regressions of FSASL's fits are solved: duality gaps and optimality conditions."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np

import ufselect.selectors.fsasl as module

# Where W is regressed: earlier revisions do so in the module of FSASL.
regressing = (
    module if hasattr(module, "l21_regression") else importlib.import_module("ufselect.solvers.feature_weights")
)


@dataclass
class Worst:
    """The largest relative duality gap and the largest violation so far, and the seconds that each check took."""

    gap: float = 0.0
    violation: float = 0.0
    seconds_of_gaps: list[float] = field(default_factory=list)
    seconds_of_violations: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The seconds of all checks."""
        return sum(self.seconds_of_gaps) + sum(self.seconds_of_violations)


class Certificates:
    """Checks all lassos and regressions of fits; solvers are replaced by themselves with a check."""

    def __init__(self) -> None:
        self._worst = Worst()
        self._express, self._regress = module.sparse_self_expression, regressing.l21_regression
        module.sparse_self_expression, regressing.l21_regression = self._expressed, self._regressed

    @contextmanager
    def checked(self) -> Iterator[Worst]:
        """Start anew, and give the worst of the block."""
        self._worst = Worst()
        yield self._worst

    def _expressed(self, Z: Any, *arguments: Any, **options: Any) -> Any:
        found = self._express(Z, *arguments, **options)
        start = process_time()
        if isinstance(Z, np.ndarray):
            self._worst.gap = max(self._worst.gap, worst_gap(Z, found.S.toarray(), found.penalties))
        self._worst.seconds_of_gaps.append(process_time() - start)
        return found

    def _regressed(self, X: Any, Y: Any, penalty: float, **options: Any) -> Any:
        found = self._regress(X, Y, penalty, **options)
        start = process_time()
        slope = X.transposed_matmul(Y - X @ found.coef)
        self._worst.violation = max(self._worst.violation, worst_violation(slope, found.coef, penalty))
        self._worst.seconds_of_violations.append(process_time() - start)
        return found


def worst_gap(Z: Any, S: Any, penalties: Any) -> float:
    """The largest duality gap of ‖zᵢ − Zᵀsᵢ‖² + αᵢ‖sᵢ‖₁, relative to its value."""
    residuals = Z - S.T @ Z
    correlations = np.abs(residuals @ Z.T)
    np.fill_diagonal(correlations, 0.0)
    half, squares, along = penalties / 2.0, np.sum(residuals**2, axis=1), np.sum(residuals * Z, axis=1)
    values = 0.5 * squares + half * np.abs(S).sum(axis=0)
    tiny = np.finfo(float).tiny
    limit = half / np.maximum(correlations.max(axis=1), tiny)
    scale = np.clip(along / np.maximum(squares, tiny), -limit, limit)
    gaps = values - (scale * along - 0.5 * scale**2 * squares)
    return float(np.max(gaps / np.maximum(values, tiny)))


def worst_violation(slope: Any, W: Any, penalty: float) -> float:
    """The largest violation of an optimality condition of ‖Y − XW‖² + γ‖W‖₂,₁, as a share of γ/2."""
    half, lengths = penalty / 2.0, np.linalg.norm(W, axis=1, keepdims=True)
    unit = np.divide(W, lengths, out=np.zeros_like(W), where=lengths > 0.0)
    off = np.linalg.norm(slope - half * unit, axis=1) - half * (lengths.ravel() == 0.0)
    return float(max(off.max(), 0.0)) / half
