"""Each format gives back what was written to it, for any names and values."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from stored import as_dense, everything

from ufselect.files import Selection, Table, read_table, write_table

ENDINGS = ["csv", "tsv", "csv.gz", "parquet", "npz", "mat", "h5ad"]
# Arrays of characters and HDF5 end a text at a zero.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


@st.composite
def tables(draw):
    names = draw(st.lists(ANY_TEXT, min_size=2, max_size=7, unique=True))
    n_aside = draw(st.integers(0, len(names) - 1))
    n = draw(st.integers(1, 6))
    X = draw(hnp.arrays(draw(st.sampled_from(["f8", "f4"])), (n, len(names) - n_aside), elements={"allow_nan": True}))
    X[0] = np.nan_to_num(X[0])
    # Text that no reader takes for numbers or dates, nor for a missing value.
    texts = st.lists(ANY_TEXT.map(lambda text: f"t{text}"), min_size=n, max_size=n)
    aside = {name: np.array(draw(texts), dtype=object) for name in names[:n_aside]}
    return X, tuple(names[n_aside:]), aside


@pytest.mark.parametrize("ending", ENDINGS)
@given(content=tables(), sparse=st.booleans())
@example(content=(np.zeros((1, 1)), ("0",), {".": np.array(["t"], dtype=object)}), sparse=False)  # reserved in HDF5
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_every_format_gives_back_what_it_was_given(tmp_path, ending, content, sparse):
    X, names, aside = content
    path = tmp_path / f"data.{ending}"
    table = Table(
        sp.csr_matrix(X) if sparse else X, names, aside, dict.fromkeys(aside, "text"), None, tmp_path / "x.csv"
    )
    write_table(path, table, everything(table))
    again = read_table(path)
    assert again.names == names
    np.testing.assert_array_equal(as_dense(again.X).astype(X.dtype), X)
    if ending not in ("csv", "tsv", "csv.gz"):
        assert again.X.dtype == X.dtype
    if ending in ("npz", "mat", "h5ad"):
        assert sp.issparse(again.X) == sparse
    if ending != "h5ad":  # which has no place for some names
        assert list(again.aside) == list(aside)
    for values, wanted in zip(again.aside.values(), aside.values(), strict=True):
        assert values.tolist() == wanted.tolist()


@pytest.mark.parametrize("first", [*ENDINGS, "npy"])
@pytest.mark.parametrize("second", [*ENDINGS, "npy"])
def test_any_format_becomes_any_other(tmp_path, first, second):
    X = np.random.default_rng(0).standard_normal((5, 4))
    X[1, 1], X[:, 3] = np.nan, [1, 2, 3, 4, 5]
    names = ("a", "two\nlines", "<b>", "数,")
    aside = {"id": np.array(list("vwxyz"), dtype=object)}
    stored = sp.csr_matrix(X) if first in ("npz", "h5ad") else X
    table = Table(stored, names, aside, {"id": "text"}, aside["id"], tmp_path / "x.csv")
    write_table(tmp_path / f"first.{first}", table, everything(table))
    between = read_table(tmp_path / f"first.{first}")
    write_table(tmp_path / f"second.{second}", between, Selection(np.ones(4), np.array([1, 3, 2, 4]), 3))
    again = read_table(tmp_path / f"second.{second}")
    kept = [0, 1, 2, 3] if second == "h5ad" else [0, 1, 2]
    np.testing.assert_array_equal(as_dense(again.X), X[:, kept])
    if "npy" not in (first, second):
        assert again.names == tuple(names[index] for index in kept)
        assert again.aside["id"].tolist() == list("vwxyz")
        assert again.samples.tolist() == list("vwxyz")
