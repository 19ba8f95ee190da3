"""Cross-field rules: each contradiction is refused with its code and field, though the checksum is right."""

import pytest

from tessbed.kernels.ev74.codec import PacketFault, decode
from tessbed.kernels.ev74.rules import check_packet, check_rules
from tests.kernels.ev74.cases import BOUND, GOLDEN, golden_packets, repacked

PACKETS = golden_packets()
BOUND_NAME = f"{BOUND[0]}-bound"

# packet, fields changed, fault code, field at fault
FAULTS = {
    "int8 cast": ("cast-2x3-pitched", {"tiled_dtype": 1}, "geometry", "linear_dtype"),
    "tess that converts": ("tess-2x17-pad16", {"linear_dtype": 4}, "geometry", "linear_dtype"),
    "detess of mixed types": ("detess-2x3", {"linear_dtype": 1}, "geometry", "linear_dtype"),
    "tess to channel blocks": ("tess-2x17-pad16", {"tile_format": 4}, "geometry", "tile_format"),
    "detess of channel blocks": ("detess-2x3", {"tile_format": 4}, "geometry", "tile_format"),
    "channel blocks with depth": ("cast-head", {"d_extent": 2}, "geometry", "d_extent"),
    "seven axes": ("tess-depth-batch", {"outer_rank": 3, "outer2_extent": 1}, "geometry", "outer_rank"),
    "used outer axis of 0": ("detess-2x3", {"outer_rank": 1}, "geometry", "outer0_extent"),
    "extent of an unused outer axis": ("cast-outer", {"outer2_extent": 1}, "noncanonical", "outer2_extent"),
    "stride of an unused outer axis": ("cast-outer", {"outer4_stride": 2}, "noncanonical", "outer4_stride"),
    "outer axis dropped": ("cast-outer", {"outer_rank": 1}, "noncanonical", "outer1_extent"),
    "stride of a single outer element": ("cast-outer", {"outer0_stride": 2160}, "noncanonical", "outer0_stride"),
    "tile beyond its axis": ("detess-2x3", {"w_tile": 3}, "geometry", "w_tile"),
    "tile on an omitted axis": ("detess-2x3", {"d_tile": 2}, "geometry", "d_tile"),
    "fill for bf16": ("tess-2x17-pad16", {"channel_fill": 1}, "noncanonical", "channel_fill"),
    "fill for detess": ("detess-planar", {"channel_fill": 1}, "noncanonical", "channel_fill"),
    "fill for compact": ("tess-depth-batch", {"channel_fill": 1}, "noncanonical", "channel_fill"),
    "stride of a single element": ("detess-2x3", {"h_stride": 12}, "noncanonical", "h_stride"),
    "stride off the scalar": ("cast-2x3-pitched", {"w_stride": 18}, "geometry", "w_stride"),
    "broadcast": ("detess-2x3", {"w_stride": 0}, "geometry", "w_stride"),
    "overlapping pixels": ("detess-2x3", {"w_stride": 4}, "geometry", "w_stride"),
    "equal strides": ("cast-2x3-pitched", {"w_stride": 4}, "geometry", "w_stride"),
    "fewer input bytes": ("detess-large", {"reloc0_required_bytes": 209715199}, "geometry", "reloc0_required_bytes"),
    "more output bytes": ("detess-2x3", {"reloc1_required_bytes": 13}, "geometry", "reloc1_required_bytes"),
    "larger extent": ("detess-large", {"h_extent": 1281}, "geometry", "reloc0_required_bytes"),
    "wider tile with more alignment": ("tess-depth-batch", {"h_tile": 1}, "geometry", "reloc1_required_bytes"),
    "other tile padding": (
        "tess-int8-fill",
        {"tile_format": 1, "channel_fill": 0},
        "geometry",
        "reloc1_required_bytes",
    ),
    "lax tiled alignment": ("detess-2x3", {"reloc0_alignment": 2}, "geometry", "reloc0_alignment"),
    "strict linear alignment": ("detess-2x3", {"reloc1_alignment": 16}, "geometry", "reloc1_alignment"),
    "only the output bound": (BOUND_NAME, {"input_address": 0}, "unbound", "input_address"),
    "only the input bound": (BOUND_NAME, {"output_address": 0}, "unbound", "output_address"),
    "misaligned tiled address": (BOUND_NAME, {"input_address": 0x8000_0008}, "alignment", "input_address"),
    "misaligned linear address": (BOUND_NAME, {"output_address": 0x8000_1002}, "alignment", "output_address"),
    "address near 2**64": (BOUND_NAME, {"output_address": 2**64 - 16}, "geometry", "output_address"),
    "output into the input": (BOUND_NAME, {"output_address": 0x8000_000C}, "overlap", "output_address"),
    "input into the output": (BOUND_NAME, {"input_address": 0x8000_1010}, "overlap", "output_address"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_contradictions_are_refused(case: str) -> None:
    """A packet whose fields contradict each other is refused with the documented code, at the field at fault."""
    name, changes, code, field = FAULTS[case]
    with pytest.raises(PacketFault) as caught:
        check_packet(repacked(PACKETS[name], **changes))
    assert (caught.value.code, caught.value.field) == (code, field)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (BOUND_NAME, {"output_address": 0x8000_0010}),
        (BOUND_NAME, {"input_address": 0x8000_1020}),
        (BOUND_NAME, {"output_address": 2**64 - 28}),
        ("tess-int8-fill", {"channel_fill": 0}),
        ("tess-int8-fill", {"channel_fill": 0x7F}),
        ("detess-2x3", {"linear_dtype": 2}),
    ],
    ids=["output right behind", "input right behind", "up to 2**64", "fill 0", "fill 127", "as it was"],
)
def test_the_refusals_are_tight(name: str, changes: dict[str, int]) -> None:
    """One step inside each bound is accepted."""
    assert check_packet(repacked(PACKETS[name], **changes))


def test_a_template_is_judged_without_its_addresses() -> None:
    """The rules accept an unbound packet: only binding makes the addresses matter."""
    for name in GOLDEN:
        check_rules(decode(PACKETS[name]))
