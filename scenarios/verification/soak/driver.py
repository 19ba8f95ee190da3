"""Soak driver: many random jobs on a runtime with faults; at the end nothing may be lost or leaked.

    report = run_soak(load("soak"), jobs=100_000, profile="all", seed=1)

A large soak is cut in PARTS worlds that run in processes of their own. The cut depends on the number of jobs only,
never on the machine, so the report is the same everywhere.
"""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from tessbed.scenarios.model import Scenario
from tessbed.scenarios.provenance.tick_basis import device_basis
from tessbed.scenarios.verification.soak.account import Account, SoakReport
from tessbed.scenarios.verification.soak.cases import geometries
from tessbed.scenarios.verification.soak.fault_profiles import PROFILES
from tessbed.scenarios.verification.soak.world import World

PARTS = 2
ALONE_JOBS = 5_000

Progress = Callable[[int], None]


def run_soak(
    scenario: Scenario,
    jobs: int,
    profile: str,
    seed: int,
    *,
    progress: Progress = lambda done: None,
) -> SoakReport:
    """`jobs` jobs in random sizes of the scenario's; `progress` hears how many are final.

    `profile` is a key of PROFILES. Raises ValueError for an unknown one, for fewer than one job, and for a scenario
    without an EV74 job; RuntimeError where a worker process dies.
    """
    if profile not in PROFILES:
        raise ValueError(f"got the fault profile {profile!r}, wanted one of {', '.join(PROFILES)}")
    if jobs < 1:
        raise ValueError(f"got {jobs} jobs, wanted at least 1")
    if not geometries(scenario):
        raise ValueError(f"scenario {scenario.name!r} has no EV74 job with a tensor that is not empty: nothing to soak")
    if jobs <= ALONE_JOBS:
        parts = [World(scenario, jobs, profile, seed).run(progress)]
    else:
        parts = _side_by_side(scenario, jobs, profile, seed, progress)
    basis = device_basis(scenario.preset, scenario.origins, scenario.device)
    return SoakReport(scenario.name, profile, seed, basis, tuple(parts))


def _side_by_side(scenario: Scenario, jobs: int, profile: str, seed: int, progress: Progress) -> list[Account]:
    context = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    processes: list[SpawnProcess] = []
    for part in range(PARTS):
        share = jobs // PARTS + (part < jobs % PARTS)
        here, there = context.Pipe(duplex=False)
        processes.append(context.Process(target=_part, args=(there, scenario, share, profile, seed * PARTS + part)))
        processes[-1].start()
        there.close()
        pipes.append(here)  # pyright: ignore[reportArgumentType]
    try:
        return _collect(pipes, progress)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _collect(pipes: list[Connection], progress: Progress) -> list[Account]:
    """The accounts in the order of the parts, while progress is reported."""
    done, accounts = dict.fromkeys(pipes, 0), {}
    while len(accounts) < len(pipes):
        for pipe in wait([pipe for pipe in pipes if pipe not in accounts]):
            assert isinstance(pipe, Connection)
            try:
                reported = pipe.recv()
            except EOFError:
                raise RuntimeError("a process of the soak ended without a result") from None
            if isinstance(reported, Account):
                accounts[pipe] = reported
            else:
                done[pipe] = reported
                progress(sum(done.values()))
    return [accounts[pipe] for pipe in pipes]


def _part(pipe: Connection, scenario: Scenario, jobs: int, profile: str, seed: int) -> None:
    """One world in a process of its own."""
    pipe.send(World(scenario, jobs, profile, seed).run(pipe.send))
