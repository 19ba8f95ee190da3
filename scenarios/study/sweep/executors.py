"""Executors: where the points of a sweep run: here, in processes of this machine, or on a Dask cluster."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context, parent_process
from threading import Thread
from time import perf_counter
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError

DASK = "dask://"
PATIENCE_S = 3
HERE_S = 2.0
"""Work of less than this would be done here before other processes had started."""


class LocalExecutor(Executor):
    """Runs each call at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done already."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class GrowingPool(ProcessPoolExecutor):
    """Runs calls in this process until they have taken HERE_S, and from then on in its own."""

    _here_s = 0.0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done already, or one of the pool's."""
        if self._here_s >= HERE_S:
            return super().submit(fn, *args, **kwargs)
        began = perf_counter()
        future = LocalExecutor().submit(fn, *args, **kwargs)
        self._here_s += perf_counter() - began
        return future


@attrs.frozen
class ExecutorChoice:
    """How to get an executor, how many chunks it can use at a time, how it reports a worker's death, how to end.

    `note` is what a person should know before the wait.
    """

    make_executor: Callable[[], Executor]
    width: int
    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    close: Callable[[], None] = lambda: None
    note: str = ""


def parse_executor(where: str, processes: int | None) -> ExecutorChoice:
    """For "here", "processes" (one is this one) or "dask://HOST:PORT". Raises ScenarioError for anything else."""
    if where == "here":
        return ExecutorChoice(LocalExecutor, 1)
    if where == "processes":
        count = processes or os.cpu_count() or 1
        return ExecutorChoice(LocalExecutor, 1) if count == 1 else _pool(ProcessPoolExecutor, count)
    if where.startswith(DASK):
        return _dask(where.removeprefix(DASK))
    raise _wrong(f'got "{where}", wanted here, processes or dask://HOST:PORT')


def growing_executor(processes: int | None) -> ExecutorChoice:
    """So many processes, or one for each CPU, as soon as they pay off; this one alone where only one is wanted."""
    count = processes or os.cpu_count() or 1
    return ExecutorChoice(LocalExecutor, 1) if count == 1 else _pool(GrowingPool, count)


def end_executor(executor: Executor, *, busy: bool) -> None:
    """End an executor; of one that is still `busy`, the processes, too: nobody waits for what they do.

    All of a pool is gone afterwards: an interpreter that ends beside a pool that is closing may print an error of the
    pool's own, in Python 3.11.
    """
    processes = tuple((getattr(executor, "_processes", None) or {}).values()) if busy else ()
    for process in processes:
        process.terminate()
    executor.shutdown(wait=bool(processes) or not busy)


def _pool(kind: type[ProcessPoolExecutor], count: int) -> ExecutorChoice:
    return ExecutorChoice(partial(kind, count, get_context("spawn"), _leave_with_parent), 2 * count)


def _leave_with_parent() -> None:
    """Make this process end when its parent is gone, however that went: nobody else would end it.

    A Ctrl-C is for that one: it ends this one as well.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    Thread(target=leave, daemon=True).start()


def _dask(address: str) -> ExecutorChoice:
    try:
        from distributed import Client, KilledWorker  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise _wrong("needs Dask: pip install 'tessbed[cluster]'") from None
    import logging

    for logger in ("distributed", "distributed.client"):  # what matters is in the rows, or raised
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    _probe(address)
    client: Any = Client(f"tcp://{address}", timeout=PATIENCE_S, set_as_default=False)
    cores = sum(client.ncores().values())
    # A result whose worker is lost before it is handed over is an error to Dask's executor, which can not unpack it.
    # No work of ours raises a ValueError: what it meets is in its rows.
    deaths = (KilledWorker, ValueError)
    note = "" if cores else f"the Dask scheduler at {address} has no workers yet: waiting for some"
    return ExecutorChoice(lambda: client.get_executor(pure=False), max(2, 2 * cores), deaths, client.close, note)


def _probe(address: str) -> None:
    """Raise ScenarioError within PATIENCE_S where no scheduler answers; a client of Dask would try for much longer."""
    import asyncio

    from distributed.comm.core import connect  # pyright: ignore[reportMissingImports]

    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise _wrong(f'got "{DASK}{address}", wanted {DASK}HOST:PORT')

    async def connected() -> None:
        _, writer = await asyncio.open_connection(
            host.strip("[]"), int(port)
        )  # is refused at once, connect tries again
        writer.close()
        comm: Any = await connect(f"tcp://{address}", timeout=PATIENCE_S)
        comm.abort()

    try:
        asyncio.run(asyncio.wait_for(connected(), PATIENCE_S))
    except Exception as error:  # whatever a stranger's answer makes of Dask's reader
        why = str(error) or f"no result arrived within {PATIENCE_S} s"
        raise _wrong(f"no Dask scheduler answers at {address}: {why}") from None


def _wrong(text: str) -> ScenarioError:
    return ScenarioError([Problem(Location("--executor"), text, "usage")])
