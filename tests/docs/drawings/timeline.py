"""Timeline: the first bands of two cores, with what they wait for and their slots, from the timeline of a run."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tessbed
from tests.docs.drawings.canvas import FILLS, QUIET, Canvas

SHOWN_TICKS = 12_500
LANES = tuple(f"core {core} {lane}" for core in range(2) for lane in ("bands", "slot 0", "slot 1"))
TICK, LANE, LEFT = 0.068, 30, 130
COLOURS = {"compute": FILLS[0], "wait": FILLS[4], "issue": FILLS[5], "fill": FILLS[0], "drain": FILLS[2]}
KEY = ("wait for a gather", "compute, into a slot", "drain of a slot", "issue of requests")


def drawing() -> str:
    """A row for each lane, ticks from the launch to the right."""
    spans = list(_spans())
    start = min(span["begin"] for span in spans)
    about = "Each core waits for a gather, computes, and goes on while the slot that it filled drains."
    canvas = Canvas(1000, 100 + LANE * len(LANES) + 40, "The first bands of two cores, tick by tick", about)
    canvas.words(20, 30, canvas.title, size=13, bold=True)
    for row, lane in enumerate(LANES):
        y = 70 + LANE * row + 14 * (row // 3)
        canvas.words(20, y + 16, lane, size=12)
        for span in spans:
            if span["lane"] == lane and span["depth"] == 1 and span["begin"] < start + SHOWN_TICKS:
                _draw(canvas, span, start, y)
    for tick in range(0, SHOWN_TICKS + 1, 2_500):
        canvas.words(LEFT + TICK * tick, 60, f"{tick:,}", anchor="middle", colour=QUIET)
    for number, (words, colour) in enumerate(zip(KEY, (FILLS[4], FILLS[0], FILLS[2], FILLS[5]), strict=True)):
        canvas.box(LEFT + 210 * number, canvas.height - 32, 16, 16, colour)
        canvas.words(LEFT + 210 * number + 24, canvas.height - 20, words)
    return canvas.svg()


def _draw(canvas: Canvas, span: dict[str, Any], start: int, y: int) -> None:
    begin, end = span["begin"] - start, min(span["end"] - start, SHOWN_TICKS)
    name = span["name"]
    words = f"{name} {span['end'] - span['begin']:,}"
    hint = f"{words} ticks, from tick {begin:,}" + (
        f", mostly {span['args']['mostly']}" if "mostly" in span.get("args", {}) else ""
    )
    canvas.box(LEFT + TICK * begin, y, TICK * (end - begin), 22, COLOURS[name.split()[0]], words, hint)


def _spans() -> Iterator[dict[str, Any]]:
    """The spans of the lanes, of a head of 80 by 80 pixels with 64 channels."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "run.jsonl")
        ev74 = tessbed.Ev74("ev74-4core")
        with ev74.timeline(file):
            ev74.detesscast(
                np.zeros(80 * 80 * 64 * 2, np.uint8), shape=(80, 80, 64), tile=(16, 16, 16), channels="cblocked"
            )
        lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        yield from (one for one in lines if one["type"] == "span" and one["lane"] in LANES)
