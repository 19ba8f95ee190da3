"""Every gather and drain of one job that share a byte without an order are found, and no other pair is accused."""

from random import Random

from tessbed.sim.checkers.granule_races import NEVER, Write
from tessbed.sim.checkers.read_races import find_read_races
from tests.sim.checkers.test_hazards import draw_chain, granules


def draw(random: Random, first: int, most: int) -> list[Write]:
    """Transfers of three workers on two cores, each of which may be waited for by a later one."""
    made = []
    for index in range(random.randint(0, most)):
        issued = 4 * index + first
        known = random.choice([NEVER, issued + 1, issued + 9, issued + 21])
        worker = random.randrange(3)
        made.append(Write(0, worker, first + 2 * index, worker % 2, draw_chain(random), issued, known))
    return made


def test_every_read_race_is_found() -> None:
    """The same pairs as a literal search byte by byte, and the lowest byte that each shares."""
    racing = 0
    for index in range(300):
        random = Random(f"read races/{index}")
        reads, writes = draw(random, 0, 8), draw(random, 1, 8)
        wanted = {}
        for a, read in enumerate(reads):
            for b, write in enumerate(writes):
                ordered = read.core == write.core and (read.known <= write.issued or write.known <= read.issued)
                common = granules(read, 1) & granules(write, 1)
                if common and not ordered:
                    wanted[a, b] = min(common)
        found = {(reads.index(r), writes.index(w)): byte for r, w, byte in find_read_races(reads, writes)}
        assert found == wanted
        racing += len(wanted)
    assert racing > 300
