"""The structure that FSASL learns: S and P, and their part of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import scipy.sparse as sp

from ufselect._utils.types import Float
from ufselect.graphs.laplacian import StructureLaplacian, quadratic_form, structure_laplacian


@dataclass(frozen=True)
class Structure:
    """Self-expression S with penalties αᵢ, and neighbour probabilities P with spreads μᵢ; either may be None."""

    local_weight: float
    S: sp.csc_array | None = None
    penalties: Float | None = None
    P: sp.csr_array | None = None
    spread: Float | None = None

    @cached_property
    def laplacian(self) -> StructureLaplacian:
        """L = (I−S)(I−S)ᵀ + βL_P."""
        return structure_laplacian(self.S, self.P, self.local_weight)

    def forget_laplacian(self) -> None:
        """Free the memory of the Laplacian, which is computed again if it is asked for."""
        vars(self).pop("laplacian", None)

    def cost(self, Z: Float) -> float:
        """tr(ZᵀLZ) + Σᵢ αᵢ‖sᵢ‖₁ + β Σᵢ (μᵢ/2)‖pᵢ‖²."""
        value = quadratic_form(self.laplacian, Z)
        if self.S is not None and self.penalties is not None:
            value += float(self.penalties @ abs(self.S).sum(axis=0))
        if self.P is not None and self.spread is not None:
            value += self.local_weight / 2.0 * float(self.spread @ self.P.power(2).sum(axis=1))
        return value
