"""Bands of a worker in a timeline, until they are written: their steps, their slots, and the worker under way."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from tessbed.scenarios.timeline.spans import NOTHING, Fields, Value
from tessbed.sim.transfer.descriptor import Descriptor


class CoreStep(NamedTuple):
    """What a worker does for some ticks."""

    name: str
    begin: int
    end: int
    fields: Fields = NOTHING
    values: tuple[Value, ...] = ()
    parts: tuple[tuple[str, int, int], ...] = ()


class BandSpans(NamedTuple):
    """A band that is over, or was stopped: its steps, its arguments, and the flows through it.

    `gathers` has the flows that arrive at a step, by its number; `flow` leads on from the anchor.
    """

    steps: list[CoreStep]
    begin: int
    end: int
    fields: Fields
    values: tuple[Value, ...]
    gathers: Mapping[int, Sequence[int]]
    flow: int


class Filled(NamedTuple):
    """A slot from the computation that fills it to the end of its drain."""

    slot: int
    band: int
    begin: int
    arrival: int
    flow: int


@attrs.define(eq=False)
class WorkerSpans:
    """One worker under way.

    `recent` are its transfers that have landed since its last wait, by sequence; `gathers` has the tick and the flow of
    each read that has landed and that no band has used.
    """

    number: int
    core: int
    start: int
    bands: int = 0
    tiles: str = ""
    notes: tuple[Fields, tuple[Value, ...]] = (NOTHING, ())
    steps: list[CoreStep] = attrs.Factory(list)
    ready: list[BandSpans] = attrs.Factory(list)
    reads: list[Descriptor] = attrs.Factory(list)
    gathers: list[tuple[int, int]] = attrs.Factory(list)
    recent: dict[int, Any] = attrs.Factory(dict)
    slots: dict[int, Filled] = attrs.Factory(dict)
    last_drain: int = 0


def anchor_of(steps: Sequence[CoreStep]) -> int:
    """The step of a band that its arrow leads on from: its first computation, or else its last step; -1 without any."""
    return next((i for i, step in enumerate(steps) if step.name == "compute"), len(steps) - 1)


def arrivals(
    steps: Sequence[CoreStep], gathers: Sequence[tuple[int, int]], anchor: int, tick: int
) -> tuple[dict[int, list[int]], list[tuple[int, int]]]:
    """The flows of reads that have landed, by the step that they lead to; and the reads that wait for a later band.

    A read leads to the first computation that begins when it has landed; in a band without one to the anchor.
    """
    numbers = [i for i, step in enumerate(steps) if step.name == "compute"] or [anchor]
    begins = [steps[i].begin for i in numbers] if steps else [tick]
    found: dict[int, list[int]] = {}
    rest = []
    for landed, flow in gathers:
        at = bisect_left(begins, landed)
        if at == len(begins):
            rest.append((landed, flow))
        else:
            found.setdefault(numbers[at], []).append(flow)
    return found, rest


def cut(band: BandSpans, tick: int) -> BandSpans:
    """What of a band lies before `tick`."""
    steps = [
        step._replace(end=min(step.end, tick), parts=tuple(part for part in step.parts if part[2] <= tick))
        for step in band.steps
        if step.begin < tick
    ]
    return band._replace(steps=steps, begin=min(band.begin, tick), end=min(band.end, tick))
