"""VCD: read back by Surfer's reader, the signals say what the spans say; the save files name signals that are there."""

import re
from bisect import bisect_right

import pytest
from pywellen import Waveform  # pyright: ignore[reportAttributeAccessIssue]

from tessbed.scenarios.library import load
from tests.scenarios.timeline.decoded import decode_trace
from tests.scenarios.timeline.traced import record

EV74 = ["jobs.*.backend=ev74"]
DEPTHS = ("state", "step", "part")


@pytest.fixture(params=["chroma", "fault-stalled-channel"])
def both(request, tmp_path):
    """The same run as waves and as slices."""
    scenario = load(request.param, EV74)
    record(scenario, tmp_path / "run.vcd", "vcd")
    record(scenario, tmp_path / "run.pftrace")
    return Waveform(str(tmp_path / "run.vcd")), decode_trace(tmp_path / "run.pftrace"), tmp_path


def signal_name(path) -> str:
    """A lane's scope in the VCD."""
    return ".".join(["tessbed", *(re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") for name in path)])


def test_signals_say_what_the_slices_say(both) -> None:
    """Each slice is its signal's value from its begin to its end; where none is open, the signal is empty."""
    waves, shown, _ = both
    signals = {var.full_name: list(var.tv) for var in waves.all_vars()}
    assert str(waves.timescale).strip() == "1ns"
    compared = 0
    for track, groups in shown.groups.items():
        for depth, name in enumerate(DEPTHS):
            slices = [one for one in shown.on(track) if one.depth == depth and one.end > one.begin]
            if slices:
                changes = signals[f"{signal_name((*groups, track))}.{name}"]
                assert covered(changes) == joined([(one.begin, one.end, one.name.replace(" ", "_")) for one in slices])
                compared += len(slices)
    assert compared > 100


def covered(changes) -> list[tuple[int, int, str]]:
    """The stretches in which a signal has a text."""
    ends = [tick for tick, _ in changes[1:]] + [None]
    return [(tick, end, text) for (tick, text), end in zip(changes, ends, strict=True) if text]


def joined(slices) -> list[tuple[int, int, str]]:
    """Stretches of one text that touch are one stretch of a signal."""
    found: list[tuple[int, int, str]] = []
    for begin, end, name in sorted(slices):
        if found and found[-1][1:] == (begin, name):
            found[-1] = (found[-1][0], end, name)
        else:
            found.append((begin, end, name))
    return found


def test_numbers_follow_the_bands_and_the_counters(both) -> None:
    """At the begin of a band its worker and number are on the signals; counters have their values at every sample."""
    waves, shown, _ = both
    signals = {var.full_name: list(var.tv) for var in waves.all_vars()}
    for track in (track for track in shown.groups if track.endswith("bands")):
        scope = signal_name((*shown.groups[track], track))
        for one in shown.on(track):
            if one.name == "band":
                for name in ("worker", "band"):
                    assert value_at(signals[f"{scope}.{name}"], one.begin) == one.args[name]
    for name, samples in shown.counters.items():
        changes = signals[f"{signal_name((*shown.groups[name], name))}.value"]
        assert [value_at(changes, tick) for tick, _ in samples] == [value for _, value in samples]


def value_at(changes, tick) -> int:
    """A number at a tick."""
    value = changes[bisect_right([when for when, _ in changes], tick) - 1][1]
    return value if isinstance(value, int) else int(value, 2)


def test_both_save_files_show_signals_that_exist(both) -> None:
    """Every signal that GTKWave and Surfer are asked to show is in the VCD, and every one of it is shown."""
    waves, _, folder = both
    there = {var.full_name for var in waves.all_vars()}
    surfer = [line.split() for line in (folder / "run.sucl").read_text().splitlines()]
    assert {name for what, name in (line for line in surfer if line[0] == "variable_add")} == there
    assert surfer[-1] == ["zoom_fit"]
    gtkwave = (folder / "run.gtkw").read_text().splitlines()
    assert {line.split("} ")[-1] for line in gtkwave if line.startswith("+{")} == there
