"""Tensors that refuse to become NumPy arrays unasked, as those on a GPU do."""

import pytest


def _refuse(self, *_, **__):
    raise TypeError("a tensor on a GPU cannot be converted to NumPy: use Tensor.cpu() first")


@pytest.fixture(autouse=True)
def tensors_as_on_a_gpu(monkeypatch, request):
    if "tensor_in_memory" in request.node.name:
        return
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: run `pip install torch`")
    monkeypatch.setattr(torch.Tensor, "__array__", _refuse)
