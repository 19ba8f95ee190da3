"""The report of a load: the JSON document and the lines for a person."""

from collections.abc import Iterator
from typing import Any

from tessbed.kernels.a65.cost.parameters import SCHEDULE
from tessbed.scenarios.load.percentiles import latency_summary, mean_interval, percentile_intervals
from tessbed.scenarios.load.simulation import (
    LoadRun,
    critical_station,
    is_stable,
    offered_load,
    on_other_core,
    relieved,
    simulate_load,
)
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import KEY, basis_document, ticks_lines
from tessbed.scenarios.provenance.tick_basis import tick_basis
from tessbed.scenarios.study.load.conditions import holds_everywhere, required_lines
from tessbed.scenarios.study.load.fault_report import fault_document, fault_lines
from tessbed.scenarios.study.load.rate_search import found_rate_lines

SCHEMA_VERSION = 1
TOO_FEW = "too few"
LATENCIES = ("mean", "p50", "p90", "p95", "p99", "max")


def document(scenario: Scenario, run: LoadRun, *, relief: bool = True) -> dict[str, Any]:
    """The JSON document of `tessbed load --json`; docs/load.md says what each key means."""
    clock_hz = scenario.device.clock_mhz * 10**6
    program = run.program
    found = {
        "schema_version": SCHEMA_VERSION,
        "name": scenario.name,
        "seed": program.seed,
        "clock_mhz": scenario.device.clock_mhz,
        KEY: basis_document([tick_basis(scenario)]),
        "replications": len(run.tallies),
        "warmup": program.warmup,
        "window_ticks": run.window_ticks,
        "streams": [_stream(run, number, clock_hz) for number in range(len(program.streams))],
        "servers": [_server(run, number) for number in range(len(program.stations))],
        "audit": _audit(run),
    }
    if program.struck:
        found["faults"] = fault_document(run)
    if not relief:
        return found
    found |= {"critical": _critical(run), "relief": list(_relief(run))}
    return found | ({"a65_band": list(band)} if (band := list(_band(run))) else {})


def _stream(run: LoadRun, number: int, clock_hz: int) -> dict[str, Any]:
    stream = run.program.streams[number]
    offered, dropped = run.total(number, "offered"), run.total(number, "dropped")
    latencies = run.latencies(number)
    means = [run.mean_latency(tally, number) for tally in run.tallies if tally.streams[number].measured]
    return {
        "name": stream.name,
        "offered": offered,
        "accepted": offered - dropped,
        "dropped": dropped,
        "completed": run.total(number, "completed"),
        "failed": run.total(number, "failed"),
        "missed": missed_frames(run, number),
        "deadline_ticks": stream.deadline_ticks,
        "stable": is_stable(run, number),
        "measured": len(latencies),
        "latency_ticks": latency_summary(latencies),
        "latency_intervals_ticks": percentile_intervals(latencies),
        "mean_interval_ticks": mean_interval(means),
        "throughput_per_second": _throughput(run, number, clock_hz),
        "parts_ticks": _parts(run, number),
    }


def missed_frames(run: LoadRun, number: int) -> int:
    """Those that were dropped, have failed, or ended behind their deadline."""
    return sum(run.total(number, name) for name in ("dropped", "failed", "late"))


def _throughput(run: LoadRun, number: int, clock_hz: int) -> float | None:
    """Frames a second between the first end behind the warm-up and the last; None for fewer than two.

    Of frames that come at once, all from there to the last end.
    """
    frames = ticks = 0
    batch = run.program.streams[number].arrivals.kind == "at_once"
    for tally in run.tallies:
        stream = tally.streams[number]
        if batch:
            frames += stream.completed
            ticks += stream.last_end - stream.first_arrival
        elif stream.measured > 1:
            frames += stream.measured - 1
            ticks += stream.last_end - stream.first_end
    return round(frames * clock_hz / ticks, 6) if ticks else None


def _parts(run: LoadRun, number: int) -> dict[str, Any]:
    """The mean latency, part by part along the critical paths: until entry, waits by server, each job's own parts."""
    program, measured = run.program, run.total(number, "measured")
    if not measured:
        return {}
    stages = program.streams[number].stages
    waits = {program.stations[stage.station].name: 0 for stage in stages}
    served: dict[str, int] = {}
    for place, stage in enumerate(stages):
        tallies = [tally.streams[number].stages[place] for tally in run.tallies]
        waits[program.stations[stage.station].name] += sum(tally.wait_ticks for tally in tallies)
        frames = sum(tally.frames for tally in tallies)
        for name, ticks in stage.parts or ((program.stations[stage.station].name, 0),):
            ticks = ticks * frames if stage.parts else sum(tally.served_ticks for tally in tallies)
            served[name] = served.get(name, 0) + ticks
        if stage.parts:
            plain = frames * sum(ticks for _, ticks in stage.parts)
            served["faults"] = served.get("faults", 0) + sum(tally.served_ticks for tally in tallies) - plain
        served["load"] = served.get("load", 0) + sum(tally.load_ticks for tally in tallies)
    return {
        "entry": round(run.total(number, "outside_ticks") / measured, 3),
        "waits": {name: round(ticks / measured, 3) for name, ticks in waits.items()},
        "served": {name: round(ticks / measured, 3) for name, ticks in served.items() if ticks},
        "critical_jobs": {
            stage.name: sum(tally.streams[number].stages[place].frames for tally in run.tallies)
            for place, stage in enumerate(stages)
        },
    }


