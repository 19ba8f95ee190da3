"""A timeline under way: the host, its device, and what is found wrong, written to one sink.

timeline = Timeline.of(sink, device.spec)
timeline.follow(runtime)
runtime.run(plan, [source], [target])
timeline.leave(runtime)
"""

import attrs

from tessbed.runtime.runtime import Runtime
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.provenance.basis_words import NOT_CALIBRATED, model_ticks, scenario_words
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
    def of_scenario(cls, sink: Sink, scenario: Scenario) -> "Timeline":
        """A timeline of a scenario's device."""
        return cls.of(sink, scenario.device, scenario_words(scenario))

    @classmethod
    def of(cls, sink: Sink, spec: DeviceSpec, basis: str = NOT_CALIBRATED) -> "Timeline":
        """A timeline of a device of that spec; `basis` is what its ticks rest on."""
        scale = sink.lane(("time", SCALE), "what a tick is here")
        text = f"one tick is shown as one nanosecond; {model_ticks(spec.clock_mhz, basis)}"
        sink.span(TimelineSpan(scale, SCALE, 0, 0, TEXT, (text,)))
        flows = Flows()
        marks = sink.lane(MARKS, "what was injected, and what was found")
        host = HostSpans(sink, flows)
        return cls(sink, spec, host, DeviceSpans(sink, spec, flows, host.name_of, marks), marks)

    def follow(self, runtime: Runtime) -> None:
        """Show the device of that runtime, and every job that it gets from now on."""
        device = runtime.devices[0]
        device.tracer = device.delivery.tracer = self.device
        runtime.scheduler.listeners.append(self.host.job)

    def leave(self, runtime: Runtime) -> None:
        """The end: what is under way is cut off, and the runtime goes on without a timeline."""
        device = runtime.devices[0]
        device.show_waits()
        self.end(runtime.now)
        device.tracer = device.delivery.tracer = None
        runtime.scheduler.listeners.remove(self.host.job)

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
