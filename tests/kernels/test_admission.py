"""Admission: every rule of the documents, each refusal with its code, its place, and what was wanted."""

from collections.abc import Callable
from typing import Any

import pytest

from tessbed.kernels import (
    ChannelStorage,
    Contiguous,
    ContractError,
    DType,
    MlaCBlocked,
    MlaTiled,
    Strided,
    TensorSpec,
)
from tessbed.kernels.ops import detess, detesscast, tess
from tessbed.kernels.plan import LIMIT_BYTES

OPS = {"tess": tess, "detess": detess, "detesscast": detesscast}
PAD16 = ChannelStorage.PAD16
DENSE = Contiguous()
HWC = MlaTiled((-1, 0, 1, 2), (1, 2, 2, 16))
SHAPE = (4, 4, 16)


def spec(shape: Any = SHAPE, dtype: Any = DType.BF16, layout: Any = DENSE) -> TensorSpec:
    """A port, dense BF16 [4, 4, 16] unless said otherwise."""
    return TensorSpec(shape, dtype, layout)


def tiled(*axes: int, tile: Any = (1, 2, 2, 16), storage: Any = ChannelStorage.COMPACT) -> TensorSpec:
    """A tiled port with this mapping of D, H, W, C."""
    return spec(layout=MlaTiled(axes, tile, storage))


def strided(*strides: Any, shape: Any = SHAPE, dtype: Any = DType.BF16) -> TensorSpec:
    """A strided port."""
    return spec(shape, dtype, Strided(strides))


def request(op: str, linear: TensorSpec | None = None, tiles: TensorSpec | None = None, *params: Any) -> Any:
    """A request of `op` with its ports in order; the other port is the usual one of the same shape and dtype."""
    linear = linear or spec((tiles or spec()).shape, (tiles or spec()).dtype)
    tiles = tiles or spec(linear.shape, linear.dtype if op != "detesscast" else DType.BF16, HWC)
    ports = ([linear], [tiles]) if op == "tess" else ([tiles], [linear])
    return OPS[op].Request(*ports, *params)


def check(op: str, made: Any) -> Any:
    """Admission of `made`."""
    return OPS[op].check_inference(made)


INT8, BF16, FP32 = DType.INT8, DType.BF16, DType.FP32
T, D, DC = tess.Request, detess.Request, detesscast.Request
TILES, LINEAR = spec(layout=HWC), spec()
LINEAR_PORT = {"tess": "inputs[0]", "detess": "outputs[0]", "detesscast": "outputs[0]"}
TILED_PORT = {"tess": "outputs[0]", "detess": "inputs[0]", "detesscast": "inputs[0]"}

