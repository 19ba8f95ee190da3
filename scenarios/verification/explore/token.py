"""Token: a case of exploration and one of its orders, written as one word and read back, with nothing in it trusted.

On any machine it reproduces that order exactly.

A token comes from anywhere, so it is believed in nothing: what it expands to is bounded, its fields have the types that
`encode_token` gives them, and its job and device go through the scenario's own validation, as those of a file do.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tessbed.kernels import OPERATIONS, ChannelStorage, MlaCBlocked, MlaTiled, Strided
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, alternatives
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.reader import describe_value
from tessbed.scenarios.format.toml_source import DEEPEST, Source
from tessbed.scenarios.model import ScenarioJob, parameter_values
from tessbed.scenarios.verification.explore.bench import ExplorationCase
from tessbed.sim.interleavings.actions import Name
from tessbed.sim.spec.device_spec import DeviceSpec, to_mapping

PREFIX = "tessbed1-"
PLACE = Location("--replay")
MOST_CHARACTERS = 1 << 17
"""The longest token: the longest argument that Linux passes on."""
MOST_JSON_BYTES = 1 << 21
"""The longest text that a token expands to: an order of some 200,000 actions."""
MOST_STORAGE_BYTES = 1 << 26
"""The largest case that a token holds: input, output and the scratch of its cores."""
TOO_DEEP = f"got a damaged token, wanted JSON of at most {DEEPEST} levels in it"
FIELDS = ("op", "dtype", "shape", "tiled", "strides", "to", "fill", "device", "workers", "prefill")
PARAMETERS = tuple(
    dict.fromkeys(
        parameter.group or parameter.name
        for operation in OPERATIONS.values()
        for parameter in operation.parameters
        if parameter.name != "int8_channel_padding"
    )
)
"""The fields of those cases alone that have such parameters: the keys of a job's table, beside the padding."""


def encode_token(case: ExplorationCase, order: Sequence[Name]) -> str | None:
    """The token; None for a case or an order that is larger than any token may be."""
    body = {"case": _case(case), "order": [list(name) for name in order]}
    text = json.dumps(body, separators=(",", ":")).encode()
    token = PREFIX + base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")
    plan = case.geometry.admit()
    too_long = len(token) > MOST_CHARACTERS or len(text) > MOST_JSON_BYTES
    small = _storage_bytes(plan.input.required_bytes, plan.output.required_bytes, case) <= MOST_STORAGE_BYTES
    return token if small and not too_long else None


def decode_token(token: str) -> tuple[ExplorationCase, list[Name]]:
    """The case and the order. Raises ScenarioError for anything that is no token, or whose job no scenario may have."""
    body = _table("the token", _parsed(_expanded(token)), ("case", "order"))
    return _to_case(body["case"]), _to_order(body["order"])


def _refuse(text: str, code: str = "invalid_value") -> NoReturn:
    raise ScenarioError([Problem(PLACE, text, code)])


def _expanded(token: str) -> bytes:
    """The JSON text in a token."""
    if not token.startswith(PREFIX):
        _refuse(f"got {token[:20]!r}, wanted a token that begins with {PREFIX}: copy it whole")
    if len(token) > MOST_CHARACTERS:
        _refuse(f"got a token of {len(token):,} characters, wanted {MOST_CHARACTERS:,} at most")
    text = token[len(PREFIX) :]
    expander = zlib.decompressobj()
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        expanded = expander.decompress(packed, MOST_JSON_BYTES)
    except (ValueError, zlib.error) as error:
        _refuse(f"got a damaged token, wanted it as it was printed, to its last character: {error}")
    if expander.unconsumed_tail:
        _refuse(f"got a token that expands to more than {MOST_JSON_BYTES:,} bytes")
    if not expander.eof or expander.unused_data:
        _refuse("got a damaged token, wanted it as it was printed: it is cut off, or something follows it")
    return expanded


def _parsed(text: bytes) -> Any:
    """The JSON value, without what JSON does not know and nested no deeper than a scenario."""
    try:
        value = json.loads(text, parse_constant=lambda name: _refuse(f"got {name} in the token, wanted a number"))
    except RecursionError:
        _refuse(TOO_DEEP)
    except ScenarioError:
        raise
    except ValueError as error:
        _refuse(f"got a damaged token, wanted JSON in it: {error}")
    level = [value]
    for _ in range(DEEPEST):
        level = [child for one in level if isinstance(one, dict | list) for child in _children(one)]
    if level:
        _refuse(TOO_DEEP)
    return value


def _children(value: dict[str, Any] | list[Any]) -> list[Any]:
    return [*value.values()] if isinstance(value, dict) else value


