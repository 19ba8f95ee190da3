"""`tessbed doctor`: what this installation is made of, and what is missing from it."""

import importlib.metadata
import importlib.util
import os
import platform
import sys
from typing import Any

from tessbed import __version__
from tessbed.commands.options import json_option, new_command, print_result

NEEDED = ("numpy", "simpy", "attrs", "click", "tree-sitter", "tree-sitter-toml")
EXTRAS = {  # module: (the extra that brings it, what it is for)
    "ml_dtypes": ("bf16", "bfloat16 arrays at the face"),
    "matplotlib": ("plot", "plots of studies and of the bench"),
    "pyarrow": ("parquet", "sweep tables as Parquet"),
    "distributed": ("cluster", "sweeps on a Dask cluster"),
    "optuna": ("search", "searches that learn from their trials"),
    "scipy": ("calibrate", "fits of a device to measurements"),
    "pytest": ("pytest", "scenario files as tests"),
}

HELP = """Report which rows the A65 executor uses, which form the exact engine and loads have, why, and what else is
installed.

Exit code: 0; 2 where TESSBED_ROWS or TESSBED_EXACT asks for something that is not installed."""


@new_command("doctor", HELP)
@json_option
def command(as_json: bool) -> None:
    """The findings on stdout."""
    found = findings()
    print_result(found, lambda: _lines(found), as_json=as_json)


def findings() -> dict[str, Any]:
    """What `--json` prints. Raises ContractError or EngineError for what was asked for and is not there."""
    from tessbed.kernels.a65.row_engine import VARIABLE, engine_report
    from tessbed.kernels.ev74.fields import VERSION_MAJOR, VERSION_MINOR
    from tessbed.scenarios.load import load_tables
    from tessbed.sim.exact import engine, native
    from tessbed.sim.spec.device_spec import preset_names

    rows = engine_report()
    there = engine.chosen_form() == "native" and not load_tables.missing
    return {
        "schema_version": 1,
        "tessbed": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.machine()}, {sys.platform}",
        "processors": os.cpu_count(),
        "a65_rows": {
            "engine": rows.engine,
            "vectors": rows.vectors,
            "asked_for": os.environ.get(VARIABLE) or None,
            "native_missing": rows.native_missing or None,
        },
        "exact_engine": {
            "form": engine.chosen_form(),
            "asked_for": os.environ.get(engine.VARIABLE) or None,
            "native_missing": native.missing or None,
        },
        "loads": {
            "form": "native" if there else "python",
            "asked_for": os.environ.get(engine.VARIABLE) or None,
            "native_missing": load_tables.missing or None,
        },
        "packet_version": f"{VERSION_MAJOR}.{VERSION_MINOR}",
        "presets": list(preset_names()),
        "needed": {name: importlib.metadata.version(name) for name in NEEDED},
        "extras": {module: importlib.util.find_spec(module) is not None for module in EXTRAS},
    }


def _lines(found: dict[str, Any]) -> list[str]:
    from tessbed.kernels.a65.row_engine import VARIABLE
    from tessbed.sim.exact import engine as exact

    rows, engine, loads = found["a65_rows"], found["exact_engine"], found["loads"]
    lines = [
        f"tessbed   {found['tessbed']}, on Python {found['python']}, {found['platform']}",
        f"A65 rows  {rows['engine']}{_asked(rows, VARIABLE)}, vector instructions: {rows['vectors']}",
        *_native_missing(rows, "byte"),
        f"exact     {engine['form']}{_asked(engine, exact.VARIABLE)}: the form of the exact engine",
        *_native_missing(engine, "tick"),
        f"loads     {loads['form']}{_asked(loads, exact.VARIABLE)}: the form of the recurrence of `tessbed load`",
        *_native_missing(loads, "tick"),
        f"packets   version {found['packet_version']}",
        f"presets   {', '.join(found['presets'])}",
        "needs     " + ", ".join(f"{name} {version}" for name, version in found["needed"].items()),
    ]
    for module, (extra, purpose) in EXTRAS.items():
        state = "there" if found["extras"][module] else f"not installed, pip install 'tessbed[{extra}]'"
        lines.append(f"extra     {module}: {state}; {purpose}")
    return lines


def _asked(part: dict[str, Any], variable: str) -> str:
    return f", as {variable} asks" if part["asked_for"] else ""


def _native_missing(part: dict[str, Any], unit: str) -> list[str]:
    """Why a part has no C, and how to get it; none where it has."""
    if not part["native_missing"]:
        return []
    return [
        f"          the native form is missing: {part['native_missing']}",
        f"          install again with a C compiler to have it; every {unit} is the same without",
    ]
