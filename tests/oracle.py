"""The literal oracle: says byte by byte what an operation must write. Slow, and shares nothing with the product.

Written straight from the documents, and deliberately without offset arithmetic on the tiled side. One walk goes over
the stored bytes in the order in which the documents list them:

- outer (unmapped) axes in row-major order (DetessCast document, "Contract");
- tiles in C, D, H, W order, with their actual boundary extents (Detess document, "Numerical behavior");
- pixels D, H, W inside a tile; per pixel the low-byte channel plane, then, for BF16, the high-byte plane;
  PadTo16 rounds the channels of each tile up to 16 on its own;
- or, for CBlocked, per block of 16 channels each pixel's 16 low bytes and 16 high bytes (DetessCast document,
  "Compiler channel-block input");
- then alignment bytes until the tile's bytes are a multiple of 16.

The position in the walk *is* the tiled offset. Each entry says which byte of which scalar is stored there, the scalar
being named by its byte address on the linear side; `value_oracle` says what becomes of its value. What this does not
do: check admission. Standard library only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tests.value_oracle import dequantized, narrowed, quantized

PREFILL = 0xC3
PADDING = -1
ALIGNMENT = -2

Stored = tuple[int, int]
Span = tuple[int, int, int]  # an axis's stride in bytes, and the first and end index of one tile along it


@dataclass(frozen=True)
class Geometry:
    """One operation in plain values.

    `axes` is (d, h, w, c), each a logical axis or -1, and `tile` the tile extents in that order; or `cblocked` is
    (h, w, c) tile extents over the trailing axes. `strides_bytes` is the linear side, dense row-major where None.
    `dtype` is the scalar type of the tiles, `to` that of the linear side where it is another. `fill` is the byte (-128
    to 127) of padded INT8 channels that Tess and QuantTess write. `scale_bits` is the binary32 word of a scale.
    """

    op: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[int, int, int, int] | None = None
    tile: tuple[int, int, int, int] | None = None
    pad16: bool = False
    cblocked: tuple[int, int, int] | None = None
    strides_bytes: tuple[int, ...] | None = None
    to: str | None = None
    fill: int = 0
    scale_bits: int = 0x3F800000
    zero_point: int = 0
    rounding: str = "nearest_even"


PACKING = ("tess", "casttess", "quanttess")


def packs(geometry: Geometry) -> bool:
    """Whether the tiled side is the output."""
    return geometry.op in PACKING


WIDTHS = {"int8": 1, "bf16": 2, "fp32": 4}


def linear_width(geometry: Geometry) -> int:
    """Bytes of one scalar on the linear side."""
    return WIDTHS[geometry.to or geometry.dtype]


def linear_strides(geometry: Geometry) -> tuple[int, ...]:
    """Byte strides of the linear side; dense row-major unless given."""
    if geometry.strides_bytes is not None:
        return geometry.strides_bytes
    strides, step = [], linear_width(geometry)
    for extent in reversed(geometry.shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def linear_bytes(geometry: Geometry) -> int:
    """Bytes up to the end of the farthest scalar, holes included."""
    if 0 in geometry.shape:
        return 0
    last = (extent - 1 for extent in geometry.shape)
    return sum(i * stride for i, stride in zip(last, linear_strides(geometry), strict=True)) + linear_width(geometry)


def tiled_bytes(geometry: Geometry) -> int:
    """Bytes of the tiled side, counted one by one."""
    return sum(1 for _ in walk(geometry))


def walk(geometry: Geometry) -> Iterator[Stored]:
    """Each stored byte in storage order: (linear address of its scalar, which byte of it), PADDING or ALIGNMENT."""
    if 0 in geometry.shape:
        return
    strides = linear_strides(geometry)
    mapped, tile = _mapping(geometry)
    outer = [axis for axis in range(len(geometry.shape)) if axis not in mapped]
    for index in product(*(range(geometry.shape[axis]) for axis in outer)):
        slice_address = sum(i * strides[axis] for i, axis in zip(index, outer, strict=True))
        yield from _walk_slice(geometry, slice_address, mapped, tile)


def _mapping(geometry: Geometry) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    if geometry.cblocked is not None:
        rank = len(geometry.shape)
        return (-1, rank - 3, rank - 2, rank - 1), (1, *geometry.cblocked)
    assert geometry.axes is not None
    assert geometry.tile is not None
    return geometry.axes, geometry.tile


def _walk_slice(geometry: Geometry, address: int, axes: tuple[int, ...], tile: tuple[int, ...]) -> Iterator[Stored]:
    d_tiles, h_tiles, w_tiles, c_tiles = (
        _tiles_along(geometry, axis, extent) for axis, extent in zip(axes, tile, strict=True)
    )
    for c in c_tiles:
        for d in d_tiles:
            for h in h_tiles:
                for w in w_tiles:
                    yield from _aligned(_walk_tile(geometry, _pixels(address, d, h, w), c))


def _tiles_along(geometry: Geometry, axis: int, tile: int) -> list[Span]:
    if axis == -1:
        return [(0, 0, 1)]
    extent, stride = geometry.shape[axis], linear_strides(geometry)[axis]
    return [(stride, first, min(first + tile, extent)) for first in range(0, extent, tile)]


def _pixels(address: int, d: Span, h: Span, w: Span) -> list[int]:
    """The linear addresses of a tile's pixels, D, H, W with W fastest."""
    return [
        address + i * d[0] + j * h[0] + k * w[0]
        for i in range(d[1], d[2])
        for j in range(h[1], h[2])
        for k in range(w[1], w[2])
    ]


