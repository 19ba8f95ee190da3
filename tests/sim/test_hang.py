"""Hangs: told, not timed out, and never confused with an error."""

import pytest

from tessbed.sim.errors import HangError
from tests.sim.rig import HAND, build, copy_body


def test_a_stalled_channel_hangs_and_is_explained() -> None:
    """HangError names the job, the worker, the transfer and the channel, and the job queued behind."""
    rig = build(copy_body, {**HAND, "dispatch_ticks": 0}, inject={(0, 0, 0): "stall"})
    event = rig.submit(1)
    rig.submit(2)
    with pytest.raises(HangError) as caught:
        rig.device.run(event)
    lines = [str(line) for line in caught.value.waiting]
    assert lines == [
        "job 0 waits for workers [0] since tick 0",
        "worker 0 waits for transfers [0] of its own (gather) since tick 2",
        "transfer 0 of worker 0 waits for read channel 0, which stalled since tick 2",
        "job 1 waits for job 0 to end since tick 0",
    ]


def test_a_lost_credit_starves_the_others() -> None:
    """With one credit, a stalled read keeps every other worker's reads waiting."""
    changes = {"dispatch_ticks": 0, "launch_stagger_ticks": 0, "dma": {"outstanding": 1}}
    rig = build(copy_body, changes, inject={(0, 0, 0): "stall"})
    with pytest.raises(HangError, match="transfer 0 of worker 3 waits for a read channel and a credit"):
        rig.run()


def test_a_firmware_error_is_not_taken_for_a_hang() -> None:
    """A RuntimeError of the firmware comes out as it is."""

    def body(ctx):
        yield from ctx.compute(1, lambda: None)
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        build(body, {"workers": 1}).run()
