"""A reset that is confirmed while records and interrupts are on their way."""

import pytest

from tessbed.runtime import JobLost
from tessbed.sim.fault_injection import Fault
from tests.runtime.bench import filled, linear_output, small_plan, tiled_input
from tests.runtime.scheduling.test_recovery import faulty, states


@pytest.mark.parametrize(
    ("faults", "changes"),
    [((Fault("lost_interrupt"),), {}), ((), {"completion_ticks": 300_000})],
    ids=["its interrupt is lost", "its interrupt is on its way"],
)
def test_a_record_that_comes_during_a_reset_counts(faults: tuple[Fault, ...], changes: dict[str, int]) -> None:
    """A record that is in place when the reset is confirmed ends its job well, and no interrupt follows it."""
    runtime = faulty(*faults, auto_reset=False, **changes)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])
    heard: list[int] = []
    runtime.devices[0].delivery.listeners.append(lambda cookie, stats: heard.append(cookie))
    runtime.reset()
    assert runtime.wait(job).outcome == "ok"
    assert states(job)[2:] == ["running", "recovering", "completed", "retired"]
    assert job.final_tick == runtime.devices[0].reset_ticks
    assert target.host.tobytes() == linear_output(tiled_input(0)).tobytes()
    while runtime.env.peek() != float("inf"):
        runtime.env.step()
    assert heard == []


def test_a_record_on_its_way_at_the_confirmation_never_comes() -> None:
    """A record and an interrupt that are late at the confirmation are dropped: the job is recovered, its page blank."""
    runtime = faulty(Fault("late", 250_000), auto_reset=False)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])
    runtime.reset()
    with pytest.raises(JobLost, match="the device was reset"):
        runtime.wait(job)
    (block,) = runtime.submitter.control.blocks
    heard: list[int] = []
    runtime.devices[0].delivery.listeners.append(lambda cookie, stats: heard.append(cookie))
    while runtime.env.peek() != float("inf"):
        runtime.env.step()
    assert (heard, block.read_record(job.cookie)) == ([], None)
