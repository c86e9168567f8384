"""Check the structure of a MATLAB file before SciPy reads it.

The compiled reader of SciPy trusts the type of each element: one that MATLAB does not define makes it follow a pointer
that was never set, so that a single wrong byte ends the process. This walks over the elements of a file of version 5
to 7 as SciPy does, and reads nothing but their tags.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_VALUES = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18}  # element types: integers, floats and text
_NESTED_CLASSES = {1, 2, 3, 16, 17, 18}  # cell, struct, object, function and opaque
_CHAR_CLASS, _SPARSE_CLASS, _OPAQUE_CLASS = 4, 5, 17
_NUMERIC_CLASSES = set(range(6, 16))
_COMPLEX = 0x0800
_DEEPEST = 50  # cells within cells, which SciPy reads by recursion
_FEW_ITEMS = 1000  # in a struct without fields, which has no content
_CHUNK = 1 << 20


class StructureError(Exception):
    """The file is not a sequence of complete MATLAB variables."""


@dataclass
class _Elements:
    """The elements within a limited number of bytes."""

    read: Callable[[int], bytes]
    n_left: int
    order: str

    def take(self, size: int) -> bytes:
        if size > self.n_left:
            raise StructureError("an element ends after the variable that contains it")
        self.n_left -= size
        data = self.read(size)
        if len(data) != size:
            raise StructureError("the file ends within an element")
        return data

    def skip(self, size: int) -> None:
        while size > 0:
            size -= len(self.take(min(size, _CHUNK)))

    def tag(self) -> tuple[int, int]:
        """Return type and size of the next element; the value of a small one is part of its tag."""
        kind, size = struct.unpack(f"{self.order}II", self.take(8))
        return (kind & 0xFFFF, 0) if kind >> 16 else (kind, size)

    def skip_values(self) -> None:
        """Skip an element of values."""
        kind, size = self.tag()
        self.skip_rest(kind, size)

    def skip_rest(self, kind: int, size: int) -> None:
        """Skip what follows a tag, with the bytes that align the next one."""
        if kind not in _VALUES:
            raise StructureError(f"an element has the type {kind}")
        self.skip(size)
        self.skip(min(-size % 8, self.n_left))

    def n_items(self) -> int:
        """Read the dimensions of a variable, at least two in MATLAB and at most 32 in SciPy; return their product."""
        kind, size = self.tag()
        if kind not in (5, 6) or not 8 <= size <= 128 or size % 4:
            raise StructureError("the dimensions of a variable are damaged")
        dimensions = struct.unpack(f"{self.order}{size // 4}i", self.take(size))
        self.skip(min(-size % 8, self.n_left))
        if min(dimensions) < 0:
            raise StructureError("a dimension of a variable is negative")
        return prod(dimensions)


def check_structure(path: Path) -> None:
    """Raise an error if a file of version 5 to 7 is not a sequence of complete variables."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER or 0 in header[:4] or header[124:128] not in (b"\x00\x01IM", b"\x01\x00MI"):
            return  # version 4, which SciPy reads in Python, version 7.3, or no MATLAB file
        order = "<" if header.endswith(b"IM") else ">"
        n_left = os.fstat(file.fileno()).st_size - _HEADER
        while n_left >= 8:
            kind, size = struct.unpack(f"{order}II", file.read(8))
            n_left -= 8 + size
            if n_left < 0:
                raise StructureError("the file ends within a variable")
            end = file.tell() + size
            _check_variable(file, kind, size, order)
            file.seek(end)


def _check_variable(file: IO[bytes], kind: int, size: int, order: str) -> None:
    if kind == _COMPRESSED:
        stream = _Elements(_decompressed(file, size), 1 << 62, order)
        kind, size = struct.unpack(f"{order}II", stream.take(8))
        elements = _Elements(stream.read, size, order)
    else:
        elements = _Elements(file.read, size, order)
    if kind != _MATRIX:
        raise StructureError(f"a variable has the type {kind}")
    _check_matrix(elements, 0)


def _decompressed(file: IO[bytes], size: int) -> Callable[[int], bytes]:
    """Return a function that reads from a compressed element of this size."""
    inflate = zlib.decompressobj()
    rest, n_left = b"", size

    def read(wanted: int) -> bytes:
        nonlocal rest, n_left
        while len(rest) < wanted and not inflate.eof:
            data = inflate.unconsumed_tail or file.read(min(n_left, _CHUNK))
            n_left -= 0 if inflate.unconsumed_tail else len(data)
            if not data:
                break
            rest += inflate.decompress(data, max(_CHUNK, wanted))
        taken, rest = rest[:wanted], rest[wanted:]
        return taken

    return read


def _check_matrix(elements: _Elements, depth: int) -> None:
    """Check one variable: flags, dimensions, name and values."""
    if depth > _DEEPEST:
        raise StructureError("cells are nested too deeply")
    if elements.n_left == 0:  # an empty cell
        return
    elements.tag()
    (flags,) = struct.unpack(f"{elements.order}I", elements.take(8)[:4])
    kind = flags & 0xFF
    n_items = elements.n_items() if kind != _OPAQUE_CLASS else 1
    if kind in _NESTED_CLASSES:
        if n_items > max(elements.n_left // 8, _FEW_ITEMS):  # SciPy makes room for all before it reads the first
            raise StructureError("a cell or struct is larger than its content")
        _check_nested(elements, depth)
        return
    if kind not in (_CHAR_CLASS, _SPARSE_CLASS) and kind not in _NUMERIC_CLASSES:
        raise StructureError(f"a variable has the class {kind}")
    is_complex = kind != _CHAR_CLASS and bool(flags & _COMPLEX)
    for _ in range(1 + (3 if kind == _SPARSE_CLASS else 1) + is_complex):
        elements.skip_values()


def _check_nested(elements: _Elements, depth: int) -> None:
    """Check the names and variables within a cell, struct or object."""
    while elements.n_left >= 8:
        kind, size = elements.tag()
        if kind == _MATRIX:
            if size > elements.n_left:
                raise StructureError("a variable ends after the one that contains it")
            elements.n_left -= size
            inner = _Elements(elements.read, size, elements.order)
            _check_matrix(inner, depth + 1)
            inner.skip(inner.n_left)
        else:
            elements.skip_rest(kind, size)
