"""`tessbed check`: is a kernel right, at every size, device, grid, address and order, and what does it cost?"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessbed.commands.exits import FAILED, FAULT, HAZARD, INVALID, OK
from tessbed.commands.options import MAX_SEED, echo_verdict, json_option, new_command, settings_option
from tessbed.commands.streams import echo_json
from tessbed.commands.types import SETTING, Number

if TYPE_CHECKING:
    from tessbed.sim.spec.device_spec import DeviceSpec
    from tessbed.sim.spec.origins import Origins

HELP = """Check the kernel REF: file.py:name, package.module:name, or an installed kernel. This runs its code.

Runs it at sizes derived from one of its bands, with granules of 16 to 128 bytes, 1 to 16 workers, at odd
addresses and in other orders; compares every byte with its reference, and says what nothing orders, with the source
lines. Of a kernel at level "body" each wait is dropped in turn: one that nothing needs is reported, with the ticks
that it costs.

Exit code: 0 right, or unjudged without a reference; 1 wrong bytes; 2 what can not be; 3 a fault, a hang or a loop
without an end; 4 a hazard."""

ARG = "Set an argument of the kernel, and do not vary it. Can be repeated."
CODES = {"ok": OK, "wrong": FAILED, "impossible": INVALID, "fault": FAULT, "hazard": HAZARD}


@new_command("check", HELP)
@click.argument("reference", metavar="REF")
@click.option("--arg", "arguments", type=SETTING, multiple=True, metavar="NAME=VALUE", help=ARG)
@click.option("--device", default="ev74-4core", show_default=True, metavar="PRESET", help="A preset, or a preset file.")
@settings_option("Override a device field, for example device.workers=8.", "--set", "settings")
@click.option("--seed", type=Number(0, MAX_SEED), default=0, metavar="N", help="Draw other orders.")
@json_option
def command(
    reference: str, arguments: tuple[str, ...], device: str, settings: tuple[str, ...], seed: int, as_json: bool
) -> int:
    """The table or document on stdout; returns the exit code."""
    from tessbed.kernels.custom.loading import load_kernel
    from tessbed.scenarios.provenance.tick_basis import device_basis
    from tessbed.scenarios.verification.kernel_check import report
    from tessbed.scenarios.verification.kernel_check.kernel_check import check_kernel

    origins, spec = _device(device, settings)
    basis = device_basis(device, origins, spec)
    kernel = load_kernel(reference)
    found = check_kernel(kernel, dict(map(_argument, arguments)), spec, seed)
    if as_json:
        echo_json(report.document(found, basis))
    else:
        echo_verdict(report.lines(found, basis), found.ok)
    return CODES[found.verdict]


def _argument(text: str) -> tuple[str, Any]:
    """A name and a value, a number where it reads as one."""
    from tessbed.scenarios.format.overrides import override_value

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f'got "{text}", wanted NAME=VALUE, such as rows=64', param_hint="--arg")
    return name.strip(), override_value(value)


def _device(preset: str, settings: tuple[str, ...]) -> tuple["Origins", "DeviceSpec"]:
    """The origins of a preset, and its device with fields overridden. Raises ScenarioError, SpecError."""
    from tessbed.scenarios.format.diagnostics import Location
    from tessbed.scenarios.format.overrides import override_value
    from tessbed.scenarios.format.presets.preset_file import PresetSource, read_preset
    from tessbed.sim.spec.device_spec import override

    changes: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        steps = key.strip().split(".")
        if not equals or steps[0] != "device" or len(steps) < 2:
            wanted = "wanted device.FIELD=VALUE, such as device.workers=8"
            raise click.BadParameter(f'got "{setting}", {wanted}', param_hint="--set")
        table = changes
        for step in steps[1:-1]:
            table = table.setdefault(step, {})
        table[steps[-1]] = override_value(value)
    found = read_preset(preset, PresetSource(Path(), Location("--device")))
    return found.origins, override(found.device, changes)
