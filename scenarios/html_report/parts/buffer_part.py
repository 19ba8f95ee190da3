"""Buffer part: how long each job holds its buffers, state by state, and how many are held over time."""

from tessbed.runtime.jobs.job import Job
from tessbed.scenarios.html_report.drawing import line_chart, strip
from tessbed.scenarios.html_report.markup import Markup, concat, count, note, section, table
from tessbed.scenarios.html_report.span_table import SpanTable
from tessbed.scenarios.html_report.units import microseconds

COUNTER = "buffers held by jobs"
RECORDS = ("device", "completion")


def buffer_part(jobs: list[Job], spans: SpanTable, clock_mhz: int) -> Markup:
    """From the submission of a job to the proof of its end; ticks count from the start of the run."""
    samples = spans.levels.get(COUNTER, [])
    text = (
        "A job holds its buffers from its submission until the device has confirmed its end, however early their owner "
        "closes them. Retention is what they are held for behind the completion record, until the host knows of it; a "
        "job without a record holds them until a reset proves that the device is done with it."
    )
    points = [(0, 0), *samples] if samples and samples[0][0] else list(samples)
    held = [
        note(f"Buffers held by jobs, over the ticks of the run; at most {max(value for _, value in points)}."),
        line_chart(points, "buffers held by jobs over time", steps=True,
              words=[f"tick {tick:,}: {value}" for tick, value in points]),
    ] if len(points) > 1 else []  # fmt: skip
    records = record_ticks(spans)
    rows = [_row(job, records.get(job.cookie), clock_mhz) for job in jobs]
    head = ("job", "held from", "until", "ticks held", "time held", "retention", "end", "states")
    return section("Buffers", note(text), table(head, rows, numbers=range(1, 6)), *held, anchor="buffers")


def record_ticks(spans: SpanTable) -> dict[int, int]:
    """The tick at which each job's completion record was written, by its cookie."""
    lanes = (lane for lane in spans.lanes if lane.group == RECORDS[0] and lane.name.startswith(RECORDS[1]))
    return {int(span.arguments["cookie"]): span.begin for lane in lanes for span in lane.spans}


def _row(job: Job, record: int | None, clock_mhz: int) -> tuple[str | Markup, ...]:
    first, last = job.history[0][0], job.history[-1][0]
    following = [tick for tick, _, _ in job.history[1:]]
    states = [
        (f"{state.value}: {end - begin:,} ticks", end - begin, f"state-{state.value}")
        for (begin, _, state), end in zip(job.history, following, strict=False)
        if end > begin
    ]
    return (
        job.name, count(first), count(last), count(last - first), microseconds(last - first, clock_mhz),
        count(None if record is None else last - record), job.state.value,
        concat((strip(states, f"the states of {job.name}"), ", ".join(words for words, _, _ in states))),
    )  # fmt: skip