BY_OP: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "no input": (lambda op: OPS[op].Request([], [LINEAR]), "port_count", "inputs"),
    "two inputs": (lambda op: OPS[op].Request([LINEAR, LINEAR], [TILES]), "port_count", "inputs"),
    "no output": (lambda op: OPS[op].Request([LINEAR], []), "port_count", "outputs"),
    "two outputs": (lambda op: OPS[op].Request([LINEAR], [TILES, TILES]), "port_count", "outputs"),
    "a port of another type": (lambda op: OPS[op].Request(["x"], [TILES]), "port_type", "inputs[0]"),
    "a scalar": (lambda op: request(op, spec(()), spec((), layout=HWC)), "rank_zero", "inputs[0].shape"),
    "rank 7": (
        lambda op: request(op, spec((1,) * 7), spec((1,) * 7, layout=HWC)),
        "rank_too_large",
        "inputs[0].shape",
    ),
    "a negative extent": (
        lambda op: request(op, spec((4, -1, 16)), spec((4, -1, 16), layout=HWC)),
        "extent_invalid",
        "inputs[0].shape[1]",
    ),
    "a fractional extent": (
        lambda op: request(op, spec((4, 1.5, 16)), spec((4, 1.5, 16), layout=HWC)),
        "extent_invalid",
        "inputs[0].shape[1]",
    ),
    "a boolean extent": (
        lambda op: request(op, spec((4, True, 16)), spec((4, True, 16), layout=HWC)),
        "extent_invalid",
        "inputs[0].shape[1]",
    ),
    "unequal shapes": (
        lambda op: request(op, spec((4, 4, 15)), TILES),
        "shape_mismatch",
        "outputs[0].shape",
    ),
    "unequal ranks": (lambda op: request(op, spec((1, 4, 4, 16)), TILES), "shape_mismatch", "outputs[0].shape"),
    "a linear tiled port": (lambda op: request(op, LINEAR, LINEAR), "layout_unsupported", "{tiled}.layout"),
    "a tiled linear port": (lambda op: request(op, TILES, TILES), "layout_unsupported", "{linear}.layout"),
    "no channel axis": (
        lambda op: request(op, None, tiled(-1, 0, 1, -1)),
        "channel_axis_missing",
        "{tiled}.layout.axes.c",
    ),
    "an axis twice": (lambda op: request(op, None, tiled(-1, 2, 1, 2)), "axis_duplicate", "{tiled}.layout.axes.c"),
    "an axis beyond the rank": (
        lambda op: request(op, None, tiled(-1, 0, 3, 2)),
        "axis_out_of_range",
        "{tiled}.layout.axes.w",
    ),
    "an axis of -2": (lambda op: request(op, None, tiled(-2, 0, 1, 2)), "axis_out_of_range", "{tiled}.layout.axes.d"),
    "a fractional axis": (
        lambda op: request(op, None, tiled(-1, 0.5, 1, 2)),  # pyright: ignore[reportArgumentType]
        "axis_out_of_range",
        "{tiled}.layout.axes.h",
    ),
    "three axes": (lambda op: request(op, None, tiled(0, 1, 2)), "axes_count", "{tiled}.layout.axes"),
    "three tile extents": (
        lambda op: request(op, None, tiled(-1, 0, 1, 2, tile=(2, 2, 16))),
        "tile_shape_count",
        "{tiled}.layout.tile_shape",
    ),
    "a tile extent of 0": (
        lambda op: request(op, None, tiled(-1, 0, 1, 2, tile=(1, 2, 0, 16))),
        "tile_extent",
        "{tiled}.layout.tile_shape.w",
    ),
    "a negative tile extent": (
        lambda op: request(op, None, tiled(-1, 0, 1, 2, tile=(1, -2, 2, 16))),
        "tile_extent",
        "{tiled}.layout.tile_shape.h",
    ),
    "an omitted axis with a tile": (
        lambda op: request(op, None, tiled(-1, 0, 1, 2, tile=(2, 2, 2, 16))),
        "omitted_axis_tile",
        "{tiled}.layout.tile_shape.d",
    ),
    "a storage of another type": (
        lambda op: request(op, None, tiled(-1, 0, 1, 2, storage="pad16")),
        "channel_storage",
        "{tiled}.layout.channel_storage",
    ),
    "two strides": (lambda op: request(op, strided(64, 2), TILES), "stride_count", "{linear}.layout.strides"),
    "a negative stride": (
        lambda op: request(op, strided(-128, 32, 2), TILES),
        "stride_negative",
        "{linear}.layout.strides[0]",
    ),
    "a stride in text": (
        lambda op: request(op, strided(128, "32", 2), TILES),
        "stride_negative",
        "{linear}.layout.strides[1]",
    ),
    "an odd stride": (
        lambda op: request(op, strided(129, 32, 2), TILES),
        "stride_unaligned",
        "{linear}.layout.strides[0]",
    ),
    "a broadcast axis": (lambda op: request(op, strided(0, 32, 2), TILES), "stride_zero", "{linear}.layout.strides[0]"),
    "a broadcast channel": (
        lambda op: request(op, strided(128, 32, 0), TILES),
        "stride_zero",
        "{linear}.layout.strides[2]",
    ),
    "rows that overlap": (
        lambda op: request(op, strided(126, 32, 2), TILES),
        "stride_overlap",
        "{linear}.layout.strides[0]",
    ),
    "pixels that overlap": (
        lambda op: request(op, strided(128, 30, 2), TILES),
        "stride_overlap",
        "{linear}.layout.strides[1]",
    ),
    "two equal strides": (
        lambda op: request(op, strided(32, 32, 2), TILES),
        "stride_overlap",
        "{linear}.layout.strides[1]",
    ),
    "injective, but not provably": (
        lambda op: request(
            op, strided(4, 6, shape=(3, 2)), spec((3, 2), layout=MlaTiled((-1, -1, 0, 1), (1, 1, 2, 2)))
        ),
        "stride_overlap",
        "{linear}.layout.strides[1]",
    ),
    "a linear span beyond 63 bits": (
        lambda op: request(op, strided(2**62, 32, 2), TILES),
        "storage_overflow",
        "{linear}",
    ),
    "a tiled span beyond 63 bits": (
        lambda op: request(op, None, spec((2**30, 2**30, 1), layout=MlaTiled((-1, 0, 1, 2), (1, 1, 1, 1)))),
        "storage_overflow",
        "{tiled}",
    ),
    "params of another operation": (
        lambda op: request(op, None, TILES, {"fill": 3}),
        "params_type",
        "params",
    ),
}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("make", "code", "where"), BY_OP.values(), ids=BY_OP.keys())
def test_refused_by_every_operation(make: Callable[[str], Any], code: str, where: str, op: str) -> None:
    """A request that no operation admits is refused with this code at this field."""
    refused(op, make(op), code, where.format(linear=LINEAR_PORT[op], tiled=TILED_PORT[op]))


