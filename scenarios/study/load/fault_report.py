"""Fault report: what the faults of a load have cost: frames that failed, and those behind them that were delayed.

The same load runs once more without any fault, with the same random numbers, and the frames of both runs are compared
one by one, those behind the warm-up that ended in both.
"""

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.scenarios.load.program import FaultEffect
from tessbed.scenarios.load.simulation import LoadRun, simulate_load
from tessbed.scenarios.load.tally import StreamTally


def fault_document(run: LoadRun) -> dict[str, Any]:
    """Each fault with its effect, in how many replications it struck, and what all of them cost each stream."""
    program = run.program
    without = simulate_load(attrs.evolve(program, struck=()))
    return {
        "faults": [
            {
                "stream": program.streams[struck.stream].name,
                "frame": struck.frame,
                "job": program.streams[struck.stream].stages[struck.job].name,
                "kinds": struck.kinds,
                "struck": sum(tally.struck[place] for tally in run.tallies),
                "loaded": _effect(struck.loaded),
                "unloaded": _effect(struck.unloaded),
            }
            for place, struck in enumerate(program.struck)
        ],
        "streams": [_cost(run, without, number) for number in range(len(program.streams))],
    }


def _effect(effect: FaultEffect) -> dict[str, Any]:
    return {"ends_well": effect.good, "over_ticks": effect.over_ticks, "free_ticks": effect.free_ticks}


def _cost(run: LoadRun, without: LoadRun, number: int) -> dict[str, Any]:
    """What the faults cost one stream, over all replications."""
    pairs = zip(run.tallies, without.tallies, strict=True)
    delays = np.concatenate([_delays(tally.streams[number], other.streams[number]) for tally, other in pairs])
    later = delays[delays > 0]
    more = {name: run.total(number, name) - without.total(number, name) for name in ("dropped", "late")}
    failed = run.total(number, "failed")
    return {
        "name": run.program.streams[number].name,
        "failed": failed,
        "delayed": len(later),
        "mean_delay_ticks": round(int(later.sum()) / len(later), 3) if len(later) else None,
        "most_delay_ticks": int(later.max()) if len(later) else None,
        "more_dropped": more["dropped"],
        "more_missed": failed + more["dropped"] + more["late"],
    }


def _delays(tally: StreamTally, other: StreamTally) -> NDArray[np.int64]:
    """By how much later each frame ended than in the other run, for the frames of both."""
    numbers, latencies = (np.frombuffer(held, np.int64) for held in (tally.numbers, tally.latencies))
    others, before = (np.frombuffer(held, np.int64) for held in (other.numbers, other.latencies))
    _, mine, theirs = np.intersect1d(numbers, others, assume_unique=True, return_indices=True)
    return latencies[mine] - before[theirs]


def fault_lines(document: dict[str, Any]) -> Iterator[str]:
    """The faults and their cost for a person."""
    for fault in document["faults"]:
        where = f"{fault['kinds']} in frame {fault['frame']:,} of {fault['stream']}, job {fault['job']}"
        yield f"fault: {where}: {_words(fault)}"
    for stream in document["streams"]:
        said = [f"{stream['failed']:,} failed"]
        if stream["delayed"]:
            most = f"{stream['mean_delay_ticks']:,.0f} on average, {stream['most_delay_ticks']:,} at most"
            said.append(f"{stream['delayed']:,} more delayed by {most}")
        said += [f"{stream[name]:,} more {name[5:]}" for name in ("more_dropped", "more_missed") if stream[name]]
        yield f"       {stream['name']}: {', '.join(said)}"


def _words(fault: dict[str, Any]) -> str:
    if not fault["struck"]:
        return "struck nothing: its job never started, as its frame did not come, was dropped, or had failed"
    effect = fault["loaded"]
    ends = "ends well" if effect["ends_well"] else "fails"
    free = f", its device takes another after {effect['free_ticks']:,}"
    return (
        f"it {ends} after {effect['over_ticks']:,} ticks{free if effect['free_ticks'] > effect['over_ticks'] else ''}"
    )
