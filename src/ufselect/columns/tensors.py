"""The data matrix as a tensor: on a device, or in memory and streamed to it by blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.dense import Columns
from ufselect.columns.moments import ColumnMoments, common_unit, divisors_of_moments

_BLOCK_BYTES = 2**29
_SHARE_OF_MEMORY = 0.5  # of a device that X may take


class TensorMatrix:
    """X as a tensor, before columns are left out, centred and scaled.

    Parameters
    ----------
    X : Tensor or ndarray of shape (n, d)
        Anywhere. If it does not fit into the memory of the device, blocks of its rows are sent there as needed.
    device : str or torch.device
        Where the work is done.
    """

    def __init__(self, X: Any, device: Any) -> None:
        self._device = torch.device(device)
        self.dtype = X.dtype if isinstance(X, np.ndarray) else np.dtype(np.float32)
        X = torch.as_tensor(X)
        if self._device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device={str(device)!r} needs a GPU, and PyTorch finds none here; use device=None.")
        if X.ndim != 2 or len(X) < 3 or X.shape[1] < 1:
            raise ValueError(
                f"X must be a matrix of at least 3 samples and 1 feature, but its shape is {tuple(X.shape)}."
            )
        X = X.detach() if X.is_floating_point() else X.double()
        self._limits = torch.finfo(X.dtype)
        self._values = placed(X, self._device)
        self._moments = column_moments(self._values, self._device)
        self.shape: tuple[int, int] = (len(X), X.shape[1])

    def constant_columns(self, scale: str | None, names: Sequence[str] | None) -> Mask:
        """Return which columns hold only one value, up to rounding; raise an error if X cannot be fitted."""
        limits, single = self._limits, np.finfo(np.float32)
        return self._moments.constant_columns(self.shape[0], limits, scale, computed_in=single, names=names)

    def first_equal_columns(self) -> Indices:
        """Return for every column the index of the first column with the same values, which may be itself."""
        first = np.arange(self.shape[1])
        seen: dict[int, int] = {}
        for column, digest in enumerate(_digests(self._values, self._device)):
            original = seen.setdefault(digest, column)
            if original != column and torch.equal(self._values[:, original], self._values[:, column]):
                first[column] = original
        return first

    def prepared(self, index: Indices, *, center: bool, scale: str | None) -> TensorColumns:
        """Return some columns, centred and scaled."""
        n, d = self.shape[0], len(index)
        if d > min(n, LARGEST_DENSE_SYSTEM):
            raise ValueError(
                f"A device needs at most as many features as samples, and at most {LARGEST_DENSE_SYSTEM}; "
                f"X has {n} samples and {d} features. Use a NumPy array and device=None."
            )
        mean, deviation = self._moments.mean[index], self._moments.deviation[index]
        divisor = divisors_of_moments(mean, deviation, center=center, scale=scale)
        offset = mean if center else np.zeros_like(mean)
        unit = common_unit(divisor, scale)
        return TensorColumns(self._values, self._device, index, offset, divisor, mean, centered=center, unit=unit)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute products in single precision, whatever the user has allowed: the neighbour search counts on it."""
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)


