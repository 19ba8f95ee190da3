"""Drains that end quietly: whose bytes have all moved before C, and for which nobody waits."""

import attrs
import pytest

from tessbed.sim.dma.transfer_stream import TransferStream
from tests.sim.rig import OUT, build, read, write

DRAINS = {
    "part of a granule": [write(OUT + 8, 0, 16)],
    "parts of two": [write(OUT + 40, 0, 40)],
    "two parts": [write(OUT + 8, 0, 16), write(OUT + 200, 16, 16)],
    "a whole granule": [write(OUT, 0, 64)],
    "a part and a whole": [write(OUT + 32, 0, 96)],
    "a whole, then a part": [write(OUT, 0, 64), write(OUT + 128, 64, 16)],
}
QUIET = ("part of a granule", "parts of two", "two parts")


def body(chain, *, ticks=(0, 0), waits=True):
    """Each worker gathers and drains twice, computing between; at the end it waits for its drains, or not."""

    def run(ctx):
        ahead = 0x400 * ctx.worker
        for slot, spent in enumerate(ticks):
            yield from ctx.gather([read(ahead + 96 * slot, 0, 96)])
            moved = [d._replace(address=d.address + ahead + 0x1000 * slot) for d in chain]
            yield from ctx.pack(slot, spent, lambda: None, moved, ordered=False)
        if waits:
            yield from ctx.wait_drains()

    return run


def outcome(run, **options):
    """Statistics without the trace, and all bytes."""
    rig = build(run, {"workers": 2, "cores": 2}, **options)
    return {**attrs.asdict(rig.run()), "trace": ()}, bytes(rig.data)


@pytest.mark.parametrize("name", DRAINS)
def test_what_ends_quietly(name, monkeypatch) -> None:
    """A drain does exactly if each of its granules is written in part."""
    quiet = []
    patched = TransferStream.land_quietly
    monkeypatch.setattr(TransferStream, "land_quietly", lambda s, one: (quiet.append(one), patched(s, one)))
    rig = build(body(DRAINS[name], ticks=(0, 3000)), {"workers": 2})
    rig.run()
    assert bool(quiet) == (name in QUIET)


@pytest.mark.parametrize("waits", [True, False], ids=["waits", "leaves"])
@pytest.mark.parametrize("name", DRAINS)
@pytest.mark.parametrize("ticks", range(0, 2000, 197))
def test_a_quiet_end_changes_nothing(name, ticks, waits) -> None:
    """A worker that waits for it wakes at its C; one that ends before C leaves it in flight, and out of the account."""
    run = body(DRAINS[name], ticks=(0, ticks), waits=waits)
    assert outcome(run) == outcome(run, trace=True)


def test_a_drain_in_flight_when_the_job_ends_is_not_counted() -> None:
    """Its data has moved, its completion has not come: no statistic has it."""
    stats, _ = outcome(body(DRAINS["part of a granule"], ticks=(0,), waits=False))
    assert stats["writes"]["transfers"] == 0
