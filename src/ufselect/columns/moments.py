"""Statistics of columns: moments, scales, which columns are constant up to rounding, and what to say of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from ufselect._utils.policy import (
    LARGEST_VALUE,
    MEAN_TO_SHIFT,
    OCTAVES_OF_ONE_UNIT,
    ROUNDING_OF_DOUBLES,
    ROUNDING_OF_SINGLES,
    SMALLEST_SAFE_SQUARE,
)
from ufselect._utils.types import Float, Mask
from ufselect._utils.warnings import warn_user
from ufselect._utils.wording import shown

_VALUES_AT_ONCE = 2**18


class ColumnMoments(NamedTuple):
    """Extremes and moments of every column, in float64; which are whole numbers.

    Skewness and kurtosis are the means of z³ and z⁴, where z has mean 0 and variance 1.
    """

    smallest: Float
    largest: Float
    mean: Float
    deviation: Float
    whole: Mask
    skewness: Float
    kurtosis: Float

    @classmethod
    def of_rows(cls, values: npt.NDArray[Any]) -> ColumnMoments:
        """The moments of a dense block of rows."""
        smallest, largest = (ends.astype(np.float64) for ends in (values.min(axis=0), values.max(axis=0)))
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinite values are reported later
            mean = values.mean(axis=0, dtype=np.float64)
            deviation = root_mean_squares(values - mean)
            z = (values - mean) / np.where(deviation > 0.0, deviation, 1.0)
            squares = z * z
            skewness, kurtosis = (np.einsum("ij,ij->j", squares, each) / len(z) for each in (z, squares))
            return cls(smallest, largest, mean, deviation, whole_columns(values), skewness, kurtosis)

    @classmethod
    def joined(cls, parts: Sequence[ColumnMoments], lengths: Sequence[int]) -> ColumnMoments:
        """The moments of all rows, given those of blocks of some lengths."""
        smallest, largest, means, deviations, whole, skewness, kurtosis = (
            np.array(each) for each in zip(*parts, strict=True)
        )
        shares = np.asarray(lengths, dtype=np.float64)[:, None] / sum(lengths)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = np.sum(shares * means, axis=0)
            # σ² = Σ sᵇ(σᵇ² + (mᵇ − m)²), in units that keep the squares from underflowing.
            unit = powers_of_two(np.maximum(deviations.max(axis=0), np.abs(means - mean).max(axis=0)))
            s, shift = deviations / unit, (means - mean) / unit
            variance = np.sum(shares * (s**2 + shift**2), axis=0)
            third = s**3 * skewness + 3.0 * s**2 * shift + shift**3
            fourth = s**4 * kurtosis + 4.0 * s**3 * skewness * shift + 6.0 * s**2 * shift**2 + shift**4
            safe = np.where(variance > 0.0, variance, 1.0)
            return cls(
                smallest.min(axis=0), largest.max(axis=0), mean, unit * np.sqrt(variance),
                np.asarray(whole.all(axis=0)), np.sum(shares * third, axis=0) / safe**1.5,
                np.sum(shares * fourth, axis=0) / safe**2,
            )  # fmt: skip

    def named(self, names: Iterable[str]) -> dict[str, Float]:
        """Return "mean", "deviation", "min" or "max" of every column by name; raise an error for another statistic."""
        known = {"mean": self.mean, "deviation": self.deviation, "min": self.smallest, "max": self.largest}
        for name in names:
            if name not in known:
                raise ValueError(f"limits: {name!r} needs an array in memory, not a tensor or a Dask array.")
        return {name: known[name] for name in names}

    @property
    def amplitude(self) -> Float:
        """The amplitude of every column, see :func:`amplitudes`."""
        return self.deviation * np.sqrt(self.kurtosis)

    def constant_columns(
        self, n: int, limits: Any, scale: str | None, *, computed_in: Any = None, names: Sequence[str] | None = None
    ) -> Mask:
        """Return which columns of n rows hold only one value, up to rounding; raise an error if X cannot be fitted.

        ``limits`` is the precision (finfo) of the values, ``computed_in`` that of the scaled values if it differs. A
        column is also constant if the squares of its scaled values underflow.
        """
        size = magnitudes((self.smallest, self.largest))
        called = np.arange(len(size)) if names is None else names
        if not np.all(np.isfinite(size)):
            raise ValueError(f"Column {called[int(np.argmin(np.isfinite(size)))]} of X contains NaN or infinity.")
        if size.max() > LARGEST_VALUE:
            raise ValueError(
                f"Column {called[int(np.argmax(size))]} of X has a value of magnitude {size.max():.0e}, too large to "
                f"be squared. Scale X to values of at most {LARGEST_VALUE:.0e}."
            )
        spread = self.largest - self.smallest
        rounded = (spread > 0.0) & differs_by_rounding(self.deviation, size, self.whole, limits)
        constant = (spread == 0.0) | rounded
        smallest_square = float((limits if computed_in is None else computed_in).tiny)
        constant |= spread <= float(limits.tiny)
        constant |= _too_faint(spread, constant, scale, smallest_square, lambda: (self.deviation, self.amplitude))
        if constant.all():
            raise ValueError(why_nothing_is_informative(size, spread > 0.0, n, limits))
        warn_of_rounding(rounded, size, limits, names)
        return np.asarray(constant)


def column_moments(X: Any) -> tuple[Float, Float]:
    """Return the mean and the variance of every column, computed in two passes and in float64."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X.astype(np.float64), axis=0)
        return mean, variance
    mean = X.mean(axis=0, dtype=np.float64)
    return mean, np.var(X, axis=0, dtype=np.float64, mean=mean[None, :])


