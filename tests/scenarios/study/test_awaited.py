"""What a wait is named by: a credit or a channel, the port's data or the channel's, and each worker's own reasons."""

import random
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.study.measurement import measure_scenario, studied
from tessbed.scenarios.study.tick_attribution import attribute_ticks, credits_by_pool
from tessbed.scenarios.timeline.wait_parts import clipped, transfer_parts
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.transfer.cost import cost_table
from tests.contract.backends import plan_of
from tests.geometries import random_geometries
from tests.requests import request_of
from tests.scenarios.test_engine_compare import firmware_device
from tests.scenarios.texts import SMALL
from tests.sim.rig import HAND, build, read


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_terms_by_reason_are_the_stalls_of_a_lone_worker(slots) -> None:
    """With one worker, what an account gives to each reason is what that worker has counted of it, whatever it is."""
    base, seen = studied(compose(parse_toml(SMALL, "f"), Path())), set()
    for geometry in random_geometries(160, 5):
        if 0 in geometry.shape:
            continue
        job = attrs.evolve(base.jobs[0], plan=plan_of(request_of(geometry)), workers=None)
        device = override(DeviceSpec(), firmware_device(random.Random(f"5/{geometry}")))
        device = override(device, {"workers": 1, "slots": slots})
        measured = measure_scenario(attrs.evolve(base, device=device, jobs=(job,))).jobs[0]
        (worker,) = measured.stats.workers
        by_reason = dict.fromkeys(worker.stalls, 0)
        for term, ticks in attribute_ticks(measured).items():
            by_reason[term.reason] += ticks
        assert by_reason == worker.stalls
        seen |= {reason for reason, ticks in by_reason.items() if ticks}
    assert seen >= {"issue", "gather", "slot", "compute", "end"}


QUEUES = {  # read channels, credits: what the second of two reads lacks, and its grant
    "one channel": (1, 2, "channel", 9),
    "one credit": (2, 1, "credit", 14),
    "one of each": (1, 1, "credit", 14),
}


@pytest.mark.parametrize(("channels", "allowed", "lacked", "grant"), QUEUES.values(), ids=QUEUES)
def test_a_queue_for_a_credit_is_distinguished_from_one_for_a_channel(channels, allowed, lacked, grant) -> None:
    """What a transfer lacked is judged by the tick before its grant, in which it takes a credit itself."""

    def two_reads(ctx):
        yield from ctx.gather([read(0, 0, 256), read(256, 256, 256)])

    dma = {**HAND["dma"], "issue_ticks": 1, "read_channels": channels, "outstanding": allowed}
    trace = build(two_reads, {**HAND, "dma": dma}, trace=True).run().trace
    in_pool = credits_by_pool(allowed, trace)
    second = max(trace, key=lambda record: record.seq)
    assert (second.grant, in_pool[second.pool].lack(second.grant)) == (grant, lacked)


@pytest.mark.parametrize(("more", "resource"), [(0, "memory port: data"), (1, "read channel: data")])
def test_data_is_the_ports_only_where_the_port_is_as_slow(more, resource) -> None:
    """Data ticks go to the memory port where it is held for all of them, and to the channel where one is longer."""

    def one_read(ctx):
        yield from ctx.gather([read(0, 0, 256)])

    (record,) = build(one_read, HAND, trace=True).run().trace
    cost = cost_table(override(DeviceSpec(), HAND)).read(read(0, 0, 256))
    assert (cost.m, cost.c, record.end - record.start) == (4, 4, 4)
    record = attrs.evolve(record, end=record.end + more, done=record.done + more)
    parts = clipped(transfer_parts(record, attrs.evolve(cost, c=4 + more), "channel"), record.grant, record.done)
    found = [(name, end - begin) for name, begin, end in parts]
    assert found == [("read channel: set-up", 3), (resource, 4 + more), ("read latency", 5)]
