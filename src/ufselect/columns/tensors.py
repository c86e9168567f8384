"""The data matrix as a tensor: on a device, or in memory and streamed to it by blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.moments import ColumnMoments
from ufselect.columns.streamed import StreamedColumns

_BLOCK_BYTES = 2**29
_SHARE_OF_MEMORY = 0.5  # of a device that X may take


class TensorMatrix:
    """X as a tensor, anywhere, and the device where the work is done.

    If X does not fit into the memory of the device, blocks of its rows are sent there as needed.
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
        self._rows = TensorRows(X, self._device)
        self._moments = column_moments(self._rows)
        self.shape: tuple[int, int] = (len(X), X.shape[1])

    def constant_columns(self, scale: str | None, names: Sequence[str] | None) -> Mask:
        """Return which columns hold only one value, up to rounding; raise an error if X cannot be fitted."""
        limits, single = self._limits, np.finfo(np.float32)
        return self._moments.constant_columns(self.shape[0], limits, scale, computed_in=single, names=names)

    def statistics(self, names: Iterable[str]) -> Mapping[str, Float]:
        """Return statistics of every column by name; raise an error for one that needs an array in memory."""
        return self._moments.named(names)

    def first_equal_columns(self) -> Indices:
        """Return for every column the index of the first column with the same values, which may be itself."""
        first = np.arange(self.shape[1])
        seen: dict[int, int] = {}
        values = self._rows.values
        for column, digest in enumerate(_digests(self._rows)):
            original = seen.setdefault(digest, column)
            if original != column and torch.equal(values[:, original], values[:, column]):
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
        return TensorColumns.of_moments(self._rows, self._moments, index, np.float32, center=center, scale=scale)

    def rows(self, index: Indices) -> Any:
        """Return some rows as they are, in memory."""
        values = self._rows.values
        part = values[torch.as_tensor(index, device=values.device)].cpu()
        return part.numpy() if part.dtype == torch.float64 else part.float().numpy()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute products in single precision, whatever the user has allowed: the neighbour search counts on it."""
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)


class TensorColumns(StreamedColumns):
    """Some columns of a tensor, in single precision.

    Products with n rows are tensors on the device; all others are float64 arrays in memory.
    """

    _refusal = "These settings need all values of X in memory; use a NumPy array and device=None."

    @property
    def device(self) -> Any:
        """Where the work is done."""
        return self._source.device

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Iterate over slices of the rows and their values on the device."""
        prepare = self._prepare
        whole = len(prepare.index) == self._source.shape[1]
        index, offset, divisor = (
            torch.as_tensor(each, device=self.device) for each in (prepare.index, prepare.offset, prepare.divisor)
        )
        for rows, part in self._source.blocks():
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

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices, in memory."""
        blocks = self.subset(np.arange(self.shape[1])[index]).blocks()
        return np.concatenate([part.double().cpu().numpy() for _, part in blocks])

    def samples(self) -> torch.Tensor:
        """All values, on the device."""
        return torch.cat([part for _, part in self.for_distances().blocks()])

    def _summed(self, product: Callable[[slice, torch.Tensor], torch.Tensor]) -> Float:
        """Add up products over blocks of rows, in double precision."""
        total: Any = 0.0
        for rows, part in self.blocks():
            total = total + product(rows, part).double()
        return np.asarray(total.cpu().numpy())


class TensorRows:
    """A matrix on the device, or in pinned memory if it takes more than half of that of the device."""

    def __init__(self, values: torch.Tensor, device: torch.device) -> None:
        self.device, self.shape = device, tuple(values.shape)
        if device.type == "cuda" and not values.is_cuda:
            fits = values.nbytes <= _SHARE_OF_MEMORY * torch.cuda.get_device_properties(device).total_memory
            values = values.to(device) if fits else values.pin_memory()
        self.values = values

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Iterate over slices of the rows and these rows on the device; the next ones are on their way."""
        n, d = self.shape
        size = max(1, _BLOCK_BYTES // (8 * d))
        slices = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        to_gpu = self.device.type == "cuda"  # an asynchronous copy from a GPU would be read before it is complete
        following = self.values[slices[0]].to(self.device, non_blocking=to_gpu)
        for rows, after in zip(slices, [*slices[1:], None], strict=True):
            part = following
            if after is not None:
                following = self.values[after].to(self.device, non_blocking=to_gpu)
            yield rows, part


def column_moments(matrix: TensorRows) -> ColumnMoments:
    """Return the moments of the columns in two passes."""
    parts = [
        (*torch.aminmax(part, dim=0), part.sum(dim=0, dtype=torch.float64), (part.round() == part).all(dim=0))
        for _, part in matrix.blocks()
    ]
    smallest, largest, total, whole = (torch.stack(each) for each in zip(*parts, strict=True))
    mean = total.sum(dim=0) / matrix.shape[0]
    lowest, highest = smallest.amin(dim=0), largest.amax(dim=0)
    farthest = torch.maximum(highest - mean, mean - lowest)  # from the mean: powers of shares of it cannot overflow
    unit = torch.where(farthest > 0.0, farthest, 1.0)
    second, third, fourth = (torch.zeros_like(mean) for _ in range(3))
    for _, part in matrix.blocks():
        shifted = part.double() - mean
        second += shifted.square().sum(dim=0)
        shifted /= unit
        third += shifted.pow(3).sum(dim=0)
        fourth += shifted.pow(4).sum(dim=0)
    deviation = (second / matrix.shape[0]).sqrt()
    ratio = torch.where(deviation > 0.0, unit / deviation, 0.0)
    skewness, kurtosis = third / matrix.shape[0] * ratio**3, fourth / matrix.shape[0] * ratio**4
    found = lowest.double(), highest.double(), mean, deviation, whole.all(dim=0), skewness, kurtosis
    return ColumnMoments(*(np.asarray(each.cpu().numpy()) for each in found))


def _digests(matrix: TensorRows) -> list[int]:
    """Return a sum of the bits of every column, in whole numbers and with random weights, so that order counts."""
    values, device = matrix.values, matrix.device
    generator = torch.Generator(device=device).manual_seed(0)
    bits = {torch.float64: torch.int64, torch.float32: torch.int32}.get(values.dtype, torch.int16)
    total = torch.zeros(values.shape[1], dtype=torch.int64, device=device)
    for _, part in matrix.blocks():
        weights = torch.randint(2**62, (len(part), 1), generator=generator, device=device)
        # Adding zero makes minus zero zero.
        total += ((part + 0.0).contiguous().view(bits).long() * weights).sum(dim=0)
    return [int(digest) for digest in total.cpu()]
