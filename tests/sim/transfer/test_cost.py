"""The five integers of a transfer, by hand, and the fields that are never narrowed."""

from itertools import product

import pytest

from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.transfer.cost import CostTable
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.descriptor_run import DescriptorRun
from tests.sim.costs import chain_cost, read_cost
from tests.sim.rig import DATA, build, read

# Defaults: access 64, granule 64, memory 64 B/tick, channel 16 B/tick, setup 64, row 1, latency 200 / 120.
READS = [  # address, rows, row_bytes, pitch, (s, m, c, l), (port bytes, bursts, pages)
    ("one atom", 0, 1, 64, 0, (64, 1, 4, 200), (64, 1, 1)),
    ("one byte moves an atom", 5, 1, 1, 0, (64, 1, 1, 200), (64, 1, 1)),
    ("two bytes over a seam move two atoms", 63, 1, 2, 0, (64, 2, 2, 200), (128, 1, 1)),
    ("over a page", 4095, 1, 2, 0, (64, 2, 2, 200), (128, 2, 2)),
    ("rows cost a step each", 0, 4, 64, 128, (67, 4, 16, 200), (256, 4, 1)),
    ("rows count an atom each time", 0, 4, 16, 16, (67, 4, 4, 200), (256, 4, 1)),
    ("short rows wait for bursts", 0, 64, 1, 4096, (127, 64, 600, 200), (4096, 64, 64)),
]
WRITES = [  # address, rows, row_bytes, pitch, (s, m, c, l), (port bytes, partial granules)
    ("one granule", 0, 1, 64, 0, (64, 1, 4, 120), (64, 0)),
    ("a part is read and written", 0, 1, 16, 0, (64, 2, 202, 120), (128, 1)),
    ("two parts and a whole", 32, 1, 128, 0, (64, 5, 208, 120), (320, 2)),
    ("inside one granule", 8, 1, 16, 0, (64, 2, 202, 120), (128, 1)),
    ("rows without gaps are one run", 0, 4, 32, 32, (67, 2, 8, 120), (128, 0)),
    ("two rows share a granule", 0, 2, 32, 40, (65, 4, 204, 120), (256, 2)),
    ("each row has a part", 0, 2, 96, 256, (65, 6, 212, 120), (384, 2)),
]


@pytest.mark.parametrize(("a", "r", "n", "p", "five", "counts"), [c[1:] for c in READS], ids=[c[0] for c in READS])
def test_read_by_hand(a, r, n, p, five, counts) -> None:
    """A read is folded as the page says."""
    cost = read_cost(DeviceSpec(), Descriptor(0x8000_0000 + a, 0, r, n, p, n))
    assert (cost.d, cost.s, cost.m, cost.c, cost.l) == ("read", *five)
    assert (cost.port_bytes, cost.bursts, cost.pages) == counts


@pytest.mark.parametrize(("a", "r", "n", "p", "five", "counts"), [c[1:] for c in WRITES], ids=[c[0] for c in WRITES])
def test_write_by_hand(a, r, n, p, five, counts) -> None:
    """A write of one segment is folded as the page says: partial granules are read first."""
    cost = chain_cost(DeviceSpec(), [Descriptor(0x8000_0000 + a, 0, r, n, p, n)])
    assert (cost.d, cost.s, cost.m, cost.c, cost.l) == ("write", *five)
    assert (cost.port_bytes, cost.partial_granules) == counts


def test_strobes_leave_no_partial_granule() -> None:
    """With byte strobes a write costs atoms, as a read does."""
    cost = chain_cost(override(DeviceSpec(), {"byte_strobes": True}), [Descriptor(8, 0, 1, 16, 0, 0)])
    assert (cost.m, cost.c, cost.port_bytes, cost.partial_granules) == (1, 1, 64, 0)


def test_a_chain_is_the_sum_of_its_segments() -> None:
    """s, m and c add up; the latency comes once."""
    parts = [Descriptor(0, 0, 1, 64, 0, 0), Descriptor(70, 64, 3, 16, 80, 16)]
    transfer_costs = [chain_cost(DeviceSpec(), [part]) for part in parts]
    chain = chain_cost(DeviceSpec(), parts)
    assert (chain.s, chain.m, chain.c) == tuple(sum(getattr(f, k) for f in transfer_costs) for k in "smc")
    assert chain.l == 120
    assert [(s.port_ticks, s.data_ticks) for s in chain.segments] == [(f.m, f.c) for f in transfer_costs]


def test_background_traffic_and_page_walks() -> None:
    """background_percent derates the port, page_walk_ticks is paid for each page."""
    memory = {"background_percent": 50, "page_walk_ticks": 7}
    cost = read_cost(override(DeviceSpec(), {"memory": memory}), Descriptor(4032, 0, 1, 128, 0, 0))
    assert (cost.s, cost.m) == (64 + 2 * 7, 4)


