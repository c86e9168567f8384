"""The description of the package on PyPI: the README without what leads nowhere there.

On PyPI, relative links and pictures are dead, and nobody has a clone. Hatchling finds this file by its name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LAST_SECTION = "## Good to know"


def description(readme: str) -> str:
    """Return the README up to its last section of use, without pictures and relative links, to install by name."""
    before, section, rest = readme.partition(LAST_SECTION)
    text = before + section + rest.partition("\n## ")[0]
    text = re.sub(r"^!\[[^\]]*\]\([^)]*\)\n\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]+)\]\((?!https?://)[^)]*\)", r"\1", text)
    text = re.sub(r"^    make .*\n", "", text, flags=re.MULTILINE).replace("From a clone, with Python", "With Python")
    return re.sub(r'pip install "\.(\[[\w,]+\])"', r'pip install "ufselect\1"', text)


class CustomMetadataHook(MetadataHookInterface):
    """Set the description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the readme to the metadata of the project."""
        readme = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(readme)}
