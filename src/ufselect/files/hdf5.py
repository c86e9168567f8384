"""HDF5 files: those that take parts of other files are refused, and errors of the disk do not end the process.

A link, the storage of a dataset or a virtual dataset can name any file that the user may read. Whoever makes such a
file would so get the content of others into the output.

If HDF5 cannot write what it holds when a file is closed, it tries again when the process ends, and crashes. So it never
learns of such an error: it writes to a file object that remembers the error, which is raised once HDF5 has closed it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ufselect._utils.wording import shortened
from ufselect.files.errors import UnreadableError

_SAME_FILE = "."  # as HDF5 calls the file itself in virtual datasets
_LONGEST_PATH = 250
_LARGEST_KEPT = 1 << 20


def check_self_contained(path: Path) -> None:
    """Raise an error if an HDF5 file refers to another one; only links and headers are read."""
    import h5py
    from h5py import h5l

    within = (h5l.TYPE_HARD, h5l.TYPE_SOFT)  # a soft link stays within the file unless it passes an external one
    with h5py.File(path) as file:
        links = file.id.links
        name = links.visit(lambda name, link: None if link.type in within else name, info=True)
        if name is not None:
            is_known = links.get_info(name).type == h5l.TYPE_EXTERNAL
            raise _elsewhere(name, links.get_val(name)[0] if is_known else b"")
        _check_objects(file.id)


def _check_objects(root: Any) -> None:
    """Check where datasets have their values, and that references lead to objects that are checked as well."""
    from h5py import h5d, h5o

    addresses = {h5o.get_info(root).addr}
    references = _references(root, b"/")

    def check(name: bytes, info: Any) -> None:
        addresses.add(info.addr)
        found = h5o.open(root, name)
        references.extend(_references(found, name))
        if isinstance(found, h5d.DatasetID):
            storage = found.get_create_plist()
            if storage.get_external_count():
                raise _elsewhere(name, storage.get_external(0)[0])
            n_sources = storage.get_virtual_count() if storage.get_layout() == h5d.VIRTUAL else 0
            others = {storage.get_virtual_filename(index) for index in range(n_sources)} - {_SAME_FILE}
            if others:
                raise _elsewhere(name, min(others).encode("utf-8", "surrogateescape"))

    h5o.visit(root, check, info=True)
    for name, address in references:
        if address not in addresses:
            raise UnreadableError(f"refers to a hidden object in {_shown(name)}, which is not read.")


def _references(found: Any, name: bytes) -> list[tuple[bytes, int]]:
    """Return the address of each object that an attribute of this one refers to; old categories are found so."""
    from h5py import h5a, h5o, h5r, h5t

    addresses = []
    for index in range(h5a.get_num_attrs(found)):
        attribute = h5a.open(found, index=index)
        if attribute.get_type().get_class() != h5t.REFERENCE:
            continue
        values = np.empty(attribute.shape, dtype=attribute.dtype)
        attribute.read(values)
        targets = [h5r.dereference(value, found) for value in values.ravel() if value]
        addresses += [(name, h5o.get_info(target).addr) for target in targets]
    return addresses


def _elsewhere(name: bytes, other: bytes) -> UnreadableError:
    file = f"another file, {_shown(other)}" if other else "another file"
    return UnreadableError(
        f"has {_shown(name)} in {file}, which is not read; if you trust it, load it and save it again with anndata."
    )


def _shown(text: bytes) -> str:
    return repr(shortened(text.decode("utf-8", "replace"), _LONGEST_PATH))


@contextmanager
def opened_for_writing(path: Path, mode: str) -> Iterator[Any]:
    """Open an HDF5 file, new ("w") or as it is ("r+"); an OSError says that something could not be written."""
    import h5py

    with _DeferredErrors(path, "w+" if mode == "w" else mode) as stream:
        try:
            with h5py.File(stream, mode) as file:
                yield file
        except Exception:
            if stream.error is None:
                raise  # else it may have read what was never written
        if stream.error is not None:
            raise stream.error


class _DeferredErrors(io.FileIO):
    """A file that remembers the first error of the disk instead of raising it, and keeps in memory what follows.

    HDF5 reads its own structures again, and would crash on what was never written; large pieces can only be values.
    """

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(path, mode)
        self.error: OSError | None = None
        self._kept: list[tuple[int, bytes]] = []  # where it belongs, and what

    def write(self, data: Any) -> int:
        """Write all of the data; the system may take only a part at a time."""
        content, start = memoryview(data).cast("B"), self.tell()
        left = content
        try:
            while left and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        if self.error is not None and len(content) <= _LARGEST_KEPT:
            self._kept.append((start, bytes(content)))
        self.seek(start + len(content))
        return len(content)

    def readinto(self, buffer: Any) -> int:
        """Read from the file, or what was kept instead of it."""
        content, start = memoryview(buffer).cast("B"), self.tell()
        n_read = super().readinto(buffer)
        for at, kept in self._kept:
            first, last = max(start, at), min(start + len(content), at + len(kept))
            if first < last:
                content[first - start : last - start] = kept[first - at : last - at]
        return len(content) if self._kept else n_read or 0

    def truncate(self, size: int | None = None) -> int:
        """Change the size of the file."""
        try:
            return super().truncate(size) if self.error is None else size or 0
        except OSError as error:
            self.error = error
            return size or 0
