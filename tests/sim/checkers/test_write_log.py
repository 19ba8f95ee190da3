"""The write log forgets most of what is done, and finds what it would have found had it kept everything."""

from random import Random

import numpy as np
import pytest

from tessbed.sim.checkers import write_log
from tessbed.sim.checkers.granule_races import NEVER, Write, find_races
from tessbed.sim.checkers.write_log import WriteLog, packed, unpacked
from tests.sim.checkers.test_hazards import draw_chain, granules

GRANULE = 64


def job(random: Random, drains: int, safe: bool) -> tuple[list[Write], list[list[Write]]]:
    """Drains of workers on a few cores, and after each those that are known then.

    Where it is `safe`, cores are far apart, and each has waited for a drain before it issues the next.
    """
    cores, stamp, writes, retired = random.randint(1, 3), 0, [], []
    worker = {core: core for core in range(cores)}
    for seq in range(drains):
        core = random.randrange(cores)
        if random.random() < 0.1:
            worker[core] += cores
        chain = [d._replace(address=d.address + 100_000 * core * safe) for d in draw_chain(random)]
        stamp += 1
        writes.append(Write(7, worker[core], seq, core, tuple(chain), stamp))
        waits = [w for w in writes if w.known == NEVER and w.core == core and (safe or random.random() < 0.6)]
        retired.append(waits)
        for write in waits:
            stamp += 1
            write.known = stamp
    return writes, retired


def logged(writes: list[Write], retired: list[list[Write]]) -> WriteLog:
    """A log that has seen each drain before it was known, and then what was known."""
    log, known = WriteLog(7, GRANULE, folds=True), {write.seq: write.known for write in writes}
    for write in writes:
        write.known = NEVER
    for write, waits in zip(writes, retired, strict=True):
        log.add(write)
        for waited in waits:
            waited.known = known[waited.seq]
    return log


@pytest.mark.parametrize("safe", [True, False], ids=["safe", "racing"])
def test_a_folded_log_finds_what_a_whole_one_finds(safe: bool, monkeypatch) -> None:
    """Races, their number and their words, and the granules, of random jobs that are folded every few drains."""
    monkeypatch.setattr(write_log, "FOLDED_AT_ONCE", 4)
    racing = folded = 0
    for index in range(60):
        random = Random(f"log/{safe}/{index}")
        writes, retired = job(random, random.randint(0, 40), safe)
        log = logged(writes, retired)
        races, total = find_races(writes, GRANULE, 8)
        found, number = log.races(8)
        assert ([str(race) for race in found], number) == ([str(race) for race in races], total)
        ranges = log.ranges()
        touched = set() if ranges is None else {
            granule for low, high in zip(ranges.low, ranges.high, strict=True) for granule in range(low, high + 1)
        }  # fmt: skip
        assert touched == {granule for write in writes for granule in granules(write, GRANULE)}
        folded += len(log._packed)
        racing += total
    assert folded > 100
    assert (racing == 0) if safe else (racing > 200)


def test_two_cores_race_however_long_one_has_been_done() -> None:
    """One core's drain is folded long before the other's is issued: nothing orders them."""
    log = WriteLog(0, GRANULE, folds=True)
    for seq in range(3 * write_log.FOLDED_AT_ONCE):
        log.add(Write(0, 0, seq, 0, draw_row(GRANULE * seq), 2 * seq + 1, 2 * seq + 2))
    assert log.races(8) == ([], 0)
    log.add(Write(0, 1, 0, 1, draw_row(0), 1 << 20, 1 + (1 << 20)))
    races, total = log.races(8)
    assert (total, races[0].first.seq, races[0].second.worker) == (1, 0, 1)


def test_what_is_folded_is_compared_with_what_is_still_under_way(monkeypatch) -> None:
    """One core, two drains of one granule, of which only the second has been waited for at the first fold."""
    monkeypatch.setattr(write_log, "FOLDED_AT_ONCE", 4)
    log = WriteLog(0, GRANULE, folds=True)
    slow = Write(0, 0, 0, 0, draw_row(0), 1)
    log.add(slow)
    log.add(Write(0, 0, 1, 0, draw_row(0), 2, 3))
    for seq in range(2, 12):
        log.add(Write(0, 0, seq, 0, draw_row(GRANULE * seq), 2 * seq, 2 * seq + 1))
        if seq == 4:
            slow.known = 9
    races, total = log.races(8)
    assert ([(race.first.seq, race.second.seq) for race in races], total) == ([(0, 1)], 1)


def draw_row(address: int) -> tuple[write_log.Descriptor, ...]:
    """A drain of one granule."""
    return (write_log.Descriptor(address, 0, 1, GRANULE, 0, 0),)


def test_drains_are_made_again() -> None:
    """In order, with chains of any length, from bytes that are few where drains follow each other."""
    random = Random(3)
    drains = [Write(7, w % 3, w, w % 3, tuple(draw_chain(random)), 2 * w, 2 * w + 9) for w in range(500)]
    again = sorted(unpacked(packed(drains), 7), key=lambda write: write.issued)
    fields = ("job", "worker", "seq", "core", "chain", "issued", "known", "line")
    assert [[getattr(w, f) for f in fields] for w in again] == [[getattr(w, f) for f in fields] for w in drains]
    regular = [
        Write(0, w % 4, w // 4, w % 4, draw_row((w % 4 << 20) + 64 * (w // 4)), 8 * w, 8 * w + 9) for w in range(4096)
    ]
    assert len(packed(regular)) < 4096


def test_a_job_that_is_looked_at_afterwards_keeps_its_drains() -> None:
    """They are the very ones, with their lines."""
    log = WriteLog(0, GRANULE, folds=False)
    drains = [Write(0, 0, seq, 0, draw_row(64 * seq), 2 * seq, 2 * seq + 1) for seq in range(5000)]
    for write in drains:
        log.add(write)
    assert all(kept is write for kept, write in zip(log.writes(), drains, strict=True))
    assert isinstance(log.ranges().low, np.ndarray)
