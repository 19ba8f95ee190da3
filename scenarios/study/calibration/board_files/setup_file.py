"""Setup file: how a board was measured, as TOML, every error with its line and column.

board = "board 7"
clock_mhz = 1_000
clock_source = "measured"            # measured, documented or assumed
firmware_sha256 = "9f86d081884c7d65..."
timer = "cycle counter of the core, read by the firmware"
timer_resolution_ns = 1.0
preset = "ev74-4core"                # the guesses to start from

[ranges]                             # what is known better than the guess
"dma.setup_ticks" = [50, 100]
"memory.background_percent" = [0, 0]
"""

from math import isfinite
from pathlib import Path
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Problem, ScenarioError, nearest
from tessbed.scenarios.format.reader import Reader, describe_value
from tessbed.scenarios.format.schema_keys import REAL, SHA256, TEXT, Key, Kind, integer_kind, one_of
from tessbed.scenarios.format.texts import read_text
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.format.toml_writer import value_text
from tessbed.scenarios.study.calibration.board_data import CLOCK_SOURCES, Setup
from tessbed.scenarios.study.calibration.parameter_space import DISCRETE, PARAMETERS, nested
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, override

TABLE = Kind("a table", lambda value: isinstance(value, dict), {"type": "object"})
POSITIVE = Kind(
    "a number of nanoseconds above 0",
    lambda value: REAL.fits(value) and isfinite(value) and value > 0,
    {"type": "number", "exclusiveMinimum": 0},
)
KEYS = (
    Key("board", "the board", TEXT, required=True),
    Key("clock_mhz", "the clock of the vision processor", integer_kind(1, 1 << 32), required=True),
    Key("clock_source", "how the clock is known", one_of(*CLOCK_SOURCES), required=True),
    Key("firmware_sha256", "hash of the firmware image", SHA256, default=""),
    Key("timer", "what counted the time", TEXT, required=True),
    Key("timer_resolution_ns", "its smallest step", POSITIVE, required=True),
    Key("preset", "the device of the guesses", TEXT, default="ev74-4core"),
    Key("ranges", "lowest and highest value of parameters", TABLE, default={}),
    Key("choices", "values to try of parameters that are no quantities", TABLE, default={}),
    Key("note", "anything else", TEXT, default=""),
)


def read_setup(path: Path) -> Setup:
    """The setup of a file. Raises ScenarioError with every problem of it."""
    source = parse_toml(read_text(path, str(path)), str(path))
    reader = Reader(source)
    values = reader.table((), source.values, KEYS)
    ranges = {name: _range(reader, name, value) for name, value in (values.get("ranges") or {}).items()}
    choices = {name: _choice(reader, name, value) for name, value in (values.get("choices") or {}).items()}
    if reader.problems:
        raise ScenarioError(reader.problems)
    places = {name: source.key_place((name,)) for name in source.values}
    return Setup(**{**values, "ranges": ranges, "choices": choices, "places": places})


def setup_text(setup: Setup) -> str:
    """A setup as the text of a file, which reads back as the same setup."""
    values = attrs.asdict(setup, filter=attrs.filters.exclude("places"))
    plain = [f"{key.name} = {value_text(values[key.name])}" for key in KEYS if key.kind is not TABLE]
    lines = [line for line in plain if not line.endswith(' = ""')]
    for name in ("ranges", "choices"):
        if values[name]:
            lines += ["", f"[{name}]", *(f'"{path}" = {value_text(list(of))}' for path, of in values[name].items())]
    return "\n".join(lines) + "\n"


def _range(reader: Reader, name: str, value: Any) -> tuple[int, int]:
    known = {one.path: one for one in PARAMETERS}
    if not _is_known(reader, ("ranges", name), tuple(known)):
        return 0, 0
    fits = isinstance(value, list) and len(value) == 2 and all(map(_is_count, value)) and value[0] <= value[1]
    if not fits:
        text = f"got {describe_value(value)}, wanted the lowest and the highest value, such as [50, 100]"
        reader.report_error(("ranges", name), text)
        return 0, 0
    for end in value:
        if reason := _impossible(name, end):
            reader.report_error(("ranges", name), f"got {describe_value(value)}: {reason}")
            return 0, 0
    return value[0], value[1]


def _impossible(name: str, value: int) -> str:
    """Why no device has that value; empty where one may."""
    try:
        override(DeviceSpec(), nested({name: value}))
    except SpecError as error:
        return str(error)
    return ""


def _choice(reader: Reader, name: str, value: Any) -> tuple[Any, ...]:
    if not _is_known(reader, ("choices", name), tuple(DISCRETE)):
        return ()
    allowed = DISCRETE[name]
    known = [(type(one), one) for one in allowed]  # 0 is no False
    given = [(type(one), one) for one in value] if isinstance(value, list) else []
    if not given or any(one not in known or given.count(one) > 1 for one in given):
        wanted = f"a list of {', '.join(value_text(one) for one in allowed)}, each once at most"
        reader.report_error(("choices", name), f"got {describe_value(value)}, wanted {wanted}")
        return ()
    return tuple(value)


def _is_known(reader: Reader, path: tuple[str, str], names: tuple[str, ...]) -> bool:
    if path[1] in names:
        return True
    where = f"{path[0]}.{path[1]}: unknown parameter, wanted one that is fitted"
    if any(name.startswith(f"{path[1]}.") for name in names):
        where += ", its whole path in quotes"
    place = reader.source.key_place(path)
    reader.mark_invalid(path)
    reader.problems.append(Problem(place, where + (nearest(path[1], names) or f": {', '.join(names)}"), "unknown_key"))
    return False


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
