"""Chromium, for tests of pages."""

import os
import shutil
from contextlib import contextmanager

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

LONGEST_WAIT = 180_000
"""Milliseconds after which a page that does not answer has failed; five to thirty seconds pass on a busy machine."""


def chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("UFSELECT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@contextmanager
def started_browser():
    """Start Chromium, or skip the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium or Chrome is installed, nor named by UFSELECT_CHROMIUM")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=LONGEST_WAIT)
        playwright.expect.set_options(timeout=LONGEST_WAIT)
        yield browser
        browser.close()


def redrawn(page):
    """Wait until what was done to a page is drawn: the first frame lays it out and redraws, the second shows that."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page


def resized(page, width, height=900):
    """Give a page another size and wait until its drawings have followed."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("size => innerWidth === size[0] && innerHeight === size[1]", arg=[width, height])
    return redrawn(page)
