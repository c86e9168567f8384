"""By what columns are divided: a scale of their own, or a power of two for all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]


def divisors(deviation: Float, scale: str | None) -> Float:
    """Return the scale of every centred column, none of which is constant."""
    if scale is None:
        return common_scale(deviation)
    return deviation if scale == "standard" else deviation + np.median(deviation)


def divisors_of_moments(mean: Float, deviation: Float, *, center: bool, scale: str | None) -> Float:
    """Return the scale of every column, centred or not, as :meth:`Columns.prepared` describes it."""
    return divisors(deviation, scale) if scale or center else common_scale(np.hypot(mean, deviation))


def common_unit(divisor: Float, scale: str | None) -> float:
    """Return the power of two by which all columns are divided if they are not scaled; 1 if they are."""
    return 1.0 if scale else float(divisor[0])


def common_scale(roots: Float) -> Float:
    """Return for every column the same power of two, near the root mean square of all columns."""
    largest = roots.max()
    root = largest * np.sqrt(np.mean((roots / largest) ** 2))
    return np.full(len(roots), 2.0 ** np.round(np.log2(root)))
