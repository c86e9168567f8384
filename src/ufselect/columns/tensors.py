"""PyTorch tensors, without importing PyTorch."""

from __future__ import annotations

import sys
from typing import Any


def is_tensor(X: Any) -> bool:
    """Return whether X is a PyTorch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)