def _server(run: LoadRun, number: int) -> dict[str, Any]:
    station = run.program.stations[number]
    return {
        "name": station.name,
        "kind": station.kind,
        "count": station.servers,
        "jobs": run.station_total(number, "started"),
        "utilisation": round(run.utilisation(number), 6),
        "offered_load": round(offered_load(run.program, number), 6),
        "mean_queue": round(run.mean_queue(number), 6),
    }


def _audit(run: LoadRun) -> dict[str, Any]:
    """The sums of which both sides were found equal, tick for tick."""
    streams, stations = range(len(run.program.streams)), range(len(run.program.stations))
    return {
        "frames": sum(run.total(number, "offered") for number in streams),
        "frame_ticks": sum(run.total(number, "sojourn_ticks") for number in streams),
        "served_ticks": sum(run.station_total(number, "served_ticks") for number in stations),
        "waited_ticks": sum(run.station_total(number, "waited_ticks") for number in stations),
    }


def _critical(run: LoadRun) -> dict[str, Any]:
    """The busiest station: so many times as many frames would fill it."""
    station = critical_station(run)
    busy = run.utilisation(station)
    room = round(1 / busy, 3) if busy else None
    return {"server": run.program.stations[station].name, "utilisation": round(busy, 6), "room": room}


def _relief(run: LoadRun) -> Iterator[dict[str, Any]]:
    """The streams with one more server at each station, all else equal."""
    for station, there in enumerate(run.program.stations):
        other = simulate_load(relieved(run.program, station))
        streams = [_relieved_stream(other, number) for number in range(len(other.program.streams))]
        yield {"server": there.name, "count": there.servers + 1, "streams": streams}


def _band(run: LoadRun) -> Iterator[dict[str, Any]]:
    """The streams with the A65's jobs at each end of their band, all else equal; none where no core runs a job."""
    stages = [stage for stream in run.program.streams for stage in stream.stages]
    for core in dict.fromkeys(core for stage in stages for core, _ in stage.band):
        other = simulate_load(on_other_core(run.program, core))
        streams = [_relieved_stream(other, number) for number in range(len(other.program.streams))]
        yield {"core": core, "streams": streams}


def _relieved_stream(run: LoadRun, number: int) -> dict[str, Any]:
    return {
        "name": run.program.streams[number].name,
        "dropped": run.total(number, "dropped"),
        "missed": missed_frames(run, number),
        "stable": is_stable(run, number),
        "latency_ticks": latency_summary(run.latencies(number)),
    }


def lines(reported: dict[str, Any]) -> Iterator[str]:
    """The document for a person."""
    yield reported["name"]
    yield ""
    yield from _stream_table(reported["streams"], failures="faults" in reported)
    yield ""
    yield from _latency_table(reported["streams"])
    if any(stream["mean_interval_ticks"] for stream in reported["streams"]):
        yield ""
        for stream in reported["streams"]:
            low, high = stream["mean_interval_ticks"] or (0, 0)
            yield f"{stream['name']}: mean {low:,.0f} to {high:,.0f}, 95 % over {reported['replications']} replications"
    yield ""
    yield from _server_table(reported["servers"])
    yield ""
    for stream in reported["streams"]:
        yield from _parts_lines(stream)
    if "critical" in reported:
        yield from _critical_lines(reported)
    if "faults" in reported:
        yield ""
        yield from fault_lines(reported["faults"])
    yield ""
    warmup = f", the first {reported['warmup']} frames of each stream left out" if reported["warmup"] else ""
    yield from ticks_lines(reported["clock_mhz"], reported)
    if "a65_band" in reported:
        yield from _band_lines(reported)
    yield f"latency: from the scheduled arrival{warmup}"
    yield f"audit: {reported['audit']['frames']:,} frames conserved; Little's law and busy times hold to the tick"
    for metric in reported.get("loadgen", {}).get("metrics", ()):
        value = TOO_FEW if metric["value"] is None else f"{metric['value']:,.2f}".removesuffix(".00")
        yield f"loadgen {reported['loadgen']['scenario']}: {metric['stream']}: {metric['metric']}: {value}"
    if "find" in reported:
        yield from found_rate_lines(reported["find"])
    yield from required_lines(reported.get("require", ()))
    if "verification" in reported:
        yield _verification_line(reported["verification"])
    yield ""
    yield verdict(reported["streams"])
    if broken := sum(not holds_everywhere(one) for one in reported.get("require", ())):
        yield f"failed: {broken} requirement{'s do' if broken > 1 else ' does'} not hold"


