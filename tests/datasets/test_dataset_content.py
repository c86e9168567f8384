"""The content of datasets, and its checksum."""

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from ufselect.datasets import Dataset, content_digest
from ufselect.datasets.content import dataset_from


def test_a_set_holds_read_only_float64_samples_and_classes_from_zero(samples):
    X, y = samples
    dataset = dataset_from("mine", X.astype(np.float32), y + 5)
    assert isinstance(dataset, Dataset)
    assert dataset.name == "mine"
    assert dataset.X.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert dataset.y.dtype == np.int64
    np.testing.assert_array_equal(dataset.y, [0, 1, 1, 2, 0, 2, 2])
    assert dataset.n_classes == 3
    dataset = dataset_from("mine", X, y)
    for values in dataset.X, dataset.y:
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1
    X[0, 0], y[0] = 99.0, 1
    assert dataset.X[0, 0] != 99.0


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_classes_are_numbered_in_the_order_in_which_they_appear(labels):
    y = dataset_from("mine", np.zeros((len(labels), 1)), labels).y
    assert [labels[np.argmax(y == number)] for number in range(y.max() + 1)] == list(dict.fromkeys(labels))
    assert dict(zip(labels, y, strict=True)) == {label: y[labels.index(label)] for label in labels}


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_samples_stay_sparse_with_the_checksum_of_dense_ones(make):
    X = np.array([[0.0, 1.5], [2.0, -0.0]])
    dataset = dataset_from("mine", make(X.astype(np.float32)), [0, 1])
    assert isinstance(dataset.X, sp.csr_array)
    assert dataset.X.dtype == np.float64
    np.testing.assert_array_equal(dataset.X.toarray(), X)
    assert content_digest(dataset.X, dataset.y) == content_digest(make(X), [0, 1]) == content_digest(X, [0, 1])


def test_duplicate_entries_of_sparse_samples_are_added():
    X = sp.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    dataset = dataset_from("mine", X, [0, 1])
    np.testing.assert_array_equal(dataset.X.toarray(), [[0.0, 3.0], [5.0, 0.0]])
    assert dataset.X.nnz == 2
    assert X.nnz == 3


def test_sparse_samples_too_large_to_be_dense_are_refused_before_memory_is_allocated():
    X = sp.csr_array((10**6, 10**6))
    with pytest.raises(ValueError, match=r"sparse with shape \(1000000, 1000000\).*8,000\.0 GB"):
        dataset_from("mine", X, np.zeros(10**6))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"got shape \(3,\)"),
        (np.zeros((0, 3)), r"got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"got shape \(3, 0\)"),
        (np.zeros((3, 2, 1)), r"got shape \(3, 2, 1\)"),
        (np.zeros((3, 2), dtype=complex), "real numbers, got complex128"),
        (np.full((3, 2), "a"), "real numbers, got <U1"),
        (np.full((3, 2), None), "real numbers, got object"),
        (None, "real numbers"),
    ],
)
def test_samples_that_are_not_a_table_of_numbers_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        dataset_from("mine", X, [0, 1, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_first_value_that_is_not_finite_is_named(form, bad):
    X = np.zeros((5, 4))
    X[3, 2] = X[3, 3] = X[4, 0] = bad
    with pytest.raises(ValueError, match=f"got {bad} at row 3, column 2"):
        dataset_from("mine", form(X), np.arange(5))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "3 samples, but there are 2 class labels"),
        (np.eye(3), r"got shape \(3, 3\)"),
        (0, r"got shape \(\)"),
        ([0.0, np.nan, 1.0], "row 1 .* has none"),
        ([1j, 2j, 3j], "got complex128"),
        (np.array(["a", None, "b"], dtype=object), "row 1 .* has none"),
        (None, "row 0 .* has none"),
    ],
)
def test_labels_that_are_not_one_for_each_sample_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        dataset_from("mine", np.zeros((3, 2)), labels)


@pytest.mark.parametrize("labels", [["b", "a", "b"], [b"b", b"a", b"b"], np.array(["b", "a", "b"], dtype=object)])
def test_labels_may_be_texts(labels):
    np.testing.assert_array_equal(dataset_from("mine", np.zeros((3, 2)), labels).y, [0, 1, 0])


def test_the_digest_is_that_of_shape_values_and_classes():
    X, y = np.array([[1.5, -2.0], [0.0, 4.0]]), [7, 3]
    parts = np.array([2, 2], "<i8").tobytes() + np.array([1.5, -2.0, 0.0, 4.0], "<f8").tobytes()
    assert content_digest(X, y) == hashlib.sha256(parts + np.array([0, 1], "<i8").tobytes()).hexdigest()


@pytest.mark.parametrize(
    "store",
    [np.asfortranarray, lambda X: X.astype(">f8"), lambda X: np.repeat(X, 2, axis=0)[::2], lambda X: X.tolist()],
    ids=["by columns", "big-endian", "strided", "lists"],
)
def test_the_digest_does_not_depend_on_memory_layout(samples, store):
    X, y = samples
    assert content_digest(store(X), y) == content_digest(X, y)


def test_the_digest_sees_every_value_class_order_and_shape_but_not_names_nor_the_sign_of_zero(samples):
    X, y = samples
    X[0, 0] = 0.0
    signed, nudged, moved = X.copy(), X.copy(), y.copy()
    signed[0, 0] = -0.0
    assert content_digest(signed, np.array(["c", "a", "b"])[y]) == content_digest(X, y)
    nudged[-1, -1] = np.nextafter(nudged[-1, -1], np.inf)
    moved[-1] = 0
    others = [(nudged, y), (X, moved), (X[::-1], y[::-1]), (X[:, ::-1], y), (X[:-1], y[:-1])]
    digests = {content_digest(*other) for other in [(X, y), *others]}
    assert len(digests) == len(others) + 1
    assert content_digest(np.zeros((2, 3)), [0, 0]) != content_digest(np.zeros((3, 2)), [0, 0, 0])
