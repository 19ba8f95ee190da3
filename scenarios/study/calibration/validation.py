"""Validation: how well a calibration predicts shapes that it has not seen, beside the guesses, and beside one factor.

Three predictors meet the same rows: the calibrated device, the device of the guesses, and the guesses times one factor,
which is fitted to the rows of the fit. A calibration passes where it

- is off by less, in the mean, than both others;
- is off by at most LIMIT times the scatter of a repetition: more is not noise, the model is another one than the board;
- orders no pair of rows wrongly that the board orders beyond doubt.

Beyond doubt: the two means differ by more than their scatter explains, with a chance of one in DOUBT that any pair of
all does so by itself. Where nothing was repeated, scatter is that of the residuals, and the second rule says little.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import exp, expm1, sqrt
from typing import Any

import attrs
import numpy as np

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.study.calibration.board_data import FIT, VALIDATE, Setup, Table
from tessbed.scenarios.study.calibration.estimate import Calibration
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.assembly import check_alike
from tessbed.scenarios.study.calibration.fit.search.solver import scipy_module
from tessbed.scenarios.study.calibration.parameter_space import values_by_path
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats, LaunchModel
from tessbed.scenarios.study.calibration.prediction.row_model import CLOCK_MHZ, RowModel, row_model
from tessbed.sim.spec.device_spec import DeviceSpec, override

LIMIT = 2.0
DOUBT = 20
MOST_PAIRS = 20
"""So many wrong pairs are listed one by one."""


@attrs.frozen
class Score:
    """How a predictor does: mean absolute, signed and worst error in percent, the worst row, Kendall's tau, and pairs.

    `agree` of `pairs` pairs of one observable are ordered as the board orders them.
    """

    name: str
    mape: float
    bias: float
    worst: float
    worst_row: str
    tau: float
    agree: int
    pairs: int


@attrs.frozen
class WrongPair:
    """Two rows that the board orders beyond doubt, and the calibrated device otherwise; differences in percent."""

    faster: str
    slower: str
    measured: float
    predicted: float


@attrs.frozen
class Validation:
    """Scores of the calibrated device, the guesses and the guesses times `factor`; and why it fails, in words."""

    board: str
    scores: tuple[Score, ...]
    factor: float
    scatter: float
    repeated: bool
    shapes: int
    rows: int
    decided: int
    wrong: tuple[WrongPair, ...]
    failures: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether nothing speaks against the calibration."""
        return not self.failures


def validate_calibration(
    calibration: Calibration, setup: Setup, table: Table, experiments: Mapping[str, Experiment]
) -> Validation:
    """The validation. Raises ScenarioError where nothing is held out, or a shape is both fitted and held out."""
    fitted, held = table.part(FIT), table.part(VALIDATE)
    _check_held_out(fitted, held, experiments)
    names = held.experiments
    model = row_model(LaunchModel.of([experiments[name] for name in names]), names, held, setup)
    guessed = experiments[names[0]].device
    logs = {
        "calibrated": _predicted(model, override(guessed, calibration.changes()), calibration.clock_mhz),
        "guesses": _predicted(model, guessed, setup.clock_mhz),
    }
    factor = _factor(setup, fitted, experiments, guessed)
    logs["guesses x factor"] = logs["guesses"] + factor
    scores = tuple(_score(name, model, predicted) for name, predicted in logs.items())
    repeated = calibration.noise > 0
    scatter = calibration.noise if repeated else calibration.misfit
    decided, wrong = _wrong_pairs(model, logs["calibrated"], scatter)
    return Validation(
        board=setup.board,
        scores=scores,
        factor=exp(factor),
        scatter=scatter,
        repeated=repeated,
        shapes=len({experiments[name].shape for name in names}),
        rows=len(model.rows.logs),
        decided=decided,
        wrong=wrong,
        failures=tuple(_failures(scores, scatter, wrong)),
    )


def _check_held_out(fitted: Table, held: Table, experiments: Mapping[str, Experiment]) -> None:
    problems = []
    place = Location("the table")
    if not held.observations:
        text = f'got no row with the split "{VALIDATE}", wanted whole shapes held out: nothing else judges a fit'
        problems.append(Problem(place, text))
    seen = {experiments[name].shape: name for name in fitted.experiments}
    for name in held.experiments:
        if experiments[name].shape in seen:
            text = f"{name} is held out, {seen[experiments[name].shape]} of the same shape is fitted"
            problems.append(Problem(place, f"{text}; hold out whole shapes"))
    if problems:
        raise ScenarioError(problems)
    check_alike([experiments[name] for name in (*fitted.experiments, *held.experiments)])


def _predicted(model: RowModel, device: DeviceSpec, clock_mhz: float) -> Floats:
    values = values_by_path(device) | {CLOCK_MHZ: float(clock_mhz)}
    return model.logs(values, model.timings(values, device))


def _factor(setup: Setup, fitted: Table, experiments: Mapping[str, Experiment], guessed: DeviceSpec) -> float:
    """The logarithm of the factor that brings the guesses nearest to the rows of the fit."""
    names = fitted.experiments
    if not names:
        return 0.0
    model = row_model(LaunchModel.of([experiments[name] for name in names]), names, fitted, setup)
    return float(np.average(model.rows.logs - _predicted(model, guessed, setup.clock_mhz), weights=model.rows.repeats))


