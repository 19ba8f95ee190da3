"""Basis words: the words in which every report says what its ticks rest on, and the part of its JSON document."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tessbed.scenarios.model import Scenario
from tessbed.scenarios.provenance.tick_basis import Departure, TickBasis, device_basis, tick_basis
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.origins import Origins, field_values

NOT_CALIBRATED = "not calibrated on silicon"
KEY = "calibration"
SHOWN = 3


def basis_document(bases: Iterable[TickBasis]) -> dict[str, Any]:
    """What the ticks of one or several scenarios rest on, as a part of a JSON document."""
    several = list(dict.fromkeys(bases))
    calibrated = [basis for basis in several if basis.origins.board]
    guessed = list(dict.fromkeys(basis.preset for basis in several if not basis.origins.board))
    extrapolated = list(_merged(one for basis in calibrated for one in basis.departures))
    return {
        "words": _words(calibrated, guessed),
        "calibrated": [_preset_document(basis) for basis in {basis.preset: basis for basis in calibrated}.values()],
        "extrapolated": extrapolated,
    }


def basis_words(document: Mapping[str, Any]) -> str:
    """What a study's document says of its ticks, on one line; one without a word on them has nothing calibrated."""
    found = document.get(KEY)
    return "; ".join([str(found["words"]), *_extrapolation(found)]) if found else NOT_CALIBRATED


def basis_lines(document: Mapping[str, Any]) -> list[str]:
    """The same as lines of a text whose head says "model ticks"; none where the document names no calibration."""
    found = document.get(KEY)
    return [f"ticks: {found['words']}", *_extrapolation(found)] if found and found["calibrated"] else []


def ticks_lines(clock_mhz: int, document: Mapping[str, Any], of: str = "") -> list[str]:
    """What a text says of its ticks: at which clock they are, what they rest on, and where that ends."""
    return [f"ticks: {of}{model_ticks(clock_mhz, document[KEY]['words'])}", *_extrapolation(document[KEY])]


def model_ticks(clock_mhz: int, words: str) -> str:
    """What a report says of its ticks; `words` are what they rest on."""
    return f"model ticks at {clock_mhz} MHz, {words}"


def departure_words(basis: TickBasis) -> str:
    """Where what was measured is left, on one line; empty where it is not, or nothing was."""
    return "; ".join(_merged(basis.departures))


def scenario_words(scenario: Scenario) -> str:
    """What the ticks of a scenario rest on, on one line."""
    return basis_words({KEY: basis_document([tick_basis(scenario)])})


def device_words(preset: str, origins: Origins, device: DeviceSpec) -> str:
    """The same of a device that starts from a preset, whatever it runs."""
    return basis_words({KEY: basis_document([device_basis(preset, origins, device)])})


def _extrapolation(found: Mapping[str, Any]) -> list[str]:
    """A line that says where what was measured is left; none where it is not."""
    reasons = found["extrapolated"]
    more = [f"and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else []
    return [f"extrapolated: {'; '.join([*reasons[:SHOWN], *more])}"] if reasons else []


def _preset_document(basis: TickBasis) -> dict[str, Any]:
    board = basis.origins.board
    assert board is not None
    return {
        "preset": basis.preset,
        "board": board.name,
        "date": board.date,
        "percent": board.percent,
        "measured": [field.path for field in basis.origins.measured],
        "held": list(basis.held),
    }


def _words(calibrated: list[TickBasis], guessed: list[str]) -> str:
    if not calibrated:
        return NOT_CALIBRATED
    words = [f"calibrated: {text}" for text in dict.fromkeys(map(_preset_words, calibrated))]
    words += [f"not calibrated: preset {name}" for name in guessed]
    return "; ".join(words)


def _preset_words(basis: TickBasis) -> str:
    board = basis.origins.board
    assert board is not None
    measured, every = len(basis.origins.measured), sum(1 for _ in field_values(DeviceSpec()))
    return (
        f"preset {basis.preset}, {board.name}, {board.date}, {measured} of {every} parameters with intervals of"
        f" {board.percent} %"
    )


def _merged(departures: Iterable[Departure]) -> Iterator[str]:
    """As texts, what leaves the same range together."""
    together: dict[tuple[str, tuple[str, ...]], list[int | str]] = {}
    for one in departures:
        together.setdefault((one.subject, one.measured), []).append(one.here)
    for (subject, measured), values in together.items():
        yield f"{subject} = {_here(list(dict.fromkeys(values)))} (measured: {_listed(measured)})"


def _here(values: list[int | str]) -> str:
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(numbers) == len(values) > 2:
        return f"{min(numbers):,} to {max(numbers):,}"
    return _listed([f"{value:,}" if type(value) is int else str(value) for value in values])


def _listed(values: Iterable[str]) -> str:
    shown = list(values)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more