def column_spreads(X: Any) -> tuple[Float, Float]:
    """Return the mean and the standard deviation of every column, even if the squares of its values underflow."""
    mean, variance = column_moments(X)
    deviation = np.sqrt(variance)
    tiny = np.flatnonzero(variance < SMALLEST_SAFE_SQUARE)
    if len(tiny):
        part = X[:, tiny].astype(np.float64)
        smallest, largest = column_extremes(part)
        unit = powers_of_two(magnitudes((smallest, largest)))
        _, variance = column_moments(part @ sp.diags_array(1.0 / unit) if sp.issparse(part) else part / unit)
        deviation[tiny] = unit * np.sqrt(variance)
    return mean, deviation


def column_statistics(X: Any, names: Iterable[str]) -> dict[str, Float]:
    """Return "mean", "deviation", "min", "max" or "nonzero" (the share of nonzero values) of every column by name."""
    found: dict[str, Float] = {}
    for name in names:
        if name in ("min", "max"):
            found[name] = np.asarray(column_extremes(X)[name == "max"], dtype=np.float64)
        elif name == "nonzero":
            counts = X.count_nonzero(axis=0) if sp.issparse(X) else np.count_nonzero(X, axis=0)
            found[name] = np.asarray(counts) / X.shape[0]
        else:
            found[name] = column_spreads(X)[name == "deviation"]
    return found


