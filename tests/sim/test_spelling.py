"""Suggestions: the name that was meant, or none; nothing that makes no sense."""

import pytest

from tessbed.sim.spelling import nearest_name

FIELDS = (
    "workers",
    "cores",
    "compute",
    "memory",
    "dma",
    "slots",
    "clock_mhz",
    "dispatch_ticks",
    "core_ids",
    "outstanding",
)
NAMES = {
    "wrokers": (FIELDS, "workers"),
    "worker": (FIELDS, "workers"),
    "WORKERS": (FIELDS, "workers"),
    "dispatch": (FIELDS, "dispatch_ticks"),
    "ticks": (FIELDS, "dispatch_ticks"),
    "outstandig": (FIELDS, "outstanding"),
    "nope": (FIELDS, None),
    "x": (FIELDS, None),
    "": (FIELDS, None),
    "cmoptue": (FIELDS, "compute"),
    "rnu": (("run", "list"), "run"),
    "gold": (("golden", "random", "ramp"), "golden"),
    "ev74": (("ev74-1core", "ev74-axi"), "ev74-axi"),
    "pad32": (("compact", "pad16"), "pad16"),
    "yolov8n-heads-bf61": (("yolov8n-heads-bf16", "yolov8n-heads-int8"), "yolov8n-heads-bf16"),
    "w" * 10_000: (FIELDS, None),
}


@pytest.mark.parametrize(
    ("name", "known", "near"), [(n, k, e) for n, (k, e) in NAMES.items()], ids=[n[:20] for n in NAMES]
)
def test_the_nearest_name(name: str, known: tuple[str, ...], near: str | None) -> None:
    """A slip of the keyboard, a part of a name, or nothing."""
    assert nearest_name(name, known) == near
