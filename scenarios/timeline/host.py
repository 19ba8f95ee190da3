"""The host in a timeline: jobs through their states, what the host does about them, and how many buffers they hold."""

import attrs

from tessbed.runtime.jobs.job import Job
from tessbed.runtime.jobs.states import Transition
from tessbed.scenarios.timeline.counter_track import CounterTrack
from tessbed.scenarios.timeline.flows import Flows
from tessbed.scenarios.timeline.spans import Sink, TimelineSpan, argument_fields

STATE = argument_fields("cookie", "why:text")
END = argument_fields("cookie", "outcome:text")
ACT = argument_fields("job:text", "cookie")
ACTS = {
    Transition.SUBMIT: "submit",
    Transition.START: "doorbell",
    Transition.COMPLETE: "record confirmed",
    Transition.FAULT: "record confirmed",
    Transition.RETIRE: "retire",
    Transition.EXPIRE: "time out",
    Transition.LOSE: "give up",
    Transition.RESET: "reset",
    Transition.RECOVER: "recover",
    Transition.CANCEL: "cancel",
}


@attrs.define(eq=False)
class HostSpans:
    """The jobs of a runtime. They are written when all is over: a job has few states."""

    sink: Sink
    flows: Flows
    jobs: dict[int, Job] = attrs.field(factory=dict, init=False)
    _held: dict[int, int] = attrs.field(factory=dict, init=False)
    _lane: int = attrs.field(init=False)
    _buffers: CounterTrack = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._lane = self.sink.lane(("host", "host"), "what the runtime does")
        self._buffers = CounterTrack(self.sink, self.sink.level(("host", "buffers held by jobs"), "buffers"))

    def job(self, job: Job) -> None:
        """A job has just been submitted."""
        if job.cookie:
            self.jobs[job.cookie] = job
            self._held[job.cookie] = sum(role in ("inputs", "outputs", "workspace") for role, _ in job.owners.held)

    def name_of(self, cookie: int) -> str:
        """A job's name."""
        job = self.jobs.get(cookie)
        return (job.name if job else "") or f"job {cookie}"

    def write(self, tick: int) -> None:
        """All is over, at `tick`."""
        for job in self.jobs.values():
            self._write_states(job, tick)
        acts = sorted(
            (when, job.cookie, ACTS[move])
            for job in self.jobs.values()
            for when, move, _ in job.history
            if move in ACTS
        )
        for when, cookie, act in acts:
            self.sink.span(TimelineSpan(self._lane, act, when, when, ACT, (self.name_of(cookie), cookie)))
        self._buffers.write()

    def _write_states(self, job: Job, tick: int) -> None:
        lane = self.sink.lane(("jobs", f"job {job.cookie}: {self.name_of(job.cookie)}"), "the states of the job")
        ends = [when for when, _, _ in job.history[1:]] + [tick]
        for (begin, _, state), end in zip(job.history, ends, strict=True):
            if begin < end and not (job.final and state is job.state):
                self.sink.span(TimelineSpan(lane, state.value, begin, end, STATE, (job.cookie, job.reason)))
        held = self._held[job.cookie]
        self._buffers.step(job.history[0][0], held)
        if job.final:
            last = job.history[-1][0]
            self._buffers.step(last, -held)
            values, arrives = (job.cookie, job.outcome), self.flows.to_last_state(job.cookie)
            self.sink.span(TimelineSpan(lane, job.state.value, last, last, END, values, (), arrives))