def column_extremes(X: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest value of every column."""
    return min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))


def constant_columns(
    X: Any, extremes: tuple[Any, Any] | None = None, *, scale: str | None = "standard"
) -> npt.NDArray[np.bool_]:
    """Return which columns hold only one value, up to rounding.

    Unless each gets a scale of its own ("standard", or "moderate" if units differ), a column is also constant if it
    varies so little compared to the others that the squares of its scaled values underflow.
    """
    smallest, largest = column_extremes(X) if extremes is None else extremes
    constant = (smallest == largest) | rounded_columns(X, (smallest, largest))
    spread = largest.astype(np.float64) - smallest
    tiny = float(np.finfo(X.dtype).tiny)
    constant |= spread <= tiny

    def moments() -> tuple[Float, Float]:
        mean, deviation = column_spreads(X)
        return deviation, amplitudes(X, mean, deviation)

    return constant | _too_faint(spread, constant, scale, tiny, moments)


def _too_faint(
    spread: Float, constant: Mask, scale: str | None, smallest_square: float, moments: Callable[[], tuple[Float, Float]]
) -> Mask:
    """Return which columns vary so little, compared to those not constant, that their scaled squares underflow."""
    faint = spread <= np.sqrt(smallest_square) * common_spread(spread[~constant], scale)
    if scale == "moderate" and np.any(faint & ~constant):
        deviation, amplitude = moments()
        if units_differ(deviation[~constant], amplitude[~constant]):
            return np.zeros_like(faint)
    return np.asarray(faint)


def rounded_columns(X: Any, extremes: tuple[Any, Any]) -> npt.NDArray[np.bool_]:
    """Return which columns vary, but by no more than rounding; ``extremes`` as in :func:`constant_columns`."""
    smallest, largest = extremes
    limits = np.finfo(X.dtype)
    size = magnitudes(extremes)
    # A standard deviation is at least (largest − smallest)/√(2n), so only narrow ranges need to be checked.
    spread = largest.astype(np.float64) - smallest
    narrow = spread <= largest_rounding(limits) * size * np.sqrt(2.0 * X.shape[0])
    doubtful = np.flatnonzero((smallest < largest) & narrow)
    rounded = np.zeros(X.shape[1], dtype=np.bool_)
    if len(doubtful):
        part = X[:, doubtful]
        _, deviation = column_spreads(part)
        rounded[doubtful] = differs_by_rounding(deviation, size[doubtful], whole_columns(part), limits)
    return rounded


def root_mean_squares(X: Any) -> Float:
    """Return the root mean square of every column of a dense X, even if the squares of its values underflow."""
    squares = np.einsum("ij,ij->j", X, X, dtype=np.float64) / X.shape[0]
    tiny = squares < SMALLEST_SAFE_SQUARE
    if not tiny.any():
        return np.sqrt(squares)
    unit = np.where(tiny, powers_of_two(np.abs(X).max(axis=0)), 1.0)
    scaled = X / unit  # all columns, as sums over some of them would run in another order
    return unit * np.sqrt(np.einsum("ij,ij->j", scaled, scaled, dtype=np.float64) / X.shape[0])


def powers_of_two(magnitudes: Any) -> Float:
    """Return the largest power of two below every magnitude; dividing by it changes no digit."""
    exponents = np.frexp(np.asarray(magnitudes, dtype=np.float64))[1] - 1
    return np.ldexp(1.0, np.maximum(exponents, np.finfo(np.float64).minexp))


def dtype_beside_offsets(X: npt.NDArray[Any]) -> np.dtype[Any]:
    """Return the type of a dense X, or float64 if its own would lose digits unless offsets are subtracted."""
    return np.dtype(np.float64) if X.dtype != np.float64 and has_large_offsets(*column_spreads(X)) else X.dtype


def magnitudes(extremes: tuple[Any, Any]) -> Float:
    """Return the largest magnitude of every column, given its smallest and its largest value."""
    return np.maximum(np.abs(extremes[0]), np.abs(extremes[1])).astype(np.float64)


def whole_columns(X: Any) -> Mask:
    """Return which columns consist of whole numbers."""
    if not sp.issparse(X):
        return np.asarray(np.all(np.rint(X) == X, axis=0))
    broken = abs(X.rint() - X).max(axis=0)
    return np.asarray(broken.toarray().ravel() == 0.0)


def has_large_offsets(mean: Float, deviation: Float) -> bool:
    """Return whether the mean of some column is large compared to its standard deviation."""
    return bool(np.any(np.abs(mean) > MEAN_TO_SHIFT * deviation))


def common_spread(spread: Float, scale: str | None) -> float:
    """Return the spread, of the columns that are not constant, to which the others are compared when scaled."""
    if scale == "standard" or not len(spread):
        return 0.0
    return float(np.median(spread) if scale == "moderate" else spread.max())


def amplitudes(X: Any, mean: Any, deviation: Float) -> Float:
    """Return √(Σx⁴/Σx²) of every column x less its mean: the size of the deviations that make up its variance.

    It is s√κ, with the kurtosis κ. That of a rare event is nearly the height of the event, however rare it is, while
    its standard deviation is small.
    """
    unit = np.where(deviation > 0.0, deviation, 1.0)
    return deviation * np.sqrt(sums_of_fourth_powers(X, mean, unit) / X.shape[0])


def sums_of_fourth_powers(X: Any, mean: Any, unit: Float) -> Float:
    """Return the sum of ((X − mean)/unit)⁴ of every column."""
    if sp.issparse(X):
        return _sums_of_fourth_powers_sparse(X, mean, unit)
    total = np.zeros(X.shape[1])
    for rows in gen_batches(X.shape[0], max(1, _VALUES_AT_ONCE // X.shape[1])):
        squares = ((X[rows] - mean) / unit) ** 2
        total += np.einsum("ij,ij->j", squares, squares, dtype=np.float64)
    return total


def _sums_of_fourth_powers_sparse(X: Any, mean: Float, unit: Float) -> Float:
    X = X.tocsc()
    n, d = X.shape
    lengths = np.diff(X.indptr)
    total = (n - lengths) * (mean / unit) ** 4
    for block in gen_batches(d, max(1, _VALUES_AT_ONCE // n)):
        column = np.repeat(np.arange(block.start, block.stop), lengths[block])
        values = X.data[X.indptr[block.start] : X.indptr[block.stop]]
        squares = ((values - mean[column]) / unit[column]) ** 2
        total[block] += np.bincount(column - block.start, squares * squares, block.stop - block.start)
    return np.asarray(total)


def units_differ(deviation: Float, amplitude: Float) -> bool:
    """Return whether columns have different units: their amplitudes differ by more than those of one unit do.

    Columns that were standardised have units of their own: their standard deviations hardly differ, and say nothing.
    """
    octaves = np.std(np.log2([deviation, amplitude]), axis=1).round(6)  # the digits that rounding leaves
    return bool(octaves[1] > min(OCTAVES_OF_ONE_UNIT, 2.0 * octaves[0]))


def divisors(
    deviation: Float, scale: str | None, amplitude: Callable[[], Float], among: Mask | slice = slice(None)
) -> Float:
    """Return the scale of every centred column, none of which is constant, as :meth:`Columns.prepared` describes it."""
    if scale is None:
        return common_scale(deviation)
    if scale == "standard":
        return deviation
    unit = amplitude()
    return unit if units_differ(deviation[among], unit[among]) else deviation + np.median(deviation[among])


def divisors_of_moments(
    mean: Float, deviation: Float, amplitude: Callable[[], Float], *, center: bool, scale: str | None,
    among: Mask | slice = slice(None),
) -> Float:  # fmt: skip
    """Return the scale of every column, centred or not."""
    if scale or center:
        return divisors(deviation, scale, amplitude, among)
    return common_scale(np.hypot(mean, deviation))


def common_unit(divisor: Float, scale: str | None) -> float:
    """Return the power of two by which all columns are divided if they are not scaled; 1 if they are."""
    return 1.0 if scale else float(divisor[0])


def common_scale(roots: Float) -> Float:
    """Return for every column the same power of two, near the root mean square of all columns."""
    largest = roots.max()
    root = largest * np.sqrt(np.mean((roots / largest) ** 2))
    return np.full(len(roots), 2.0 ** np.round(np.log2(root)))


def largest_rounding(limits: Any) -> float:
    """Return the standard deviation, relative to the values, up to which a column may differ by rounding only."""
    return float(limits.eps) * (ROUNDING_OF_DOUBLES if limits.bits == 64 else ROUNDING_OF_SINGLES)


def differs_by_rounding(deviation: Float, size: Float, whole: Mask, limits: Any) -> Mask:
    """Return which columns differ from a constant by no more than rounding, given their largest magnitudes.

    Whole numbers are exact as long as the type holds every whole number. Above that, those of single precision may
    still be exact if they differ by more than neighbouring ones do.
    """
    rounding = largest_rounding(limits) * size
    if limits.bits < 64:
        rounding = np.where(whole, _spacing(size, limits), rounding)
    exact = whole & (size <= _largest_exact(limits))
    return ~exact & (deviation <= rounding)


def _largest_exact(limits: Any) -> float:
    """The number up to which the type holds every whole number."""
    return 2.0 / float(limits.eps)


def _spacing(value: Any, limits: Any) -> Any:
    """Return the distance from positive values to the next ones that the type holds."""
    return np.ldexp(float(limits.eps), np.frexp(value)[1] - 1)


def why_nothing_is_informative(size: Float, varies: Mask, n: int, limits: Any, within: str = "") -> str:
    """Return the message that all columns are constant over n samples, or that their precision cannot tell."""
    said = f"X has no informative column: all {len(size)} columns are constant{within} over {n} samples"
    doubtful = size[varies | (size > _largest_exact(limits))]
    if limits.bits == 64 or not len(doubtful):
        return said + "."
    value = float(doubtful.max())
    return (
        f"{said} in {limits.dtype}, which holds no differences below {_spacing(value, limits):.3g} at {value:.2g}: "
        "pass X as float64, or subtract an offset from it before it is rounded."
    )


def warn_of_rounding(rounded: Mask, size: Float, limits: Any, names: Sequence[str] | None) -> None:
    """Warn of columns that vary, but by no more than their single precision resolves at large magnitudes.

    At small ones, where it holds all whole numbers, they are taken for computed constants.
    """
    found = np.flatnonzero(rounded & (size > _largest_exact(limits)))
    if limits.bits == 64 or not len(found):
        return
    first = int(found[0])
    called = f"Column {first}" if names is None else f"Column '{shown(str(names[first]))}'"
    others = f" ({len(found)} such columns in all)" if len(found) > 1 else ""
    value = float(size[first])
    warn_user(
        f"{called} of X varies by no more than {limits.dtype} resolves at {value:.2g}, where its values are "
        f"{_spacing(value, limits):.3g} apart, and counts as constant{others}. Pass X as float64 if it is more precise."
    )
