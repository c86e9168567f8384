"""Text written to a file and read again."""

import gzip

import pytest

from ufselect.files import read_table


@pytest.fixture
def read(tmp_path):
    """Read this text from a file of this name."""

    def read(text, name="data.csv", **options):
        path, data = tmp_path / name, text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return read_table(path, **options)

    return read
