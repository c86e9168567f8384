import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

torch = pytest.importorskip("torch", reason="PyTorch is not installed: run `pip install torch`")

pytestmark = pytest.mark.more
on_every_device = pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])


def points(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 3.0 * rng.standard_normal((9, d))[rng.integers(0, 9, n)]
    return (X - X.mean(axis=0)).astype(np.float32)


@on_every_device
@pytest.mark.parametrize(("n", "d"), [(9, 1), (40, 3), (900, 30), (9001, 60)])
def test_neighbours_are_exact(device, n, d, monkeypatch):
    from ufselect.graphs.neighbors_cuda import nearest_others

    monkeypatch.setattr("ufselect.graphs.neighbors_cuda._FEW_PAIRS", 2**20)  # so that a GPU uses its kernel

    X = points(n, d)
    count = min(8, n - 1) - (n == 9)
    found = nearest_others(torch.from_numpy(X).to(device), count)
    distances, index = NearestNeighbors(n_neighbors=count + 1).fit(X.astype(np.float64)).kneighbors()
    assert_allclose(found.squared_distances.numpy(force=True), distances[:, :count] ** 2, rtol=1e-4)
    clear = np.diff(distances[:, count - 1 :] ** 2, axis=1)[:, 0] > 1e-4 * distances[:, count] ** 2
    assert clear.mean() > 0.9
    assert_array_equal(np.sort(found.index.numpy(force=True), axis=1)[clear], np.sort(index[:, :count], axis=1)[clear])


@on_every_device
def test_groups_far_tighter_than_their_distance_are_settled(device):
    from ufselect.graphs.neighbors_cuda import nearest_others

    X = points(600, 5)
    X[:300] = 1e-4 * X[:300] + 50.0
    X -= X.mean(axis=0)
    found = nearest_others(torch.from_numpy(X).to(device), 6)
    distances, _ = NearestNeighbors(n_neighbors=6).fit(X.astype(np.float64)).kneighbors()
    assert_allclose(found.squared_distances.numpy(force=True), distances**2, rtol=1e-3)


@on_every_device
def test_copies_are_the_nearest(device):
    from ufselect.graphs.neighbors_cuda import nearest_others

    X = points(500, 5)
    X[10:40] = X[10]
    found = nearest_others(torch.from_numpy(X).to(device), 4)
    assert float(found.squared_distances[10:40].max()) == 0.0
    assert {*found.index[10:40].numpy(force=True).ravel()} <= {*range(10, 40)}
    assert not np.any(found.index.numpy(force=True) == np.arange(500)[:, None])


@on_every_device
def test_tied_distances_share_evenly(device):
    from ufselect.graphs.adaptive_cuda import adaptive_neighbors

    Z = torch.from_numpy(np.hstack([np.eye(40), 3.0 * np.eye(40)]).astype(np.float32)).to(device) / 7.0
    P = adaptive_neighbors(Z, 5)
    assert_allclose(P.probabilities.numpy(force=True), 0.2, rtol=1e-6)
    assert_array_equal(P.spread.numpy(force=True), 0.0)


@on_every_device
def test_a_neighbour_as_far_as_the_next_one_gets_nothing(device):
    from ufselect.graphs.adaptive_cuda import adaptive_neighbors

    angles = np.arange(6) * np.pi / 3.0
    Z = np.vstack([[0.0, 0.0], [0.6, 0.8], 3.0 * np.column_stack([np.cos(angles), np.sin(angles)])])
    P = adaptive_neighbors(torch.from_numpy(Z.astype(np.float32)).to(device), 3)
    assert_array_equal(P.P.toarray()[0], [0, 1, 0, 0, 0, 0, 0, 0])


@on_every_device
def test_eigenvectors_have_small_residuals_and_are_orthonormal(device):
    from ufselect.graphs.adaptive_cuda import adaptive_neighbors
    from ufselect.graphs.laplacian import neighbor_laplacian
    from ufselect.graphs.spectral_cuda import smallest_eigenvectors

    P = adaptive_neighbors(torch.from_numpy(points(2000, 10)).to(device), 8)
    values, vectors = smallest_eigenvectors(P.laplacian(), 20, nontrivial=True, tol=1e-3)
    V, L = vectors.double().numpy(force=True), neighbor_laplacian(P.P)
    assert_allclose(V.T @ V, np.eye(20), atol=1e-4)
    assert_allclose(V.sum(axis=0), 0.0, atol=1e-3)
    assert np.linalg.norm(L @ V - V * values, axis=0).max() < 4e-3
    expected = np.linalg.eigvalsh(L.toarray())[1:21]
    assert_allclose(values, expected, rtol=0, atol=1e-3)
