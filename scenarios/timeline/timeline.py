"""A timeline under way: the host, its device, and what is found wrong, told to one sink.

with Timeline.of(sink, spec) as timeline:
    Device(spec, firmware, tracer=timeline.device)
"""

import attrs

from tessbed.runtime.jobs.job import Job
from tessbed.scenarios.timeline.device import DeviceSpans
from tessbed.scenarios.timeline.flows import Flows
from tessbed.scenarios.timeline.host import HostSpans
from tessbed.scenarios.timeline.lanes import MARKS, TEXT
from tessbed.scenarios.timeline.spans import Sink, TimelineSpan
from tessbed.sim.spec.device_spec import DeviceSpec

SCALE = "1 tick = 1 ns"


@attrs.define(eq=False)
class Timeline:
    """A sink, the device that it shows and the host. `device` is the tracer for the device."""

    sink: Sink
    spec: DeviceSpec
    host: HostSpans
    device: DeviceSpans
    marks: int
    _steps: int | None = attrs.field(default=None, init=False)

    @classmethod
    def of(cls, sink: Sink, spec: DeviceSpec) -> "Timeline":
        """A timeline of a device of that spec."""
        scale = sink.lane(("time", SCALE), "what a tick is here")
        text = f"one tick is shown as one nanosecond; model ticks at {spec.clock_mhz} MHz, not calibrated on silicon"
        sink.span(TimelineSpan(scale, SCALE, 0, 0, TEXT, (text,)))
        flows = Flows()
        marks = sink.lane(MARKS, "what was injected, and what was found")
        host = HostSpans(sink, flows)
        return cls(sink, spec, host, DeviceSpans(sink, spec, flows, host.name_of, marks), marks)

    def job(self, job: Job) -> None:
        """A job has just been submitted; no time has passed since."""
        self.host.job(job)

    def mark(self, name: str, text: str, tick: int) -> None:
        """Something was found at `tick`: a hazard, a hang, a fault that ended a job."""
        self.sink.span(TimelineSpan(self.marks, name, tick, tick, TEXT, (text,)))

    def step(self, words: str, result: str, tick: int) -> None:
        """Whoever drives the host has taken a step of its own, by `tick`."""
        if self._steps is None:
            self._steps = self.sink.lane(("host", "steps"), "the steps of the failure case")
        self.sink.span(TimelineSpan(self._steps, words, tick, tick, TEXT, (result,)))

    def end(self, tick: int) -> None:
        """The run is over at `tick`: what is under way is cut off there."""
        self.device.stopped(tick)
        self.host.write(tick)
