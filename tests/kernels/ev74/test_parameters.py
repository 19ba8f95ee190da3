"""Packets of version 1.1: they carry the parameters of a conversion, and what no such packet may hold is refused."""

from dataclasses import replace

import numpy as np
import pytest

from tessbed.firmware_models.composition import Composition
from tessbed.kernels import OPERATIONS, ContractError
from tessbed.kernels.binary32 import word_of
from tessbed.kernels.disassembly import disassemble
from tessbed.kernels.ev74.codec import PacketFault, decode, pack_packet
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.rules import check_packet
from tessbed.kernels.ops import requests_of
from tests.oracle import Geometry
from tests.requests import linear_spec, request_of, tiled_spec

CASES = {
    "quanttess": Geometry(
        "quanttess", (2, 3), "int8", (-1, -1, 0, 1), (1, 1, 2, 3), True, to="fp32", fill=-5,
        scale_bits=0x437EFFFF, zero_point=-128, rounding="up",
    ),
    "detessdequant": Geometry(
        "detessdequant", (1, 2, 17), "int8", cblocked=(1, 2, 17), to="fp32", scale_bits=0x41015A1D, zero_point=-56,
    ),
    "casttess": Geometry("casttess", (2, 3), "bf16", (-1, -1, 0, 1), (1, 1, 2, 3), to="fp32"),
}  # fmt: skip


def values_of(name: str) -> dict[str, int]:
    """The fields of a case's packet."""
    geometry = CASES[name]
    return decode(encode_plan(requests_of(OPERATIONS[geometry.op]).check_inference(request_of(geometry))).raw)


def test_the_packet_carries_the_parameters() -> None:
    """Scale as its 32 bits, zero point and fill in two's complement, rounding by its code; else nothing."""
    names = ("version_minor", "scale", "zero_point", "rounding", "channel_fill")
    held = {name: tuple(values_of(name)[field] for field in names) for name in CASES}
    assert held == {
        "quanttess": (1, 0x437EFFFF, 0x80, 2, 0xFB),
        "detessdequant": (1, 0x41015A1D, 0xC8, 0, 0),
        "casttess": (1, 0, 0, 0, 0),
    }


@pytest.mark.parametrize(
    ("name", "change", "code", "field"),
    [
        ("quanttess", {"scale": 0}, "geometry", "scale"),
        ("quanttess", {"scale": 0x7F800000}, "range", "scale"),
        ("quanttess", {"scale": 0xC0000000}, "range", "scale"),
        ("quanttess", {"rounding": 4}, "range", "rounding"),
        ("detessdequant", {"rounding": 1}, "noncanonical", "rounding"),
        ("detessdequant", {"channel_fill": 1}, "noncanonical", "channel_fill"),
        ("casttess", {"scale": 0x3F800000}, "noncanonical", "scale"),
        ("casttess", {"zero_point": 1}, "noncanonical", "zero_point"),
        ("quanttess", {"version_minor": 0}, "noncanonical", "scale"),
        ("casttess", {"version_minor": 0}, "geometry", "version_minor"),
        ("quanttess", {"parameters_reserved": 1}, "noncanonical", "parameters_reserved"),
    ],
)
def test_what_means_no_value_is_refused(name: str, change: dict[str, int], code: str, field: str) -> None:
    """With the checksum repaired, each value that the operation does not take is refused at its field."""
    with pytest.raises(PacketFault) as caught:
        check_packet(pack_packet(values_of(name) | change).raw)
    assert (caught.value.code, caught.value.field) == (code, field)


def test_the_listing_shows_them() -> None:
    """Disassembly has a section for the parameters."""
    text = disassemble(pack_packet(values_of("quanttess")).raw)
    assert "parameters of the conversion, since version 1.1" in text
    assert "0x437effff" in text


