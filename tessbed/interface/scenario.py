"""Scenario: a scenario file, a scenario that ships, or a table of values, to run and to study."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tessbed.interface.argument_values import checked_flag, checked_integer, checked_name, plain_value, refused
from tessbed.interface.run_report import RunReport, run_report
from tessbed.interface.study_report import StudyReport, study_report
from tessbed.scenarios import model
from tessbed.scenarios.format.diagnostics import Location
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.option_values import ENGINES, LOAD_OBJECTIVES, LOADGEN_SCENARIOS, OBJECTIVES, SAMPLERS
from tessbed.scenarios.format.overrides import apply, override_value
from tessbed.scenarios.format.toml_source import Source
from tessbed.scenarios.format.toml_writer import toml_text, value_text
from tessbed.scenarios.library import read_source
from tessbed.scenarios.provenance.basis_words import KEY
from tessbed.scenarios.study.measurement import measure_scenario, studied, whole
from tessbed.sim.spec.device_spec import DeviceSpec

WANTED = "the path of a scenario file, the name of one that ships, or a table of its values"
SETTINGS = 'a table of keys and values, such as {"device.workers": 8}'
TOP = 12


class Scenario:
    """A scenario, read and admitted: every error was found before this object exists.

    `Scenario.load(scenario)` takes a path, a name that `tessbed list` shows, or a table of the values that a file would
    hold. Keys can be changed with `settings`, a table of dotted keys as --set takes them: `{"device.workers": 8,
    "jobs.*.backend": "ev74"}`. The studies take an `engine`: "exact" (a recurrence, quick) or "simpy" (events).

    >>> import tessbed
    >>> scenario = tessbed.Scenario.load("luma", {"device.workers": 2})
    >>> scenario.device.workers, scenario.run().ok
    (2, True)
    >>> curve = scenario.sweep({"device.workers": range(1, 5)}).to_arrays()
    >>> curve["device.workers"].tolist()
    [1, 2, 3, 4]
    >>> tessbed.Scenario.load("lumma")
    Traceback (most recent call last):
    ...
    tessbed.scenarios.format.diagnostics.ScenarioError: lumma: no such file, and no scenario of that name; ...
    """

    def __init__(
        self, read: tuple[Source, Path], settings: tuple[str, ...] = (), seed: int | None = None, name: str = ""
    ) -> None:
        """For `load`; raises ScenarioError with every error at once."""
        self._read, self._settings, self._seed, self._name = read, settings, seed, name
        self._admitted: model.Scenario = compose(apply(read[0], settings, seed), read[1])

    @classmethod
    def load(
        cls,
        scenario: object,
        settings: Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        folder: object = ".",
    ) -> "Scenario":
        """The scenario of a path, of a name in the catalogue, or of a table of values.

        Files that a table names (inputs, presets) are relative to `folder`. Raises ScenarioError with every error of
        the scenario, each with its place, SpecError for an argument of another kind.

        >>> import tessbed
        >>> job = {"name": "head", "op": "detess", "dtype": "bf16", "shape": [4, 6, 8],
        ...        "tiled": {"axes": [-1, 0, 1, 2], "tile": [1, 2, 3, 8]}, "input": {"pattern": "golden"}}
        >>> tessbed.Scenario.load({"name": "one head", "jobs": [job]}).run().ok
        True
        """
        options = _settings(settings or {}), None if seed is None else checked_integer("seed", seed, 0, 2**64 - 1)
        if isinstance(scenario, Mapping):
            return cls((_source(plain_value(scenario)), Path(_path("folder", folder))), *options, name="scenario")
        name = _path("scenario", scenario)
        return cls(read_source(name), *options, name=name)

    def __repr__(self) -> str:
        jobs = len(self._admitted.jobs)
        return f"<Scenario {self.name!r}: {jobs:,} job{'s' * (jobs != 1)} on {self._admitted.preset}>"

    @property
    def name(self) -> str:
        """The name of the scenario, as its file says it."""
        return self._admitted.name

    @property
    def jobs(self) -> tuple[str, ...]:
        """The names of its jobs, in the order in which they run."""
        return tuple(job.name for job in self._admitted.jobs)

    @property
    def device(self) -> DeviceSpec:
        """The device, every field resolved."""
        return self._admitted.device

    def to_dict(self) -> dict[str, Any]:
        """The scenario as a table of plain values, with every default spelled out."""
        return model.to_values(self._admitted)

    def to_toml(self) -> str:
        """The same as the text of a scenario file."""
        return toml_text(self.to_dict())

    def with_settings(self, settings: Mapping[str, Any]) -> "Scenario":
        """The scenario with some more keys changed. Raises ScenarioError.

        >>> import tessbed
        >>> tessbed.Scenario.load("luma").with_settings({"device.workers": 1}).device.workers
        1
        """
        return Scenario(self._read, (*self._settings, *_settings(settings)), self._seed, self._name)

    def run(self, *, engine: str = "simpy", trace: bool = False) -> RunReport:
        """Run every job on its backends and check every byte. `trace` keeps every DMA transfer of the EV74 jobs.

        What a device does wrong is in the report. Raises BindingError, CapabilityError, MemoryError and OSError for
        what the caller must change.
        """
        from tessbed.scenarios.runner import run_scenario

        chosen, traced = checked_name("engine", engine, ENGINES), checked_flag("trace", trace)
        return run_report(run_scenario(self._admitted, engine=chosen, trace=traced))

    def run_load(
        self, *, find: object = (), require: object = (), loadgen: str | None = None, verify: bool = False
    ) -> StudyReport:
        """Run the streams of frames, as `tessbed load`: a row for each stream, with its latencies in ticks.

        `find` is a condition or several, such as "p99 <= 5 ms", that hold up to a rate; those of `require` are judged
        in the report's "require"; `loadgen` sends frames as a scenario of MLPerf's LoadGen; with `verify` the first
        frames run by events, with every byte. Raises ScenarioError where the scenario has no streams.

        >>> import tessbed
        >>> report = tessbed.Scenario.load("yolov8n-pipeline-int8").run_load()
        >>> [(row["stream"], row["missed"], row["p99_ticks"]) for row in report.rows]
        [('camera', 0, 8961740)]
        >>> report["critical"]["server"]
        'mla'
        """
        from tessbed.scenarios.study.load import report
        from tessbed.scenarios.study.load.load_study import load_program, study_load

        wanted, required = _conditions("find", find), _conditions("require", require)
        sent = None if loadgen is None else checked_name("loadgen", loadgen, LOADGEN_SCENARIOS)
        program = load_program(self._admitted, sent)
        reported = study_load(
            self._admitted, program, wanted, sent, required=required, verify=checked_flag("verify", verify)
        )
        return study_report("load", reported, report.lines(reported))

    def explain(self, *, engine: str = "exact") -> StudyReport:
        """Where every tick of each EV74 job went: rows of job, resource, reason, tiles, ticks."""
        from tessbed.scenarios.study import attribution_report

        reported = attribution_report.document(self._measured(engine))
        return study_report("explain", reported, attribution_report.lines(reported, TOP))

    def bound(self, *, engine: str = "exact") -> StudyReport:
        """Certified lower bounds of each EV74 job: rows of job, resource, which, bound_ticks, device_ticks."""
        from tessbed.scenarios.study import lower_bounds

        reported = lower_bounds.document(self._measured(engine, trace=False))
        return study_report("bound", reported, lower_bounds.lines(reported))

    def advise(
        self, *, max_workers: int = 16, within: float = 5.0, processes: int | None = None, engine: str = "exact"
    ) -> StudyReport:
        """How many workers pay off: rows of job, workers, device_ticks, speedup, bound_ticks.

        `within` percent of the bound counts as near, and as a gain. `processes` is as in a sweep.
        """
        from tessbed.scenarios.study import worker_scaling
        from tessbed.scenarios.study.parallel_runs import ParallelRuns

        most, percent = checked_integer("max_workers", max_workers, 1, 64), _percent("within", within)
        chosen, runs = checked_name("engine", engine, ENGINES), ParallelRuns(_processes(processes))
        reported = worker_scaling.document(studied(self._admitted), most, percent, chosen, runs)
        return study_report("advise", reported, worker_scaling.lines(reported))

    def whatif(self, *, processes: int | None = None, engine: str = "exact") -> StudyReport:
        """Each device parameter worse and better: rows of parameter, value, step, tried, device_ticks, anomaly.

        `processes` is as in a sweep.
        """
        from tessbed.scenarios.study import sensitivity
        from tessbed.scenarios.study.parallel_runs import ParallelRuns

        chosen, runs = checked_name("engine", engine, ENGINES), ParallelRuns(_processes(processes))
        found = sensitivity.sensitivities(studied(self._admitted), chosen, runs)
        reported = sensitivity.document(*found)
        return study_report("whatif", reported, sensitivity.lines(reported))

    def compare(self, other: "Scenario", *, engine: str = "exact") -> StudyReport:
        """Which terms make the difference to `other`: rows of job, resource, reason, tiles, ticks of both."""
        from tessbed.scenarios.study import comparison

        if not isinstance(other, Scenario):
            raise refused("other", other, "a Scenario")
        names = self._name, other._name
        reported = comparison.document(names, whole(self._measured(engine)), whole(other._measured(engine)))
        return study_report("compare", reported, comparison.lines(reported, TOP))

    def sweep(
        self,
        vary: Mapping[str, Any],
        *,
        random: int | None = None,
        seed: int = 0,
        processes: int | None = None,
        db: object = None,
        engine: str = "exact",
        load: bool = False,
    ) -> StudyReport:
        """The EV74 jobs for every combination of values: rows of the varied keys, ticks, busy and stall ticks, error.

        With `load` it is the load that runs: latencies, drops and misses are in the rows.

        `vary` has dotted keys and their values: `{"device.workers": range(1, 17), "device.slots": [2, 4]}`. `random`
        draws so many points by `seed` instead of all. Points run in this process, or in so many `processes` (then the
        program needs `if __name__ == "__main__":`). `db` is a file that keeps results, for the next time.
        """
        from tessbed.scenarios.study.sweep import execution, table
        from tessbed.scenarios.study.sweep.batches import BatchRunner
        from tessbed.scenarios.study.sweep.executors import parse_executor
        from tessbed.scenarios.study.sweep.load_sweep import LOAD, load_sweep_lines

        space = _space(vary)
        drawn = None if random is None else checked_integer("random", random, 1, execution.MOST_POINTS)
        chosen, draw = checked_name("engine", engine, ENGINES), checked_integer("seed", seed, 0, 2**64 - 1)
        given: dict[str, Any] = {"option": "vary", "read": lambda name: self._read}
        of_load = checked_flag("load", load)
        planned = execution.plan_sweep(
            self._name, self._seeded, space, drawn, draw, LOAD if of_load else chosen, **given
        )
        chosen = parse_executor(*(("here", None) if processes is None else ("processes", _processes(processes))))
        store = execution.MemoryStore() if db is None else execution.open_store(_path("db", db))
        with closing(store):
            found = execution.run_sweep(planned, store, BatchRunner(chosen.make_executor, chosen.width, chosen.deaths))
        rows = table.flat(planned.points, found, planned.extrapolated())
        by = table.table_provenance(found, planned.bases())
        reported = {"schema_version": 1, "name": self._name, **by, "rows": rows}
        shown = (
            load_sweep_lines(space, rows, by[KEY]) if of_load else table.table_lines(self.name, space, rows, by[KEY])
        )
        return study_report("sweep", reported, shown)

    def search(
        self,
        over: Mapping[str, Any],
        *,
        minimise: str = "ticks",
        trials: int = 100,
        sampler: str = "random",
        seed: int = 0,
        processes: int | None = None,
        db: object = None,
        engine: str = "exact",
    ) -> StudyReport:
        """The configuration with the fewest ticks in a space too large to sweep: rows of the trials, numbered from 1.

        `over` is as `vary` of a sweep. `minimise` is "ticks" or "job_ticks", or of the load "p99" and its like, or
        "missed" or "dropped"; `sampler` "tpe" and "genetic" learn (they need Optuna), "random" draws, "grid" goes in
        order. `report["best"]` is the best trial. `processes` and `db` are as in a sweep.
        """
        from tessbed.scenarios.study.search import report
        from tessbed.scenarios.study.search import trials as tried
        from tessbed.scenarios.study.search.sampler import sampler as sampler_of
        from tessbed.scenarios.study.sweep import execution, resolver
        from tessbed.scenarios.study.sweep.load_sweep import LOAD

        space, chosen = _space(over, "over"), checked_name("engine", engine, ENGINES)
        asked = report.SearchRequest(
            self._name,
            checked_name("minimise", minimise, list(OBJECTIVES)),
            checked_name("sampler", sampler, SAMPLERS),
            checked_integer("seed", seed, 0, 2**32 - 1),
        )
        count = min(checked_integer("trials", trials, 1, execution.MOST_POINTS), space.size)
        of_load = asked.minimise in LOAD_OBJECTIVES
        resolver.check_configuration(self._name, self._seeded, space, "over", lambda name: self._read, of_load=of_load)
        engine = LOAD if of_load else chosen
        configurations = resolver.Resolver(self._name, self._seeded, engine, lambda name: self._read)
        store = execution.MemoryStore() if db is None else execution.open_store(_path("db", db))
        with closing(store), tried.opened_memory(configurations, store, _processes(processes)) as memory:
            proposer = sampler_of(asked.sampler, space, count, asked.seed)
            found = tried.search(space, proposer, memory, asked.column, count, asked.seed)
        reported = report.document(asked, found, memory)
        return StudyReport("search", reported, report.rows(found), "\n".join(report.lines(reported)))

    @property
    def _seeded(self) -> tuple[str, ...]:
        return (*self._settings, *(() if self._seed is None else (f"seed={self._seed}",)))

    def _measured(self, engine: str, *, trace: bool = True) -> Any:
        return measure_scenario(self._admitted, checked_name("engine", engine, ENGINES), trace=trace)


def _path(name: str, value: object) -> str:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or not path:
        raise refused(name, value, WANTED if name == "scenario" else "a path")
    return path


def _processes(value: object) -> int:
    """How many a study is given; none is this one alone."""
    return 1 if value is None else checked_integer("processes", value, 1, 1024)


def _percent(name: str, value: object) -> float:
    plain = plain_value(value)
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 <= plain < float("inf"):
        raise refused(name, value, "a number of percent, 0 or more")
    return float(plain)


def _conditions(name: str, value: object) -> Sequence[str]:
    wanted = [value] if isinstance(value, str) else value
    if isinstance(wanted, list | tuple) and all(isinstance(text, str) for text in wanted):
        return wanted
    raise refused(name, value, 'a condition such as "p99 <= 5 ms", or a list of them')


def _source(values: dict[str, Any]) -> Source:
    """The values as if they came from a file, whose errors have the key as their only place."""
    return Source("scenario", values, {}, {(): Location("scenario")})


def _settings(settings: Mapping[str, Any]) -> tuple[str, ...]:
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise refused("settings", settings, SETTINGS)
    return tuple(f"{key}={_text(value)}" for key, value in settings.items())


def _text(value: Any) -> str:
    """The value as --set takes it: text that means only itself needs no quotes."""
    plain = plain_value(value)
    try:
        return plain if isinstance(plain, str) and override_value(plain) == plain else value_text(plain)
    except (TypeError, RecursionError):
        raise refused("settings", value, "a number, text, True or False, or a list or table of them") from None


def _space(vary: Mapping[str, Any], name: str = "vary") -> Any:
    """The space of the values of each key. Raises SpecError."""
    from tessbed.scenarios.study.sweep.space import MOST_VALUES, Space, SweptParameter

    if not isinstance(vary, Mapping) or not vary or not all(isinstance(key, str) for key in vary):
        raise refused(name, vary, 'a table of keys and their values, such as {"device.workers": range(1, 17)}')
    axes = []
    for key, values in vary.items():
        plain = plain_value(values)
        found = list(plain) if isinstance(plain, Iterable) and not isinstance(plain, str | Mapping) else [plain]
        if not 0 < len(found) <= MOST_VALUES:
            raise refused(f"{name}[{key!r}]", values, f"1 to {MOST_VALUES:,} values")
        axes.append(SweptParameter(key, tuple(dict.fromkeys(map(_text, found)))))
    return Space(tuple(axes))
