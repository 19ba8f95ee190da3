"""Fault origin: whether an exception comes from the firmware under test or from the tool that runs it.

Firmware can fail in any way, so its exceptions are findings. Those of the stage, of the search and of the comparison
are not: they say nothing about the firmware. What distinguishes them is who raised: the innermost frame that is no
library's. The device model's own errors are the firmware's trouble wherever they are raised, as it asked for them.
"""

import sys
from types import TracebackType

from tessbed.sim.errors import DeviceFault, HazardError, MemoryFault

DEVICE_ERRORS = (DeviceFault, HazardError, MemoryFault)
HARNESS = ("tessbed.scenarios.", "tessbed.sim.")
LIBRARIES = frozenset({"", "numpy", "attr", "simpy"})


def is_firmware_fault(error: Exception) -> bool:
    """True where the firmware is at fault; it never is where the machine has no memory left."""
    if isinstance(error, MemoryError):
        return False
    return isinstance(error, DEVICE_ERRORS) or not _raiser(error.__traceback__).startswith(HARNESS)


def _raiser(trace: TracebackType | None) -> str:
    """The module of the innermost frame that is no library's; "" where there is none."""
    raiser = ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in LIBRARIES | sys.stdlib_module_names:
            raiser = module
        trace = trace.tb_next
    return raiser
