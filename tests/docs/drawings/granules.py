"""Granules: which worker writes which bytes of one output, at two addresses, by what the firmware plans."""

import attrs

from tessbed.firmware_models import image
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.kernels import DType, MlaTiled, Plan, TensorSpec
from tessbed.kernels.ev74.codec import Packet, decode
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ops import tess
from tessbed.sim.spec.device_spec import DeviceSpec, load_preset
from tests.docs.drawings.canvas import EMPTY, FILLS, QUIET, Canvas

WORKERS = 4
INPUT = 0x8000_0000
ADDRESSES = (0x8000_1000, 0x8000_1030)
BYTE, ROW, LEFT, BAR = 1.6, 110, 20, 34


@attrs.frozen
class Written:
    """A stretch of the output that one drain of a worker writes."""

    worker: int
    address: int
    size: int

    def writes_part_of(self, first: int, granule: int) -> bool:
        """Whether it writes some bytes of the granule at this address, and not all."""
        covered = min(self.address + self.size, first + granule) - max(self.address, first)
        return 0 < covered < granule


def drawing() -> str:
    """A row for each address of the output, with the granules as frames around the bytes of workers."""
    packet = encode_plan(_plan())
    spec = load_preset("ev74-4core")
    granule = spec.write_granule_bytes
    size = decode(packet.raw)["reloc1_required_bytes"]
    about = (
        f"An output of {size} bytes is cut for {WORKERS} workers where write granules of {granule} bytes end, so the "
        "cuts depend on the address at which it lies."
    )
    canvas = Canvas(980, 60 + ROW * len(ADDRESSES), "Who writes what, at two addresses", about)
    canvas.words(
        LEFT, 30, f"{size} bytes of output, {WORKERS} workers, granules of {granule} bytes", size=13, bold=True
    )
    for row, address in enumerate(ADDRESSES):
        y, start = 60 + ROW * row, address // granule * granule
        canvas.words(LEFT, y + 6, f"output at {address:#x}", size=12)
        for first in range(start, address + size, granule):
            canvas.box(LEFT + BYTE * (first - start), y + 20, BYTE * granule, BAR, EMPTY)
        drains = written(packet, spec, address)
        for one in drains:
            words = f"worker {one.worker}"
            hint = f"{words}: bytes {one.address - address} to {one.address - address + one.size - 1} of the output"
            canvas.box(
                LEFT + BYTE * (one.address - start), y + 20, BYTE * one.size, BAR, FILLS[one.worker], words, hint
            )
        for first in range(start, address + size, granule):
            canvas.frame(LEFT + BYTE * (first - start), y + 20, BYTE * granule, BAR)
            note = "read first" if any(one.writes_part_of(first, granule) for one in drains) else "whole"
            canvas.words(LEFT + BYTE * (first - start + granule / 2), y + 72, note, anchor="middle", colour=QUIET)
    return canvas.svg()


def written(packet: Packet, spec: DeviceSpec, address: int) -> list[Written]:
    """What each drain writes of an output at this address, in the order of addresses."""
    geometry = PacketGeometry.of(decode(packet.bind(INPUT, address).raw))
    program = image.band_program(geometry, spec, WORKERS)
    found = [
        Written(worker, write.address + row * write.pitch, write.row_bytes)
        for worker in range(WORKERS)
        for band in program(worker)
        for write in band.chain
        for row in range(write.rows)
    ]
    return sorted(found, key=lambda one: one.address)


def _plan() -> Plan:
    linear = TensorSpec((9, 16, 3), DType.INT8)
    tiled = TensorSpec((9, 16, 3), DType.INT8, MlaTiled(axes=(-1, 0, 1, 2), tile_shape=(1, 3, 8, 3)))
    return tess.check_inference(tess.Request([linear], [tiled]))