def _table(what: str, value: Any, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """A table with these names, all of them, and no others but the `optional` ones."""
    if not isinstance(value, dict):
        _refuse(f"{what}: got {describe_value(value)}, wanted a table with {alternatives(names)}")
    if missing := [name for name in names if name not in value]:
        _refuse(f"{what}: {', '.join(missing)} missing, wanted {', '.join(names)}", "missing_key")
    if unknown := [name for name in value if name not in (*names, *optional)]:
        _refuse(f"{what}: got {describe_value(unknown)}, wanted {', '.join(names)} alone", "unknown_key")
    return value


def _to_order(value: Any) -> list[Name]:
    if not isinstance(value, list):
        _refuse(f"order: got {describe_value(value)}, wanted a list of names, each of three integers")
    for number, name in enumerate(value):
        if not isinstance(name, list) or len(name) != 3 or any(type(part) is not int for part in name):
            _refuse(f"order[{number}]: got {describe_value(name)}, wanted three integers")
    return [(first, second, third) for first, second, third in value]


def _case(case: ExplorationCase) -> dict[str, Any]:
    geometry = case.geometry
    strided = list(geometry.linear.strides) if isinstance(geometry.linear, Strided) else None
    return {
        "op": geometry.op.name,
        "dtype": geometry.dtype.value,
        "shape": list(geometry.shape),
        "tiled": _tiled(geometry.tiled),
        "strides": strided,
        "to": geometry.to.value if geometry.to else None,
        "fill": geometry.int8_channel_padding,
        "device": device_changes(to_mapping(DeviceSpec()), to_mapping(case.spec)),
        "workers": case.workers,
        "prefill": case.prefill,
        **parameter_values(geometry),
    }


def _tiled(layout: MlaTiled | MlaCBlocked) -> list[Any]:
    if isinstance(layout, MlaCBlocked):
        return [layout.tile_h, layout.tile_w, layout.tile_c]
    return [list(layout.axes), list(layout.tile_shape), layout.channel_storage is ChannelStorage.PAD16]


def device_changes(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `other` that differs from `base`, nested alike."""
    return {
        name: device_changes(base[name], value) if isinstance(value, Mapping) else value
        for name, value in other.items()
        if value != base[name]
    }


def _to_case(value: Any) -> ExplorationCase:
    """The case of a token's job and device, which are those of a scenario that holds them alone."""
    body = _table("case", value, FIELDS, PARAMETERS)
    if isinstance(body["device"], dict) and "preset" in body["device"]:
        _refuse("device.preset: unknown field, wanted the fields that differ from the device's defaults", "unknown_key")
    values = {"name": "token", "device": body["device"], "jobs": [_job(body)]}
    scenario = compose(Source(PLACE.source, values, {}, {(): PLACE}), Path())
    (job,) = scenario.operations
    if job.empty:
        _refuse(f"jobs[0].shape: got {describe_value(body['shape'])}, wanted a job that moves a byte")
    case = ExplorationCase.of(job, scenario.device)
    _check_storage(job, case)
    return case


def _job(body: Mapping[str, Any]) -> dict[str, Any]:
    """The job's table in a scenario. Null stands for a key that is not there."""
    job = {
        "name": "token",
        "backend": "ev74",
        "input": {"pattern": "golden"},
        "op": body["op"],
        "dtype": body["dtype"],
        "shape": body["shape"],
        "to": body["to"],
        "int8_channel_padding": body["fill"],
        "workers": body["workers"],
        "output_prefill": body["prefill"],
        **{name: body[name] for name in PARAMETERS if name in body},
        **_layout(body["tiled"]),
    }
    for name in ("to", "int8_channel_padding"):
        if job[name] is None:
            del job[name]
    return job if body["strides"] is None else {**job, "linear": {"strides_bytes": body["strides"]}}


def _layout(tiled: Any) -> dict[str, Any]:
    if isinstance(tiled, list) and len(tiled) == 3:
        axes, tile, padded = tiled
        if isinstance(axes, list) and isinstance(padded, bool):
            channels = ChannelStorage.PAD16 if padded else ChannelStorage.COMPACT
            return {"tiled": {"axes": axes, "tile": tile, "channels": channels.value}}
        if not isinstance(axes, list):
            return {"cblocked": {"tile": tiled}}
    _refuse(
        f"tiled: got {describe_value(tiled)}, wanted [axes, tile, whether channels are padded] or [h, w, c] of blocks"
    )


def _check_storage(job: ScenarioJob, case: ExplorationCase) -> None:
    needed = _storage_bytes(job.plan.input.required_bytes, job.plan.output.required_bytes, case)
    if needed > MOST_STORAGE_BYTES:
        text = f"got input, output and scratch of {needed:,} bytes, wanted {MOST_STORAGE_BYTES:,} at most in a token"
        _refuse(f"jobs[0].shape: {text}")


def _storage_bytes(input_bytes: int, output_bytes: int, case: ExplorationCase) -> int:
    return input_bytes + output_bytes + min(case.spec.cores, case.workers) * case.spec.scratch_bytes
