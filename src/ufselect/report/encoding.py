"""Numbers and texts in a form that is safe and small inside a page."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

_LARGEST_UINT16 = 65535
# What HTML cannot hold: control characters other than white space, and halves of surrogate pairs.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def packed(values: npt.ArrayLike, kind: str) -> str:
    """The bytes of an array of ``kind`` ("u1", "u2" or "u4"), little end first, in base 64."""
    return base64.b64encode(np.asarray(values).astype(f"<{kind}").tobytes()).decode("ascii")


def packed_shares(shares: npt.ArrayLike) -> str:
    """Numbers from 0 to 1 in steps of 1/65535."""
    return packed(np.rint(np.clip(shares, 0.0, 1.0) * _LARGEST_UINT16), "u2")


def packed_range(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Finite numbers in 65535 steps from the least to the largest, with both."""
    low, high = float(values.min()), float(values.max())
    return {"low": low, "high": high, "codes": packed_shares((values - low) / ((high - low) or 1.0))}


def plain_numbers(values: npt.NDArray[Any]) -> list[float | None]:
    """Numbers with as many digits as their precision has; None for what is not finite."""
    return [float(str(value)) if np.isfinite(value) else None for value in values]


def as_json(content: Any) -> str:
    """JSON that is all ASCII and cannot end the element it stands in."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def as_html(text: str) -> str:
    """Text that HTML shows as it is, in elements and in quoted attributes."""
    return html.escape(_UNFIT.sub("\ufffd", text))
