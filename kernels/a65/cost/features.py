"""Features: what a row mover does for one row, as counts of the steps that its loops consist of.

The loops are those of `_move.h`, `_stage.h` and `_convert.h`: a row of so many pixels makes so many pieces of 16
bytes, shuffles, transposed blocks. A step's key is (function, step); the table has a cost for each. What a row costs is
the sum of counts times costs, so that nothing here walks pixels.

`room` of a row is the bytes from its first pixel to the end of the side that it reads. Only the last rows of a side
come so near to the end that a wide read is replaced by a careful one.
"""

from collections import Counter
from collections.abc import Callable

from tessbed.kernels.a65.cost.nests import FAR, PixelRow
from tessbed.kernels.a65.cost.stages import ValueStage

Steps = Counter[tuple[str, str]]
WIDE = 4
LONGEST_PIECES = 128
"""Bytes of the longest run that is copied by pieces; a longer one is the C library's affair."""
CHUNK_BYTES = 32768
"""Tiled bytes of the pixels that are transposed for all channels before the next ones are."""
SPECIAL_WIDTHS = (16, 32, 64)


def row_steps(row: PixelRow, pixels: int, linear_room: int = FAR, tiled_room: int = FAR) -> Steps:
    """The steps of one call of the row's mover, those of the rows between stage and tiles included."""
    steps: Steps = Counter()
    _call(steps, row, pixels, linear_room, tiled_room)
    return +steps


