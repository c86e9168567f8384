"""Tables of genes × samples: transposed, they are read like their transpose."""

import csv
import io
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from stored import everything

from ufselect.files import read_table, write_table

GENES = "gene,s1,s2,s3\nTP53,1.5,2,NA\nsite,north,south,north\nKRAS,4,5,6\n"


@pytest.fixture
def read(read):
    """Read this text from a file, transposed."""
    return partial(read, transpose=True)


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.tsv"])
def test_rows_of_text_become_columns(read, name):
    table = read(GENES.replace(",", "\t") if name.endswith("tsv") else GENES, name)
    assert table.names == ("TP53", "KRAS")
    np.testing.assert_array_equal(table.X, [[1.5, 4], [2, 5], [np.nan, 6]])
    assert table.X.flags.c_contiguous
    assert {name: values.tolist() for name, values in table.aside.items()} == {
        "gene": ["s1", "s2", "s3"],
        "site": ["north", "south", "north"],
    }
    assert table.reasons == {"gene": "row labels", "site": "text"}
    assert table.samples.tolist() == ["s1", "s2", "s3"]


def test_decimal_commas_missing_values_and_columns_aside(read):
    table = read("gene;s1;s2\ng1;1,5;-\ng2;3;4\ng3;5;6\n", na="-", aside=["g3"])
    assert table.names == ("g1", "g2")
    np.testing.assert_array_equal(table.X, [[1.5, 3], [np.nan, 4]])
    assert table.aside["g3"].tolist() == [5, 6]
    assert table.reasons["g3"] == "requested"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gene,s1,s2\ng1,1,2\ng1,3,4\n", "has several columns named 'g1'"),
        ("gene,s1,s2\ng1,1,2\ng2,3\n", "has 2 values in row 2, but there are 3 columns"),
        ("gene,s1,s2\ng1,1,2,\ng2,3,4,\n", "has 4 values in row 1, but the header has 3 names"),
        ("gene,s1,s2\n", "has a header but no rows"),
        ("gene\ng1\ng2\n", "has a header but no rows"),
        ("gene,s1\ng1,x\n", "has no numeric column"),
    ],
)
def test_damaged_tables_are_refused(read, text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


CELLS = st.sampled_from(["1", "2.5", "-3e2", "NA", "", "north", "true", "2020-01-01", "9007199254740993", "a b", "1,5"])


@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_a_transposed_file_is_read_as_its_transpose(tmp_path_factory, n_samples, n_features, data):
    cells = [[data.draw(CELLS) for _ in range(n_samples)] for _ in range(n_features)]
    rows = [["", *(f"s{i}" for i in range(n_samples))], *([f"g{j}", *row] for j, row in enumerate(cells))]
    folder = tmp_path_factory.mktemp("transposed")
    for name, content in (("genes.csv", rows), ("samples.csv", list(zip(*rows, strict=True)))):
        text = io.StringIO(newline="")
        csv.writer(text, quoting=csv.QUOTE_ALL).writerows(content)
        (folder / name).write_text(text.getvalue())
    try:
        wanted = read_table(folder / "samples.csv")
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error).rpartition(".csv ")[2].partition("(")[0]):
            read_table(folder / "genes.csv", transpose=True)
        return
    table = read_table(folder / "genes.csv", transpose=True)
    np.testing.assert_array_equal(table.X, wanted.X)
    assert table.names == wanted.names
    assert table.reasons == wanted.reasons
    for name, values in wanted.aside.items():
        np.testing.assert_array_equal(table.aside[name], values)


# Other formats


X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ending", ["npz", "mat"])
def test_arrays_are_transposed_and_their_names_fit(tmp_path, ending, sparse):
    path = tmp_path / f"x.{ending}"
    labels = {"genes": np.array(["g1", "g2"]), "who": np.array(["p", "q", "r"])}
    if ending == "mat":
        labels = {name: values.astype(object) for name, values in labels.items()}
        scipy.io.savemat(path, {"X": sp.csc_matrix(X) if sparse else X, **labels})
    elif sparse:
        S = sp.csr_matrix(X)
        np.savez(path, X_data=S.data, X_indices=S.indices, X_indptr=S.indptr, X_shape=np.array(S.shape), **labels)
    else:
        np.savez(path, X=X, **labels)
    table = read_table(path, transpose=True)
    assert table.names == ("g1", "g2")
    assert table.aside["who"].tolist() == ["p", "q", "r"]
    assert sp.issparse(table.X) == sparse
    np.testing.assert_array_equal(table.X.toarray() if sparse else table.X, X.T)
    assert not sparse or table.X.format == "csr"


@pytest.mark.parametrize("indexed", [False, True, "named"])
def test_parquet_is_transposed_by_its_index_or_first_column(tmp_path, indexed):
    frame = pd.DataFrame({"gene": ["g1", "g2"], "s1": [1.0, 4.0], "s2": [2, 5], "s3": [3, 6]})
    if indexed:
        frame = frame.set_index("gene").rename_axis("gene" if indexed == "named" else None)
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet", transpose=True, aside=["g2"])
    assert table.names == ("g1",)
    np.testing.assert_array_equal(table.X, X[:1].T)
    assert table.samples.tolist() == ["s1", "s2", "s3"]
    assert table.aside["g2"].tolist() == [4, 5, 6]
    write_table(tmp_path / "out.parquet", table, everything(table))
    assert pd.read_parquet(tmp_path / "out.parquet").shape[0] == 3


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"gene": ["g", "h"], "s1": ["x", "y"]}, r"has a column 's1' \(text\) that cannot be the values of a sample"),
        ({"gene": ["g", "h"], "s1": [2**53 + 1, 0]}, r"'s1' \(integers too long for a float\)"),
        ({"gene": ["g", None], "s1": [1.0, 2.0]}, "has a feature without a name"),
        ({"gene": ["g", "g"], "s1": [1.0, 2.0]}, "several columns named 'g'"),
    ],
)
def test_parquet_that_cannot_be_transposed_is_refused(tmp_path, columns, message):
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "x.parquet", transpose=True)
