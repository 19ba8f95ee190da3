"""The site in a real headless Chromium: from files and from a server, on a desktop and on a phone, light and dark."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import SIZES, watched


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
        """Nothing."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(params=["files", "server"])
def address(request: pytest.FixtureRequest, site: Path) -> str:
    """Where the site begins: as a folder of files, or as a server has it."""
    return site.as_uri() if request.param == "files" else request.getfixturevalue("served")


@pytest.fixture
def visitor(chromium: Any, address: str) -> Iterator[Any]:
    """The first page on a desktop; whatever is asked of another place, and each complaint, fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = watched(context, f"{address}/")
    page.goto(f"{address}/index.html")
    yield page
    context.close()
    assert complaints == []


@pytest.mark.parametrize("size", SIZES)
def test_every_page_opens_and_fits(chromium: Any, site: Path, size: str) -> None:
    """No page complains, loads from elsewhere, lacks its style, or is wider than the screen."""
    width, height = SIZES[size]
    context = chromium.new_context(viewport={"width": width, "height": height})
    page, complaints = watched(context, f"{site.as_uri()}/")
    wide, unstyled = [], []
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        name = path.relative_to(site).as_posix()
        wide += [name] if page.evaluate("document.documentElement.scrollWidth") > width else []
        unstyled += (
            [name] if page.evaluate("getComputedStyle(document.querySelector('.page')).display") != "flex" else []
        )
    context.close()
    assert complaints == []
    assert wide == []
    assert unstyled == []


def test_search_finds_a_page(visitor: Any, address: str) -> None:
    """Words in the box and Enter lead to results; a click on one leads to its page, where the word is."""
    visitor.get_by_role("searchbox").or_(visitor.get_by_placeholder("Search")).first.fill("quarantine")
    visitor.keyboard.press("Enter")
    visitor.wait_for_url("**/search.html?q=quarantine*")
    results = visitor.locator("ul.search li a")
    results.first.wait_for()
    visitor.wait_for_function("document.querySelector('.search-summary')?.innerText.includes('found')")
    assert "Glossary" in results.all_inner_texts()
    if address.startswith("http"):
        visitor.locator("ul.search p.context").first.wait_for()
    visitor.locator("ul.search li a", has_text="Glossary").first.click()
    visitor.wait_for_url("**/glossary.html*")
    assert visitor.get_by_text("Quarantine.").first.is_visible()


def test_search_finds_a_name(visitor: Any) -> None:
    """The name of a method leads to its entry in the reference."""
    visitor.get_by_placeholder("Search").fill("run_load")
    visitor.keyboard.press("Enter")
    found = visitor.locator("ul.search li a", has_text="tessbed.Scenario.run_load").first
    found.wait_for()
    found.click()
    visitor.wait_for_url("**/reference/python.html*#tessbed.Scenario.run_load")


def test_the_sidebar_leads_on(visitor: Any) -> None:
    """Entries of the sidebar and links in pages are pages; what is beneath an entry opens by a click."""
    sidebar = visitor.locator(".sidebar-tree")
    sidebar.get_by_role("link", name="The runtime").click()
    assert visitor.locator("h1").inner_text().startswith("The runtime")
    visitor.locator("article").get_by_role("link", name="Waiting").first.click()
    assert visitor.url.endswith("#waiting")


def test_light_and_dark_by_a_click(visitor: Any) -> None:
    """The button goes through the themes, and the page changes its colours with it."""

    def background() -> str:
        return visitor.evaluate("getComputedStyle(document.body).backgroundColor")

    seen = {background()}
    for _ in range(3):
        visitor.locator(".theme-toggle:visible").first.click()
        seen.add(background())
    assert len(seen) == 2


def test_the_menu_of_a_phone(chromium: Any, site: Path) -> None:
    """On a phone the sidebar is off the screen until a click on the menu brings it, and it leads to a page."""
    width, height = SIZES["phone"]
    context = chromium.new_context(viewport={"width": width, "height": height}, has_touch=True)
    page, complaints = watched(context, f"{site.as_uri()}/")
    page.goto((site / "index.html").as_uri())
    entry = page.locator(".sidebar-tree").get_by_role("link", name="Glossary")
    assert entry.bounding_box()["x"] < 0
    page.locator(".mobile-header label[for=__navigation]").tap()
    page.wait_for_function("document.querySelector('.sidebar-drawer').getBoundingClientRect().left >= 0")
    entry.tap()
    page.wait_for_url("**/glossary.html")
    context.close()
    assert complaints == []


def test_without_a_script_it_reads(chromium: Any, site: Path) -> None:
    """Pages and their contents are there without JavaScript."""
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page, complaints = watched(context, f"{site.as_uri()}/")
    page.goto((site / "index.html").as_uri())
    page.locator(".sidebar-tree").get_by_role("link", name="Glossary").click()
    assert page.get_by_text("Quarantine.").first.is_visible()
    context.close()
    assert complaints == []
