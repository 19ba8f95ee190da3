"""Kernel check: `tessbed.check`, the command of that name for Python and for tests."""

from typing import Any

import attrs

from tessbed.interface.argument_values import checked_integer
from tessbed.interface.device_argument import DEFAULT, device_of
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.errors import ContractError, shown

MOST_SEED = 2**64 - 1


@attrs.frozen
class KernelVerdict:
    """What a check found. `verdict` is "ok", "unjudged", "wrong", "fault", "hazard" or "impossible".

    `document` is what the command prints with --json, `print(report)` shows what the command shows. `troubles` has each
    finding with the source lines of both accesses, `needless_waits` each wait that nothing needs with its ticks.

    >>> import tessbed
    >>> @tessbed.kernel(inputs={"src": "uint8[n]"}, outputs={"dst": "uint8[n]"}, level="body")
    ... def silent(w, src, dst, *, n=100):
    ...     w.wait_drains()
    ...     yield from w.wait_drains()
    >>> verdict = tessbed.check(silent, raises=False)
    >>> verdict.ok, verdict.verdict, verdict.troubles[0]["name"]
    (False, 'hazard', 'not_awaited')
    """

    verdict: str
    document: dict[str, Any] = attrs.field(repr=False)
    text: str = attrs.field(repr=False)

    @property
    def ok(self) -> bool:
        """Nothing is wrong; "unjudged" is not wrong."""
        return self.verdict in ("ok", "unjudged")

    @property
    def troubles(self) -> list[dict[str, Any]]:
        """What is wrong: kind, name, lines, text, and the case that showed it."""
        return self.document["troubles"]

    @property
    def needless_waits(self) -> list[dict[str, Any]]:
        """Waits that nothing needs: line, wait, and the device ticks that each costs."""
        return self.document["needless_waits"]

    @property
    def device_ticks(self) -> int | None:
        """Device ticks of the case that was asked for; None where it did not end."""
        return self.document["device_ticks"]

    def __str__(self) -> str:
        return self.text


class KernelCheckError(AssertionError):
    """A kernel is not right; `report` is the KernelVerdict, and the message its table.

    >>> import tessbed
    >>> @tessbed.kernel(outputs=["dst"])
    ... def fails(w, src, dst):
    ...     yield 3
    >>> try:
    ...     tessbed.check(fails)
    ... except tessbed.KernelCheckError as error:
    ...     print(error.report.verdict, error.report.troubles[0]["name"])
    fault foreign_event
    """

    def __init__(self, report: KernelVerdict) -> None:
        super().__init__(f"\n{report}")
        self.report = report


def check(kernel: Any, *, device: Any = DEFAULT, seed: int = 0, raises: bool = True, **arguments: Any) -> KernelVerdict:
    """Check a kernel at many sizes, devices, grids, addresses and orders: one line of a test.

    `kernel` is a kernel, or a reference such as "copy.py:copy". `arguments` are the kernel's own, and are then not
    varied. `device` is a preset, a preset file, a table of fields or a DeviceSpec. Raises KernelCheckError where
    anything is wrong, unless `raises` is False; ContractError, SpecError and ScenarioError for what can not be.

    >>> import tessbed
    >>> @tessbed.kernel(inputs={"src": "uint8[n]"}, outputs={"dst": "uint8[n]"})
    ... def copy(w, src, dst, *, n=5000):
    ...     for box in w.own(dst):
    ...         yield w.band(src[box], dst[box], lambda source, target: target.__setitem__(..., source))
    >>> report = tessbed.check(copy)
    >>> report.verdict, report.troubles
    ('unjudged', [])
    """
    from tessbed.kernels.custom.loading import load_kernel
    from tessbed.scenarios.verification.kernel_check import report
    from tessbed.scenarios.verification.kernel_check.kernel_check import check_kernel

    spec = device_of(device, {})
    checked_integer("seed", seed, 0, MOST_SEED)
    if isinstance(kernel, str):
        kernel = load_kernel(kernel)
    if not isinstance(kernel, Kernel):
        wanted = 'wanted a kernel, or a reference such as "copy.py:copy"'
        raise ContractError("kernel_reference", "check", f"got {shown(kernel)}, {wanted}")
    found = check_kernel(kernel, arguments, spec, seed)
    document = report.document(found)
    verdict = KernelVerdict(document["verdict"], document, "\n".join(report.lines(found)))
    if raises and not verdict.ok:
        raise KernelCheckError(verdict)
    return verdict
