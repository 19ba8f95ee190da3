"""The checker judges by order alone: every race is found, nothing ordered is accused, whatever the ticks."""

from itertools import combinations
from random import Random
from typing import Any

import pytest
from simpy import Environment

from tessbed.sim.checkers.granule_races import NEVER, Write, find_races
from tessbed.sim.checkers.hazards import HAZARD_KINDS, Checker
from tessbed.sim.checkers.scratch_hazards import apart, meet
from tessbed.sim.device.device import Submission
from tessbed.sim.errors import HazardError
from tessbed.sim.fault_injection import Fault, by_number
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.rig import BASE, DATA, OUT, build, read, write


def draw_chain(random: Random) -> list[Descriptor]:
    """A few descriptors, 1-D and 2-D, whose rows do not overlap."""
    chain = []
    for _ in range(random.randint(1, 3)):
        rows, row_bytes = random.choice([(1, 40), (1, 200), (3, 7), (5, 16), (2, 130)])
        pitch = row_bytes + random.choice([0, 1, 9, 100, 300]) if rows > 1 else 0
        chain.append(Descriptor(DATA + random.randrange(6000), 0, rows, row_bytes, pitch, row_bytes))
    return chain


def draw_writes(random: Random) -> list[Write]:
    """Drains of a few workers on two cores; each may or may not have been waited for by a later one."""
    writes = []
    for index in range(random.randint(1, 12)):
        issued = 2 * index
        known = random.choice([NEVER, issued + 1, issued + 5, issued + 9])
        worker = random.randrange(3)
        writes.append(Write(0, worker, index, worker % 2, draw_chain(random), issued, known))
    return writes


def granules(item: Write, granule: int) -> set[int]:
    """Every granule of a write, byte by byte."""
    return {
        byte // granule
        for d in item.chain
        for row in range(d.rows)
        for byte in range(d.address + row * d.pitch, d.address + row * d.pitch + d.row_bytes)
    }


@pytest.mark.parametrize("granule", [1, 16, 64, 128])
def test_every_race_is_found(granule: int) -> None:
    """The same pairs as a literal search over every granule, on random drains with random waits; and the granule."""
    racing = 0
    for index in range(120):
        writes = draw_writes(Random(f"races/{granule}/{index}"))
        wanted = set()
        for a, b in combinations(writes, 2):
            ordered = a.core == b.core and (a.known <= b.issued or b.known <= a.issued)
            if granules(a, granule) & granules(b, granule) and not ordered:
                wanted.add((a.seq, b.seq))
        races, total = find_races(writes, granule, 1000)
        assert {(race.first.seq, race.second.seq) for race in races} == wanted
        assert total == len(wanted)
        for race in races:
            number = race.address // granule
            assert number in granules(race.first, granule) & granules(race.second, granule)
            assert "unknown" not in str(race)
        racing += len(wanted)
    assert racing > 100


def test_scratch_overlap_is_exact() -> None:
    """Interleaved rows that never share a byte are apart; rows that share one are not."""
    for index in range(400):
        random = Random(f"scratch/{index}")
        group = [
            Descriptor(0, random.randrange(200), rows, size, 0, size + random.choice([0, 3, 20]))
            for rows, size in random.choices([(1, 5), (3, 4), (4, 1), (2, 30)], k=random.randint(2, 4))
        ]
        bytes_of = [
            {
                b
                for r in range(d.rows)
                for b in range(d.scratch + r * d.scratch_pitch, d.scratch + r * d.scratch_pitch + d.row_bytes)
            }
            for d in group
        ]
        assert apart(group) == (not any(a & b for a, b in combinations(bytes_of, 2)))
        assert meet(group[:1], group[1:]) == bool(bytes_of[0] & set().union(*bytes_of[1:]))


class Packing:
    """An action that touches the scratch bytes that it is given to say."""

    def __init__(self, reads: list[tuple[int, int]], writes: list[tuple[int, int]]) -> None:
        self.spans = reads, writes

    def __call__(self) -> None: ...

    def touches(self) -> Any:
        """Spans read, spans written."""
        return self.spans


def found(body: Any, changes: Any = None) -> list[str]:
    """The kinds of everything that is found in a job with that body."""
    rig = build(body, {"workers": 1, **(changes or {})}, checker=Checker("report"))
    rig.run()
    return [finding.kind for finding in rig.device.checker.findings]