def test_cost_depends_on_the_address_modulo_a_page() -> None:
    """Two descriptors that differ by whole pages are one class."""
    shape = (0, 7, 50, 70, 50)
    assert read_cost(DeviceSpec(), Descriptor(0x8000_0123, *shape)) is read_cost(
        DeviceSpec(), Descriptor(0x8000_5123, *shape)
    )


WIDE = 1 << 16
TOO_WIDE = [
    ("rows", Descriptor(0, 0, WIDE, 1, 1, 1)),
    ("row_bytes", Descriptor(0, 0, 1, WIDE, 0, 0)),
    ("pitch", Descriptor(0, 0, 2, 1, WIDE, 1)),
    ("no rows", Descriptor(0, 0, 0, 1, 0, 0)),
    ("empty rows", Descriptor(0, 0, 1, 0, 0, 0)),
    ("pitch backwards", Descriptor(0, 0, 2, 1, -1, 1)),
    ("scratch pitch", Descriptor(0, 0, 2, 1, 1, 70_000)),
    ("scratch pitch backwards", Descriptor(0, 0, 2, 1, 1, -1)),
]


@pytest.mark.parametrize("descriptor", [d for _, d in TOO_WIDE], ids=[name for name, _ in TOO_WIDE])
@pytest.mark.parametrize("cost", [read_cost, lambda spec, d: chain_cost(spec, [d])], ids=["read", "write"])
def test_a_field_is_never_narrowed(cost, descriptor) -> None:
    """What 16 bits cannot hold is a hazard, in either direction."""
    with pytest.raises(HazardError):
        cost(DeviceSpec(), descriptor)


@pytest.mark.parametrize("cost", [read_cost, lambda spec, d: chain_cost(spec, [d])], ids=["read", "write"])
@pytest.mark.parametrize("scratch_pitch", [WIDE, 70_000, -1])
def test_a_known_cost_hides_no_field(cost, scratch_pitch) -> None:
    """A scratch pitch is checked although a descriptor of the same cost has passed before."""
    good = Descriptor(0x40, 0, 3, 8, 16, WIDE - 1)
    cost(DeviceSpec(), good)
    with pytest.raises(HazardError, match=f"scratch_pitch = {scratch_pitch} does not fit 0 to 65535"):
        cost(DeviceSpec(), good._replace(scratch_pitch=scratch_pitch))


@pytest.mark.parametrize("packed", [False, True], ids=["parts", "pack"])
@pytest.mark.parametrize("trace", [False, True], ids=["together", "traced"])
def test_an_engine_refuses_a_scratch_pitch(trace, packed) -> None:
    """A gather or a drain of a scratch pitch that no field holds ends in a hazard, though its bytes fit the scratch."""
    wide = Descriptor(DATA, 0, 2, 64, 64, 70_000)

    def gathers(ctx):
        yield from ctx.gather([read(0, 0, 64), wide._replace(scratch_pitch=64)])
        yield from ctx.gather([read(0, 0, 64), wide])

    def drains(ctx):
        yield from ctx.drain(0, [wide._replace(scratch_pitch=64)])
        if packed:
            yield from ctx.pack(1, 0, lambda: None, [wide], ordered=False)
        else:
            yield from ctx.drain(1, [wide])

    for body in (gathers, drains):
        with pytest.raises(HazardError, match="scratch_pitch = 70000"):
            build(body, {"workers": 1}, trace=trace).run()


def test_the_widest_fields_fit() -> None:
    """65,535 is representable; the pitch of a single row does not matter."""
    assert read_cost(DeviceSpec(), Descriptor(0, 0, 1, WIDE - 1, 1 << 40, 0)).payload_bytes == WIDE - 1
    assert read_cost(DeviceSpec(), Descriptor(0, 0, 2, 1, WIDE - 1, 1)).pages == 2
    assert read_cost(DeviceSpec(), Descriptor(0, 0, 2, 1, 1, WIDE - 1)).pages == 1
    assert read_cost(DeviceSpec(), Descriptor(0, 0, 1, 1, 0, 1 << 40)).pages == 1


def test_a_write_that_overlaps_itself_is_a_hazard() -> None:
    """Rows of a write may touch, not overlap."""
    with pytest.raises(HazardError, match="overlaps itself"):
        chain_cost(DeviceSpec(), [Descriptor(0, 0, 2, 64, 63, 64)])


def test_a_chain_needs_a_descriptor() -> None:
    """An empty chain is a hazard."""
    with pytest.raises(HazardError):
        chain_cost(DeviceSpec(), [])


@pytest.mark.parametrize("rows", [1, 3])
def test_the_reads_of_a_run_cost_what_each_costs(rows: int) -> None:
    """Runs that differ by their start, their step or their length have costs of their own, equal ones the very same."""
    table = CostTable(DeviceSpec())
    for start, step, count in product((0, 40, 4090), (16, 40, 4096 + 16, -8), (1, 9)):
        run = DescriptorRun(Descriptor(0x8000_1000 + start, 0, rows, 30, 100, 30), count, step, 90)
        costs = table.read_run(run)
        assert costs == tuple(map(CostTable(DeviceSpec()).read, run))
        assert table.read_run(run.shifted(8192)) is costs