def refused(op: str, made: Any, code: str, where: str) -> ContractError:
    """The refusal of `made`: its code, its place, and a text that says what was got."""
    with pytest.raises(ContractError, match="got ") as caught:
        check(op, made)
    assert (caught.value.code, caught.value.where) == (code, where)
    assert str(caught.value) == f"{where}: {caught.value.text} [{code}]"
    return caught.value


BLOCKS = spec(layout=MlaCBlocked(2, 2, 16))
PADDED = spec(dtype=INT8, layout=MlaTiled((-1, 0, 1, 2), (1, 2, 2, 16), PAD16))
BYTES, COMPACT_BYTES = spec(dtype=INT8), spec(dtype=INT8, layout=HWC)

BY_DTYPE = [
    *(("tess", dtype, "dtype_unsupported") for dtype in DType if dtype not in (INT8, BF16)),
    *(("detess", dtype, "dtype_unsupported") for dtype in DType if dtype not in (INT8, BF16)),
    *(("detesscast", dtype, "dtype_unsupported") for dtype in (DType.FP16, DType.FP32, DType.FP64)),
    *(("detesscast", dtype, "quantized") for dtype in (INT8, DType.UINT8, DType.INT16, DType.INT32)),
]


@pytest.mark.parametrize(("op", "dtype", "code"), BY_DTYPE, ids=lambda value: getattr(value, "value", value))
def test_input_dtype(op: str, dtype: DType, code: str) -> None:
    """A dtype that the operation does not take is refused by name; quantized tiles belong to DetessDequant."""
    linear, tiles = spec(dtype=dtype), spec(dtype=dtype, layout=HWC)
    made = T([linear], [tiles]) if op == "tess" else OPS[op].Request([tiles], [linear])
    error = refused(op, made, code, "inputs[0].dtype")
    assert dtype.value in error.text
    assert ("DetessDequant" in error.text) == (code == "quantized")