def test_safe_bands_are_not_accused() -> None:
    """Two slots in turn, a wait before each reuse, granules apart: nothing to say."""

    def body(ctx: Any) -> Any:
        for band in range(6):
            slot = band % 2
            yield from ctx.gather([read(256 * band, 0, 256)])
            yield from ctx.wait_slot(slot)
            yield from ctx.compute(9, Packing([(0, 256)], [(256 + 256 * slot, 512 + 256 * slot)]))
            yield from ctx.drain(slot, [write(OUT + 256 * band, 256 + 256 * slot, 256)])
        yield from ctx.wait_drains()

    assert found(body) == []


def test_luck_is_not_an_order() -> None:
    """A drain that is long done, but was never waited for, still races with the next one in its granule."""

    def body(ctx: Any) -> Any:
        yield from ctx.drain(0, [write(OUT, 0, 32)])
        yield from ctx.compute(100000, lambda: None)
        yield from ctx.drain(1, [write(OUT + 32, 64, 32)])
        yield from ctx.wait_drains()

    assert found(body) == ["granule_race"]
    assert found(body, {"byte_strobes": True}) == []
    assert found(body, {"write_granule_bytes": 32}) == []


@pytest.mark.parametrize(("cores", "racing"), [(2, True), (1, False)])
def test_a_core_orders_its_workers(cores: int, racing: bool) -> None:
    """Two workers in one granule race on two cores; on one core the second starts when the first has ended."""

    def body(ctx: Any) -> Any:
        yield from ctx.drain(0, [write(OUT + 32 * ctx.worker, 0, 32)])
        yield from ctx.wait_drains()

    assert found(body, {"workers": 2, "cores": cores}) == ["granule_race"] * racing


def gather_not_retired(ctx: Any) -> Any:
    """Packs what a prefetch brings, without waiting."""
    yield from ctx.prefetch([read(0, 0, 64)])
    yield from ctx.compute(50, Packing([(0, 64)], [(128, 192)]))
    yield from ctx.wait_drains()


def drained_not_retired(ctx: Any) -> Any:
    """Drains what a prefetch brings, without waiting."""
    yield from ctx.prefetch([read(0, 0, 64)])
    yield from ctx.drain(0, [write(OUT, 0, 64)])
    yield from ctx.wait_drains()


def slot_packed(ctx: Any) -> Any:
    """Packs into a slot that drains."""
    yield from ctx.drain(0, [write(OUT, 128, 64)])
    yield from ctx.compute(5, Packing([], [(128, 192)]))
    yield from ctx.wait_drains()


def slot_drained(ctx: Any) -> Any:
    """Drains a slot that drains."""
    yield from ctx.drain(0, [write(OUT, 128, 64)])
    yield from ctx.drain(0, [write(OUT + 64, 192, 64)])
    yield from ctx.wait_drains()


def gathered_over(ctx: Any) -> Any:
    """Gathers over bytes that drain."""
    yield from ctx.drain(0, [write(OUT, 128, 64)])
    yield from ctx.gather([read(0, 100, 64)])
    yield from ctx.wait_drains()


@pytest.mark.parametrize(("nbytes", "kinds"), [(28, []), (29, ["scratch_reused"])])
def test_the_first_byte_of_a_drain_is_one_of_its_bytes(nbytes: int, kinds: list[str]) -> None:
    """A gather may end where the scratch of a drain in flight begins, and not in its first byte."""

    def body(ctx: Any) -> Any:
        yield from ctx.drain(0, [write(OUT, 128, 64)])
        yield from ctx.gather([read(0, 100, nbytes)])
        yield from ctx.wait_drains()

    assert found(body) == kinds


def gathered_twice(ctx: Any) -> Any:
    """Gathers two things to one place."""
    yield from ctx.gather([read(0, 0, 64), read(64, 32, 64)])


def five_rows(ctx: Any) -> Any:
    """Five rows of an oversized pitch in one wait group."""
    yield from ctx.gather([read(64 * row, 64 * row, 64) for row in range(5)], oversized=True)