class TensorColumns(Columns):
    """Some columns of a tensor, less an offset and divided by a scale, in single precision.

    Products with n rows are tensors on the device; all others are float64 arrays in memory. What :class:`Columns` can
    do beyond that needs all values at once, and raises an error.

    Parameters
    ----------
    values : Tensor of shape (n, d)
        Anywhere: blocks of rows are sent to the device when they are needed.
    device : torch.device
    index : ndarray of int
        The columns that count.
    offset, divisor, means : ndarray
        What is subtracted from these columns, by what they are divided, and their means.
    centered : bool
        Whether the offset is the means.
    unit : float
        The power of two by which all columns are divided if they are not scaled.
    """

    def __init__(
        self,
        values: torch.Tensor,
        device: torch.device,
        index: Indices,
        offset: Float,
        divisor: Float,
        means: Float,
        *,
        centered: bool,
        unit: float = 1.0,
    ) -> None:
        self.device = device
        self.offset = None
        self.centered, self.unit = centered, unit
        self.shape = (len(values), len(index))
        self.dtype = np.dtype(np.float32)
        self._tensor, self._index, self._means = values, index, means
        self._subtracted, self._divisor = offset, divisor

    @property
    def values(self) -> Any:
        """Raise an error: the values are on a device."""
        raise ValueError("These settings need all values of X in memory; use a NumPy array and device=None.")

    @property
    def by_row(self) -> Any:
        """Raise the same error."""
        return self.values

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Iterate over slices of the rows and their values on the device."""
        whole = len(self._index) == self._tensor.shape[1]
        index = torch.as_tensor(self._index, device=self.device)
        offset, divisor = (torch.as_tensor(each, device=self.device) for each in (self._subtracted, self._divisor))
        for rows, part in row_blocks(self._tensor, self.device):
            # In double precision: an offset may be far larger than what is left.
            yield rows, (((part if whole else part[:, index]).double() - offset) / divisor).float()

    def __matmul__(self, W: Float) -> torch.Tensor:
        """XW."""
        weights = torch.as_tensor(np.ascontiguousarray(W), dtype=torch.float32, device=self.device)
        product = torch.empty((self.shape[0], W.shape[1]), dtype=torch.float32, device=self.device)
        for rows, part in self.blocks():
            torch.matmul(part, weights, out=product[rows])
        return product

    def embedded(self, W: Float) -> torch.Tensor:
        """XW."""
        return self @ W

    def transposed_matmul(self, B: Any) -> Float:
        """XᵀB."""
        B = torch.as_tensor(B, dtype=torch.float32, device=self.device)
        return self._summed(lambda rows, part: part.T @ B[rows])

    def sketch(self, width: int, rng: np.random.RandomState) -> Float:
        """XᵀR for a random R of shape (n, width), which is drawn on the device."""
        generator = torch.Generator(device=self.device).manual_seed(int(rng.randint(2**31 - 1)))
        drawn = {"generator": generator, "dtype": torch.float32, "device": self.device}
        return self._summed(lambda _, part: part.T @ torch.randn((len(part), width), **drawn))

    @cached_property
    def _gram(self) -> Float:
        return self._summed(lambda _, part: part.T @ part)

    def gram(self, index: Indices | slice = slice(None), weights: Float | None = None) -> Float:
        """XᵀX of the columns with the given indices."""
        if weights is not None:
            return super().gram(index, weights)  # raises
        return self._gram[index][:, index]

    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        return self._gram.diagonal().copy()

    def subset(self, index: Indices) -> TensorColumns:
        """Return the columns with the given indices."""
        part = TensorColumns(
            self._tensor,
            self.device,
            self._index[index],
            self._subtracted[index],
            self._divisor[index],
            self._means[index],
            centered=self.centered,
        )
        if "_gram" in vars(self):
            part._gram = self.gram(index)
        return part

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices, in memory."""
        blocks = self.subset(np.arange(self.shape[1])[index]).blocks()
        return np.concatenate([part.double().cpu().numpy() for _, part in blocks])

    def samples(self) -> torch.Tensor:
        """All values, on the device."""
        return torch.cat([part for _, part in self.blocks()])

    def less_means(self, weights: Float | None = None) -> TensorColumns:
        """Subtract the means of the columns."""
        if weights is not None:
            return self.values
        means, divisor = self._means, self._divisor
        return TensorColumns(self._tensor, self.device, self._index, means, divisor, means, centered=True)

    def _summed(self, product: Callable[[slice, torch.Tensor], torch.Tensor]) -> Float:
        """Add up products over blocks of rows, in double precision."""
        total: Any = 0.0
        for rows, part in self.blocks():
            total = total + product(rows, part).double()
        return np.asarray(total.cpu().numpy())


def row_blocks(values: torch.Tensor, device: torch.device) -> Iterator[tuple[slice, torch.Tensor]]:
    """Iterate over slices of the rows of a tensor and these rows on the device; the next ones are on their way."""
    n, d = values.shape
    size = max(1, _BLOCK_BYTES // (8 * d))
    slices = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    to_gpu = device.type == "cuda"  # an asynchronous copy from a GPU would be read before it is complete
    following = values[slices[0]].to(device, non_blocking=to_gpu)
    for rows, after in zip(slices, [*slices[1:], None], strict=True):
        part = following
        if after is not None:
            following = values[after].to(device, non_blocking=to_gpu)
        yield rows, part


def placed(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Send a matrix to a device, or to pinned memory if it takes more than half of that of the device."""
    if device.type != "cuda" or values.is_cuda:
        return values
    if values.nbytes <= _SHARE_OF_MEMORY * torch.cuda.get_device_properties(device).total_memory:
        return values.to(device)
    return values.pin_memory()


def column_moments(values: torch.Tensor, device: torch.device) -> ColumnMoments:
    """Return the moments of the columns in two passes."""
    n = len(values)
    parts = [
        (*torch.aminmax(part, dim=0), part.sum(dim=0, dtype=torch.float64), (part.round() == part).all(dim=0))
        for _, part in row_blocks(values, device)
    ]
    smallest, largest, total, whole = (torch.stack(each) for each in zip(*parts, strict=True))
    mean = total.sum(dim=0) / n
    squares: Any = 0.0
    for _, part in row_blocks(values, device):
        squares = squares + (part.double() - mean).square().sum(dim=0)
    found = smallest.amin(dim=0), largest.amax(dim=0), mean, (squares / n).sqrt()
    lowest, highest, means, deviations = (np.asarray(value.double().cpu().numpy()) for value in found)
    return ColumnMoments(lowest, highest, means, deviations, np.asarray(whole.all(dim=0).cpu().numpy()))


def _digests(values: torch.Tensor, device: torch.device) -> list[int]:
    """Return a sum of the bits of every column, in whole numbers and with random weights, so that order counts."""
    generator = torch.Generator(device=device).manual_seed(0)
    bits = {torch.float64: torch.int64, torch.float32: torch.int32}.get(values.dtype, torch.int16)
    total = torch.zeros(values.shape[1], dtype=torch.int64, device=device)
    for _, part in row_blocks(values, device):
        weights = torch.randint(2**62, (len(part), 1), generator=generator, device=device)
        # Adding zero makes minus zero zero.
        total += ((part + 0.0).contiguous().view(bits).long() * weights).sum(dim=0)
    return [int(digest) for digest in total.cpu()]
