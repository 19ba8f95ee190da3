"""Tessbed: simulates the tile re-layout kernels of an edge-AI chip, exact bytes and exact model ticks."""

TYPE_CHECKING = False  # typing takes longer to import than all else here

if TYPE_CHECKING:
    from tessbed.arrays import casttess, detess, detesscast, detessdequant, quanttess, tess
    from tessbed.interface.ev74 import Ev74
    from tessbed.interface.job_report import JobReport
    from tessbed.interface.kernel_check import KernelCheckError, KernelVerdict, check
    from tessbed.interface.run_report import RunReport
    from tessbed.interface.scenario import Scenario
    from tessbed.interface.study_report import StudyReport
    from tessbed.kernels.custom.declaration import kernel
    from tessbed.kernels.custom.ports import Port
    from tessbed.kernels.errors import BindingError, ContractError
    from tessbed.scenarios.format.diagnostics import ScenarioError
    from tessbed.sim.errors import SpecError
    from tessbed.sim.spec.device_spec import DeviceSpec

__version__ = "0.2.0"
__all__ = [
    "BindingError",
    "ContractError",
    "DeviceSpec",
    "Ev74",
    "JobReport",
    "KernelCheckError",
    "KernelVerdict",
    "Port",
    "RunReport",
    "Scenario",
    "ScenarioError",
    "SpecError",
    "StudyReport",
    "__version__",
    "casttess",
    "check",
    "detess",
    "detesscast",
    "detessdequant",
    "kernel",
    "quanttess",
    "tess",
]
_HOMES = {
    "BindingError": "tessbed.kernels.errors",
    "ContractError": "tessbed.kernels.errors",
    "DeviceSpec": "tessbed.sim.spec.device_spec",
    "Ev74": "tessbed.interface.ev74",
    "JobReport": "tessbed.interface.job_report",
    "KernelCheckError": "tessbed.interface.kernel_check",
    "KernelVerdict": "tessbed.interface.kernel_check",
    "Port": "tessbed.kernels.custom.ports",
    "RunReport": "tessbed.interface.run_report",
    "Scenario": "tessbed.interface.scenario",
    "ScenarioError": "tessbed.scenarios.format.diagnostics",
    "SpecError": "tessbed.sim.errors",
    "StudyReport": "tessbed.interface.study_report",
    "check": "tessbed.interface.kernel_check",
    "kernel": "tessbed.kernels.custom.declaration",
}
"""Where each exported name is that is no operation."""


def __getattr__(name: str) -> object:
    """An exported name on first use: asking for the version must not load numpy."""
    from importlib import import_module
    from importlib.util import find_spec

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name.startswith("_") or (name not in __all__ and find_spec(f"{__name__}.{name}")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("tessbed.arrays").function(name)


def __dir__() -> list[str]:
    return sorted(__all__)
