"""Hazards: misuse of the model stops the run, and the audit notices what broke."""

import attrs
import pytest

from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.checkers.job_invariants import check_job_stats
from tessbed.sim.completion_record import Completion
from tessbed.sim.errors import HazardError
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.rig import DATA, OUT, build, copy_body, read, write


def group_too_long(ctx):
    yield from ctx.gather([read(0, 0, 16)] * 17)


def empty_group(ctx):
    yield from ctx.gather([])


def empty_chain(ctx):
    yield from ctx.drain(0, [])


def no_such_slot(ctx):
    yield from ctx.drain(2, [write(OUT, 0, 16)])


def slot_in_flight(ctx):
    yield from ctx.drain(0, [write(OUT, 0, 16)])
    yield from ctx.drain(0, [write(OUT, 0, 16)])


def ends_early(ctx):
    yield from ctx.drain(0, [write(OUT, 0, 16)])


def too_wide(ctx):
    yield from ctx.gather([Descriptor(DATA, 0, 2, 16, 1 << 16, 16)])


def own_clock(ctx):
    yield ctx.wait_state.env.timeout(5)


def backwards(ctx):
    yield from ctx.compute(-1, lambda: None)


HAZARDS = [
    (group_too_long, "wait group of 17"),
    (empty_group, "wait group of 0"),
    (empty_chain, "no descriptors"),
    (no_such_slot, "slot 2"),
    (slot_in_flight, "drains slot 0 again"),
    (ends_early, r"has not waited for transfers \[0\]"),
    (too_wide, "pitch = 65536"),
    (own_clock, "waited past its context"),
    (backwards, "-1 ticks"),
]


@pytest.mark.parametrize(("body", "text"), HAZARDS, ids=[body.__name__ for body, _ in HAZARDS])
def test_misuse_is_a_hazard_that_stops_the_run(body, text) -> None:
    """A HazardError comes out of the run; no record is written."""
    rig = build(body, {"workers": 1}, checker=Checker())
    with pytest.raises(HazardError, match=text):
        rig.run()
    assert rig.record() is None


def test_a_job_launches_once() -> None:
    """A second launch is a hazard."""

    class Image:
        def entry(self, job):
            yield from job.launch(copy_body)
            yield from job.launch(copy_body)
            return Completion(0)

    with pytest.raises(HazardError, match="once"):
        build(Image()).run()


def broken(stats, what):
    """Statistics that break one rule."""
    changes = {
        "bytes": {"reads": attrs.evolve(stats.reads, moved_bytes=1)},
        "channel": {"pools": (attrs.evolve(stats.pools[0], busy_ticks=4 * stats.device_ticks + 1),)},
        "credits": {"pools": (attrs.evolve(stats.pools[0], peak_in_flight=17),)},
        "port": {"ports": (attrs.evolve(stats.ports[0], busy_ticks=stats.device_ticks + 1),)},
        "parts": {"job_ticks": stats.job_ticks + 1},
        "worker": {"workers": (attrs.evolve(stats.workers[0], finish_ticks=stats.device_ticks + 1),)},
    }
    return attrs.evolve(stats, **changes[what])


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("bytes", "reads moved 1"),
        ("channel", "pool read is busy"),
        ("credits", "17 transfers in flight"),
        ("port", "port memory is busy"),
        ("parts", "do not sum"),
        ("worker", "worker 0 ran"),
    ],
)
def test_the_audit_notices(what, text) -> None:
    """Clean statistics pass; each broken rule is named."""
    stats = build(copy_body).run()
    check_job_stats(stats)
    with pytest.raises(HazardError, match=text):
        check_job_stats(broken(stats, what))
