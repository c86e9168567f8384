"""Take a screenshot of the top of the report that ``ufselect demo`` writes: docs/images/page.png.

It needs Chromium and Playwright (the dev extra). Run it from anywhere: ``python docs/draw_page.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "images" / "page.png"


def main() -> None:
    """Write the screenshot."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        subprocess.run([sys.executable, "-m", "ufselect", "demo", folder], check=True, stdout=subprocess.DEVNULL)
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 2050})
        page.goto(Path(folder, "digits.html").as_uri())
        page.wait_for_selector("html[data-ready=true]")
        page.screenshot(path=PICTURE)


if __name__ == "__main__":
    main()
