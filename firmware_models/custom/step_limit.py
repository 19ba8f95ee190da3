"""Step limit: how many steps a job of a kernel of one's own may take, on either engine, before it counts as endless."""

from tessbed.firmware_models.worker_loop import HasReads, wait_groups
from tessbed.kernels.custom.codec import KernelCall
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.user_code.user_code import UserCode

FREE_STEPS = 100_000
STEPS_OF_A_BYTE = 4
"""A byte by itself is gathered, computed, drained and waited for."""


def most_steps(nbytes: int) -> int:
    """Steps that a job with so many bytes of buffers may take: some for each byte, a million at most."""
    return min(UserCode().most_steps, FREE_STEPS + STEPS_OF_A_BYTE * nbytes)


def most_steps_of(call: KernelCall) -> int:
    """Steps that the workers of a call may take together."""
    return most_steps(sum(port.required_bytes for port in call.ports))


def band_steps(band: HasReads, spec: DeviceSpec) -> int:
    """Steps of a band: each wait group, then computing and draining as one."""
    return sum(1 for _ in wait_groups(band, spec)) + 1


def endless_text(most: int) -> str:
    """What is said of a job that has taken more."""
    return f"the job has taken {most:,} steps and has not ended"
