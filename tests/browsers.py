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
        browser = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
