"""Nests: the loops and row movers that the native executor makes of a plan, chosen as `_execute.h` chooses them.

A spatial class has one or two channel parts, a part one or two nests, a nest loops around one row mover. What
the executor knows and a plan does not is where storage lies: it is taken to start at multiples of 16 bytes.
`tests/kernels/a65/cost` compares these rows with the calls that the emulated core sees.
"""

from collections.abc import Iterator, Mapping
from math import prod

import attrs

from tessbed.kernels.a65.cost.stages import ValueStage, stage_of
from tessbed.kernels.a65.row_path import RowPath, row_classes
from tessbed.kernels.conversions import look_up
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan
from tessbed.kernels.tiling import CHANNEL_BLOCK, TileClass

Loop = tuple[int, int, int]
"""(count, tiled step in bytes, linear step in bytes)"""

STREAM_BYTES = 3 << 20
"""Outputs of this size and more are written by the loops that pass the caches (`_execute.h`)."""
MOST_GROUPS = 16
FAR = 1 << 61
MOST_STREAMS = 8


@attrs.frozen
class Ways:
    """The row movers of a conversion, by how rows lie; empty where it has none of that kind.

    `values` is the converter between a stage and the linear side; the movers are then those of the stage's bytes.
    """

    groups: str
    same: str
    cross: str
    runs: str
    transposed: str
    streams: str
    scalars: str
    values: str = ""


def _ways(direction: str, same: str, values: str = "", *, words: bool, cross: str = "", runs: str = "") -> Ways:
    kind = "words" if words else "bytes"
    groups = f"{direction}_groups" if words else f"{direction}_byte_groups"
    back = "unpack" if direction == "widen" else direction
    return Ways(
        groups, same, cross, f"{direction}_{kind}", f"{back}_transposed_{kind}", f"{back}_streams",
        f"{back}_scalars", values,
    )  # fmt: skip


COPIES = {packs: _ways("pack" if packs else "unpack", "same", words=False) for packs in (True, False)}
_SPLIT = _ways("pack", "same", words=True, cross="pack_cross")
WAYS: dict[str, Mapping[bool, Ways]] = {
    "copy": COPIES,
    "split": {True: _SPLIT},
    "join": {False: _ways("unpack", "same", words=True, cross="unpack_cross")},
    "widen": {False: _ways("widen", "", words=True, cross="widen_cross")},
    "narrow": {True: attrs.evolve(_SPLIT, values="narrow_runs")},
    "quantize": {True: attrs.evolve(COPIES[True], values="quantize_runs")},
    "dequantize": {False: attrs.evolve(COPIES[False], values="dequantize_runs")},
}
"""The ways of each conversion, by whether it packs."""


@attrs.frozen
class PixelRow:
    """What a row mover is called with: one row of pixels. Steps and strides are bytes, as in `_move.h`."""

    mover: str
    channels: int
    stored: int
    plane: int
    tiled_step: int
    linear_step: int
    channel_stride: int
    width: int
    groups: int = 1
    group_linear: int = 0
    group: int = 0
    streams_out: bool = False
    segment: int = FAR
    stage: ValueStage | None = None
    lanes: tuple["PixelRow", ...] = ()


@attrs.frozen
class Nest:
    """`visits` times the loops run, outermost first; the last is the row.

    `linear_room` and `tiled_room` are the bytes from the first pixel of the last row to the end of each side.
    """

    visits: int
    loops: tuple[Loop, ...]
    row: PixelRow
    linear_room: int
    tiled_room: int

    @property
    def pixels(self) -> int:
        """Pixels of a row."""
        return self.loops[-1][0]

    @property
    def rows(self) -> int:
        """Rows of all visits."""
        return self.visits * prod(loop[0] for loop in self.loops[:-1])


@attrs.frozen
class ChannelPart:
    """The tiles of one channel part, under the `visits` spatial tiles of its class."""

    visits: int
    nests: tuple[Nest, ...]
    gaps: int
    gap_bytes: int


@attrs.frozen
class Spatial:
    """One spatial class: how often its loops over slices and tiles step, and its channel parts."""

    steps: int
    parts: tuple[ChannelPart, ...]


def spatial_classes(plan: Plan, path: RowPath) -> Iterator[Spatial]:
    """What runs for a plan that is not empty. ContractError for a conversion without ways."""
    classes = row_classes(plan, path)
    count = prod(len(axis.parts) for axis in plan.axes[1:])
    ways = look_up(WAYS, plan.conversion, "the table of the A65's costs")[plan.packs]
    for number in range(count):
        yield _spatial(plan, ways, classes[number::count])


def _spatial(plan: Plan, ways: Ways, parts: tuple[TileClass, ...]) -> Spatial:
    """Nests take over the loops around a lone part without gaps, and those around scattered channels."""
    counts = [loop[0] for loop in _around(plan, parts[0])]
    gaps = any(_gap_bytes(plan, tiles) for tiles in parts)
    taken = _scattered(plan) or (len(parts) == 1 and not gaps)
    visits = 0 if taken and not gaps else prod(counts)
    steps = sum(prod(counts[: depth + 1]) for depth in range(len(counts))) if visits else 0
    return Spatial(steps, tuple(_part(plan, ways, tiles, visits, taken=taken) for tiles in parts))


