"""Take screenshots of the report that ``ufselect demo`` writes: docs/images/page.png and page_dark.png.

The second one shows the dark theme, with a row opened, beside a phone. spectrum.png and budget.png are figures of the
reports that stories write. It needs Chromium and Playwright (the dev extra). Run it from anywhere:
``python docs/draw_page.py``.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import run_commands
from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
GAP = 40


def main() -> None:
    """Write the screenshots."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        subprocess.run([sys.executable, "-m", "ufselect", "demo", folder], check=True, stdout=subprocess.DEVNULL)
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        address = Path(folder, "digits.html").as_uri()
        screenshot(browser, address, "light", 1240, 2380).save(IMAGES / "page.png")
        dark = screenshot(browser, address, "dark", 1240, 1960, opened=0)
        phone = screenshot(browser, address, "light", 400, 1960)
        beside(dark, phone).save(IMAGES / "page_dark.png")
        draw_figure(browser, Path(folder), "spectra", "spectra.html", "spectrum")
        draw_figure(browser, Path(folder), "budget", "sensors.html", "costs").rename(IMAGES / "budget.png")


def draw_figure(browser: Any, folder: Path, story: str, report: str, figure: str) -> Path:
    """Write a figure of a report that a story writes."""
    text = (DOCS / "users" / f"{story}.md").read_text("utf-8")
    run_commands.with_output(text, folder, run_commands.printed_here)
    page = browser.new_page(viewport={"width": 1000, "height": 1200}, color_scheme="light", reduced_motion="reduce")
    page.goto((folder / report).as_uri())
    page.wait_for_selector("html[data-ready=true]")
    page.locator(f"#{figure}").screenshot(path=IMAGES / f"{figure}.png")
    return IMAGES / f"{figure}.png"


def screenshot(
    browser: Any, address: str, theme: str, width: int, height: int, opened: int | None = None
) -> Image.Image:
    """Return the top of the page; ``opened`` is the row of the table to open."""
    size = {"width": width, "height": height}
    page = browser.new_page(viewport=size, color_scheme=theme, reduced_motion="reduce")
    page.goto(address)
    page.wait_for_selector("html[data-ready=true]")
    if opened is not None:
        page.locator("tr.column").nth(opened).click()
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return picture


def beside(left: Image.Image, right: Image.Image) -> Image.Image:
    """Return two pictures side by side."""
    joined = Image.new("RGB", (left.width + GAP + right.width, max(left.height, right.height)), "white")
    joined.paste(left, (0, 0))
    joined.paste(right, (left.width + GAP, 0))
    return joined


if __name__ == "__main__":
    main()