def no_end(ctx: Any) -> Any:
    """Ends while its drain is under way."""
    yield from ctx.drain(0, [write(OUT, 128, 64)])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (gather_not_retired, "gather_not_retired"),
        (drained_not_retired, "gather_not_retired"),
        (slot_packed, "slot_in_flight"),
        (slot_drained, "slot_in_flight"),
        (gathered_over, "scratch_reused"),
        (gathered_twice, "scratch_reused"),
        (five_rows, "wait_group"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_each_misuse_has_its_kind(body: Any, kind: str) -> None:
    """One misuse, one finding; by default it stops the run as a HazardError that names the kind."""
    assert found(body) == [kind]
    with pytest.raises(HazardError, match=f"{kind}: job 0: worker 0"):
        build(body, {"workers": 1}, checker=Checker()).run()
    assert build(body, {"workers": 1}, checker=Checker("off")).run().completion.status == 0
    assert kind in HAZARD_KINDS


def test_an_end_before_the_last_beat() -> None:
    """A worker that ends, and a job that ends, before the last transfer is known to be done."""
    assert found(no_end) == ["completion", "completion"]


def two_devices(gap: int, wait: bool) -> list[str]:
    """Two devices on one memory write 32 bytes each, `gap` apart; the second job after the host saw the first end."""

    def body(shift: int) -> Any:
        def run(ctx: Any) -> Any:
            yield from ctx.drain(0, [write(OUT + shift, 0, 32)])
            yield from ctx.wait_drains()

        return run

    env, checker = Environment(), Checker("report")
    first = build(body(0), {"workers": 1}, env=env, checker=checker)
    second = build(body(gap), {"workers": 1}, env=env, checker=checker)
    woken = first.submit(1)
    if wait:
        first.device.run(woken)
    other = second.device.submit(Submission(BASE, 16, second.record_address(2), 2))
    if not wait:
        first.device.run(woken)
    second.device.run(other)
    return [str(finding) for finding in checker.findings]


def test_two_jobs_in_one_granule() -> None:
    """Jobs of two devices race in a granule unless the host knew of the first one's end, or granules are apart."""
    (text,) = two_devices(32, wait=False)
    assert f"granule {DATA + OUT:#x} is written by job 0 and by job 0 of another device" in text
    assert two_devices(32, wait=True) == []
    assert two_devices(64, wait=False) == []


@pytest.mark.parametrize("how", ["listener", "poll", "neither"])
def test_a_host_knows_by_interrupt_or_record(how: str) -> None:
    """Who listens to the interrupt, or reads the record and says so, may go on at once on another device."""

    def body(ctx: Any) -> Any:
        yield from ctx.drain(0, [write(OUT, 0, 32)])
        yield from ctx.wait_drains()

    env, checker = Environment(), Checker("report")
    quiet = by_number({0: [Fault("lost_interrupt")]} if how != "listener" else {})
    first = build(body, {"workers": 1}, env=env, checker=checker, faults=quiet)
    second = build(body, {"workers": 1}, env=env, checker=checker)
    woken: list[Any] = []

    def go_on(cookie: int, _: object) -> None:
        woken.append(second.device.submit(Submission(BASE, 16, second.record_address(2), 2)))

    first.device.delivery.listeners.append(go_on)
    first.submit(1)
    while env.peek() != float("inf") and not woken:
        env.step()
    if how == "poll":
        assert first.device.collect(1) is not None
    if how != "listener":
        go_on(1, None)
    second.device.run(woken[0])
    assert len(checker.findings) == (how == "neither")


def test_a_race_is_reported_with_both_sides() -> None:
    """The text has the granule, both transfers with their bytes, and the order that is missing."""

    def body(ctx: Any) -> Any:
        yield from ctx.drain(0, [write(OUT + 40 * ctx.worker, 0, 40)])
        yield from ctx.wait_drains()

    with pytest.raises(HazardError) as hazard:
        build(body, {"workers": 2}, checker=Checker()).run()
    start = DATA + OUT
    assert str(hazard.value) == (
        f"granule_race: job 0: granule {start:#x} (64 bytes) is written by transfer 0 of worker 0 (bytes {start:#x} to "
        f"{start + 39:#x}) and by transfer 0 of worker 1 (bytes {start + 40:#x} to {start + 79:#x}): nothing orders "
        "workers 0 and 1"
    )


def test_jobs_are_forgotten() -> None:
    """A device that runs many jobs keeps the ranges of none of them."""

    def body(ctx: Any) -> Any:
        yield from ctx.drain(0, [write(OUT, 0, 40)])
        yield from ctx.wait_drains()

    rig = build(body, {"workers": 1}, checker=Checker())
    for cookie in range(1, 9):
        rig.run(cookie)
    assert len(rig.device.checker._open) <= 2
