"""Joined moves: the bytes of a band are those of its steps one by one, and few steps are left of many tiles."""

import random
from collections.abc import Sequence

import attrs
import numpy as np
import pytest

from tessbed.firmware_models.ops.joined_moves import join_moves
from tessbed.firmware_models.vector_ops import Packer, PackStep, VectorFill, VectorMove


def performed(steps: Sequence[PackStep], seed: int) -> bytes:
    """A scratch of any bytes after these steps."""
    scratch = np.random.default_rng(seed).integers(0, 256, 8192, np.uint8)
    Packer(scratch, steps)()
    return scratch.tobytes()


def random_moves(rng: random.Random) -> list[PackStep]:
    """Equal moves at equal distances, mostly as bands have them; some read what others write, or write a byte twice."""
    channels, rows, columns = rng.choice((1, 3, 16)), rng.choice((1, 2, 3)), rng.choice((1, 2, 5))
    tiles, conversion = rng.randrange(2, 7), rng.choice(("copy", "widen", "join"))
    width_in, width_out = {"copy": (1, 1), "widen": (2, 4), "join": (2, 2)}[conversion]
    pixel_in, pixel_out = channels * width_in, channels * width_out
    row_out = columns * pixel_out * rng.choice((1, tiles))
    steps_in = rng.choice((rows * columns * pixel_in,) * 4 + (pixel_in, 1)), row_out if rng.random() < 0.1 else 0
    step_out = rng.choice((columns * pixel_out,) * 3 + (rows * row_out, width_out, 7))
    target = rng.choice((4096, 4096, 4096, 700, 60))
    move = VectorMove(
        shape=(channels, rows, columns),
        source=0,
        source_strides=(1, columns * pixel_in, pixel_in),
        target=target,
        target_strides=(width_out, row_out, pixel_out),
        source_lanes=tuple(lane * channels for lane in range(width_in)),
        target_lanes=tuple(range(width_out)),
        conversion=conversion,
    )
    moves: list[PackStep] = []
    for tile in range(tiles):
        ahead = tile * (steps_in[0] or steps_in[1])
        lanes = tuple(lane + ahead for lane in move.source_lanes)
        moves.append(attrs.evolve(move, source_lanes=lanes, target=target + tile * step_out))
    if rng.random() < 0.2:
        moves.insert(rng.randrange(tiles), VectorFill((3,), rng.randrange(8000), (1,), 7))
    return moves


@pytest.mark.parametrize("seed", range(200))
def test_joined_moves_make_the_same_bytes(seed: int) -> None:
    """Whatever moves read and write, joining changes no byte of the scratch."""
    moves = random_moves(random.Random(seed))
    assert performed(join_moves(moves), seed) == performed(moves, seed)


def test_many_bands_become_one_move() -> None:
    """Joining happens: of 200 random bands many become a single move."""
    lengths = [len(join_moves(random_moves(random.Random(seed)))) for seed in range(200)]
    assert lengths.count(1) > 60


def tile(source: int, target: int) -> VectorMove:
    """Two rows of four bytes, dense at the source and sixteen apart at the target."""
    return VectorMove((2, 4), source, (4, 1), target, (16, 1), (0,), (0,), "copy")


def test_tiles_of_a_row_then_rows_of_tiles() -> None:
    """Four tiles beside each other in two rows of tiles are one move with two axes more."""
    moves = [tile(8 * (4 * row + column), 1024 + 32 * row + 4 * column) for row in range(2) for column in range(4)]
    [one] = join_moves(moves)
    assert isinstance(one, VectorMove)
    assert (one.shape, one.source_strides, one.target_strides) == ((2, 4, 2, 4), (32, 8, 4, 1), (32, 4, 16, 1))


@pytest.mark.parametrize(
    "moves",
    [
        [tile(0, 64), tile(8, 64 + 2)],  # rows of the second lie over those of the first
        [tile(0, 8), tile(8, 24)],  # the second reads what the first has written
        [tile(0, 1024), tile(8, 1020)],  # backwards
        [tile(0, 1024), attrs.evolve(tile(8, 1028), conversion="split")],
    ],
)
def test_moves_that_may_differ_are_left_alone(moves: list[VectorMove]) -> None:
    """Where one move might make other bytes, or is none of the same kind, there are as many as before."""
    assert join_moves(moves) == moves
