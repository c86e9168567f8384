"""KernelFSASL of tensors on the CPU device: the same features as of arrays, values to the precision of eigenvectors."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ufselect import KernelFSASL, MaxVariance
from ufselect.datasets import make_planted_clusters

torch = pytest.importorskip("torch", reason="PyTorch is not installed: run `pip install torch`")

pytestmark = pytest.mark.more


# Eigenvectors have residuals of 1e-3 by either route, which leaves this much of an alignment.
PRECISION = 5e-4


def planted(n, seed=0):
    return make_planted_clusters(n, 6, 20, 60, separation=4.0, random_state=seed).X.astype(np.float32)


def fits(X, count, **params):
    """Fits of a tensor, and on a GPU of a tensor and of an array."""
    yield KernelFSASL(count, **params).fit(torch.from_numpy(X))
    if torch.cuda.is_available():
        yield KernelFSASL(count, **params).fit(torch.from_numpy(X).cuda())
        yield KernelFSASL(count, device="cuda", **params).fit(X)


@pytest.mark.parametrize("n", [150, 800, 6000])
@pytest.mark.parametrize("scale", ["moderate", "standard", None])
def test_features_are_those_of_numpy(n, scale):
    X = planted(n)
    expected = KernelFSASL(12, scale=scale).fit(X)
    for found in fits(X, 12, scale=scale):
        assert_array_equal(found.top_features(), expected.top_features())
        best = expected.top_features()  # the scores of others, which are near zero, depend on the last of the curve
        assert_allclose(found.scores_[best], expected.scores_[best], rtol=0, atol=PRECISION)
        assert_allclose(found.alignments_, expected.alignments_, rtol=0, atol=PRECISION)
        assert_allclose(found.alignment_curve_, expected.alignment_curve_, rtol=0, atol=PRECISION)
        assert_allclose(found.r2_curve_, expected.r2_curve_, rtol=0, atol=1e-3)
        assert_allclose(found.objective_history_, expected.objective_history_, rtol=2e-3)
        assert found.embedding_.shape == expected.embedding_.shape
        assert found.scores_.dtype == np.float32


def test_columns_of_unlike_units_are_scaled_as_those_of_numpy():
    X = (planted(800) * 10.0 ** np.random.default_rng(0).integers(-6, 7, 80)).astype(np.float32)
    expected = KernelFSASL(12).fit(X)
    for found in fits(X, 12):
        assert_array_equal(found.top_features(), expected.top_features())
        assert_allclose(found.alignment_curve_, expected.alignment_curve_, rtol=0, atol=PRECISION)


def test_constant_columns_and_copies_are_set_aside():
    X = planted(300)
    X[:, 3], X[:, 7] = 2.5, X[:, 5]
    expected, found = KernelFSASL(12).fit(X), KernelFSASL(12).fit(torch.from_numpy(X))
    assert_array_equal(found.copies_, expected.copies_)
    assert_array_equal(found.top_features(), expected.top_features())
    assert found.ranking_[3] == X.shape[1]
    assert found.ranking_[7] == X.shape[1] - 1


def test_offsets_and_precision_of_the_tensor_do_not_matter():
    X = planted(400).astype(np.float64)
    expected = KernelFSASL(12).fit(torch.from_numpy(X))
    for other in (X + 1e6, 1e-20 * X):
        found = KernelFSASL(12).fit(torch.from_numpy(other))
        assert_array_equal(found.top_features(), expected.top_features())
        assert_allclose(found.scores_, expected.scores_, rtol=1e-3, atol=1e-4)


def test_the_data_are_left_as_they_were_and_a_fit_can_be_repeated():
    X = torch.from_numpy(planted(300))
    before = X.clone()
    first, second = KernelFSASL(12).fit(X), KernelFSASL(12).fit(X)
    assert torch.equal(X, before)
    assert_array_equal(first.scores_, second.scores_)
    assert_array_equal(first.embedding_, second.embedding_)


def test_approximate_neighbours_are_refused():
    with pytest.raises(ValueError, match='neighbors="approximate" does not work on a device'):
        KernelFSASL(5, neighbors="approximate").fit(torch.from_numpy(planted(100)))


@pytest.mark.parametrize("n", [150, 800])
def test_columns_that_are_not_centred_give_the_features_of_numpy(n):
    X = planted(n) + 1.0
    expected, found = (KernelFSASL(12, center=False).fit(data) for data in (X, torch.from_numpy(X)))
    assert_array_equal(found.top_features(), expected.top_features())
    assert_allclose(found.alignment_curve_, expected.alignment_curve_, rtol=0, atol=PRECISION)


def test_more_features_than_samples_are_refused():
    with pytest.raises(ValueError, match="X has 50 samples and 80 features"):
        KernelFSASL(5).fit(torch.from_numpy(planted(50)))


def test_sparse_data_are_refused():
    with pytest.raises(ValueError, match=r"device='cuda' needs a dense X; use X\.toarray\(\), or device=None"):
        KernelFSASL(5, device="cuda").fit(sp.csr_array(planted(100)))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_one_sentence_says_so():
    with pytest.raises(ValueError, match="device='cuda' needs a GPU, and PyTorch finds none here; use device=None"):
        KernelFSASL(5, device="cuda").fit(planted(100))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.zeros(5), r"its shape is \(5,\)"),
        (torch.zeros(2, 4), r"its shape is \(2, 4\)"),
        (torch.full((9, 2), torch.nan), "Column 0 of X contains NaN or infinity"),
        (torch.ones(9, 2), "all 2 columns are constant over 9 samples"),
        (torch.rand(9, 2, dtype=torch.float64) * 1e200, "too large to be squared"),
    ],
)
def test_hostile_tensors_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        KernelFSASL(1).fit(X)


def test_whole_numbers_are_taken_as_their_values():
    X = torch.randint(0, 50, (200, 10), generator=torch.Generator().manual_seed(0))
    assert_array_equal(KernelFSASL(3).fit(X).top_features(), KernelFSASL(3).fit(X.double()).top_features())


def test_other_methods_take_a_tensor_in_memory():
    X = planted(50)
    assert_array_equal(MaxVariance(3).fit(torch.from_numpy(X)).top_features(), MaxVariance(3).fit(X).top_features())


def test_data_that_are_streamed_by_blocks_give_the_same(monkeypatch):
    X = torch.from_numpy(planted(700))
    expected = KernelFSASL(12).fit(X)
    monkeypatch.setattr("ufselect.columns.tensors._BLOCK_BYTES", 8 * 80 * 97)  # 97 rows
    found = KernelFSASL(12).fit(X)
    assert_array_equal(found.top_features(), expected.top_features())
    assert_allclose(found.scores_, expected.scores_, rtol=0, atol=PRECISION)


@pytest.mark.parametrize(
    "params", [{"keep": [79, 3], "exclude": [0, 1], "min_distance": 2}, {"keep": [5], "groups": np.arange(80) // 4}]
)
def test_columns_to_keep_and_to_exclude_and_groups_are_respected(params):
    X = planted(300)
    expected, found = KernelFSASL(8, **params).fit(X), KernelFSASL(8, **params).fit(torch.from_numpy(X))
    assert_array_equal(found.top_features(), expected.top_features())


@pytest.mark.parametrize("n", [4, 5, 9, 30])
def test_very_few_samples_are_legal(n):
    X = np.random.default_rng(0).standard_normal((n, 3)).astype(np.float32)
    expected, found = KernelFSASL(2).fit(X), KernelFSASL(2).fit(torch.from_numpy(X))
    assert_allclose(found.scores_, expected.scores_, rtol=0, atol=1e-3)


def test_a_column_whose_squares_underflow_ranks_last():
    X = torch.from_numpy(planted(200).astype(np.float64))
    X[:, 4] *= 1e-27
    expected = KernelFSASL(5).fit(X.numpy()).alignments_
    for found in fits(X.numpy(), 5, scale=None):
        assert found.ranking_[4] == X.shape[1]
        assert np.all(np.isfinite(found.alignments_))
    for found in fits(X.numpy(), 5):  # a scale of its own, as units differ
        assert_allclose(found.alignments_, expected, rtol=0, atol=1e-3)


def test_settings_of_pytorch_do_not_matter():
    X = torch.from_numpy(planted(700))
    expected = KernelFSASL(12).fit(X)
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("high")
    try:
        assert_array_equal(KernelFSASL(12).fit(X).scores_, expected.scores_)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")


def test_a_tensor_is_transformed_into_a_tensor():
    X = torch.from_numpy(planted(100))
    selector = KernelFSASL(5)
    assert torch.equal(selector.fit_transform(X), X[:, selector.get_support(indices=True)])
    with pytest.raises(ValueError, match="X has 79 features, but KernelFSASL is expecting 80 features as input"):
        selector.transform(X[:, 1:])


def test_whole_numbers_in_single_precision_keep_their_digits():
    X = np.round(10.0 * planted(400)) + np.where(np.arange(80) % 2 == 1, 2.0**24 - 2.0**10, 0.0)
    expected, found = (KernelFSASL(12).fit(torch.from_numpy(X.astype(dtype))) for dtype in (np.float64, np.float32))
    assert_array_equal(found.top_features(), expected.top_features())
    assert_allclose(found.scores_, expected.scores_, rtol=1e-3, atol=1e-4)


def test_rounding_that_left_nothing_is_said_instead_of_constant():
    X = torch.from_numpy(planted(300) + np.float32(1e8))
    with pytest.raises(ValueError, match=r"in float32, which holds no differences below 8 at 1e\+08"):
        KernelFSASL(12).fit(X)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_the_embedding_is_x_times_the_coefficients(scale):
    X = 1000.0 * planted(400)
    used = (X - X.mean(axis=0)) / (1.0 if scale is None else X.std(axis=0))
    for found in fits(X, 12, scale=scale):
        assert_allclose(used @ found.coef_, found.embedding_, rtol=0, atol=1e-4 * np.abs(found.embedding_).max())
