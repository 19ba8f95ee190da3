"""The arena: one buffer for all intermediates of a graph, as views, reused where their lives do not meet.

A tensor lives from the node that writes it to the last node that reads it. Two tensors whose lives meet get different
bytes, and never share a write granule or a CPU line.
"""

import attrs

from tessbed.runtime.graph.graph import Graph
from tessbed.runtime.memory.cpu_cache import LINE_BYTES


@attrs.frozen
class ArenaSlot:
    """Where an intermediate lies in the arena, and when it lives, as node indices, both inclusive."""

    tensor: str
    offset: int
    nbytes: int
    born: int
    dies: int


def lay_out(graph: Graph, granule_bytes: int) -> tuple[ArenaSlot, ...]:
    """A place for each intermediate: the largest first, each at the lowest offset where nothing alive is in the way."""
    unit = max(granule_bytes, LINE_BYTES)
    placed: list[ArenaSlot] = []
    lives = [_life(graph, tensor) for tensor in graph.intermediates]
    for tensor, born, dies in sorted(lives, key=lambda life: (-graph.nbytes(life[0]), life[1])):
        nbytes = -(-graph.nbytes(tensor) // unit) * unit
        rivals = [place for place in placed if place.born <= dies and born <= place.dies]
        placed.append(ArenaSlot(tensor, _lowest(rivals, nbytes), nbytes, born, dies))
    return tuple(sorted(placed, key=lambda place: place.born))


def total_bytes(places: tuple[ArenaSlot, ...]) -> int:
    """How long the arena is."""
    return max((place.offset + place.nbytes for place in places), default=0)


def _life(graph: Graph, tensor: str) -> tuple[str, int, int]:
    born = next(i for i, node in enumerate(graph.nodes) if node.target == tensor)
    dies = max(i for i, node in enumerate(graph.nodes) if node.source == tensor)
    return tensor, born, dies


def _lowest(rivals: list[ArenaSlot], nbytes: int) -> int:
    offset = 0
    for rival in sorted(rivals, key=lambda place: place.offset):
        if offset + nbytes <= rival.offset:
            break
        offset = max(offset, rival.offset + rival.nbytes)
    return offset