def _around(plan: Plan, tiles: TileClass) -> list[Loop]:
    """The loops over slices and spatial tiles that make more than one step."""
    around = [(axis.extent, axis.tiled_stride_bytes, axis.linear_stride_bytes) for axis in plan.outer]
    around += [(tiles.counts[i], tiles.tiled_steps[i], tiles.linear_steps[i]) for i in (1, 2, 3)]
    return [loop for loop in around if loop[0] != 1]


def _scattered(plan: Plan) -> bool:
    return plan.c.stride_bytes != plan.linear_dtype.width


def _gap_bytes(plan: Plan, tiles: TileClass) -> int:
    payload = tiles.pixels * tiles.stored_channels * plan.tiled_dtype.width
    return tiles.span_bytes - payload if plan.packs else 0


def _part(plan: Plan, ways: Ways, tiles: TileClass, visits: int, *, taken: bool) -> ChannelPart:
    inside: list[Loop] = []
    around = _around(plan, tiles)
    for loop in around if taken else ():
        _add(inside, *loop)
    nests = tuple(_nests(plan, ways, tiles, inside, [] if taken else around, 1 if taken else visits))
    gap = _gap_bytes(plan, tiles)
    return ChannelPart(visits, nests, tiles.counts[0] * visits if gap else 0, gap)


def _add(loops: list[Loop], count: int, tiled: int, linear: int) -> None:
    """Adds an inner loop; an outer one that it continues on both sides takes it over."""
    if count == 1:
        return
    if loops and loops[-1][1:] == (count * tiled, count * linear):
        loops[-1] = (loops[-1][0] * count, tiled, linear)
    else:
        loops.append((count, tiled, linear))


def _nests(
    plan: Plan, ways: Ways, tiles: TileClass, inside: list[Loop], outside: list[Loop], visits: int
) -> Iterator[Nest]:
    """One nest for pixel-major tiles; full channel blocks and the rest for channel-blocked ones."""
    if plan.tile_format is not TileFormat.CBLOCKED:
        yield _nest(plan, ways, tiles, (tiles.extents[0], 0), inside, outside, visits)
        return
    full, rest = divmod(tiles.extents[0], CHANNEL_BLOCK)
    for channels, first in ((CHANNEL_BLOCK if full else 0, 0), (rest, full)):
        if channels:
            yield _nest(plan, ways, tiles, (channels, first), inside, outside, visits)