def pieces(n: int) -> list[tuple[str, int]]:
    """A run of n bytes or scalars by pieces of 16, of 8, of 4, or one by one."""
    if n >= 16:
        return [("16", -(-n // 16))]
    if n >= 8:
        return [("8", 1 + (n > 8))]
    if n >= 4:
        return [("4", 1 + (n > 4))]
    return [("1", n)]


def copy_steps(steps: Steps, name: str, n: int, times: int) -> None:
    """`times` runs of n bytes, copied."""
    if n > LONGEST_PIECES:
        steps[name, "long run"] += times
        steps[name, "64 bytes of a long run"] += times * (n // 64)
        return
    steps[name, f"run by {pieces(n)[0][0]}"] += times
    for size, count in pieces(n):
        steps[name, f"piece of {size}"] += times * count


def _call(steps: Steps, row: PixelRow, pixels: int, linear_room: int, tiled_room: int) -> None:
    MOVERS[row.mover](steps, row, pixels, linear_room, tiled_room)


def _readable(room: int, pixels: int, step: int, nbytes: int) -> int:
    """Leading pixels at which `nbytes` can be read."""
    if room < nbytes:
        return 0
    return min(pixels, (room - nbytes) // step + 1) if step else pixels


def _roomy(pixels: int, step: int, nbytes: int) -> int:
    """Leading pixels that may store `nbytes` without leaving the row."""
    room = pixels * step - nbytes
    return 0 if room < 0 else min(pixels, room // step + 1)


def _pixel_runs(steps: Steps, row: PixelRow, pixels: int, *, copies: bool = False) -> None:
    """Pixels whose channels are moved by pieces; usual widths have a loop of their own."""
    n, name = row.channels, row.mover
    past = " past caches" if row.streams_out else ""
    if n == row.plane and n in SPECIAL_WIDTHS:
        steps[name, f"row of {n}{past}"] += 1
        steps[name, f"pixel of {n}{past}"] += pixels
    elif past:
        steps[name, "row past caches"] += 1
        steps[name, "pixel past caches"] += pixels
        steps[name, "16 channels past caches"] += pixels * (n // 16)
    elif copies:
        steps[name, "row"] += 1
        copy_steps(steps, name, n, pixels)
    else:
        steps[name, "row"] += 1
        steps[name, f"run by {pieces(n)[0][0]}"] += pixels
        for size, count in pieces(n):
            steps[name, f"piece of {size}"] += pixels * count


def _padded_pixels(steps: Steps, row: PixelRow, pixels: int, room: int) -> None:
    """Narrow padded pixels, each by one wide read; those near the end of the storage are read carefully."""
    wide = _readable(room, pixels, row.linear_step, 16)
    careful = pixels - wide
    steps[row.mover, "row of padded pixels"] += 1
    steps[row.mover, "padded pixel"] += wide
    steps[row.mover, "start of careful pixels"] += careful > 0
    steps[row.mover, "careful pixel"] += careful


def _overlapping(steps: Steps, row: PixelRow, pixels: int, nbytes: int) -> int:
    """Narrow pixels that may be written wider than they are; the number of those at the row's end that may not."""
    over = _roomy(pixels, row.channels * row.width, nbytes)
    steps[row.mover, "start of overlapping pixels"] += 1
    steps[row.mover, "overlapping pixel"] += over
    return pixels - over


def _pack_bytes(steps: Steps, row: PixelRow, pixels: int, room: int, _: int) -> None:
    n, name = row.channels, row.mover
    whole = n - n % 16
    if row.stored == n:
        _pixel_runs(steps, row, pixels, copies=True)
        return
    if not whole:
        _padded_pixels(steps, row, pixels, room)
        return
    steps[name, "row of padded runs"] += 1
    steps[name, "padded pixel behind a run"] += pixels
    copy_steps(steps, name, whole, pixels)


def _unpack_bytes(steps: Steps, row: PixelRow, pixels: int, _: int, room: int) -> None:
    n = row.channels
    if n < 16 <= row.stored and row.linear_step == n:
        pixels = _overlapping(steps, row, pixels, 16)
    _pixel_runs(steps, row, pixels, copies=True)


def _pack_words(steps: Steps, row: PixelRow, pixels: int, room: int, _: int) -> None:
    n, name = row.channels, row.mover
    if row.stored == n:
        _pixel_runs(steps, row, pixels)
        return
    if n <= 8 and row.plane == 16:
        _padded_pixels(steps, row, pixels, room)
        return
    steps[name, "row of padded groups"] += 1
    last = _readable(room - 2 * (n - n % 16), pixels, row.linear_step, 32)
    steps[name, "padded pixel behind groups"] += pixels
    steps[name, "16 channels of a padded pixel"] += pixels * (n // 16)
    steps[name, "more than 8 channels at a pixel's end"] += pixels * (n % 16 > 8)
    steps[name, "careful end of a pixel"] += pixels - last


def _unpack_words(steps: Steps, row: PixelRow, pixels: int, _: int, room: int) -> None:
    nbytes = row.channels * row.width
    if row.channels < 16 and row.linear_step == nbytes and row.plane == 16:
        pixels = _overlapping(steps, row, pixels, 16 * row.width)
    _pixel_runs(steps, row, pixels)


def _groups(steps: Steps, row: PixelRow, pixels: int, _: int, __: int) -> None:
    """Two and four groups have loops of their own; a packing row that passes the caches goes group by group."""
    name, past = row.mover, " past caches" if row.streams_out else ""
    if past and name.startswith("pack"):
        steps[name, "row past caches"] += 1
        steps[name, "group past caches"] += row.groups
        steps[name, "16 channels past caches"] += pixels * row.groups
        return
    some = f" of {row.groups} groups" if row.groups in (2, 4) else ""
    steps[name, f"row{some}{past}"] += 1
    steps[name, f"pixel{some}{past}"] += pixels
    if not some:
        steps[name, f"16 channels{past}"] += pixels * row.groups


def _cross(steps: Steps, row: PixelRow, pixels: int, _: int, __: int) -> None:
    """Shuffles of 16 bytes, the last of which ends with the row; a row of less than 16 bytes goes pixel by pixel."""
    end, step = pixels * row.tiled_step, row.group * row.tiled_step
    steps[row.mover, "row"] += 1
    if end < 16:
        steps[row.mover, "short row"] += 1
        steps[row.mover, f"pixel by {pieces(row.channels)[0][0]} of a short row"] += pixels
        for size, count in pieces(row.channels):
            steps[row.mover, f"piece of {size}"] += pixels * count
        return
    shuffles = (end - 16) // step + 1
    steps[row.mover, "shuffle"] += shuffles
    steps[row.mover, "last shuffle"] += shuffles * step < end


def _by_width(row: PixelRow) -> str:
    """The mover's code for scalars of this width; what packs knows bytes and words only."""
    most = 2 if row.mover.startswith("pack") else 4
    return f"{row.mover}, {min(row.width, most)} bytes"


def _streams(steps: Steps, row: PixelRow, pixels: int, _: int, __: int) -> None:
    """Blocks of 16 bytes of each channel, the last of which ends with the row; shorter rows go scalar by scalar."""
    n, name, block = row.channels, _by_width(row), 16 // min(row.width, 2)
    blocks = -(-pixels // block)
    if pixels < block:
        steps[name, "row of scalars"] += 1
        steps[name, "pixel of scalars"] += pixels
        steps[name, "scalar"] += pixels * n
    elif n <= 4:
        steps[name, f"row of {n}"] += 1
        steps[name, f"block of {n}"] += blocks
    else:
        steps[name, "row"] += 1
        steps[name, "block"] += blocks
        steps[name, "channel of a block"] += blocks * n
        steps[name, "pair of channels of a block"] += blocks * n * n


def _scalars(steps: Steps, row: PixelRow, pixels: int, _: int, __: int) -> None:
    name = _by_width(row)
    steps[name, "row"] += 1
    steps[name, "pixel"] += pixels
    steps[name, "scalar"] += pixels * row.channels
    if row.mover == "pack_scalars":
        steps[name, "padding"] += pixels * (row.stored - row.channels)


def _part_steps(steps: Steps, name: str, what: str, n: int, times: int) -> None:
    """`times` vectors of which the first n bytes are stored."""
    if n >= 16:
        steps[name, f"{what} stored whole"] += times
    else:
        steps[name, f"{what} stored by {pieces(n)[0][0]}"] += times
        if n < 4:
            steps[name, f"byte of a {what}"] += times * n


def _transposed(steps: Steps, row: PixelRow, pixels: int, _: int, __: int) -> None:
    """Blocks of 16 channels by 16 bytes of each; an edge has less of either (theory: `_transpose.h`)."""
    packs, planes = row.mover.startswith("pack"), 1 if row.mover.endswith("bytes") else 2
    name = row.mover if planes == 1 or packs else _by_width(row)
    n, block = row.channels, 16 // planes
    compact = row.stored == n
    groups, rest = (-(-n // 16), 0) if compact and n >= 16 else divmod(n, 16)
    blocks, height = -(-pixels // block), min(block, pixels)
    chunks = -(-pixels // max(32, CHUNK_BYTES // (row.stored * planes) // 32 * 32))
    steps[name, "row"] += 1
    steps[name, "chunk"] += chunks
    steps[name, "group"] += chunks * groups
    if pixels >= block:
        steps[name, "block"] += blocks * groups
    else:
        _edges(steps, row, name, (16, height, 16), groups, packs=packs)
    if rest:
        stored = n if compact else 16
        _edges(steps, row, name, (rest, height, stored), blocks, packs=packs)
        if packs and compact:
            _stores_over(steps, row, name, pixels, planes)


def _edges(steps: Steps, row: PixelRow, name: str, edge: tuple[int, int, int], times: int, *, packs: bool) -> None:
    """`times` edges of (channels, pixels, bytes stored of a plane)."""
    channels, height, stored = edge
    planes = 1 if row.mover.endswith("bytes") else 2
    steps[name, "edge"] += times
    steps[name, "line of an edge"] += times * (channels if packs else height * planes)
    if packs:
        _part_steps(steps, name, "column", stored, times * height * planes)
    elif row.width < 4 or planes == 1:
        _part_steps(steps, name, "channel", height * planes, times * channels)
    elif height * 4 >= 16:
        _part_steps(steps, name, "channel", 16, times * channels)
        _part_steps(steps, name, "second half of a channel", height * 4 - 16, times * channels * (height > 4))
    else:
        _part_steps(steps, name, "channel", height * 4, times * channels)


def _stores_over(steps: Steps, row: PixelRow, name: str, pixels: int, planes: int) -> None:
    """Columns of narrow dense pixels that are stored wide: all but those at the end of a segment."""
    segment = min(row.segment, pixels)
    room = segment * planes * row.stored - 16
    whole = (room // row.stored + 1 if room >= 0 else 0) * (pixels // segment)
    _part_steps(steps, name, "column", row.stored, -whole)
    _part_steps(steps, name, "column", 16, whole)


def _staged(steps: Steps, row: PixelRow, pixels: int, linear_room: int, tiled_room: int) -> None:
    """Pieces of the row: values converted between the linear side and a stage, and rows between stage and tiles."""
    stage = row.stage
    assert stage is not None
    steps[row.mover, "row"] += 1
    segment = row.segment if stage.pixels < row.segment < pixels else pixels
    full, rest = divmod(segment, stage.pixels)
    segments = pixels // segment
    for times, count in ((full * segments, stage.pixels), (segments if rest else 0, rest)):
        if times:
            for number, repeats in ((0, stage.full), (1, 1)):
                if repeats:
                    _piece(steps, row, stage, number, count, times * repeats, tiled_room if times == 1 else FAR)


def _piece(
    steps: Steps, row: PixelRow, stage: ValueStage, number: int, pixels: int, times: int, tiled_room: int
) -> None:
    """`times` pieces of some pixels, of the full pieces of channels (0) or of the last (1)."""
    channels = stage.lanes[number]
    steps[row.mover, "piece"] += times
    runs, scalars = {"long": (pixels, channels), "planes": (channels, pixels)}.get(stage.shape, (1, pixels * channels))
    convert_steps(steps, stage.converter, runs, scalars, times)
    if stage.shape == "scattered":
        run = min(stage.run, channels)
        steps[row.mover, "scattered pixel"] += times * pixels
        copy_steps(steps, row.mover, WIDE * run, times * pixels * -(-channels // run))
    if stage.shape != "direct":
        lane: Steps = Counter()
        _call(lane, row.lanes[number], pixels, FAR, tiled_room)
        for key, count in lane.items():
            steps[key] += count * times


def convert_steps(steps: Steps, name: str, runs: int, scalars: int, times: int = 1) -> None:
    """`runs` runs of scalars through a converter."""
    steps[name, "call"] += times
    if scalars >= 16:
        steps[name, "run"] += times * runs
        steps[name, "16 scalars"] += times * runs * -(-scalars // 16)
    elif scalars >= 8:
        steps[name, "run of 8 to 15"] += times * runs
        steps[name, "8 scalars"] += times * runs * -(-scalars // 8)
    else:
        steps[name, "run of less than 8"] += times * runs


def _same(steps: Steps, row: PixelRow, pixels: int, _: int, __: int) -> None:
    copy_steps(steps, "same", pixels * row.tiled_step, 1)


Mover = Callable[[Steps, PixelRow, int, int, int], None]
MOVERS: dict[str, Mover] = {
    "same": _same,
    **dict.fromkeys(("pack_cross", "unpack_cross", "widen_cross"), _cross),
    "pack_bytes": _pack_bytes,
    "unpack_bytes": _unpack_bytes,
    "pack_words": _pack_words,
    **dict.fromkeys(("unpack_words", "widen_words"), _unpack_words),
    **dict.fromkeys(
        ("pack_byte_groups", "unpack_byte_groups", "pack_groups", "unpack_groups", "widen_groups"), _groups
    ),
    **dict.fromkeys(
        (f"{way}_transposed_{kind}" for way in ("pack", "unpack") for kind in ("bytes", "words")), _transposed
    ),
    **dict.fromkeys(("pack_streams", "unpack_streams"), _streams),
    **dict.fromkeys(("pack_scalars", "unpack_scalars"), _scalars),
    **dict.fromkeys(("pack_staged", "unpack_staged"), _staged),
}
"""What each row mover of `_movers.h` does."""
