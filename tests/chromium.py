"""A headless Chromium, for tests that open pages; where playwright or a Chromium is missing, they are skipped."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def browsers() -> Iterator[Any]:
    """A browser, and its end. Skips the test with a reason where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        path = next((found for name in NAMES if (found := shutil.which(name))), None)
        try:
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no Chromium to open pages in: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


def watched(context: Any, allowed: str) -> tuple[Any, list[str]]:
    """A new page, and a list of all that it complains of, and asks for at other addresses than those that begin so."""
    page, complaints = context.new_page(), []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: complaints.append(asked.url) if not asked.url.startswith(allowed) else None)
    return page, complaints


def opened(context: Any, path: Path) -> tuple[Any, list[str]]:
    """The page of one file that may load nothing else, and its complaints."""
    page, complaints = watched(context, path.as_uri())
    page.goto(path.as_uri())
    return page, complaints