def _nest(
    plan: Plan,
    ways: Ways,
    tiles: TileClass,
    some: tuple[int, int],
    inside: list[Loop],
    outside: list[Loop],
    visits: int,
) -> Nest:
    """`some` is the number of channels, and the channel block that they start with."""
    channels, first = some
    blocked = plan.tile_format is TileFormat.CBLOCKED
    width, stride = plan.tiled_dtype.width, plan.c.stride_bytes
    block = CHANNEL_BLOCK if blocked else tiles.stored_channels
    _, depth, height, across = tiles.extents
    pixel, pixels = block * width, tiles.pixels
    of_channel_tiles = (tiles.counts[0], tiles.tiled_steps[0], tiles.linear_steps[0])
    groups = of_channel_tiles
    if blocked and first:
        groups = (1, 0, 0)
    elif blocked and tiles.extents[0] >= 2 * CHANNEL_BLOCK:
        groups = (tiles.extents[0] // CHANNEL_BLOCK, pixels * pixel, CHANNEL_BLOCK * stride)
    inner = _moves_groups(plan, ways, channels, block, groups)
    of_tiles = groups[:2] == of_channel_tiles[:2]
    loops = list(inside)
    if not of_tiles:
        _add(loops, *of_channel_tiles)
    elif not inner:
        _add(loops, *groups)
    _add(loops, depth, height * across * pixel, plan.d.stride_bytes)
    _add(loops, height, across * pixel, plan.h.stride_bytes)
    _add(loops, across, pixel, plan.w.stride_bytes)
    if not of_tiles and not inner:
        _add(loops, *groups)
    segment = FAR
    if (inner and plan.packs) or (channels > 1 and _scattered(plan)):
        loops = sorted(loops, key=lambda loop: -loop[2])
    if channels > 1 and _scattered(plan) and loops and loops[-1][2] == plan.linear_dtype.width:
        loops, segment = _cut(loops, width)
    if not loops:
        loops.append((1, pixel, channels * plan.linear_dtype.width))
    tiled = tiles.tiled_offset + first * pixels * pixel
    linear = tiles.linear_offset + first * CHANNEL_BLOCK * stride
    counted = groups[0] if inner else 1
    row = PixelRow(
        mover="",
        channels=channels,
        stored=block,
        plane=block,
        tiled_step=loops[-1][1],
        linear_step=loops[-1][2],
        channel_stride=stride,
        width=plan.linear_dtype.width,
        groups=counted,
        group_linear=groups[2],
        segment=segment,
    )
    starts = _bits((tiled, linear), [*outside, *loops, *([groups] if inner else [])])
    row = attrs.evolve(row, streams_out=_streams_out(plan, row, starts))
    row = _staged(plan, ways, row) if ways.values else _with_mover(ways, row, width)
    last_tiled = tiled + sum((loop[0] - 1) * loop[1] for loop in (*outside, *loops[:-1]))
    last_linear = linear + sum((loop[0] - 1) * loop[2] for loop in (*outside, *loops[:-1]))
    return Nest(
        visits, tuple(loops), row, plan.linear.required_bytes - last_linear, plan.tiled.required_bytes - last_tiled
    )


def _bits(start: tuple[int, int], loops: list[Loop]) -> tuple[int, int]:
    """Every address and step of each side, or-ed together: what divides both, divides all."""
    tiled, linear = start
    for _, tiled_step, linear_step in loops:
        tiled, linear = tiled | tiled_step, linear | linear_step
    return tiled, linear


def _moves_groups(plan: Plan, ways: Ways, channels: int, block: int, groups: Loop) -> bool:
    """Whether each pixel's groups of 16 channels, in tiles or blocks of their own, move together."""
    if ways.values and groups[2] != CHANNEL_BLOCK * plan.c.stride_bytes:
        return False
    contiguous = plan.c.stride_bytes == plan.linear_dtype.width
    return channels == block == CHANNEL_BLOCK and contiguous and 1 < groups[0] <= MOST_GROUPS


def _cut(loops: list[Loop], tiled_width: int) -> tuple[list[Loop], int]:
    """Rows that continue each other on the linear side become one, cut into segments of so many pixels."""
    last = loops[-1]
    if len(loops) < 2 or loops[-2][2] != last[0] * last[2] or last[0] * tiled_width % 16:
        return loops, FAR
    return [*loops[:-2], (loops[-2][0] * last[0], last[1], last[2])], last[0]


def _streams_out(plan: Plan, row: PixelRow, bits: tuple[int, int]) -> bool:
    if plan.packs:
        whole = not _scattered(plan) or row.tiled_step == 16 * plan.tiled_dtype.width
        return plan.tiled.required_bytes >= STREAM_BYTES and row.stored % 16 == 0 and bits[0] % 16 == 0 and whole
    pixel = row.groups * row.channels * row.width
    if row.channels % 16 or plan.linear.required_bytes < STREAM_BYTES or pixel % 64:
        return False
    return pixel == row.linear_step and bits[1] % 16 == 0


def _with_mover(ways: Ways, row: PixelRow, tiled_width: int) -> PixelRow:
    """The row with its mover. Dense pixels of few channels are shuffled, `group` at once."""
    if row.groups > 1:
        return attrs.evolve(row, mover=ways.groups)
    n = row.channels
    compact = row.tiled_step == n * tiled_width
    if n > 1 and row.channel_stride != row.width:
        if row.linear_step != row.width:
            return attrs.evolve(row, mover=ways.scalars)
        few = compact and n <= MOST_STREAMS
        return attrs.evolve(row, mover=ways.streams if few else ways.transposed)
    if compact and row.linear_step == n * row.width and row.stored == n:
        if ways.same and (n == 1 or not ways.cross):
            return attrs.evolve(row, mover=ways.same)
        if ways.cross and n <= 8:
            return attrs.evolve(row, mover=ways.cross, group=8 // n)
    return attrs.evolve(row, mover=ways.runs)


def _staged(plan: Plan, ways: Ways, row: PixelRow) -> PixelRow:
    """The row of a conversion of values: a stage, and the rows between it and the tiles."""
    width = plan.tiled_dtype.width
    stage = stage_of(ways.values, row.channels * row.groups, row.channel_stride, row.linear_step, width, row.segment)
    lanes = tuple(
        _with_mover(ways, _lane(plan, stage, row, number), width) if stage.lanes[number] else row for number in (0, 1)
    )
    if stage.shape == "dense" and lanes[1].mover == "same":
        stage = attrs.evolve(stage, shape="direct", pixels=1 << 61)
    return attrs.evolve(row, mover="pack_staged" if plan.packs else "unpack_staged", stage=stage, lanes=lanes)


def _lane(plan: Plan, stage: ValueStage, row: PixelRow, number: int) -> PixelRow:
    """The row between stage and tiles of the full pieces of channels (0), or of the last piece (1)."""
    channels, planar = stage.lanes[number], stage.shape == "planes"
    stored = row.stored
    if row.groups == 1:
        stored = row.stored - stage.full * stage.lanes[0] if number else channels
    return attrs.evolve(
        row,
        channels=row.channels if row.groups > 1 else channels,
        stored=stored,
        width=stage.width,
        channel_stride=stage.pixels * stage.width if planar else stage.width,
        linear_step=stage.width if planar else channels * stage.width,
        group_linear=row.group_linear // 4 * stage.width,
        streams_out=row.streams_out and plan.packs,
    )
