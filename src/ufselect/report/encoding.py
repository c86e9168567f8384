"""Numbers and texts in a form that is safe and compact inside a page."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

_LARGEST_UINT16 = 65535
# Not allowed in HTML: control characters other than white space, and lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def packed(values: npt.ArrayLike, kind: str) -> str:
    """Return the bytes of an array of ``kind`` ("u1", "u2" or "u4"), little-endian, in base 64."""
    return base64.b64encode(np.asarray(values).astype(f"<{kind}").tobytes()).decode("ascii")


def packed_shares(shares: npt.ArrayLike) -> str:
    """Pack numbers from 0 to 1 in steps of 1/65535."""
    return packed(np.rint(np.clip(shares, 0.0, 1.0) * _LARGEST_UINT16), "u2")


def packed_range(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Pack finite numbers in 65535 steps from the smallest to the largest, together with these two."""
    low, high = float(values.min()), float(values.max())
    return {"low": low, "high": high, "codes": packed_shares((values - low) / ((high - low) or 1.0))}


def plain_numbers(values: npt.NDArray[Any]) -> list[float | None]:
    """Return numbers with the digits that their precision has; None for values that are not finite."""
    return [float(str(value)) if np.isfinite(value) else None for value in values]


def as_json(content: Any) -> str:
    """Return ASCII-only JSON that cannot close the element around it."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def fit_for_html(value: Any) -> Any:
    """Return text without the characters that HTML does not allow; anything else as it is."""
    return _UNFIT.sub("\ufffd", value) if type(value) is str else value
