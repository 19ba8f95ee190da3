"""What the runtime's tests share: a small device, a small job, and the bytes it must give."""

import numpy as np
from simpy import Environment

from tessbed.firmware_models.image import Composition, FirmwareImage
from tessbed.kernels import Contiguous, DType, MlaTiled, TensorSpec
from tessbed.kernels.ops import detess
from tessbed.kernels.plan import Plan
from tessbed.runtime import Buffer, Runtime
from tessbed.sim.device.device import Device
from tessbed.sim.spec.device_spec import DeviceSpec, load_preset, override

# Detess of BF16 [2, 17] in tiles of 2 x 16, compact: the 80-byte example of the Detess document.
SHAPE = (2, 17)
TILED_BYTES, LINEAR_BYTES = 80, 68


def small_plan(shape: tuple[int, int] = SHAPE) -> Plan:
    """The plan of the example, or of another [W, C] shape in the same tiles."""
    tiled = TensorSpec(shape, DType.BF16, MlaTiled((-1, -1, 0, 1), (1, 1, 2, 16)))
    return detess.check_inference(detess.Request([tiled], [TensorSpec(shape, DType.BF16, Contiguous())]))


def tiled_input(seed: int = 0) -> np.ndarray:
    """80 bytes that differ by seed."""
    return ((np.arange(TILED_BYTES) * 7 + seed * 13) % 251).astype(np.uint8)


def linear_output(tiled: np.ndarray) -> np.ndarray:
    """The 68 bytes of the example: planes joined pixel by pixel, the second tile's 12 alignment bytes dropped."""
    out = np.zeros((2, 17, 2), np.uint8)
    for pixel in range(2):
        for plane in range(2):
            out[pixel, :16, plane] = tiled[pixel * 32 + plane * 16 :][:16]
            out[pixel, 16, plane] = tiled[64 + pixel * 2 + plane]
    return out.reshape(-1)


def small_spec(**changes: object) -> DeviceSpec:
    """The default device with one worker and short waits, and `changes`."""
    base = {"workers": 1, "cores": 1, "dispatch_ticks": 100, "completion_ticks": 50, "scratch_bytes": 81920}
    return override(load_preset("ev74-4core"), {**base, **changes})


def make_device(env: Environment | None = None, composition: Composition | None = None, **changes: object) -> Device:
    """A device with a firmware image, full without a composition."""
    image = FirmwareImage(composition) if composition else FirmwareImage.full()
    return Device(small_spec(**changes), image, env=env or Environment())


def filled(runtime: Runtime, seed: int = 0) -> tuple[Buffer, Buffer]:
    """An input buffer with the bytes of `seed`, and a dirty output buffer."""
    source = runtime.allocate(TILED_BYTES, name=f"source {seed}")
    source.host[:] = tiled_input(seed)
    return source, runtime.allocate(LINEAR_BYTES, name=f"target {seed}")