def _stream_table(streams: list[dict[str, Any]], *, failures: bool) -> list[str]:
    """The frames of each stream; a column of those that failed where there are faults."""
    counts = ("offered", "accepted", "dropped", "completed", *(("failed",) if failures else ()), "missed")
    header = ("stream", *counts, "frames/s", "")
    rows = [
        (
            stream["name"],
            *(f"{stream[name]:,}" for name in counts),
            "-" if stream["throughput_per_second"] is None else f"{stream['throughput_per_second']:,.2f}",
            "stable" if stream["stable"] else "saturated",
        )
        for stream in streams
    ]
    return aligned(header, rows, numbers=range(1, len(header) - 1))


def _latency_table(streams: list[dict[str, Any]]) -> list[str]:
    rows = [(stream["name"], *(_ticks(stream["latency_ticks"][name]) for name in LATENCIES)) for stream in streams]
    return aligned(("latency", *LATENCIES), rows, numbers=range(1, 1 + len(LATENCIES)))


def _ticks(value: float | None) -> str:
    return TOO_FEW if value is None else f"{value:,.0f}"


def _server_table(servers: list[dict[str, Any]]) -> list[str]:
    rows = [
        (
            server["name"],
            f"{server['count']:,}",
            f"{server['jobs']:,}",
            f"{100 * server['utilisation']:.1f} %",
            f"{server['mean_queue']:,.3f}",
        )
        for server in servers
    ]
    return aligned(("server", "count", "jobs", "busy", "mean queue"), rows, numbers=range(1, 5))


def _parts_lines(stream: dict[str, Any]) -> Iterator[str]:
    """Where the mean latency goes, the largest first."""
    parts = stream["parts_ticks"]
    if not parts:
        return
    named = [("waiting to enter", parts["entry"])]
    named += [(f"waiting for {name}", ticks) for name, ticks in parts["waits"].items()]
    named += list(parts["served"].items())
    shown = [f"{name} {ticks:,.0f}" for name, ticks in sorted(named, key=lambda part: -part[1]) if ticks >= 0.5]
    yield f"{stream['name']}: {', '.join(shown)}"


def _critical_lines(reported: dict[str, Any]) -> Iterator[str]:
    critical = reported["critical"]
    room = f": {critical['room']:.2f} times as many frames would fill it" if critical["room"] else ""
    yield ""
    yield f"busiest: {critical['server']}{room}"
    for relief in reported["relief"]:
        pairs = zip(reported["streams"], relief["streams"], strict=True)
        changes = [f"{now['name']}: {', '.join(found)}" for now, then in pairs if (found := list(_changes(now, then)))]
        yield f"with {relief['count']} {relief['server']}: {'; '.join(changes) or 'nothing changes'}"


def _band_lines(reported: dict[str, Any]) -> Iterator[str]:
    """What the streams would have at each end of the A65's band."""
    yield f"ticks of a65: {SCHEDULE}"
    for end in reported["a65_band"]:
        pairs = zip(reported["streams"], end["streams"], strict=True)
        changes = [f"{now['name']}: {', '.join(found)}" for now, then in pairs if (found := list(_changes(now, then)))]
        yield f"at {end['core']}: {'; '.join(changes) or 'nothing changes'}"


def _changes(now: dict[str, Any], then: dict[str, Any]) -> Iterator[str]:
    for name in ("mean", "p99"):
        before, after = now["latency_ticks"][name], then["latency_ticks"][name]
        if before is not None and after is not None and before != after:
            yield f"{name} {before:,.0f} to {after:,.0f}"
    if now["missed"] != then["missed"]:
        yield f"missed {now['missed']:,} to {then['missed']:,}"
    if now["stable"] != then["stable"]:
        yield "stable" if then["stable"] else "saturated"


def _verification_line(found: dict[str, Any]) -> str:
    if found["disagreement"]:
        return f"verify: FAILED: {found['disagreement']}"
    return (
        f"verify: {found['frames']:,} frames ran by events with every byte; all {found['jobs']:,} jobs were ready, "
        "started and ended at the same ticks"
        + (f", {found['faults']:,} fault{'s' * (found['faults'] != 1)} among them" if found["faults"] else "")
    )


def verdict(streams: list[dict[str, Any]]) -> str:
    """Whether all frames can be done, and how many came in time."""
    saturated = [stream["name"] for stream in streams if not stream["stable"]]
    missed = sum(stream["missed"] for stream in streams)
    if saturated:
        return f"saturated: {', '.join(saturated)}; more frames come than can be done"
    offered = sum(stream["offered"] for stream in streams)
    judged = (
        "in time" if any(stream["deadline_ticks"] is not None for stream in streams) else "done; no deadline is set"
    )
    return f"stable: {offered - missed:,} of {offered:,} frames {judged}"
