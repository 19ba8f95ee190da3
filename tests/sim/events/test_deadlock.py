"""Hangs: reported, not timed out, and never confused with an error."""

import pytest

from tessbed.sim.errors import HangError
from tessbed.sim.events.wait_graph import Waiting, diagnose
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


A, B, C = "worker 0", "worker 1", "worker 2"


@pytest.mark.parametrize(
    ("waiting", "causes"),
    [
        ([], ()),
        ([Waiting(A, "a signal", 7)], ("lost signal: worker 0 waits forever for a signal, since tick 7",)),
        (
            [Waiting(A, "worker 1", 3, (B,)), Waiting(B, "worker 0", 9, (A,)), Waiting(C, "worker 1", 5, (B,))],
            ("cycle: worker 0 waits for worker 1 waits for worker 0, since tick 9",),
        ),
        ([Waiting(A, "itself", 3, (A,))], ("cycle: worker 0 waits for worker 0, since tick 3",)),
        (
            [Waiting(A, "a signal", 4), Waiting(B, "a channel", 6, (A,), held=True)],
            (
                "lost signal: worker 0 waits forever for a signal, since tick 4",
                "starvation: worker 1 waits for a channel, held by worker 0, since tick 6",
            ),
        ),
        (
            [Waiting(A, "worker 1", 1, (B,)), Waiting(B, "worker 2", 2, (C,)), Waiting(C, "worker 0", 3, (A,))],
            ("cycle: worker 0 waits for worker 1 waits for worker 2 waits for worker 0, since tick 3",),
        ),
    ],
    ids=["nobody", "lost signal", "cycle and a bystander", "alone", "starvation", "cycle of three"],
)
def test_a_hang_is_named(waiting: list[Waiting], causes: tuple[str, ...]) -> None:
    """A cycle, a lost signal, starvation: each reported once, with the tick since which nothing could change it."""
    assert diagnose(waiting) == causes


def test_the_reason_comes_first() -> None:
    """The error names the lost signal and whom it starves, then everybody who waits."""
    changes = {"dispatch_ticks": 0, "launch_stagger_ticks": 0, "workers": 2, "dma": {"read_channels": 1}}
    rig = build(copy_body, changes, inject={(0, 0, 0): "stall"})
    with pytest.raises(HangError) as caught:
        rig.run()
    assert caught.value.causes == (
        "lost signal: transfer 0 of worker 0 waits forever for read channel 0, which stalled, since tick 12",
        "starvation: transfer 0 of worker 1 waits for a read channel and a credit, held by transfer 0 of worker 0, "
        "since tick 12",
    )
    assert str(caught.value).splitlines()[1].strip() == caught.value.causes[0]
