"""Parameters of operations: what they settle to, and the code and place of every refusal."""

from typing import Any

import pytest

from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.ops.parameters import PARAMETERS, DetessDequantParams, QuantTessParams, TessParams
from tessbed.kernels.tensor import ChannelStorage, MlaCBlocked, MlaTiled, TensorSpec

PADDED = TensorSpec((2, 3), DType.INT8, MlaTiled((-1, -1, 0, 1), (1, 1, 2, 3), ChannelStorage.PAD16))
COMPACT = TensorSpec((2, 3), DType.INT8, MlaTiled((-1, -1, 0, 1), (1, 1, 2, 3)))
BLOCKED = TensorSpec((1, 2, 3), DType.INT8, MlaCBlocked(1, 2, 3))
WORDS = TensorSpec((2, 3), DType.BF16, MlaTiled((-1, -1, 0, 1), (1, 1, 2, 3), ChannelStorage.PAD16))


def settled(name: str, params: Any, tiled: TensorSpec) -> tuple[int, dict[str, int]]:
    """The byte of padded channels, and the packet's fields."""
    fill, fields = PARAMETERS[name].settle(params, tiled)
    return fill, dict(fields)


@pytest.mark.parametrize(
    ("fill", "tiled", "byte"),
    [
        (-128, PADDED, 0x80),
        (-1, PADDED, 0xFF),
        (127, PADDED, 0x7F),
        (5, COMPACT, 0),
        (None, COMPACT, 0),
        (None, WORDS, 0),
    ],
)
def test_fill_of_tess(fill: int | None, tiled: TensorSpec, byte: int) -> None:
    """Two's complement where channels are padded, 0 where none are."""
    assert settled("tess", TessParams(fill), tiled) == (byte, {})


@pytest.mark.parametrize(
    ("fill", "tiled", "code"),
    [
        (None, PADDED, "fill_required"),
        (128, PADDED, "fill_range"),
        (-129, COMPACT, "fill_range"),
        (1.0, PADDED, "fill_range"),
        (True, PADDED, "fill_range"),
        (0, WORDS, "fill_rejected"),
    ],
)
def test_refused_fill(fill: Any, tiled: TensorSpec, code: str) -> None:
    """A fill that is no signed byte, that lacks, or that BF16 does not take."""
    with pytest.raises(ContractError) as caught:
        settled("tess", TessParams(fill), tiled)
    assert (caught.value.code, caught.value.where) == (code, "params.int8_channel_padding")


def test_quantization() -> None:
    """255.0 is 0x437F0000; the zero point is a byte, and fills what is padded unless another fill is given."""
    params = QuantTessParams(scale=255.0, zero_point=-128, rounding="up")
    assert settled("quanttess", params, PADDED) == (0x80, {"scale": 0x437F0000, "zero_point": 0x80, "rounding": 2})
    assert settled("quanttess", QuantTessParams(0.1, 3, int8_channel_padding=-7), PADDED)[0] == 0xF9
    assert settled("quanttess", params, BLOCKED)[0] == 0


def test_dequantization() -> None:
    """Scale and zero point; nothing is padded on the linear side."""
    assert settled("detessdequant", DetessDequantParams(0.1, -1), PADDED) == (
        0, {"scale": 0x3DCCCCCD, "zero_point": 0xFF},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "code", "where"),
    [
        ({"scale": None}, "scale_required", "params.scale"),
        ({"scale": 0.0}, "scale_range", "params.scale"),
        ({"scale": -1.0}, "scale_range", "params.scale"),
        ({"scale": 1e39}, "scale_range", "params.scale"),
        ({"scale": 1e-46}, "scale_range", "params.scale"),
        ({"scale": float("nan")}, "scale_range", "params.scale"),
        ({"scale": "1"}, "scale_range", "params.scale"),
        ({"scale": True}, "scale_range", "params.scale"),
        ({"zero_point": None}, "zero_point_required", "params.zero_point"),
        ({"zero_point": 128}, "zero_point_range", "params.zero_point"),
        ({"zero_point": 0.0}, "zero_point_range", "params.zero_point"),
        ({"rounding": "even"}, "rounding", "params.rounding"),
        ({"rounding": None}, "rounding", "params.rounding"),
    ],
)
def test_refused_quantization(changed: dict[str, Any], code: str, where: str) -> None:
    """Each with its own code and place, for both directions where both have it."""
    for name, params in (("quanttess", QuantTessParams), ("detessdequant", DetessDequantParams)):
        if name == "detessdequant" and "rounding" in changed:
            continue
        with pytest.raises(ContractError) as caught:
            settled(name, params(**({"scale": 1.0, "zero_point": 0} | changed)), COMPACT)
        assert (caught.value.code, caught.value.where) == (code, where)
