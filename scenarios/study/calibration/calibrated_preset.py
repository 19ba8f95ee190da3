"""Calibrated preset: from the result of a fit to a preset whose fields say how they are known; and it as a report.

Only what the data determine becomes a measured field, with its interval. A bound, or a share of a combination, moves a
field where its guess is excluded, and says so, without an interval of its own. All else keeps its guess.
"""

import json
import os
from collections.abc import Iterator
from math import ceil, floor
from pathlib import Path
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.format.presets.preset_file import DevicePreset, PresetSource, is_file_name, read_preset
from tessbed.scenarios.format.presets.preset_text import preset_text
from tessbed.scenarios.format.texts import read_text
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.study.calibration.estimate import Calibration, Combination, Estimate, Value, of_document
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.spec.origins import FieldOrigin, MeasuredBoard, Origins, field_values

CLOCK = "clock_mhz"


@attrs.frozen
class CalibratedPreset:
    """The preset that a fit makes of the one of the guesses: its device and origins, and the fit."""

    fit: Calibration
    base: DeviceSpec
    device: DeviceSpec
    origins: Origins

    def text(self, base_name: str) -> str:
        """The preset file, over the preset of the guesses as that file names it."""
        about = f"{self.fit.preset}, calibrated with {self.fit.board}"
        return preset_text(self.device, self.origins, about, (base_name, self.base))


def read_fit(path: Path) -> Calibration:
    """The result of `tessbed calibrate fit`. Raises ScenarioError for a file that is none."""
    place = Location(str(path))
    try:
        return of_document(json.loads(read_text(path, str(path))))
    except ScenarioError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        got = f"got something else ({type(error).__name__}: {error})"
        text = f"{got}, wanted the document that `tessbed calibrate fit` writes"
        raise ScenarioError([Problem(place, text)]) from None


def calibrated_preset(fit: Calibration, base: DevicePreset, date: str) -> CalibratedPreset:
    """The preset.

    Raises SpecError where the values do not go together, ScenarioError where one is outside of its own interval.
    """
    device = override(override(base.device, {CLOCK: fit.clock_mhz}), fit.changes())
    values = dict(field_values(device))
    known = [_origin(one, fit, date) for one in fit.estimates if one.path in values]
    known += [_choice(path, kept, fit, date) for path, kept in fit.choices]
    fields = [
        FieldOrigin(CLOCK, device.clock_mhz, f"setup: {fit.board}, clock {fit.clock_source}"),
        *filter(None, known),
    ]
    fields.sort(key=lambda field: list(values).index(field.path))
    board = MeasuredBoard(
        name=fit.board,
        date=date,
        percent=_percent(fit),
        workers=fit.domain.workers,
        output_bytes=fit.domain.output_bytes,
        jobs=fit.domain.jobs,
        combinations=tuple(map(_combination, fit.combinations)),
    )
    return CalibratedPreset(fit, base.device, device, Origins(tuple(fields), board, device))


def base_preset(fit: Calibration, folder: Path, target: Path) -> tuple[str, DevicePreset]:
    """The preset of the guesses, and its name as the file `target` says it. Raises ScenarioError.

    A preset file is relative to `folder`, which is that of the fit.
    """
    found = read_preset(fit.preset, PresetSource(folder, Location(str(folder)), "preset"))
    if not is_file_name(fit.preset):
        return fit.preset, found
    return Path(os.path.relpath(folder / fit.preset, target.resolve().parent)).as_posix(), found


def document(made: CalibratedPreset) -> dict[str, Any]:
    """What became of each parameter, as a JSON document."""
    rows = [
        {
            "path": one.path,
            "guess": one.guess,
            "value": one.value,
            "verdict": one.verdict,
            "interval": _interval(one),
            "provenance": found.provenance if found else "guess",
        }
        for one in made.fit.estimates
        for found in [made.origins.origin(one.path, one.value)]
    ]
    return {
        "schema_version": 1,
        "board": made.fit.board,
        "preset": made.fit.preset,
        "counts": {
            kind: sum(row["verdict"] == kind for row in rows) for kind in dict.fromkeys(r["verdict"] for r in rows)
        },
        "combinations": [_combination(one) for one in made.fit.combinations],
        "parameters": rows,
    }


def lines(reported: dict[str, Any]) -> Iterator[str]:
    """The document for a person: what the preset says of each parameter, and what keeps its guess in one line."""
    shown = [row for row in reported["parameters"] if row["provenance"] != "guess"]
    rows = [(r["path"], _shown(r["guess"]), _shown(r["value"]), _range(r["interval"]), r["provenance"]) for r in shown]
    yield from aligned(("parameter", "guess", "value", "interval", "provenance"), rows, numbers=(1, 2))
    guessed = [row["path"] for row in reported["parameters"] if row["provenance"] == "guess"]
    yield ""
    yield from (f"together: {text}" for text in reported["combinations"])
    if guessed:
        yield f"keep their guesses: {', '.join(guessed)}"
    yield ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in reported["counts"].items())


def _origin(one: Estimate, fit: Calibration, date: str) -> FieldOrigin | None:
    """What the preset says of a parameter; None for one that keeps its guess."""
    of = _measured_by(fit, date)
    words = {
        "calibrated": f"calibrated: {of}",
        "bound": f"bound: {_bound(one)}: {of}",
        "combination": f"in combination: {one.combination or 'with others'}: {of}",
        "setup": f"setup: {fit.board}",
    }
    if one.provenance not in words:
        return None
    return FieldOrigin(one.path, one.value, words[one.provenance], _interval(one))


def _choice(path: str, kept: tuple[Value, ...], fit: Calibration, date: str) -> FieldOrigin:
    """What the preset says of a discrete parameter: the best of those that the data do not exclude."""
    others = f"as good: {', '.join(map(_shown, kept[1:]))}" if kept[1:] else "others excluded"
    return FieldOrigin(path, kept[0], f"chosen, {others}: {_measured_by(fit, date)}")


def _measured_by(fit: Calibration, date: str) -> str:
    return f"{fit.board}, {date}, {_percent(fit)} %"


def _interval(one: Estimate) -> tuple[int, int] | None:
    """The whole numbers that hold the interval of a determined parameter, its ends rounded outwards.

    Raises ScenarioError for a value outside: then it is no value of that interval, and no interval of that value.
    """
    if one.provenance != "calibrated" or one.low is None or one.high is None or not isinstance(one.value, int):
        return None
    low, high = max(0, floor(one.low)), ceil(one.high)
    if not low <= one.value <= high:
        text = (
            f"got {one.value:,} with an interval of {one.low:,.6g} to {one.high:,.6g}, wanted a value inside; fit anew"
        )
        raise ScenarioError([Problem(Location(one.path), text)])
    return low, high


def _bound(one: Estimate) -> str:
    return f"at least {one.low:,.4g}" if one.low is not None else f"at most {one.high or 0:,.4g}"


def _combination(one: Combination) -> str:
    ends = (one.low, one.high)
    limits = " to ".join("?" if end is None else f"{end:,.6g}" for end in ends)
    return f"{one.text} = {one.value:,.6g} ({limits})"


def _percent(fit: Calibration) -> int:
    return round(100 * fit.confidence)


def _shown(value: Any) -> str:
    return f"{value:,}" if type(value) is int else str(value)


def _range(interval: tuple[int, int] | None) -> str:
    return f"{interval[0]:,} to {interval[1]:,}" if interval else ""
