"""What docs/scenario.md, docs/study.md, docs/load.md show, renewed by `python -m tessbed.scenarios.docs`; the schema.

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`. A console block shows what its command
really prints; the scenario files that it names are the TOML blocks that begin with `# file: NAME`. The rest is written
by hand.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tessbed.kernels.a65.cost.parameters import tick_parameters
from tessbed.scenarios.format.json_schema import schema_text
from tessbed.scenarios.format.load.load_keys import SCENARIO_FILE
from tessbed.scenarios.format.schema_keys import Key
from tessbed.sim.docs import BLOCK
from tessbed.sim.fault_injection import FAULT_KINDS
from tessbed.sim.spec.device_spec import load_preset, preset_names

Rows = Iterable[tuple[str, ...]]


FILE = re.compile(r"```toml\n(# file: (\S+)\n.*?)```", re.DOTALL)
SESSION = re.compile(r"(```console\n\$ tessbed (.*?)\n).*?(```)", re.DOTALL)


def renew_scenario_page(text: str) -> str:
    """The page with every table as the code has it."""
    return BLOCK.sub(lambda block: block[1] + _table(*TABLES[block[2]]()) + block[3], text)


def _printed(command: str, folder: str) -> str:
    """What the arguments in one line make the command print in a folder: stdout, then stderr."""
    arguments = [sys.executable, "-m", "tessbed", *shlex.split(command)]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def renew_sessions(text: str, printed: Callable[[str, str], str] = _printed) -> str:
    """The page with every console block as its command prints it."""
    with TemporaryDirectory() as folder:
        for content, name in FILE.findall(text):
            (Path(folder) / name).write_text(content, encoding="utf-8")
        return SESSION.sub(lambda block: block[1] + printed(block[2], folder) + block[3], text)


def keys() -> tuple[tuple[str, ...], Rows]:
    """Every key of a scenario file."""
    return ("key", "wanted", "without it", "meaning"), _rows(SCENARIO_FILE, "")


def fault_rows() -> tuple[tuple[str, ...], Rows]:
    """Every kind of fault."""
    return ("kind", "what happens"), [(f"`{kind}`", what) for kind, what in FAULT_KINDS.items()]


def presets() -> tuple[tuple[str, ...], Rows]:
    """The devices that ship with the package."""
    specs = {name: load_preset(name) for name in preset_names()}
    return ("preset", "cores", "workers", "write granule"), [
        (f"`{name}`", str(spec.cores), str(spec.workers), f"{spec.write_granule_bytes} bytes{_strobes(spec)}")
        for name, spec in specs.items()
    ]


def a65_parameters() -> tuple[tuple[str, ...], Rows]:
    """The parameters of the A65's ticks."""
    head = ("parameter", "unit", "value", "meaning", "provenance")
    return head, [(one.name, one.unit, one.value, one.meaning, one.provenance) for one in tick_parameters()]


TABLES = {"keys": keys, "faults": fault_rows, "presets": presets, "a65": a65_parameters}


def _strobes(spec: object) -> str:
    return ", but single bytes can be written" if getattr(spec, "byte_strobes", False) else ""


def _rows(table: tuple[Key, ...], prefix: str) -> Iterator[tuple[str, ...]]:
    for key in table:
        name = f"{prefix}{key.name}"
        absent = "an error" if key.required else f"`{key.default}`" if key.default not in (None, "", ()) else ""
        yield f"`{name}`", _kind(key).replace('"', "`"), absent, key.meaning
        inside = f"{name}[]." if key.many else f"{name}."
        yield from _rows(key.table, inside)
        shown = [inner.name for inner in key.table]
        for _, value, form in key.forms:
            own = tuple(inner for inner in form if inner.name not in shown)
            yield from _rows(own, f"{name}[] ({value})." if value else inside)


def _kind(key: Key) -> str:
    if key.kind:
        return f"{key.kind.wanted} or a table" if key.table else key.kind.wanted
    return "a list of tables" if key.many else "a table"


def _table(head: tuple[str, ...], rows: Rows) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    page = Path("docs/scenario.md")
    page.write_text(
        renew_sessions(renew_scenario_page(page.read_text(encoding="utf-8"))), encoding="utf-8", newline="\n"
    )
    studies = Path("docs/study.md")
    studies.write_text(renew_sessions(studies.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    loads = Path("docs/load.md")
    loads.write_text(renew_sessions(loads.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    Path("docs/scenario.schema.json").write_text(schema_text(), encoding="utf-8", newline="\n")