OTHERS: dict[str, tuple[str, Any, str, str]] = {
    "tess changes the dtype": ("tess", T([BYTES], [TILES]), "dtype_mismatch", "outputs[0].dtype"),
    "detess changes the dtype": ("detess", D([TILES], [BYTES]), "dtype_mismatch", "outputs[0].dtype"),
    "detess to fp32": ("detess", D([TILES], [spec(dtype=FP32)]), "dtype_unsupported", "outputs[0].dtype"),
    "detesscast to fp16": (
        "detesscast",
        DC([TILES], [spec(dtype=DType.FP16)]),
        "dtype_unsupported",
        "outputs[0].dtype",
    ),
    "detesscast to int8": ("detesscast", DC([TILES], [BYTES]), "quantized", "outputs[0].dtype"),
    "a dtype in text": ("tess", T([spec(dtype="bf16")], [TILES]), "dtype_unsupported", "inputs[0].dtype"),
    "tess into blocks": ("tess", T([LINEAR], [BLOCKS]), "cblocked_unsupported", "outputs[0].layout"),
    "detess of blocks": ("detess", D([BLOCKS], [LINEAR]), "cblocked_unsupported", "inputs[0].layout"),
    "blocks of rank 2": (
        "detesscast",
        DC([spec((4, 16), layout=MlaCBlocked(1, 2, 16))], [spec((4, 16))]),
        "cblocked_rank",
        "inputs[0].layout",
    ),
    "blocks without extent": (
        "detesscast",
        DC([spec(layout=MlaCBlocked(2, 0, 16))], [LINEAR]),
        "tile_extent",
        "inputs[0].layout.tile_w",
    ),
    "fp32 strides in halves": (
        "detesscast",
        DC([TILES], [strided(514, 64, 4, dtype=FP32)]),
        "stride_unaligned",
        "outputs[0].layout.strides[0]",
    ),
    "detesscast: stride 0 of an empty axis": (
        "detesscast",
        DC([spec((0, 4, 16), layout=HWC)], [strided(0, 32, 2, shape=(0, 4, 16))]),
        "stride_zero",
        "outputs[0].layout.strides[0]",
    ),
    "int8 padding without fill": ("tess", T([BYTES], [PADDED]), "fill_required", "params.int8_channel_padding"),
    "bf16 with fill": ("tess", T([LINEAR], [TILES], tess.Params(0)), "fill_rejected", "params.int8_channel_padding"),
    "fill of 128": ("tess", T([BYTES], [PADDED], tess.Params(128)), "fill_range", "params.int8_channel_padding"),
    "fill of -129": ("tess", T([BYTES], [PADDED], tess.Params(-129)), "fill_range", "params.int8_channel_padding"),
    "a boolean fill": ("tess", T([BYTES], [PADDED], tess.Params(True)), "fill_range", "params.int8_channel_padding"),
    "detess with tess's params": ("detess", D([TILES], [LINEAR], tess.Params()), "params_type", "params"),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize(("op", "made", "code", "where"), OTHERS.values(), ids=OTHERS.keys())
def test_refused(op: str, made: Any, code: str, where: str) -> None:
    """A request against one operation's own rules is refused with this code at this field."""
    refused(op, made, code, where)


ADMITTED: dict[str, tuple[str, Any, int, int]] = {
    "rank 1": ("tess", T([spec((5,))], [spec((5,), layout=MlaTiled((-1, -1, -1, 0), (1, 1, 1, 5)))]), 10, 16),
    "rank 6": (
        "tess",
        T([spec((2,) * 6)], [spec((2,) * 6, layout=MlaTiled((2, 3, 4, 5), (2, 2, 2, 2)))]),
        128,
        128,
    ),
    "two outer axes": (
        "tess",
        T([spec((2, 3, 5))], [spec((2, 3, 5), layout=MlaTiled((-1, -1, -1, 2), (1, 1, 1, 5)))]),
        60,
        96,
    ),
    "an empty tensor": ("detess", D([spec((0, 4, 16), layout=HWC)], [spec((0, 4, 16))]), 0, 0),
    "an empty outer axis": ("detess", D([spec((4, 4, 0), layout=HWC)], [spec((4, 4, 0))]), 0, 0),
    "a tile larger than its axis is clipped": (
        "tess",
        T([LINEAR], [tiled(-1, 0, 1, 2, tile=(1, 99, 99, 99))]),
        512,
        512,
    ),
    "the 80 bytes of [2, 17]": (
        "detess",
        D([spec((2, 17), layout=MlaTiled((-1, -1, 0, 1), (1, 1, 2, 16)))], [spec((2, 17))]),
        80,
        68,
    ),
    "the 128 bytes of [2, 17]": (
        "detess",
        D([spec((2, 17), layout=MlaTiled((-1, -1, 0, 1), (1, 1, 2, 16), PAD16))], [spec((2, 17))]),
        128,
        68,
    ),
    "the 28 bytes of a pitched [2, 3]": (
        "detesscast",
        DC(
            [spec((2, 3), layout=MlaTiled((-1, -1, 0, 1), (1, 1, 2, 3)))],
            [strided(16, 4, shape=(2, 3), dtype=FP32)],
        ),
        16,
        28,
    ),
    "blocks of rank 6": (
        "detesscast",
        DC([spec((2, 1, 2, 3, 3, 17), layout=MlaCBlocked(2, 2, 17))], [spec((2, 1, 2, 3, 3, 17), FP32)]),
        4 * 9 * 64,
        4 * 9 * 17 * 4,
    ),
    "permuted strides": ("tess", T([strided(2, 8, 32)], [TILES]), 512, 512),
    "zero stride of a unit axis": (
        "tess",
        T([strided(0, 32, 2, shape=(1, 4, 16))], [spec((1, 4, 16), layout=HWC)]),
        128,
        128,
    ),
    "zero stride of an empty axis": (
        "tess",
        T([strided(0, 32, 2, shape=(0, 4, 16))], [spec((0, 4, 16), layout=HWC)]),
        0,
        0,
    ),
    "a fill that is not used": ("tess", T([BYTES], [COMPACT_BYTES], tess.Params(5)), 256, 256),
    "the largest fill": ("tess", T([BYTES], [PADDED], tess.Params(127)), 256, 256),
    "the smallest fill": ("tess", T([BYTES], [PADDED], tess.Params(-128)), 256, 256),
    "a span of 63 bits": (
        "tess",
        T([strided(LIMIT_BYTES - 3, 32, 2, shape=(2, 1, 1))], [spec((2, 1, 1), layout=HWC)]),
        LIMIT_BYTES - 1,
        16,
    ),
}


@pytest.mark.parametrize(("op", "made", "input_bytes", "output_bytes"), ADMITTED.values(), ids=ADMITTED.keys())
def test_admitted(op: str, made: Any, input_bytes: int, output_bytes: int) -> None:
    """The request is admitted, and its plan asks for these bytes and alignments."""
    plan = check(op, made)
    assert (plan.input.required_bytes, plan.output.required_bytes) == (input_bytes, output_bytes)
    linear, tiles = (plan.input, plan.output) if op == "tess" else (plan.output, plan.input)
    assert tiles.alignment_bytes == 16
    assert linear.alignment_bytes == plan.linear_dtype.width


NO_SEQUENCES: list[tuple[str, Callable[[Any], object]]] = [
    ("shape", spec),
    ("strides", Strided),
    ("axes", lambda value: MlaTiled(value, (1, 2, 2, 16))),
    ("tile_shape", lambda value: MlaTiled((-1, 0, 1, 2), value)),
    ("inputs", lambda value: D(value, [LINEAR])),
    ("outputs", lambda value: D([TILES], value)),
]


@pytest.mark.parametrize("value", [None, 5, {1, 2}, {1: 2}], ids=repr)
@pytest.mark.parametrize(("where", "make"), NO_SEQUENCES, ids=[where for where, _ in NO_SEQUENCES])
def test_no_sequence(where: str, make: Callable[[Any], object], value: object) -> None:
    """What has no entries, or no order that the caller chose, is refused where it is first given."""
    with pytest.raises(ContractError, match="wanted a sequence") as caught:
        make(value)
    assert (caught.value.code, caught.value.where) == ("not_a_sequence", where)


def test_request_owns_its_lists() -> None:
    """Changing the caller's lists after the request, or after admission, changes no plan."""
    shape, strides, axes, tile = [4, 4, 16], [128, 32, 2], [-1, 0, 1, 2], [1, 2, 2, 16]
    inputs = [TensorSpec(shape, BF16, Strided(strides))]
    outputs = [TensorSpec(shape, BF16, MlaTiled(axes, tile))]
    made = tess.Request(inputs, outputs)
    plan = tess.check_inference(made)
    for values in (shape, strides, axes, tile):
        values[0] = 99
    inputs.clear()
    outputs.clear()
    assert tess.check_inference(made) == plan
    assert plan.shape == (4, 4, 16)


def test_order_of_checks() -> None:
    """A request with several errors is refused for the first of ports, shapes, dtypes, layouts, strides."""
    wrong = spec((4, 4, 15), DType.FP16, Strided((1,)))
    refused("tess", T([wrong], [LINEAR]), "shape_mismatch", "outputs[0].shape")
    refused("tess", T([spec(dtype=DType.FP16, layout=Strided((1,)))], [LINEAR]), "dtype_unsupported", "inputs[0].dtype")
    refused("tess", T([strided(1)], [LINEAR]), "layout_unsupported", "outputs[0].layout")
    refused("tess", T([strided(1)], [TILES]), "stride_count", "inputs[0].layout.strides")