def _walk_tile(geometry: Geometry, pixels: list[int], c: Span) -> Iterator[Stored]:
    stride, first, end = c
    channels = [channel * stride for channel in range(first, end)]
    if geometry.pad16 or geometry.cblocked is not None:
        while len(channels) % 16:
            channels.append(PADDING)
    if geometry.cblocked is None:
        yield from _walk_block(geometry, pixels, channels)
    else:
        for block in range(0, len(channels), 16):
            yield from _walk_block(geometry, pixels, channels[block : block + 16])


def _walk_block(geometry: Geometry, pixels: list[int], channels: list[int]) -> Iterator[Stored]:
    for pixel in pixels:
        for plane in range(WIDTHS[geometry.dtype]):
            for channel in channels:
                yield (PADDING, 0) if channel == PADDING else (pixel + channel, plane)


def _aligned(tile: Iterator[Stored]) -> Iterator[Stored]:
    stored = 0
    for entry in tile:
        yield entry
        stored += 1
    while stored % 16:
        yield ALIGNMENT, 0
        stored += 1


def input_bytes(geometry: Geometry) -> int:
    """Required span of the input."""
    return linear_bytes(geometry) if packs(geometry) else tiled_bytes(geometry)


def output_bytes(geometry: Geometry) -> int:
    """Required span of the output."""
    return tiled_bytes(geometry) if packs(geometry) else linear_bytes(geometry)


def expected_output(geometry: Geometry, source: bytes, prefill: int = PREFILL) -> bytes:
    """The output over its required span, given the input and the byte that the output held before."""
    return _tess(geometry, source) if packs(geometry) else _detess(geometry, source, prefill)


def _tess(geometry: Geometry, source: bytes) -> bytes:
    fill = geometry.fill & 0xFF if geometry.dtype == "int8" else 0
    constant, width = {PADDING: fill, ALIGNMENT: 0}, linear_width(geometry)
    return bytes(
        constant[address] if address in constant else tiled_scalar(geometry, source[address : address + width])[byte]
        for address, byte in walk(geometry)
    )


def tiled_scalar(geometry: Geometry, linear: bytes) -> bytes:
    """The bytes of a tiled scalar, low byte first, that a linear one becomes."""
    word = int.from_bytes(linear, "little")
    if geometry.op == "quanttess":
        code = quantized(word, geometry.scale_bits, geometry.zero_point, geometry.rounding)
        return bytes([code & 0xFF])
    return narrowed(word).to_bytes(2, "little") if len(linear) > WIDTHS[geometry.dtype] else linear


def _detess(geometry: Geometry, source: bytes, prefill: int) -> bytes:
    output = bytearray([prefill]) * linear_bytes(geometry)
    if geometry.op == "detessdequant":
        for value, (address, _) in zip(source, walk(geometry), strict=True):
            if address not in (PADDING, ALIGNMENT):
                code = value - 256 if value > 127 else value
                word = dequantized(code, geometry.scale_bits, geometry.zero_point)
                output[address : address + 4] = word.to_bytes(4, "little")
        return bytes(output)
    widened = linear_width(geometry) - WIDTHS[geometry.dtype]
    for value, (address, byte) in zip(source, walk(geometry), strict=True):
        if address in (PADDING, ALIGNMENT):
            continue
        output[address + widened + byte] = value
        for low in range(widened):
            output[address + low] = 0
    return bytes(output)


def golden_bytes(count: int) -> bytes:
    """The source pattern of the golden cases: byte k is the top byte of k * 2654435761 modulo 2**32."""
    return bytes(((k * 2654435761) % 2**32) >> 24 for k in range(count))
