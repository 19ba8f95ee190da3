"""Buffer part: how long each job holds its buffers, state by state, and how many are held over time."""

from tessbed.runtime.jobs.job import Job
from tessbed.scenarios.html_report.drawing import line_chart, strip
from tessbed.scenarios.html_report.markup import Markup, concat, count, note, section, table
from tessbed.scenarios.html_report.span_table import SpanTable
from tessbed.scenarios.html_report.units import microseconds

COUNTER = "buffers held by jobs"
ENDED = ("complete", "fault", "lose", "expire")


def buffer_part(jobs: list[Job], spans: SpanTable, clock_mhz: int) -> Markup:
    """From the submission of a job to the proof of its end; ticks count from the start of the run."""
    samples = spans.levels.get(COUNTER, [])
    text = (
        "A job holds its buffers from its submission until the device has confirmed its end, however early their owner "
        "closes them. Retention is the part behind the record: from the end that the host saw to the release."
    )
    points = [(0, 0), *samples] if samples and samples[0][0] else list(samples)
    held = [
        note("Buffers held by jobs, over the ticks of the run."),
        line_chart(points, "buffers held by jobs over time", steps=True,
              words=[f"tick {tick:,}: {value}" for tick, value in points]),
    ] if len(points) > 1 else []  # fmt: skip
    rows = [_row(job, clock_mhz) for job in jobs]
    head = ("job", "held from", "until", "ticks held", "time held", "retention", "end", "states")
    return section("Buffers", note(text), table(head, rows, numbers=range(1, 6)), *held, anchor="buffers")


def _row(job: Job, clock_mhz: int) -> tuple[str | Markup, ...]:
    first, last = job.history[0][0], job.history[-1][0]
    ended = next((tick for tick, move, _ in job.history if move.value in ENDED), last)
    following = [tick for tick, _, _ in job.history[1:]]
    states = [
        (f"{state.value}: {end - begin:,} ticks", end - begin, f"state-{state.value}")
        for (begin, _, state), end in zip(job.history, following, strict=False)
        if end > begin
    ]
    return (
        job.name, count(first), count(last), count(last - first), microseconds(last - first, clock_mhz),
        count(last - ended), job.state.value,
        concat((strip(states, f"the states of {job.name}"), ", ".join(words for words, _, _ in states))),
    )  # fmt: skip
