"""Planning: from a budget to chosen experiments, those that are held out, and what is expected of them; as a report."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import attrs

from tessbed.scenarios.model import ScenarioJob
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.study.calibration.board_data import Setup
from tessbed.scenarios.study.calibration.plan.candidates import Candidate
from tessbed.scenarios.study.calibration.plan.design import Advance, Expectation, best_choice, expectations, information

HELD_OUT = 5
"""One of so many experiments is held out."""
FEWEST_HELD = 2
WORDS = {"precise": "within 10 %", "weak": "within 65 %", "open": "not determined", "untouched": "not touched"}


@attrs.frozen
class PlanOptions:
    """How much may be measured, and how: experiments, observables, repetitions, scatter; how the plan is drawn."""

    budget: int
    observables: tuple[str, ...] = ("device", "job")
    repeats: int = 3
    noise: float = 0.02
    points: int = 6
    seed: int = 0


@attrs.frozen(eq=False)
class CalibrationPlan:
    """The chosen experiments, in the order in which they tell most, those held out, and what is expected."""

    options: PlanOptions
    fitted: tuple[Candidate, ...]
    held: tuple[Candidate, ...]
    expected: tuple[Expectation, ...]
    candidates: int

    @property
    def rows(self) -> int:
        """The lines of the table."""
        return (len(self.fitted) + len(self.held)) * len(self.options.observables) * self.options.repeats


def make_plan(
    candidates: Sequence[Candidate], setup: Setup, options: PlanOptions, advance: Advance = lambda done: None
) -> CalibrationPlan:
    """The plan of a budget, at least three: two shapes are held out. The same options give the same plan."""
    held = _held_out(candidates, options)
    shapes = {candidates[number].experiment.shape for number in held}
    allowed = [number for number, one in enumerate(candidates) if one.experiment.shape not in shapes]
    found = information(
        [one.experiment for one in candidates],
        options.observables,
        setup,
        noise=options.noise,
        repeats=options.repeats,
        points=options.points,
        seed=options.seed,
        advance=advance,
    )
    chosen = best_choice(found, options.budget - len(held), allowed)
    return CalibrationPlan(
        options=options,
        fitted=tuple(candidates[number] for number in chosen),
        held=tuple(candidates[number] for number in held),
        expected=tuple(expectations(found, chosen)),
        candidates=len(candidates),
    )


def _held_out(candidates: Sequence[Candidate], options: PlanOptions) -> list[int]:
    """Experiments of drawn shapes, on two grids each where the budget allows: they make A/B pairs. Operations first."""
    number = max(FEWEST_HELD, options.budget // HELD_OUT)
    random = Random(options.seed)
    grids: dict[str, list[int]] = {}
    for index, candidate in enumerate(candidates):
        grids.setdefault(candidate.experiment.shape, []).append(index)
    shapes = list(grids.values())
    random.shuffle(shapes)
    shapes.sort(key=lambda own: not isinstance(candidates[own[0]].experiment.job, ScenarioJob))
    each = 2 if number >= 2 * FEWEST_HELD else 1
    drawn = [index for own in shapes for index in sorted(random.sample(own, min(each, len(own))))]
    return sorted(drawn[:number])


def plan_document(plan: CalibrationPlan) -> dict[str, Any]:
    """The plan as JSON holds it."""
    return {
        "schema_version": 1,
        **attrs.asdict(plan.options),
        "candidates": plan.candidates,
        "fit": [one.experiment.name for one in plan.fitted],
        "validate": [one.experiment.name for one in plan.held],
        "rows": plan.rows,
        "expected": [attrs.asdict(one) for one in plan.expected],
    }


def plan_lines(plan: CalibrationPlan) -> Iterator[str]:
    """The plan for a person."""
    options = plan.options
    what = " and ".join(options.observables)
    yield f"{len(plan.fitted):,} experiments to fit and {len(plan.held):,} held out, of {plan.candidates:,} candidates"
    yield f"{plan.rows:,} rows: {what}, {options.repeats} times each, with a scatter of {100 * options.noise:g} %"
    yield ""
    yield "what that will tell, as 90 % intervals; medians over what the device may be"
    table = [(one.path, _percent(one), WORDS[one.word], ", ".join(one.alike)) for one in plan.expected]
    yield from aligned(("parameter", "+-", "", "only together with"), table, numbers=range(1, 2))
    yield ""
    counts = {word: sum(one.word == word for one in plan.expected) for word in WORDS}
    yield ", ".join(f"{number} {WORDS[word]}" for word, number in counts.items())
    yield "the first to measure: " + ", ".join(one.experiment.name for one in plan.fitted[:5])


def _percent(one: Expectation) -> str:
    if one.word in ("open", "untouched"):
        return "-"
    return f"{one.percent:.1f} %" if one.percent < 10 else f"{one.percent:.0f} %"
