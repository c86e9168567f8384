"""The names of arrays in .npz and .mat files, for readers and writers alike."""

from __future__ import annotations

NUMBERS = ("X", "fea", "data")
NAMES = ("names", "featurenames", "columns", "features", "genes")  # lower case, without underscores
ASIDE = "aside_names"
SPARSE = {"data": "X_data", "indices": "X_indices", "indptr": "X_indptr", "shape": "X_shape"}
SCIPY_SPARSE = ("format", "shape", "data")
PLAIN_SPARSE = {part: part for part in SPARSE}  # compressed rows beside other arrays, without SciPy's format


def plain_key(key: str) -> str:
    """Return a key without case and underscores."""
    return key.casefold().replace("_", "")


def aside_key(name: str, index: int) -> str:
    """Return the key of a column set aside: its name, or a number if that is taken or not an identifier."""
    clear = name.isascii() and name.isidentifier() and not name.startswith(("_", "aside_")) and len(name) <= 31
    taken = name in (*NUMBERS, *SPARSE.values(), *SCIPY_SPARSE) or plain_key(name) in NAMES
    return name if clear and not taken else f"aside_{index}"
