"""The style of figures in the gallery, where they are shown smaller than in a window."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt


def larger_text(gallery_conf: dict[str, Any], example: str) -> None:
    """Make the text of figures legible in thumbnails; Sphinx-Gallery calls this before every example."""
    plt.rcParams.update({"font.size": 13, "lines.linewidth": 2.0, "lines.markersize": 7.0})
