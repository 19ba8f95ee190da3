"""Reports in a real headless Chromium: nothing is loaded, and clicks, keys and drags do what they say.

Where playwright or a Chromium is missing, every test here is skipped with that reason.
"""

import shutil
from time import perf_counter

import pytest

from tessbed.scenarios.html_report.run_report import reported_run, run_page
from tessbed.scenarios.library import load

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
MOST_BYTES, MOST_SECONDS = 5_000_000, 2.0


@pytest.fixture(scope="module")
def chromium():
    """A browser for all tests."""
    with playwright.sync_playwright() as driver:
        path = next((found for name in NAMES if (found := shutil.which(name))), None)
        try:
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no Chromium to open reports in: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def chroma(tmp_path_factory):
    """The file of a report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(run_page(reported_run(load("chroma"))).html(), encoding="utf-8")
    return path


@pytest.fixture
def opened(chromium, chroma):
    """The report, open on a desktop; whatever it asked of a network or complained of fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = watched(context, chroma)
    yield page
    context.close()
    assert complaints == []


def watched(context, path):
    """The page of a file, and a list of what it loads and complains of."""
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: complaints.append(asked.url) if asked.url != path.as_uri() else None)
    page.goto(path.as_uri())
    return page, complaints


def window(page) -> tuple[int, int]:
    """The ticks that the first timeline shows, as it says; drawn already."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    words = page.locator("#job-1-timeline .range").inner_text().replace(",", "").split()
    return int(words[1]), int(words[3])


def press(page, label: str) -> None:
    """Click a button of the first timeline."""
    page.locator("#job-1-timeline").get_by_role("button", name=label, exact=True).click()


def test_buttons_zoom_and_move(opened) -> None:
    """Zooming in halves the window about its middle and draws it; earlier, later, out and the whole go back."""
    low, high = window(opened)
    assert low == 0
    lane = opened.locator("#job-1-timeline svg.lane").first
    before = lane.locator("path").first.get_attribute("d")
    press(opened, "zoom in")
    press(opened, "zoom in")
    at, to = window(opened)
    assert to - at == pytest.approx((high - low) / 4, abs=2)
    assert at + to == pytest.approx(high, abs=2)
    assert lane.locator("path").first.get_attribute("d") != before
    assert lane.get_attribute("viewBox").split()[0] != "0"
    press(opened, "later")
    assert window(opened)[0] > at
    press(opened, "earlier")
    assert window(opened) == (at, to)
    press(opened, "zoom out")
    assert window(opened)[1] - window(opened)[0] == pytest.approx(high / 2, abs=2)
    press(opened, "the whole launch")
    assert window(opened) == (low, high)


def test_keys_and_drags_move_as_well(opened) -> None:
    """By keyboard and by pointer: plus and minus, arrows, a drag to the left shows what is later, Ctrl and wheel."""
    high = window(opened)[1]
    grid = opened.locator("#job-1-timeline .timeline")
    grid.focus()
    opened.keyboard.press("+")
    opened.keyboard.press("+")
    zoomed = window(opened)
    opened.keyboard.press("ArrowLeft")
    assert window(opened)[0] < zoomed[0]
    box = opened.locator("#job-1-timeline svg.lane").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    here = window(opened)
    opened.mouse.move(x, y)
    opened.mouse.down()
    opened.mouse.move(x - box["width"] / 4, y, steps=4)
    opened.mouse.up()
    assert window(opened)[0] - here[0] == pytest.approx((here[1] - here[0]) / 4, rel=0.05)
    opened.keyboard.press("0")
    assert window(opened) == (0, high)
    opened.keyboard.down("Control")
    opened.mouse.wheel(0, -100)
    opened.keyboard.up("Control")
    assert window(opened)[1] - window(opened)[0] < high


def test_a_span_says_what_it_is(opened) -> None:
    """Under the pointer, and one after the other by keyboard."""
    said = opened.locator("#job-1-timeline .span-words")
    opened.locator("#job-1-timeline svg.lane").first.hover(position={"x": 20, "y": 2})
    assert said.inner_text().startswith("core 0 bands: band, ticks 0 to")
    assert "tiles" in said.inner_text()
    opened.locator("#job-1-timeline .timeline").focus()
    first = said.inner_text()
    opened.keyboard.press("PageDown")
    assert said.inner_text() != first


def test_a_click_on_a_head_sorts(opened) -> None:
    """Numbers as numbers, first ascending, then descending; the head says how."""
    found = opened.locator("#job-1-account table").first
    head = found.get_by_role("button", name="ticks")
    column = found.locator("tbody td:nth-child(4)")
    head.click()
    ticks = [int(text.replace(",", "")) for text in column.all_inner_texts()]
    assert ticks == sorted(ticks)
    assert found.locator("th:nth-child(4)").get_attribute("aria-sort") == "ascending"
    head.click()
    ticks = [int(text.replace(",", "")) for text in column.all_inner_texts()]
    assert ticks == sorted(ticks, reverse=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits(chromium, chroma, tmp_path, size, scheme) -> None:
    """On a desktop and on a phone nothing is wider than the screen, and every lane of the timeline is drawn."""
    width, height = SIZES[size]
    context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page, complaints = watched(context, chroma)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lanes = page.locator("#job-1-timeline svg.lane")
    boxes = [lanes.nth(number).bounding_box() for number in range(lanes.count())]
    assert all(box["width"] > width / 2 and box["height"] > 10 for box in boxes)
    assert len(page.screenshot(path=tmp_path / f"{size}-{scheme}.png", full_page=True)) > 50_000
    context.close()
    assert complaints == []


def test_without_a_script_it_reads(chromium, chroma) -> None:
    """Verdict, account and the drawn timeline are there; buttons that would do nothing are not."""
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page, complaints = watched(context, chroma)
    assert "ok: 4 of 4" in page.locator("#verdict").inner_text()
    assert page.locator("#job-1-timeline svg.lane path").count() > 20
    assert page.locator("#job-1-account td").first.is_visible()
    assert not any(button.is_visible() for button in page.locator("button").all())
    context.close()
    assert complaints == []


def test_paper_shows_everything(opened) -> None:
    """Before printing, what is folded opens; what only a screen can do is left out."""
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    opened.emulate_media(media="print")
    assert opened.locator("#parameters td").first.is_visible()
    assert not opened.locator("#job-1-timeline .tools").is_visible()


@pytest.mark.long
def test_the_largest_run_opens_at_once(chromium, tmp_path) -> None:
    """The report of the largest run of the catalogue is below 5 MB and opens within two seconds, and zooms."""
    path = tmp_path / "large.html"
    path.write_text(run_page(reported_run(load("large-detess"))).html(), encoding="utf-8")
    assert path.stat().st_size < MOST_BYTES
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    began = perf_counter()
    page, complaints = watched(context, path)
    assert perf_counter() - began < MOST_SECONDS
    high = window(page)[1]
    for _ in range(6):
        press(page, "zoom in")
    assert window(page)[1] - window(page)[0] == pytest.approx(high / 64, abs=2)
    context.close()
    assert complaints == []
