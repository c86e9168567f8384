"""The data matrix on a device, or in memory and streamed to it by blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ufselect._utils.types import Float, Indices
from ufselect.columns.moments import ColumnMoments

_BLOCK_BYTES = 2**29
_SHARE_OF_MEMORY = 0.5  # of a device that X may take


class DeviceColumns:
    """Some columns of a matrix, less their means and divided by a scale, in single precision.

    Products with n rows are tensors on the device; all others are float64 arrays in memory.

    Parameters
    ----------
    values : Tensor of shape (n, d)
        Anywhere: blocks of rows are sent to the device when they are needed.
    device : torch.device
    index : ndarray of int, optional
        The columns that count; all by default.
    mean, divisor : ndarray, optional
        Of the columns that count; 0 and 1 by default.
    """

    def __init__(
        self,
        values: torch.Tensor,
        device: torch.device,
        index: Indices | None = None,
        mean: Float | None = None,
        divisor: Float | None = None,
    ) -> None:
        self.device = device
        self._values = values
        self._index = None if index is None or len(index) == values.shape[1] else torch.as_tensor(index, device=device)
        self._mean, self._divisor = (
            None if value is None else torch.as_tensor(value, device=device) for value in (mean, divisor)
        )
        self.shape: tuple[int, int] = (len(values), values.shape[1] if index is None else len(index))

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Iterate over slices of the rows and their values on the device."""
        for rows, part in row_blocks(self._values, self.device):
            if self._index is not None:
                part = part[:, self._index]
            if self._mean is not None and self._divisor is not None:
                # In double precision: a mean may be far larger than what is left.
                part = (part.double() - self._mean) / self._divisor
            yield rows, part.float()

    def gram(self) -> Float:
        """XᵀX."""
        return self._summed(lambda _, part: part.T @ part)

    def transposed_matmul(self, B: torch.Tensor) -> Float:
        """XᵀB."""
        return self._summed(lambda rows, part: part.T @ B[rows])

    def __matmul__(self, W: Float) -> torch.Tensor:
        """XW."""
        weights = torch.as_tensor(np.ascontiguousarray(W), dtype=torch.float32, device=self.device)
        product = torch.empty((self.shape[0], W.shape[1]), dtype=torch.float32, device=self.device)
        for rows, part in self.blocks():
            torch.matmul(part, weights, out=product[rows])
        return product

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


def first_equal_columns(values: torch.Tensor, device: torch.device) -> Indices:
    """Return for every column the index of the first column with the same values, which may be itself."""
    first = np.arange(values.shape[1])
    seen: dict[int, int] = {}
    for column, digest in enumerate(_digests(values, device)):
        original = seen.setdefault(digest, column)
        if original != column and torch.equal(values[:, original], values[:, column]):
            first[column] = original
    return first


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