def _score(name: str, model: RowModel, predicted: Floats) -> Score:
    errors = 100 * np.expm1(predicted - model.rows.logs)
    worst = int(np.abs(errors).argmax())
    pairs = list(_pairs(model))
    agree = sum(_same_sign(model.rows.logs, predicted, a, b) for a, b in pairs)
    return Score(
        name=name,
        mape=float(np.abs(errors).mean()),
        bias=float(errors.mean()),
        worst=float(errors[worst]),
        worst_row=_row(model, worst),
        tau=_kendall(model.rows.logs, predicted),
        agree=agree,
        pairs=len(pairs),
    )


def _kendall(measured: Floats, predicted: Floats) -> float:
    tau = float(scipy_module("stats").kendalltau(measured, predicted).statistic)
    return 0.0 if np.isnan(tau) else tau


def _pairs(model: RowModel) -> Iterator[tuple[int, int]]:
    """Pairs of rows of one observable, in one kind of unit."""
    rows = model.rows
    for a, b in combinations(range(len(rows.logs)), 2):
        if rows.names[a][1] == rows.names[b][1] and rows.in_time[a] == rows.in_time[b]:
            yield a, b


def _same_sign(measured: Floats, predicted: Floats, a: int, b: int) -> bool:
    return bool((measured[a] - measured[b]) * (predicted[a] - predicted[b]) > 0)


def _wrong_pairs(model: RowModel, predicted: Floats, scatter: float) -> tuple[int, tuple[WrongPair, ...]]:
    """How many pairs the board orders beyond doubt, and those that are predicted otherwise, the widest first."""
    pairs = list(_pairs(model))
    reach = float(scipy_module("stats").norm.isf(1 / (2 * DOUBT * max(1, len(pairs)))))
    rows, found, decided = model.rows, [], 0
    for a, b in pairs:
        spread = scatter * sqrt(1 / rows.repeats[a] + 1 / rows.repeats[b])
        difference = float(rows.logs[b] - rows.logs[a])
        if abs(difference) <= reach * spread:
            continue
        decided += 1
        if not _same_sign(rows.logs, predicted, a, b):
            low, high = (a, b) if difference > 0 else (b, a)
            moved = float(predicted[high] - predicted[low])
            names = _row(model, low), _row(model, high)
            found.append(WrongPair(*names, 100 * expm1(abs(difference)), 100 * expm1(moved)))
    return decided, tuple(sorted(found, key=lambda pair: (-pair.measured, pair.faster, pair.slower)))


def _row(model: RowModel, number: int) -> str:
    experiment, observable = model.rows.names[number]
    return f"{experiment} {observable}"


def _failures(scores: Sequence[Score], scatter: float, wrong: Sequence[WrongPair]) -> Iterator[str]:
    own, *others = scores
    for other in others:
        if own.mape >= other.mape:
            yield f"it is off by {own.mape:.1f} %, {other.name} by {other.mape:.1f} %"
    limit = 100 * LIMIT * scatter
    if own.mape > limit:
        yield f"it is off by {own.mape:.1f} %, more than {LIMIT:g} times the scatter of {100 * scatter:.1f} %"
    if wrong:
        yield f"it orders {len(wrong):,} pairs wrongly that the board orders beyond doubt"


def validation_document(found: Validation) -> dict[str, Any]:
    """The validation as JSON holds it."""
    return {"schema_version": 1, "passes": found.passes, **attrs.asdict(found)}


def validation_lines(found: Validation) -> Iterator[str]:
    """The validation for a person, the verdict last."""
    yield f"{found.board}: {found.rows:,} rows of {found.shapes:,} shapes that the fit has not seen"
    yield ""
    table = [
        (one.name, f"{one.mape:.1f} %", f"{one.bias:+.1f} %", f"{one.worst:+.1f} %", f"{one.tau:.3f}",
         f"{one.agree:,} of {one.pairs:,}", one.worst_row)
        for one in found.scores
    ]  # fmt: skip
    headers = ("predictor", "mean error", "bias", "worst", "tau", "pairs in order", "the worst row")
    yield from aligned(headers, table, numbers=range(1, 6))
    yield ""
    whose = "repetitions" if found.repeated else "the fit's residuals, as nothing was repeated"
    yield f"the factor is {found.factor:.3f}; scatter {100 * found.scatter:.1f} % by {whose}"
    yield f"{found.decided:,} pairs differ beyond doubt; {len(found.wrong):,} of them are predicted the other way round"
    for pair in found.wrong[:MOST_PAIRS]:
        yield f"  {pair.slower} is {pair.measured:.1f} % slower than {pair.faster}; predicted {pair.predicted:+.1f} %"
    if len(found.wrong) > MOST_PAIRS:
        yield f"  and {len(found.wrong) - MOST_PAIRS:,} more"
    yield ""
    yield "FAILED: " + "; ".join(found.failures) if found.failures else "ok: it predicts what it has not seen"
