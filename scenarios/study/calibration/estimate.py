"""Estimate: what the data say of one parameter; and Calibration: all of them with what they rest on, as JSON and back.

Six verdicts, each of which says what may be claimed:

| verdict | meaning | value | provenance |
|---|---|---|---|
| determined | a finite interval on both sides | fitted | calibrated |
| at_least | the data exclude lower values alone | the guess, or the bound where that excludes it | guess, or bound |
| at_most | the data exclude higher values alone | likewise | likewise |
| combination | only together with others | the guess; of one of them, what that leaves it | guess, or combination |
| untouched | no observation moves with it | the guess | guess |
| known | the setup gives it | the given value | setup |
"""

from typing import Any

import attrs

from tessbed.scenarios.study.calibration.parameter_space import nested

VERDICTS = ("determined", "at_least", "at_most", "combination", "untouched", "known")
PROVENANCES = ("calibrated", "bound", "combination", "guess", "setup")

Value = int | bool | str


@attrs.frozen
class Estimate:
    """One parameter by its path in the device (`dma.setup_ticks`): guess, value, verdict, interval, provenance.

    `low` and `high` bound it at the calibration's confidence, as real numbers; None is no bound. `combination` is the
    text of the Combination that it is part of, or empty. `fitted` is where the fit puts it before it is made whole.
    """

    path: str
    guess: Value
    value: Value
    verdict: str
    provenance: str
    low: float | None = None
    high: float | None = None
    combination: str = ""
    fitted: float | None = None


@attrs.frozen
class Combination:
    """What the data determine of several parameters that they do not tell apart: their sum, product or ratio.

    `text` names it (`dispatch_ticks + decode_ticks`), `paths` are its members; value and interval are its own.
    """

    text: str
    kind: str
    paths: tuple[str, ...]
    value: float
    low: float | None = None
    high: float | None = None


@attrs.frozen
class Domain:
    """What the experiments of a fit covered; studies beyond it extrapolate."""

    workers: tuple[int, int]
    output_bytes: tuple[int, int]
    jobs: tuple[str, ...]
    """Operations with their scalar types (`detess int8`), sorted."""


@attrs.frozen
class Calibration:
    """The result of a fit: `noise` is the relative scatter of one repetition, `misfit` that of means around the model.

    `table_sha256` is of the table's file, `setup` the text of its file. `choices` are the discrete parameters that were
    tried, each with the values that the data do not exclude, the best first. `lack` says that the misfit is more than
    repetitions explain: the model is another than the board.
    """

    board: str
    preset: str
    clock_mhz: int
    clock_source: str
    confidence: float
    seed: int
    estimates: tuple[Estimate, ...]
    combinations: tuple[Combination, ...]
    choices: tuple[tuple[str, tuple[Value, ...]], ...]
    domain: Domain
    noise: float
    misfit: float
    rows: int
    experiments: int
    table_sha256: str
    version: str
    lack: bool = False

    def estimate(self, path: str) -> Estimate | None:
        """What is said of a parameter; None where nothing is."""
        return next((one for one in self.estimates if one.path == path), None)

    def changes(self) -> dict[str, Any]:
        """The nested changes that make the preset's device the calibrated one."""
        values = {one.path: one.value for one in self.estimates} | {path: kept[0] for path, kept in self.choices}
        return nested(values)


def to_document(calibration: Calibration) -> dict[str, Any]:
    """The calibration as JSON holds it."""
    return {"schema_version": 1, **attrs.asdict(calibration)}


def of_document(document: dict[str, Any]) -> Calibration:
    """The calibration of a document that `to_document` made; KeyError, TypeError or ValueError for anything else."""
    if document["schema_version"] != 1:
        raise ValueError(f"got schema_version {document['schema_version']!r}, wanted 1")
    values = {name: value for name, value in document.items() if name != "schema_version"}
    domain = {name: tuple(value) for name, value in values["domain"].items()}
    return Calibration(
        **values
        | {
            "estimates": tuple(Estimate(**one) for one in values["estimates"]),
            "combinations": tuple(
                Combination(**one | {"paths": tuple(one["paths"])}) for one in values["combinations"]
            ),
            "choices": tuple((path, tuple(kept)) for path, kept in values["choices"]),
            "domain": Domain(**domain),
        }
    )
