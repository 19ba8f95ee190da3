"""Stages: how rows of converted values are cut into pieces, chosen as `_execute.h` chooses it (theory: `_stage.h`)."""

import attrs

STAGE_SCALARS = 2048
LONG_CHANNELS = 16
WIDE = 4
"""Bytes of a linear scalar."""


@attrs.frozen
class ValueStage:
    """`lanes` are the channels of each full piece of a pixel and of its last; `pixels` those of a piece of the row."""

    converter: str
    shape: str
    width: int
    full: int
    lanes: tuple[int, int]
    pixels: int
    run: int


def stage_of(
    converter: str, channels: int, channel_stride: int, pixel_step: int, width: int, segment: int
) -> ValueStage:
    """The stage of rows of pixels with `channels` channels; strides are those of the linear side, in bytes."""
    contiguous = channels == 1 or channel_stride == WIDE
    shape = _shape(channels, pixel_step, contiguous=contiguous)
    most = STAGE_SCALARS // 16 if shape == "planes" else STAGE_SCALARS
    full, before = 0, channels
    if channels > most:
        shape = "long" if shape == "dense" else shape
        full = (channels - 1) // most
        channels -= full * most
    pixels = STAGE_SCALARS // (most if full else channels)
    if pixels > 16:
        pixels -= pixels % 16
    if pixels >= segment:
        pixels = segment if full else pixels - pixels % segment
    lanes = most if full else 0, channels
    return ValueStage(converter, shape, width, full, lanes, pixels, before if contiguous else 1)


def _shape(channels: int, pixel_step: int, *, contiguous: bool) -> str:
    if contiguous and pixel_step == WIDE * channels:
        return "dense"
    if contiguous and channels >= LONG_CHANNELS:
        return "long"
    return "planes" if pixel_step == WIDE else "scattered"