@pytest.mark.parametrize("op", ["casttess", "quanttess", "detessdequant"])
def test_an_image_of_version_1_0_refuses_by_name(op: str) -> None:
    """What an image lacks is the operation, not only a version."""
    lack = Composition(packet_versions=[(1, 0)]).lacking(op, "int8" if op != "casttess" else "bf16", "compact", (1, 1))
    assert lack is not None
    assert lack[0] == "op"
    assert f"the job needs {op}, of packet version 1.1, the image holds tess, detess, detesscast" in lack[1]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"zero_point": 0}, "scale_required"),
        ({"scale": 1.0}, "zero_point_required"),
        *(({"scale": scale, "zero_point": 0}, "scale_range")
          for scale in (0, -1.0, float("nan"), float("inf"), 1e39, 1e-46, 3.4028236e38, True, "1", [1])),
        *(({"scale": 1.0, "zero_point": value}, "zero_point_range") for value in (-129, 128, 1.5, True, "0")),
        ({"scale": 1.0, "zero_point": 0, "rounding": "nearest"}, "rounding"),
        ({"scale": 1.0, "zero_point": 0, "rounding": 1}, "rounding"),
        ({"scale": 1.0, "zero_point": 0, "int8_channel_padding": 200}, "fill_range"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit_are_refused(params: dict[str, object], code: str) -> None:
    """A scale is positive and finite as binary32, a zero point is INT8, a rounding has a name."""
    requests, geometry = requests_of(OPERATIONS["quanttess"]), CASES["quanttess"]
    with pytest.raises(ContractError) as caught:
        requests.check_inference(
            requests.request(tiled_spec(geometry), linear_spec(geometry), requests.Params(**params))
        )
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("scale", "word"),
    [
        (254.9999849195601, 0x437EFFFF),
        (1e-45, 1),
        (7.1e-46, 1),
        (1.1754943508222874e-38, 0x00800000),
        (3.4028234663852886e38, 0x7F7FFFFF),
        (1 + 2**-24, 0x3F800000),
        (1 + 3 * 2**-24, 0x3F800002),
        (np.float32(0.1), 0x3DCCCCCD),
        (np.int8(3), 0x40400000),
    ],
)
def test_a_scale_is_its_nearest_binary32_word(scale: float, word: int) -> None:
    """To nearest, ties to even, subnormal words included; any kind of number is taken."""
    requests, geometry = requests_of(OPERATIONS["quanttess"]), CASES["quanttess"]
    plan = requests.check_inference(
        requests.request(tiled_spec(geometry), linear_spec(geometry), requests.Params(scale=scale, zero_point=0))
    )
    assert dict(plan.parameters)["scale"] == word


@pytest.mark.parametrize(("pad16", "fill"), [(True, 0x85), (False, 0)])
def test_padded_channels_hold_the_zero_point(pad16: bool, fill: int) -> None:
    """Where no padding is given: an encoded zero, in packets too; nothing where no channel is padded."""
    geometry = replace(CASES["quanttess"], pad16=pad16)
    requests = requests_of(OPERATIONS["quanttess"])
    plan = requests.check_inference(
        requests.request(tiled_spec(geometry), linear_spec(geometry), requests.Params(scale=2.0, zero_point=-123))
    )
    assert plan.channel_fill == decode(encode_plan(plan).raw)["channel_fill"] == fill


def test_words_of_numbers() -> None:
    """Every double becomes the binary32 word that is nearest to it, as numpy and the processor round."""
    rng = np.random.default_rng(3)
    doubles = rng.integers(0, 0x7FF << 52, 4000, np.int64).view(np.float64)
    near = (rng.integers(1, 0x7F800000, 4000).astype(np.uint32).view(np.float32).astype(np.float64)) * (1 + 2.0**-25)
    edges = np.array([0.0, 5e-324, 2.0**-150, 2.0**-149, 2.0**-126, 2.0**128 - 2.0**103, 2.0**128, np.inf, np.nan])
    with np.errstate(over="ignore", under="ignore"):
        for number in (*doubles, *near, *edges):
            assert word_of(float(number)) == int(np.abs(number).astype(np.float32).view(np.uint32)) & (
                0x7F800000 if np.isnan(number) else 0xFFFFFFFF
            )
    assert [word_of(number) for number in (-0.0, -1.0, -np.inf)] == [0, 0, 0]
