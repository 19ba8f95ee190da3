"""Reports in a real headless Chromium: nothing is loaded, and clicks, keys and drags do what they say.

Where playwright or a Chromium is missing, every test here is skipped with that reason.
"""

import pytest

from tessbed.scenarios.html_report.run_report import reported_run, run_page
from tessbed.scenarios.library import load
from tests.chromium import SIZES, opened

MOST_BYTES, MOST_ELEMENTS = 5_000_000, 20_000


@pytest.fixture(scope="module")
def chroma(tmp_path_factory):
    """The file of a report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(run_page(reported_run(load("chroma"))).html(), encoding="utf-8")
    return path


@pytest.fixture
def report(chromium, chroma):
    """The report, open on a desktop; whatever it asked of a network or complained of fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = opened(context, chroma)
    yield page
    context.close()
    assert complaints == []


def window(page) -> tuple[int, int]:
    """The ticks that the first timeline shows, as it says; drawn already."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    words = page.locator("#job-1-timeline .range").inner_text().replace(",", "").split()
    return int(words[1]), int(words[3])


def press(page, label: str) -> None:
    """Click a button of the first timeline."""
    page.locator("#job-1-timeline").get_by_role("button", name=label, exact=True).click()


def test_buttons_zoom_and_move(report) -> None:
    """Zooming in halves the window about its middle and draws it; earlier, later, out and the whole go back."""
    low, high = window(report)
    assert low == 0
    lane = report.locator("#job-1-timeline svg.lane").first
    before = lane.locator("path").first.get_attribute("d")
    press(report, "zoom in")
    press(report, "zoom in")
    at, to = window(report)
    assert to - at == pytest.approx((high - low) / 4, abs=2)
    assert at + to == pytest.approx(high, abs=2)
    assert lane.locator("path").first.get_attribute("d") != before
    assert lane.get_attribute("viewBox").split()[0] != "0"
    press(report, "later")
    assert window(report)[0] > at
    press(report, "earlier")
    assert window(report) == (at, to)
    press(report, "zoom out")
    assert window(report)[1] - window(report)[0] == pytest.approx(high / 2, abs=2)
    press(report, "the whole launch")
    assert window(report) == (low, high)


def test_keys_and_drags_move_as_well(report) -> None:
    """By keyboard and by pointer: plus and minus, arrows, a drag to the left shows what is later, Ctrl and wheel."""
    high = window(report)[1]
    grid = report.locator("#job-1-timeline .timeline")
    grid.focus()
    report.keyboard.press("+")
    report.keyboard.press("+")
    zoomed = window(report)
    report.keyboard.press("ArrowLeft")
    assert window(report)[0] < zoomed[0]
    box = report.locator("#job-1-timeline svg.lane").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    here = window(report)
    report.mouse.move(x, y)
    report.mouse.down()
    report.mouse.move(x - box["width"] / 4, y, steps=4)
    report.mouse.up()
    assert window(report)[0] - here[0] == pytest.approx((here[1] - here[0]) / 4, rel=0.05)
    report.keyboard.press("0")
    assert window(report) == (0, high)
    report.keyboard.down("Control")
    report.mouse.wheel(0, -100)
    report.keyboard.up("Control")
    assert window(report)[1] - window(report)[0] < high


def test_a_span_says_what_it_is(report) -> None:
    """Under the pointer, and one after the other by keyboard."""
    said = report.locator("#job-1-timeline .span-words")
    report.locator("#job-1-timeline svg.lane").first.hover(position={"x": 20, "y": 2})
    assert said.inner_text().startswith("core 0 bands: band, ticks 0 to")
    assert "tiles" in said.inner_text()
    report.locator("#job-1-timeline .timeline").focus()
    first = said.inner_text()
    report.keyboard.press("PageDown")
    assert said.inner_text() != first


def test_a_click_on_a_head_sorts(report) -> None:
    """Numbers as numbers, first ascending, then descending; the head says how."""
    found = report.locator("#job-1-account table").first
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
    page, complaints = opened(context, chroma)
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
    page, complaints = opened(context, chroma)
    assert "ok: 4 of 4" in page.locator("#verdict").inner_text()
    assert page.locator("#job-1-timeline svg.lane path").count() > 20
    assert page.locator("#job-1-account td").first.is_visible()
    assert not any(button.is_visible() for button in page.locator("button").all())
    context.close()
    assert complaints == []


def test_paper_shows_everything(report) -> None:
    """Before printing, what is folded opens; what only a screen can do is left out."""
    report.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    report.emulate_media(media="print")
    assert report.locator("#parameters td").first.is_visible()
    assert not report.locator("#job-1-timeline .tools").is_visible()


@pytest.mark.long
def test_the_largest_run_opens(chromium, tmp_path) -> None:
    """The report of the largest run of the catalogue is below 5 MB, has a bounded number of elements, and zooms."""
    path = tmp_path / "large.html"
    path.write_text(run_page(reported_run(load("large-detess"))).html(), encoding="utf-8")
    assert path.stat().st_size < MOST_BYTES
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = opened(context, path)
    assert page.locator("*").count() < MOST_ELEMENTS
    high = window(page)[1]
    for _ in range(6):
        press(page, "zoom in")
    assert window(page)[1] - window(page)[0] == pytest.approx(high / 64, abs=2)
    context.close()
    assert complaints == []
